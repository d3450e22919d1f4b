"""Bars that show a figure of every case: the median of its trials, with a thin line from quartile to quartile, and a
mark for the slowest trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.cases import names_of
from dgraph.bench.plots.style import Drawing, line_of
from dgraph.bench.table import shown

READS = "trials"
HEIGHT = 0.24  # the height of a bar in inches


def draw(
    rows: Any,
    path: str | Path | None = None,
    *,
    title: str = "",
    value: str = "run",
    unit: str = "seconds",
    group: str = "operation",
    by: str = "setting",
    scale: str = "linear",
) -> str:
    """Draw a bar for each case; returns the SVG, and writes a PNG to `path` if there is one.

    `value` is the column to draw, and `unit` the label of its axis. Bars of the same `group` stand together. Colours
    follow `by` and any other axes on which cases differ, so that no bar combines two cases.
    """
    frame = pd.DataFrame(rows)
    frame = frame[frame[value].notna()]
    labels = names_of(frame, [group], by)
    groups, names = list(dict.fromkeys(frame[group])), list(dict.fromkeys(labels))
    look = line_of(names)
    with Drawing(title or f"{value} by {group}", height=1.1 + HEIGHT * len(groups) * (len(names) + 0.6)) as drawing:
        (axes,) = drawing.axes
        thick = 1 / (len(names) + 0.6)
        for i, name in enumerate(names):
            trials = frame[labels == name].groupby(group, sort=False)[value]
            found = trials.agg(["median", "max"]).assign(low=trials.quantile(0.25), high=trials.quantile(0.75))
            slowest = trials.max() if unit == "seconds" else trials.min()
            places = [groups.index(one) + (i - (len(names) - 1) / 2) * thick for one in found.index]
            spread = [(found["median"] - found["low"]).tolist(), (found["high"] - found["median"]).tolist()]
            style = {"color": look[name]["color"], "error_kw": {"elinewidth": 1, "ecolor": "#555555"}}
            axes.barh(places, found["median"], 0.9 * thick, xerr=spread, label=str(name), **style)
            axes.plot(slowest.loc[found.index], places, linestyle="none", marker="x", markersize=4, color="#555555")
            for place, middle, most in zip(places, found["median"], found["max"], strict=True):
                text = shown(middle, "s" if unit == "seconds" else "")
                axes.annotate(text, (most, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(groups)), [str(one) for one in groups])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(xlabel=unit, xscale=scale)
        if frame[value].max() >= 1e4:
            axes.xaxis.set_major_formatter(lambda number, _: shown(number))
        axes.margins(x=0.12)
        if len(names) > 1:
            drawing.legend(axes)
        return drawing.save(path)
