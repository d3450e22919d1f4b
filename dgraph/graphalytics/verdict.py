"""Is an output the expected one? By LDBC's own rules, and by stricter ones.

LDBC: BFS and CDLP exactly; WCC up to the names of components; PR, LCC and SSSP to a relative 0.0001, where infinite
equals infinite alone. Strict: real numbers to a relative 1e-9. Either way every vertex is listed once, and no other.
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
    """What does not fit, and the first vertex where it does not."""

    valid: bool
    problem: str = ""


def validate(algorithm: str, found: pd.DataFrame, expected: pd.DataFrame, how: str = "ldbc") -> Verdict:
    """Compare `vertex` and `value` of an output with those of the reference."""
    return compare(RULES[algorithm], found, expected, TOLERANCE[how])


def compare(rule: str, found: pd.DataFrame, expected: pd.DataFrame, tolerance: float) -> Verdict:
    repeated = found["vertex"][found["vertex"].duplicated()]
    if len(repeated):
        return Verdict(False, f"vertex {repeated.iloc[0]} is listed more than once")
    both = expected.merge(found, on="vertex", how="outer", suffixes=("_expected", "_found"), indicator=True)
    for side, what in (("left_only", "has no value"), ("right_only", "is not a vertex of the graph")):
        alone = both["vertex"][both["_merge"] == side]
        if len(alone):
            return Verdict(False, f"vertex {alone.iloc[0]} {what} ({len(alone)} such)")
    wanted, got = both["value_expected"].to_numpy(), both["value_found"].to_numpy()
    wrong = np.flatnonzero(~_matches(rule, got, wanted, tolerance))
    if not len(wrong):
        return Verdict(True)
    first = wrong[0]
    return Verdict(
        False, f"vertex {both['vertex'][first]} has {got[first]}, expected {wanted[first]} ({len(wrong)} such)"
    )


def _matches(rule: str, found: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    if rule == "exact":
        return found == expected
    if rule == "epsilon":
        wanted, got = expected.astype(float), found.astype(float)
        with np.errstate(invalid="ignore"):  # infinite minus infinite
            return (got == wanted) | (np.isfinite(wanted) & (np.abs(got - wanted) <= tolerance * np.abs(wanted)))
    partner = pd.Series(found).groupby(expected).transform("first").to_numpy()  # each component has one name,
    owner = pd.Series(expected).groupby(found).transform("first").to_numpy()  # and each name one component
    return (partner == found) & (owner == expected)


def read_values(path: str | os.PathLike, whole: bool) -> pd.DataFrame:
    """A file of lines `vertex value`."""
    lines = enumerate(files.read_bytes(path).decode(errors="replace").splitlines(), 1)
    rows = [(number, words) for number, line in lines if (words := line.split())]
    for number, words in rows:
        if len(words) != 2:
            remedy = "write a vertex and its value, with a blank between"
            raise FileError("a line is not `vertex value`", path=path, line=number, remedy=remedy)
    kinds = {"vertex": np.int64, "value": np.int64 if whole else np.float64}
    return pd.DataFrame({name: _column(path, rows, place, kinds[name]) for place, name in enumerate(kinds)})


def _column(path: str | os.PathLike, rows: list[tuple[int, list[str]]], place: int, kind: Any) -> np.ndarray:
    """The numbers in one place of all lines; the line of one that is none is named."""
    try:
        return np.array([words[place] for _, words in rows], str).astype(kind)
    except (ValueError, OverflowError) as cause:
        if len(rows) > 1:  # one after the other, to find it
            for row in rows:
                _column(path, [row], place, kind)
        (number, words), what = rows[0], "whole number of 64 bits" if kind is np.int64 else "number"
        raise FileError(f"{words[place]!r} is no {what}", path=path, line=number, remedy="correct this line") from cause


def write_values(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """The same lines; real numbers with all their digits, and Infinity as Java spells it."""
    values = table["value"].to_numpy()
    if values.dtype.kind == "f":
        texts = ["Infinity" if np.isinf(value) else format(value, ".15e") for value in values.tolist()]
    else:
        texts = list(map(str, values.tolist()))
    with files.atomic(path) as stream:
        lines = (f"{vertex} {text}\n" for vertex, text in zip(table["vertex"].tolist(), texts, strict=True))
        stream.write("".join(lines).encode())
