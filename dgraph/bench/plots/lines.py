"""Plots one figure against another, such as time by workers or epochs by size: the median of the trials as a line, and
all trials as points. A setting without an `x` is drawn as a horizontal reference line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.cases import names_of
from dgraph.bench.plots.style import Drawing, line_of
from dgraph.display.plot_style import FAINT, INK

READS = "trials"


def draw(
    rows: Any,
    path: str | Path | None = None,
    *,
    title: str = "",
    x: str = "workers",
    value: str = "run",
    unit: str = "seconds",
    by: str = "operation",
    scale: str = "log",
    across: str = "",
    ideal: bool = False,
) -> str:
    """Draw lines; returns the SVG, and writes a PNG to `path` if there is one.

    `value` is the column drawn over the column `x`, with a line for each value of `by` and axes for each value of
    `across`. With `ideal`, also draw ideal scaling: half the time for twice `x`.
    """
    frame = pd.DataFrame(rows)
    frame = frame[frame[value].notna()].assign(panel=lambda found: found[across] if across else "")
    panels = list(dict.fromkeys(frame["panel"]))
    frame, levels = frame[frame[x].notna()], frame[frame[x].isna()]
    frame = frame.assign(name=names_of(frame, ["panel", x, *([across] if across else [])], by))
    names = list(dict.fromkeys(frame["name"]))
    look, ticks = line_of(names), sorted(set(frame[x]))
    size: dict[str, Any] = {"width": 4.0 * max(2, len(panels)), "height": 3.6}
    with Drawing(title or f"{value} by {x}", across=len(panels), **size) as drawing:
        for axes, panel in zip(drawing.axes, panels, strict=True):
            for name in names:
                of_name = frame[(frame["name"] == name) & (frame["panel"] == panel)]
                middle = of_name.groupby(x)[value].median()
                if ideal:
                    best = middle.iloc[0] * middle.index[0] / middle.index.to_numpy(float)
                    axes.plot(middle.index, best, color=FAINT, linestyle="--")
                axes.plot(of_name[x], of_name[value], ".", color=look[name]["color"], alpha=0.35)
                axes.plot(middle.index, middle, marker="o", label=str(name), **look[name])
            for name, level in levels[levels["panel"] == panel].groupby("setting")[value].median().items():
                axes.axhline(level, color=INK, linestyle="--", linewidth=1, label=str(name))
            axes.set(title=str(panel), xlabel=x.replace("_", " "), ylabel=unit, xscale=scale, yscale=scale)
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
            if scale == "log":
                axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
            axes.yaxis.set_major_formatter("{x:g}")
        drawing.legend(drawing.axes[-1])
        return drawing.save(path)
