"""What happened in a run, round by round; in all, by partition; and beside another run."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import pandas as pd

SUMS = ("steps", "fired", "senders", "edges", "messages", "bytes", "exchanges", "skipped")
COLUMNS = (
    "superstep",
    "partition",
    "fired",
    "edges",
    "messages",
    "bytes",
    "skipped",
    "direction",
    "device",
    "busy",
    "idle",
)


def row_at_once(
    fired: int,
    edges: int,
    busy: float,
    *,
    superstep: int = 1,
    partition: int = 0,
    direction: str = "local",
    device: str = "cpu",
) -> dict[str, Any]:
    """The row of a superstep that is one call, in which nobody sends or waits."""
    values = superstep, partition, fired, edges, 0, 0, False, direction, device, busy, 0.0
    return dict(zip(COLUMNS, values, strict=True))


class RunReport(pd.DataFrame):
    """A row a superstep and partition; `options` says what was chosen for the run.

    fired: how many vertices took in messages; senders: how many of these had something to send then, where only news
    is sent. device: what ran the partition's kernels. exchanges: how often the workers waited for each other's mail in
    a superstep; skipped: not once. busy, idle: seconds. Where partitions have no common rounds, a row is a local round,
    and `wait` are the seconds in which there was something to do that had to wait: for another partition of the worker,
    or until mail was received. On GPUs, `streamed` are bytes of edges that found no room there, and `direct` those of
    messages that went to another GPU without a copy here.
    """

    _metadata: ClassVar[list[str]] = ["options"]
    options: dict[str, Any]

    def __repr__(self) -> str:
        return f"{pd.DataFrame(self)}\n\n{self._chosen}"

    def _repr_html_(self) -> str:
        return f"{pd.DataFrame(self)._repr_html_()}<pre>{escape(self._chosen)}</pre>"

    @property
    def _chosen(self) -> str:
        return "\n".join(f"{name:>22}  {value}" for name, value in getattr(self, "options", {}).items())

    @property
    def partitions(self) -> pd.DataFrame:
        """A row a partition: how many rounds it took, what it did in all, and where its time went."""
        rows = pd.DataFrame(self).groupby("partition")
        sums = [name for name in (*SUMS, "busy", "wait", "idle") if name in self]
        return rows.size().to_frame("rounds").join(rows[sums].sum())

    def against(self, other: RunReport) -> pd.DataFrame:
        """This run beside another, all partitions together, and the ratio of the two; the work items are the edges."""
        runs = {}
        for name, report in (("this", self), ("other", other)):
            parts = report.partitions
            runs[name] = {"fewest rounds": parts["rounds"].min(), "most rounds": parts["rounds"].max()} | dict(
                parts.sum()
            )
        frame = pd.DataFrame(runs, [what for what in runs["this"] if what != "rounds" and what in runs["other"]])
        return frame.assign(ratio=frame["this"] / frame["other"])
