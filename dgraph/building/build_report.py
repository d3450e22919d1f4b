"""The report on partitions: their sizes, and what building them cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pandas as pd

from dgraph.native import threads

Listener = Callable[[str, float, int], Any]  # gets a step, the share of it that is done, and the edges read in it
STEPS = {
    "number": "numbering ids",
    "place": "placing vertices",
    "partition": "sorting edges",
    "transpose": "sorting edges by their other end",
    "open": "opening the graph",
    "merge": "merging changes",
}


class Stopwatch:
    """Seconds spent in each named step, and how far the present one has come, for whoever listens."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.listener: Listener | None = None
        self._what, self._pieces, self._done, self._edges = "", 0, 0, 0
        self._counting = Lock()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        self.expect(STEPS[step], 0)
        try:
            with nullcontext() if self.listener is None else threads.looking(self.tell):
                yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    @contextmanager
    def told_to(self, listener: Listener | None) -> Iterator[None]:
        """Within the block, tell how far building has come."""
        self.listener, before = listener, self.listener
        try:
            yield
        finally:
            self.listener = before

    def expect(self, what: str, pieces: int) -> None:
        """Say what the present step does, and how many pieces it reads."""
        self._what, self._pieces, self._done, self._edges = what, pieces, 0, 0
        self.tell()

    def read(self, edges: int) -> None:
        """Called by any thread that has read a piece with so many edges."""
        with self._counting:
            self._done, self._edges = self._done + 1, self._edges + edges

    def reach(self, pieces: int, edges: int) -> None:
        """Tell that so many pieces have been read in all, with so many edges."""
        self._done, self._edges = pieces, edges
        self.tell()

    def tell(self) -> None:
        if (listener := self.listener) is not None:
            listener(self._what, self._done / max(self._pieces, 1), self._edges)


@dataclass(frozen=True, eq=False)
class PartitionReport:
    """The sizes and balance of a graph's partitions; its `repr` is a readable table.

    `frame` has a row per partition: vertices, proxies, edges, bytes, `reduced` and `broadcast` (the proxies that take
    part in a reduce and in a broadcast), and `boundary` (the owned vertices that other partitions copy).

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0]}, parts=2)
    >>> G.partitions.report.frame["edges"].tolist()
    [2, 2]
    """

    rows: list[dict[str, Any]]
    policy: str
    num_vertices: int
    seconds: dict[str, float]  # per build step
    spilled: int  # bytes that workers have moved from memory to disk

    @property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows).set_index("partition")

    @property
    def replication(self) -> float:
        """The average number of copies of a vertex, including its master."""
        local = sum(row["vertices"] + row["proxies"] for row in self.rows)
        return local / self.num_vertices if self.num_vertices else 1.0

    @property
    def balance(self) -> dict[str, float]:
        """The size of the largest partition divided by the mean, by edges and by vertices."""
        sizes = self.frame[["edges", "vertices"]]
        return (sizes.max() / sizes.mean()).fillna(1.0).to_dict()

    @property
    def summary(self) -> dict[str, Any]:
        frame = self.frame
        return {
            "policy": self.policy,
            "partitions": len(self.rows),
            "vertices": self.num_vertices,
            "edges": int(frame["edges"].sum()),
            "bytes": int(frame["bytes"].sum()),
            "replication": self.replication,
            "edge balance": self.balance["edges"],
            "vertex balance": self.balance["vertices"],
            "boundary": int(frame["boundary"].sum()),
            "spilled": self.spilled,
            **{f"seconds to {step}": seconds for step, seconds in self.seconds.items()},
        }

    def __repr__(self) -> str:
        lines = [f"{name:>22}  {_shown(value)}" for name, value in self.summary.items()]
        if self.spilled:
            lines.append("                        workers ran out of memory and spilled to disk; expect slower rounds")
        return "\n".join([self.frame.to_string(), "", *lines])

    def plot(self, path: Any = None) -> Any:
        """A Matplotlib figure with bars of the vertices, proxies and edges of each partition and of the build steps;
        saved to `path` if given."""
        from dgraph.display.plot_style import new_figure

        figure = new_figure(11, 3.4)
        vertices, edges, steps = figure.subplots(1, 3)
        frame = self.frame
        vertices.bar(frame.index, frame["vertices"], label="owned")
        vertices.bar(frame.index, frame["proxies"], bottom=frame["vertices"], label="proxies")
        vertices.set(title=f"vertices (replication {self.replication:.2f})", xlabel="partition")
        vertices.legend()
        edges.bar(frame.index, frame["edges"], color="tab:green")
        edges.axhline(frame["edges"].mean(), color="black", linewidth=1, linestyle=":", label="mean")
        edges.set(title=f"edges (largest / mean {self.balance['edges']:.2f})", xlabel="partition")
        edges.legend()
        steps.barh(list(self.seconds), list(self.seconds.values()), color="tab:gray")
        steps.set(title="build steps", xlabel="seconds")
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else str(value)
