"""Compares an output with the reference, by LDBC's rules or by stricter ones.

LDBC: BFS and CDLP must be equal; WCC may name components differently; PR, LCC and SSSP may have a relative error of
0.0001, and infinity equals only infinity. Strict: the relative error must be at most 1e-9. Either way the output must
list every vertex exactly once, and nothing else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dgraph.errors import FileError
from dgraph.io import files

TOLERANCE = {"ldbc": 1e-4, "strict": 1e-9}
RULES = {"bfs": "exact", "cdlp": "exact", "wcc": "equivalence", "pr": "epsilon", "lcc": "epsilon", "sssp": "epsilon"}


@dataclass(frozen=True)
class Verdict:
    """Whether an output is valid and, if not, the first vertex with a wrong value."""

    valid: bool
    problem: str = ""


def validate(algorithm: str, output: pd.DataFrame, expected: pd.DataFrame, how: str = "ldbc") -> Verdict:
    """Compare `vertex` and `value` of an output with those of the reference."""
    return compare(RULES[algorithm], output, expected, TOLERANCE[how])


def compare(rule: str, output: pd.DataFrame, expected: pd.DataFrame, tolerance: float) -> Verdict:
    repeated = output["vertex"][output["vertex"].duplicated()]
    if len(repeated):
        return Verdict(False, f"vertex {repeated.iloc[0]} is listed more than once")
    both = expected.merge(output, on="vertex", how="outer", suffixes=("_expected", "_output"), indicator=True)
    for side, what in (("left_only", "has no value"), ("right_only", "is not a vertex of the graph")):
        unmatched = both["vertex"][both["_merge"] == side]
        if len(unmatched):
            return Verdict(False, f"vertex {unmatched.iloc[0]} {what} ({len(unmatched)} such)")
    reference, values = both["value_expected"].to_numpy(), both["value_output"].to_numpy()
    wrong = np.flatnonzero(~_matches(rule, values, reference, tolerance))
    if not len(wrong):
        return Verdict(True)
    first = wrong[0]
    values = f"expected {reference[first]}, got {values[first]}"
    return Verdict(False, f"vertex {both['vertex'][first]}: {values} ({len(wrong)} such)")


def _matches(rule: str, values: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    if rule == "exact":
        return values == expected
    if rule == "epsilon":
        expected = expected.astype(float)
        with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN
            close = np.abs(values - expected) <= tolerance * np.abs(expected)
        return (values == expected) | (np.isfinite(expected) & close)
    name = pd.Series(values).groupby(expected).transform("first").to_numpy()  # each component has one name,
    component = pd.Series(expected).groupby(values).transform("first").to_numpy()  # and each name one component
    return (name == values) & (component == expected)


def read_values(path: str | os.PathLike, whole: bool) -> pd.DataFrame:
    """The values in a file with lines `vertex value`."""
    lines = enumerate(files.read_bytes(path).decode(errors="replace").splitlines(), 1)
    rows = [(number, words) for number, line in lines if (words := line.split())]
    for number, words in rows:
        if len(words) != 2:
            remedy = "write a vertex and its value, separated by a space"
            raise FileError("expected `vertex value`", path=path, line=number, remedy=remedy)
    kinds = {"vertex": np.int64, "value": np.int64 if whole else np.float64}
    return pd.DataFrame({name: _column(path, rows, place, kinds[name]) for place, name in enumerate(kinds)})


def _column(path: str | os.PathLike, rows: list[tuple[int, list[str]]], place: int, kind: Any) -> np.ndarray:
    """The numbers in one column. The error about a value that is not a number names its line."""
    try:
        return np.array([words[place] for _, words in rows], str).astype(kind)
    except (ValueError, OverflowError) as cause:
        if len(rows) > 1:  # find the line
            for row in rows:
                _column(path, [row], place, kind)
        (number, words), what = rows[0], "a 64-bit integer" if kind is np.int64 else "a number"
        problem = f"{words[place]!r} is not {what}"
        raise FileError(problem, path=path, line=number, remedy="correct this line") from cause


def write_values(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write lines `vertex value`: floats with all their digits, and infinity as in Java."""
    values = table["value"].to_numpy()
    if values.dtype.kind == "f":
        texts = ["Infinity" if np.isinf(value) else format(value, ".15e") for value in values.tolist()]
    else:
        texts = list(map(str, values.tolist()))
    with files.atomic(path) as stream:
        lines = (f"{vertex} {text}\n" for vertex, text in zip(table["vertex"].tolist(), texts, strict=True))
        stream.write("".join(lines).encode())
