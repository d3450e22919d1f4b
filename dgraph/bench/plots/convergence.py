"""Plots the distance from the fixed point by epochs, with a line for each setting (GraphABCD's figure 4). An epoch is
as much work as reading every edge once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.cases import names_of
from dgraph.bench.plots.style import Drawing, line_of

READS = "report"


def draw(
    rows: Any,
    path: str | Path | None = None,
    *,
    title: str = "",
    value: str = "residual",
    by: str = "setting",
    across: str = "operation",
    scale: str = "log",
) -> str:
    """Draw lines over epochs; returns the SVG, and writes a PNG to `path` if there is one.

    `value` is the column drawn over `epochs`; each value of `by` has a line, and each value of `across` has axes.
    """
    frame = pd.DataFrame(rows)
    frame = frame[frame[value].notna() & frame["epochs"].notna()]
    panels = list(dict.fromkeys(frame[across])) or [""]
    frame = frame.assign(name=names_of(frame, [across], by))
    look = line_of(frame["name"])
    with Drawing(title or f"{value} by epochs", across=len(panels), width=4.0 * len(panels)) as drawing:
        for axes, panel in zip(drawing.axes, panels, strict=True):
            of_panel = frame[frame[across] == panel]
            for name in dict.fromkeys(of_panel["name"]):
                line = of_panel[of_panel["name"] == name].groupby("epochs")[value].median()
                axes.plot(line.index, line, label=str(name), **look[name])
            axes.set(title=str(panel), xlabel="epochs", ylabel=value, yscale=scale)
        drawing.legend(drawing.axes[-1])
        return drawing.save(path)
