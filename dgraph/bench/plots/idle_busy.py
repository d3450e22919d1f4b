"""Plots busy and idle seconds of each partition, with engines side by side, as in the figures of Gluon-Async."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.cases import names_of
from dgraph.bench.plots.style import Drawing
from dgraph.display.plot_style import BUSY, IDLE, WAIT

READS = "report"
PARTS = {"busy": BUSY, "wait": WAIT, "idle": IDLE}
HEIGHT = 0.26  # the height of a bar in inches


def draw(
    rows: Any, path: str | Path | None = None, *, title: str = "", group: str = "operation", by: str = "engine"
) -> str:
    """Draw a panel for each `group` with a bar for each partition, grouped by `by`; several trials are averaged.
    Returns the SVG, and writes a PNG to `path` if there is one."""
    frame = pd.DataFrame(rows).assign(name=lambda found: names_of(found, [group], by))
    seconds = frame.reindex(columns=[*frame.columns, *(kind for kind in PARTS if kind not in frame)]).fillna(0.0)
    seconds = seconds.groupby([group, "name", "partition"], sort=False)[list(PARTS)].sum()
    if "trial" in frame:
        seconds = seconds.div(frame.groupby([group, "name", "partition"])["trial"].nunique(), axis=0)
    groups, names = list(dict.fromkeys(frame[group])), list(dict.fromkeys(frame["name"]))
    last = frame.groupby("name", sort=False)["partition"].max()
    room = last + 1.8  # the distance from the first bar of one run to the first bar of the next
    begin = room.cumsum() - room
    size: dict[str, Any] = {"width": 2 + 3 * len(groups), "height": 1 + HEIGHT * float(room.sum())}
    with Drawing(title or "Busy and idle seconds of each partition", across=len(groups), **size) as drawing:
        for axes, one in zip(drawing.axes, groups, strict=True):
            runs = [name for name in names if (one, name) in seconds.index]
            for name in runs:
                of_run, left = seconds.loc[one, name], 0.0
                places = begin[name] + of_run.index.to_numpy(float)
                for kind, colour in PARTS.items():
                    if seconds[kind].any():
                        label = kind if name == runs[0] else None
                        axes.barh(places, of_run[kind], 0.85, left=left, color=colour, label=label)
                    left = left + of_run[kind].to_numpy()
            bars = [(name, part) for name in runs for part in sorted(seconds.loc[one, name].index)]
            axes.set_yticks([begin[name] + part for name, part in bars], [str(part) for _, part in bars])
            middles = [begin[name] + last[name] / 2 for name in runs]
            axes.set_yticks(middles, runs, minor=True, fontweight="bold")
            axes.tick_params(axis="y", which="both", length=0)
            axes.tick_params(axis="y", which="minor", pad=22)  # left of the partition numbers
            axes.invert_yaxis()
            axes.grid(visible=False, axis="y", which="both")
            axes.set(title=str(one), xlabel="seconds")
        drawing.legend(drawing.axes[-1])
        return drawing.save(path)
