"""Plots the time of a request by the number of its blocks: as measured, as the cost model predicts, and its choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dgraph.bench.plots.style import Drawing
from dgraph.display.plot_style import COLOURS
from dgraph.pipeline.block_size import Cost, best_blocks

READS = "blocks"


def draw(rows: Any, path: str | Path | None = None, *, title: str = "", cost: Cost, edges: int) -> str:
    """Draw measured seconds and the model's curve; returns the SVG, and writes a PNG to `path` if there is one.

    `rows` have the columns `blocks` and `seconds` for a request of `edges` edges; `cost` holds the coefficients.
    """
    frame = pd.DataFrame(rows).sort_values("blocks")
    most = max(2, int(frame["blocks"].max()))
    curve = np.unique(np.geomspace(1, most, 200).round().astype(int)).tolist()
    chosen = best_blocks(cost, edges)
    with Drawing(title or "seconds by number of blocks: the model's choice is near the least") as drawing:
        (axes,) = drawing.axes
        axes.plot(curve, [cost.time(edges, blocks) for blocks in curve], color=COLOURS[1], label="the model")
        axes.plot(frame["blocks"], frame["seconds"], "o", color=COLOURS[0], label="measured")
        axes.plot([chosen], [cost.time(edges, chosen)], "D", color=COLOURS[5], label=f"chosen: {chosen}")
        axes.set(xlabel="blocks (s)", ylabel="seconds", xscale="log", ylim=(0, None))
        drawing.legend(axes)
        return drawing.save(path)
