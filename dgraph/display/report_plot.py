"""The plot of a report: what happened in each superstep, or when each partition worked and waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_choice
from dgraph.display.plot_style import BUSY, COLOURS, IDLE, WAIT, axes_for
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_count

if TYPE_CHECKING:
    from dgraph.runs.run_report import RunReport

SUPERSTEP, PARTITION = AXES = ("superstep", "partition")
COUNTS = ("fired", "edges", "bytes")
SECONDS = {"busy": BUSY, "wait": WAIT, "idle": IDLE}
DOTS = 60  # supersteps, each of which gets a dot


def plot_report(report: RunReport, by: str, ax: Any) -> Any:
    """Draw a report; see `RunReport.plot`."""
    check_choice("by", by, AXES)
    rows = pd.DataFrame(report)
    if needed := [name for name in ("superstep", "partition", "busy", "idle", *COUNTS) if name not in rows]:
        raise OptionError(f"the report has no column {needed[0]!r} any more; plot the report as the run returned it")
    if rows.empty:
        raise OptionError("the report has no rows: nothing happened in the run, so there is nothing to plot")
    step = "local round" if "milliseconds to find the end" in getattr(report, "options", {}) else "superstep"
    engine = getattr(report, "options", {}).get("engine", "")
    with axes_for(ax, 7.0) as drawn:
        (_draw_supersteps if by == SUPERSTEP else _draw_partitions)(drawn, rows, step)
        drawn.set_title(f"{engine and f'{engine}: '}{format_count(int(rows['superstep'].nunique()), step)}")
    return drawn


def _draw_supersteps(ax: Any, rows: pd.DataFrame, step: str) -> None:
    """Counts as lines over seconds as bars, which have an axis of their own."""
    steps = rows.groupby("superstep")
    sums, marker = steps[list(COUNTS)].sum(), "o" if steps.ngroups <= DOTS else None
    spent = rows[[name for name in SECONDS if name in rows]].sum(axis=1).groupby(rows["superstep"]).max()
    seconds = ax.twinx()
    seconds.bar(spent.index, spent, color=IDLE, width=0.9)
    seconds.set_ylabel("seconds (bars)")
    seconds.grid(visible=False)
    seconds.spines["right"].set_visible(True)
    seconds.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)  # or it would cover the bars
    for name, colour in zip(COUNTS, COLOURS, strict=False):
        if sums[name].any():
            ax.plot(sums.index, sums[name], color=colour, marker=marker, label=name)
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(0, 2 * max(1, sums.max().max()))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel=step, ylabel="vertices fired, edges read, bytes sent")
    ax.legend(loc="lower left", frameon=True, framealpha=0.85, edgecolor="none")


def _draw_partitions(ax: Any, rows: pd.DataFrame, _: str) -> None:
    """For each partition, the seconds of its rounds one after the other."""
    parts = sorted(rows["partition"].unique())
    for part in parts:
        begin = 0.0
        spent = rows[rows["partition"] == part].sort_values("superstep")
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in SECONDS if name in rows}
        for row in spent[list(spans)].itertuples(index=False):
            for name, seconds in zip(spans, row, strict=True):
                if seconds > 0:
                    spans[name].append((begin, seconds))
                begin += max(seconds, 0.0)
        for name, bars in spans.items():
            ax.broken_barh(bars, (part - 0.4, 0.8), color=SECONDS[name], label=name if part == parts[0] else None)
    ax.set_yticks(np.array(parts))
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set(xlabel="seconds", ylabel="partition")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
