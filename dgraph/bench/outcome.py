"""The output folder of a suite: records, supersteps of the last trials, PNG files, and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.cases import rows_of
from dgraph.bench.drawing import plot
from dgraph.bench.page import page
from dgraph.bench.suite import Suite

REPORT, SUPERSTEPS = "report.html", "supersteps.csv"


def write(
    folder: Path,
    suite: Suite,
    heading: Mapping[str, Any],
    trials: Sequence[dict[str, Any]],
    outcomes: Sequence[dict[str, Any]],
    reports: Sequence[pd.DataFrame],
) -> str:
    """Write the supersteps, the plots and the HTML report to the folder, which already has the records. Returns the
    reason if there are no plots, otherwise ""."""
    supersteps = pd.concat(reports, ignore_index=True)
    supersteps.to_csv(folder / SUPERSTEPS, index=False)
    pictures, note = draw(folder, suite, pd.DataFrame(trials), supersteps)
    (folder / REPORT).write_text(page(suite, heading, trials, outcomes, pictures, note), encoding="utf-8")
    return note


def draw(folder: Path, suite: Suite, trials: pd.DataFrame, supersteps: pd.DataFrame) -> tuple[list[str], str]:
    """Draw the suite's plots to PNG files in the folder. Returns them as SVG, and a note on what to install if
    matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return [], "No plots were drawn, because matplotlib is not installed: pip install 'dask-dgraph[bench]'"
    pictures = []
    for i, spec in enumerate(suite.plots, 1):
        function, reads = plot(spec.plot)
        rows = rows_of(trials if reads == "trials" else supersteps, spec.where)
        if len(rows):
            pictures.append(function(rows, folder / f"{i}-{spec.plot}.png", **spec.options))
    return pictures, ""
