"""The partitions of a graph: Dask futures of partitions on the workers, or partitions in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, overload

from dgraph.building.build_report import PartitionReport
from dgraph.building.edge_room import scratch_beyond_memory
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.cluster.scheduler import places_of
from dgraph.cluster.workers import Workers
from dgraph.partition.partition import Partition, report_row
from dgraph.partition.scratch import ScratchFolder
from dgraph.phrases.phrases import format_count


@dataclass(frozen=True, eq=False)
class Partitions(NotPicklable, Sequence):
    """`held[p]` is partition p. `kept` maps each order that all of them have to its columns."""

    held: list[Any]
    workers: Workers
    kept: Mapping[str, tuple[str, ...]]
    policy: str
    num_vertices: int
    seconds: dict[str, float]

    def __len__(self) -> int:
        return len(self.held)

    @overload
    def __getitem__(self, part: int) -> Any: ...
    @overload
    def __getitem__(self, part: slice) -> list[Any]: ...
    def __getitem__(self, part):
        return self.held[part]

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders in which partitions have their edges: "out", "incoming" or both."""
        return tuple(self.kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that every order has."""
        sides = list(self.kept.values())
        return tuple(name for name in dict.fromkeys(chain(*sides)) if all(name in names for names in sides))

    def has_reverse(self, order: str, columns: Sequence[str]) -> bool:
        """Whether an order with these columns can be made by transposing the other one."""
        return any(set(columns) <= set(names) for other, names in self.kept.items() if other != order)

    def scratch_beyond_memory(self, columns: Sequence[str]) -> ScratchFolder | None:
        """Where a second table of all edges goes if this process has no room for it."""
        if self.workers.client is not None or len(self) > 1:
            return None
        (partition,) = self.held
        table = partition.out or partition.incoming
        width = sum(table.columns[name].itemsize for name in columns)
        return scratch_beyond_memory(table.num_edges, partition.num_local, width)

    def transposed(self, order: str, columns: Sequence[str], **how: Any) -> Partitions:
        """The partitions with a second order, made by transposing the first (`how`: see `Partition.with_order`)."""
        threads = self.workers.threads_each(len(self))
        tasks = [
            self.workers.call(Partition.with_order, one, order, columns, workers=threads, **how) for one in self.held
        ]
        names = next(iter(self.kept.values())) if how.get("symmetric") else tuple(columns)
        return self._changed(self.workers.hold(tasks), {**self.kept, order: names})

    def without(self, orders: Iterable[str]) -> Partitions:
        """The partitions without some orders; if none is left, there are no partitions."""
        kept = {order: names for order, names in self.kept.items() if order not in orders}
        if len(kept) == len(self.kept):
            return self
        arguments = [(one, tuple(orders)) for one in self.held if kept]
        return self._changed(self.workers.each(Partition.without, arguments), kept)

    def with_orders_of(self, earlier: Partitions) -> Partitions:
        """The partitions, completed by the orders that an earlier build of them has."""
        if not earlier:
            return self
        pairs = list(zip(self.held, earlier.held, strict=True))
        return self._changed(self.workers.each(Partition.with_orders_of, pairs), {**earlier.kept, **self.kept})

    def _changed(self, held: list[Any], kept: Mapping[str, tuple[str, ...]]) -> Partitions:
        return replace(self, held=self.workers.wait(held), kept=kept)

    @cached_property
    def report(self) -> PartitionReport:
        """The sizes and balance of the partitions, and the build times.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0]}, parts=2)
        >>> G.partitions.report.balance
        {'edges': 1.0, 'vertices': 1.0}
        """
        rows = self.workers.bring(self.workers.each(report_row, [(one,) for one in self.held]))
        return PartitionReport(rows, self.policy, self.num_vertices, dict(self.seconds), self.workers.spilled())

    def plot(self, path: Any = None) -> Any:
        """A figure of the report (see `PartitionReport.plot`)."""
        return self.report.plot(path)

    @property
    def all_present(self) -> bool:
        """Whether every partition is on some worker now."""
        return self.workers.client is None or all(places_of(self.workers.client, self.held))

    def _client(self) -> Any:
        return self.workers.client

    def __repr__(self) -> str:
        where = "this process" if self.workers.client is None else "the cluster"
        ways = {"out": "by source", "incoming": "by destination"}
        same = len(set(self.kept.values())) == 1
        sides = [ways[order] + ("" if same else _with(names)) for order, names in self.kept.items()]
        edges = " and ".join(sides) + (_with(self.columns) if same else "")
        return f"<{format_count(len(self), 'partition')} by {self.policy} in {where}: edges {edges}>"


def _with(names: Sequence[str]) -> str:
    return f" with {', '.join(names)}" if names else ""
