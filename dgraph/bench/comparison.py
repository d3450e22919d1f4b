"""Compares two runs of a suite, and shows what got slower or larger and what may be noise.

The noise of a median is the notch of its box plot (McGill, Tukey and Larsen, 1978): 1.57 times the interquartile range
of the trials, divided by the square root of their number. Two medians differ if their notches do not overlap. The noise
of seconds that were measured once is unknown, so they are shown without a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dgraph.bench.measurements import TITLES
from dgraph.bench.suite import AXES
from dgraph.bench.table import shown
from dgraph.errors import OptionError

FIGURES = ("run", "build", "load", "collect", "peak", "bytes", "rounds")
ONCE = ("load", "build")  # measured once for all trials of a case
FEWEST_FOR_QUARTILES = 5  # trials needed for an interquartile range; with fewer, the full range counts


def compare(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]], least: float) -> list[dict[str, Any]]:
    """Records of how two runs differ, one for each figure of each common case: both medians, their ratio, the noise
    relative to the first, and the verdict. A relative change below `least` has no verdict."""
    one, other = (pd.DataFrame([row for row in rows if row["kind"] == "trial"]) for rows in (before, after))
    if one.empty or other.empty:
        raise OptionError("one of the two runs has no trials, so there is nothing to compare")
    keys = ["suite", *AXES]
    groups = dict(list(other.groupby(keys, sort=False)))
    rows = []
    for key, group in one.groupby(keys, sort=False):
        if key in groups:
            labels = dict(zip(keys, key, strict=True))
            rows += [{**labels, **row} for row in _figures(group, groups[key], least)]
    if not rows:
        raise OptionError("the two runs have no case in common; compare runs of the same suite")
    return rows


def count_unmatched(*runs: Sequence[dict[str, Any]]) -> int:
    """The number of cases that only one of two runs has."""
    one, other = (
        {tuple(str(row.get(axis)) for axis in ("suite", *AXES)) for row in run if row["kind"] == "trial"}
        for run in runs
    )
    return len(one ^ other)


def _figures(one: pd.DataFrame, other: pd.DataFrame, least: float) -> list[dict[str, Any]]:
    """The records of one case, from its trials in both runs."""
    changes = []
    for figure in FIGURES:
        if figure in one and figure in other and one[figure].notna().all() and other[figure].notna().all():
            (a, low_a, high_a), (b, low_b, high_b) = (_median(rows[figure].to_numpy(float)) for rows in (one, other))
            once = TITLES[figure][1] == "s" and (figure in ONCE or min(len(one), len(other)) == 1)
            noise = None if once else max(high_a - a, high_b - b) / a if a else 0.0
            ratio = b / a if a else (1.0 if b == a else np.inf)
            slower = not once and low_b > high_a and ratio > 1 + least
            faster = not once and high_b < low_a and ratio < 1 - least
            verdict = "slower" if slower else "faster" if faster else ""
            medians = {"figure": figure, "before": a, "after": b}
            changes.append({**medians, "ratio": ratio, "noise": noise, "verdict": verdict})
    return changes


def _median(values: np.ndarray) -> tuple[float, float, float]:
    """The median, and the ends of its notch."""
    middle = float(np.median(values))
    low, high = np.quantile(values, (0.25, 0.75) if len(values) >= FEWEST_FOR_QUARTILES else (0, 1))
    notch = 1.57 * float(high - low) / np.sqrt(len(values))
    return middle, middle - notch, middle + notch


def comparison_cells(rows: Sequence[dict[str, Any]], *, everything: bool) -> list[list[str]]:
    """Cells of a table with a row for each change, worst first; with `everything`, also for unchanged figures."""
    frame = pd.DataFrame(rows)
    axes = [axis for axis in AXES if axis == "operation" or frame[axis].nunique() > 1]
    cells = [[*axes, "figure", "before", "after", "ratio", "noise", ""]]
    for row in sorted(rows, key=lambda row: -row["ratio"]):
        if everything or row["verdict"]:
            title, unit = TITLES[row["figure"]]
            numbers = [shown(row["before"], unit), shown(row["after"], unit), f"{row['ratio']:.2f}"]
            words = {} if unit == "s" else {"slower": "more", "faster": "less"}
            verdict = words.get(row["verdict"], row["verdict"])
            noise = "unknown" if row["noise"] is None else f"{100 * row['noise']:.0f} %"
            cells.append([*(str(row[axis]) for axis in axes), title, *numbers, noise, verdict])
    return cells
