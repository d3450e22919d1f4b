"""The partitions of a graph where they are: Dask futures on the workers, or partitions in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, overload

from dgraph.building.build_report import PartitionReport
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.cluster.workers import Workers, any_lost
from dgraph.partition.partition import Partition, stats
from dgraph.phrases import format_count


@dataclass(frozen=True, eq=False)
class Partitions(NotPicklable, Sequence):
    """`held[p]` is partition p. `kept` says which orders all of them have, and of each order the columns."""

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
        """The columns that edges have in every order."""
        sides = list(self.kept.values())
        return tuple(name for name in _all(chain(*sides)) if all(name in names for names in sides))

    def lacking(self, orders: Iterable[str], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Which of these orders are not there with these columns, and the columns that each of them shall have. Where
        neither can be made of the other, both shall have the same."""
        wanted = {order: _all([*self.kept.get(order, ()), *columns]) for order in orders}
        found = {order: names for order, names in wanted.items() if self.kept.get(order) != names}
        return dict.fromkeys(found, _all(chain(*found.values()))) if len(found) > 1 else found

    def has_reverse(self, order: str, columns: Sequence[str]) -> bool:
        """Whether an order with these columns can be had from the other one."""
        return any(set(columns) <= set(names) for other, names in self.kept.items() if other != order)

    def transposed(self, order: str, columns: Sequence[str], **how: Any) -> Partitions:
        """The partitions with an order that is the other one, turned round (`how`: see `Partition.with_order`)."""
        threads = self.workers.threads_each(len(self))
        tasks = [
            self.workers.call(Partition.with_order, one, order, columns, workers=threads, **how) for one in self.held
        ]
        names = next(iter(self.kept.values())) if how.get("symmetric") else tuple(columns)
        return self._changed(self.workers.hold(tasks), {**self.kept, order: names})

    def without(self, orders: Iterable[str]) -> Partitions:
        """The partitions without some orders; without any, there are none."""
        kept = {order: names for order, names in self.kept.items() if order not in orders}
        if len(kept) == len(self.kept):
            return self
        given = [(one, tuple(orders)) for one in self.held if kept]
        return self._changed(self.workers.each(Partition.without, given), kept)

    def beside(self, before: Partitions) -> Partitions:
        """The partitions with the orders, too, that the same ones had before."""
        if not before:
            return self
        pairs = list(zip(self.held, before.held, strict=True))
        return self._changed(self.workers.each(Partition.beside, pairs), {**before.kept, **self.kept})

    def _changed(self, held: list[Any], kept: Mapping[str, tuple[str, ...]]) -> Partitions:
        return replace(self, held=self.workers.wait(held), kept=kept)

    @cached_property
    def report(self) -> PartitionReport:
        """Sizes, balance and build times."""
        rows = self.workers.bring(self.workers.each(stats, [(one,) for one in self.held]))
        return PartitionReport(rows, self.policy, self.num_vertices, dict(self.seconds), self.workers.spilled())

    def plot(self, path: Any = None) -> Any:
        """A figure of the report; see `PartitionReport.plot`."""
        return self.report.plot(path)

    @property
    def lost(self) -> bool:
        """Whether a partition went away with its worker and its source, and must be built again."""
        return any_lost(self.held)

    @property
    def is_complete(self) -> bool:
        """Whether every partition is on some worker now."""
        if self.workers.client is None:
            return True
        from dgraph.cluster.scheduler_calls import places_of

        return all(places_of(self.workers.client, self.held))

    def _client(self) -> Any:
        return self.workers.client

    def __repr__(self) -> str:
        where = "this process" if self.workers.client is None else "the cluster"
        ways = {"out": "by source", "incoming": "by destination"}
        same = len(set(self.kept.values())) == 1
        sides = [ways[order] + ("" if same else _with(names)) for order, names in self.kept.items()]
        told = " and ".join(sides) + (_with(self.columns) if same else "")
        return f"<{format_count(len(self), 'partition')} by {self.policy} in {where}: edges {told}>"


def _all(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _with(names: Sequence[str]) -> str:
    return f" with {', '.join(names)}" if names else ""
