"""How a graph is divided: into how many partitions, by which policy, and the partitions as far as they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from dgraph.building import assembly
from dgraph.building.input_edges import InputEdges
from dgraph.building.partition_set import Partitions
from dgraph.building.shares import shares_of
from dgraph.partition import policies
from dgraph.partition.placement import Placement


class Partitioning:
    """Partitions are built when they are first asked for, with only what is asked for. With `as_saved` those of a saved
    graph are used as they are."""

    def __init__(self, listed: InputEdges, asked: policies.PartitionOptions, *, as_saved: bool = False):
        policies.choose(asked.policy, asked.parts or 1)  # refuses what is no policy
        self.listed, self.asked, self.workers = listed, asked, listed.workers
        self.built: Partitions | None = None
        self._placement: Placement | None = None
        self._as_saved = as_saved

    @cached_property
    def parts(self) -> int:
        """How many partitions there are, or will be."""
        return self.asked.parts or self.workers.parts_for(self.listed.num_arcs)

    @property
    def expected_parts(self) -> int:
        """The same before anything is read: where workers' memory is short, there may be more."""
        return self.asked.parts or len(self.workers.addresses) or 1

    @cached_property
    def cut(self) -> policies.Policy:
        """The policy that says which partition owns a vertex and holds an edge."""
        return policies.choose(self.asked.policy, self.parts)

    @property
    def placement(self) -> Placement:
        """Which partition owns which vertices."""
        return self._placement or self._place([] if self._as_saved else self.listed.by_number())

    def forget_lost(self) -> None:
        """Let go of partitions if one went away with a worker."""
        if self.built is not None and not self.built.is_complete:
            self.built = None

    def partitioned(self, orders: Sequence[str], columns: Sequence[str], admit: Callable[..., None]) -> Partitions:
        """Partitions with some orders of edges and some columns. What is there is kept: a second order is the first,
        transposed; one that lacks a column is built anew, if `admit` lets it."""
        now = self.built or (self._opened() if self._as_saved else None)
        now = self._described([], {}) if now is None or now.lost else now
        symmetric = not self.listed.rules.directed and self.parts == 1  # then both orders are one
        missing = now.lacking([*orders, *(now.orders if symmetric else ())], columns)
        for order, names in missing.items():
            if now.has_reverse(order, names):
                now = self._let_go(now, [order])
                with self.listed.watch("transpose"):
                    now = now.transposed(order, names, symmetric=symmetric, sort=self.listed.sort)
            else:
                admit(order, names)  # which may look at the chunks
                now = self._let_go(now, missing)
                now = self._build(order, names).beside(now)
            now = self.built = self._described(now.held, now.kept)
        return now

    def _let_go(self, now: Partitions, orders: Iterable[str]) -> Partitions:
        """The partitions without some orders: what is made anew is not there twice meanwhile."""
        now = now.without(orders)
        self.built = now or None
        return now

    def _opened(self) -> Partitions:
        """The saved partitions, mapped from disk by the workers."""
        saved = self.listed.saved
        assert saved is not None
        with self.listed.watch("open"):
            held = self.workers.wait(saved.hold(self.workers, self.listed.numbering, self.placement))
        return self._described(held, dict.fromkeys(saved.content["orders"], tuple(saved.content["columns"])))

    def _build(self, order: str, columns: Sequence[str]) -> Partitions:
        listed = self.listed
        if held := listed.build_on_gpu(order, columns, self.parts == 1 and self.cut.by_range):
            return self._described(held, {order: tuple(columns)})
        (chunks, ends), sort = listed.to_build(columns), listed.sort
        with listed.watch("place"):
            where, arcs = self._place(ends), listed.rules.arc_options
        with listed.watch("partition"):
            held = assembly.partition(self.workers, chunks, listed.numbering, where, order=order, sort=sort, **arcs)
            del chunks, ends  # each may go as soon as it was split
            self.workers.wait(held)
        return self._described(held, {order: tuple(columns)})

    def _described(self, held: list[Any], kept: Mapping[str, tuple[str, ...]]) -> Partitions:
        seconds = dict(self.listed.watch.seconds)
        return Partitions(held, self.workers, kept, self.cut.name, self.listed.num_vertices, seconds)

    def _place(self, chunks: Sequence[Any]) -> Placement:
        if self._placement is None and self._as_saved and self.listed.saved is not None:
            self._placement = self.listed.saved.placement(self.cut)
        if self._placement is None:
            shares = shares_of(self.workers, self.asked.capacities, self.parts)
            arcs = self.listed.rules.arc_options
            self._placement = assembly.plan_places(
                self.workers, chunks, self.listed.numbering, self.cut, shares, **arcs
            )
        return self._placement
