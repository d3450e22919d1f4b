"""A figure against another: scaling by workers, time by size. The median of the trials, and all of them as points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.plots.style import FAINT, Drawing, colour_of

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
    ideal: bool = False,
) -> str:
    """value: the column drawn over the column `x`, a line for each `by`; ideal: also half the time for twice `x`."""
    frame = pd.DataFrame(rows)
    frame = frame[frame[value].notna() & frame[x].notna()]
    names = list(dict.fromkeys(frame[by]))
    colours = colour_of(names)
    with Drawing(title or f"{value} by {x}", height=3.6) as drawing:
        (axes,) = drawing.axes
        for name in names:
            of_name = frame[frame[by] == name]
            middle = of_name.groupby(x)[value].median()
            if ideal:
                best = middle.iloc[0] * middle.index[0] / middle.index.to_numpy(float)
                axes.plot(middle.index, best, color=FAINT, linestyle="--")
            axes.plot(of_name[x], of_name[value], ".", color=colours[name], alpha=0.35)
            axes.plot(middle.index, middle, "o-", color=colours[name], label=str(name))
        ticks = sorted(set(frame[x]))
        axes.set(xlabel=x, ylabel=unit, xscale=scale, yscale=scale)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        drawing.legend(axes)
        return drawing.save(path)
