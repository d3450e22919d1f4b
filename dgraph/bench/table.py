"""Tables of cases and targets as cells of text, for the terminal and the HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dgraph.bench.measurements import TITLES
from dgraph.bench.suite import AXES, Suite

FIGURES = ("load", "build", "run", "rounds", "bytes", "peak", "replication", "evps", "teps")
SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: Any, unit: str = "") -> str:
    """A number with three significant digits and its unit; "" for None and NaN."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return value
    if unit == "%":
        return f"{100 * value:.0f} %"
    if unit == "s":
        return f"{_digits(1000 * value)} ms" if value < 1 else f"{_digits(value)} s"
    if not unit and abs(value) < 1e6:
        return _digits(value)
    for scale, letter in SCALES:
        if abs(value) >= scale:
            return f"{_digits(value / scale)} {letter}{unit}"
    return f"{_digits(value)} {unit}".strip()


def _digits(value: float) -> str:
    """A number with three significant digits, or all digits before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def case_cells(suite: Suite, trials: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Cells of a table with a row of titles and a row for each case: the medians of its trials, and the range of
    `run`."""
    frame = pd.DataFrame(trials)
    targeted = [target.figure for target in suite.targets if target.figure != "elapsed"]
    figures = [name for name in dict.fromkeys([*FIGURES, *targeted]) if name in frame and frame[name].notna().any()]
    if suite.collect:
        figures.insert(figures.index("run") + 1, "collect")
    varied = [axis for axis in AXES if frame[axis].nunique() > 1 and axis not in suite.replaced]
    axes = varied if "operation" in varied else ["operation", *varied]
    several = frame["trial"].nunique() > 1
    head = [*axes, *(TITLES.get(name, (name, ""))[0] for name in figures)]
    if several:
        head.insert(head.index("run") + 1, "least to most")
    rows = [head]
    for _, group in frame.groupby(list(AXES), sort=False):
        cells = [str(group[axis].iloc[0]) for axis in axes]
        for name in figures:
            unit = TITLES.get(name, ("", ""))[1]
            cells.append(shown(group[name].dropna().median(), unit))
            if name == "run" and several:
                cells.append(f"{shown(group[name].min(), unit)} to {shown(group[name].max(), unit)}")
        rows.append(cells)
    return rows


def target_cells(outcomes: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Cells of a table with a row of titles and a row for each target: the paper's figure and ours."""
    rows = [["what", "in the paper", "here", "target", ""]]
    for one in outcomes:
        unit = "" if one["ratio"] else TITLES.get(one["figure"], ("", ""))[1]
        verdict = {None: "", True: "met", False: "MISSED"}[one["met"]]
        rows.append([one["what"], one["paper"], shown(one["ours"], unit), limit_text(one, unit), verdict])
    if not any(row[1] for row in rows[1:]):
        return [row[:1] + row[2:] for row in rows]
    return rows


def limit_text(outcome: dict[str, Any], unit: str) -> str:
    """The limits of a target as text."""
    low, high = (shown(outcome[name], unit) for name in ("at_least", "at_most"))
    return " and ".join([*([f"at least {low}"] if low else []), *([f"at most {high}"] if high else [])])


def outcome_line(outcome: dict[str, Any]) -> str:
    """The outcome of a target as one line of text."""
    (what, *others, here, target, verdict) = target_cells([outcome])[1]
    paper = "".join(others)
    aside = [target and f"{target}: {verdict}", paper and f"in the paper: {paper}"]
    return f"{what}: {here}" + "".join(f" ({one})" for one in aside if one)


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Cells as lines of text in columns: words are aligned left, numbers right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = [not any(cell[:1].isdigit() for cell in column[1:]) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, words, strict=True)
        lines.append("  ".join(cell.ljust(w) if left else cell.rjust(w) for cell, w, left in cells).rstrip())
    return "\n".join(lines)
