"""What became of the edges of a graph since they were listed, and since its partition was built: batches of changes,
and the vertices that they brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from dgraph.building.input_edges import InputEdges
from dgraph.changes.batch import Batch, PairRule, ends_of, net_of, with_batch
from dgraph.changes.listed_pairs import pairs_in
from dgraph.changes.spread_base import SpreadBase
from dgraph.changes.steps import Step, joined_steps, with_step
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.ids.joined_ids import moved_up, with_ids
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Partition
from dgraph.partition.spliced_rows import count_edges

SHARE = 8  # batches of more than 1 / SHARE of the base's edges or vertices are merged at once
FEW = 1 << 14  # edges or vertices that are not


@dataclass(frozen=True, eq=False)
class Base:
    """The numbering that batches refer to, and what they change if it is built: the only partition, if it is in this
    process and whole; or partitions `spread` over this process or a cluster."""

    numbering: Numbering
    partition: Partition | None = None
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the columns of each order of edges
    spread: SpreadBase | None = None

    @property
    def is_built(self) -> bool:
        return self.partition is not None or self.spread is not None

    @property
    def num_edges(self) -> int:
        """The number of edges of what is built."""
        built = self.partition or self.spread
        return built.num_edges if built is not None else 0

    def counts(self, keys: np.ndarray, directed: bool) -> np.ndarray:
        """How many edges what is built has with each key. If the only partition has rows for both ends, the shorter one
        is read."""
        if self.spread is not None:
            return self.spread.counts(keys)
        assert self.partition is not None
        first, second = ends_of(keys)
        out, into = self.partition.out, self.partition.incoming
        into = (out or into) if not directed else into  # one table that has both directions of every edge
        if out is None or into is None:
            return _counted(out or into, *((first, second) if out else (second, first)))
        out_length, in_length = _lengths(out, first), _lengths(into, second)
        found, by_source = np.zeros(len(keys), np.int64), out_length <= in_length
        found[by_source] = _counted(out, first[by_source], second[by_source])
        found[~by_source] = _counted(into, second[~by_source], first[~by_source])
        return found


def _lengths(table: Adjacency, rows: np.ndarray) -> np.ndarray:
    """The number of edges in each row; none in rows beyond the table."""
    there = np.minimum(rows.astype(np.int64), len(table.indptr) - 2)
    return np.where(there == rows, table.indptr[there + 1] - table.indptr[there], 0)


def _counted(table: Adjacency | None, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    assert table is not None
    order = np.lexsort((others, rows))
    found = np.empty(len(rows), np.int64)
    found[order] = count_edges(table, rows[order], others[order])
    return found


@dataclass(frozen=True, eq=False)
class History:
    """The edges as they were first listed; the batches of changes that the base has; and the batches since.

    Batches know vertices by the numbers of the base, and new vertices by numbers after these. `numbers` has the number
    in the base of each vertex of the listed edges, which ascend; None if it is the same. `steps` are the latest
    updates, one by one, whether the base has them or not.

    Batches `before` and the first `num_saved` of those `since` are on disk if the graph, or one that it was made from,
    was saved; batches `unsaved_before` and the rest are not. If `unsaved_before` are any, `num_saved` is 0. The
    vertices that `unsaved_before` brought have the numbers `unsaved_vertices`."""

    listed: InputEdges
    base: Base
    rule: PairRule
    numbers: np.ndarray | None = None
    before: tuple[Batch, ...] = ()
    since: tuple[Batch, ...] = ()
    steps: tuple[Step, ...] = ()
    num_saved: int = 0
    unsaved_before: tuple[Batch, ...] = ()
    unsaved_vertices: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint32))

    @property
    def batches(self) -> Sequence[Batch]:
        """All batches since the edges were listed."""
        return *self.before, *self.unsaved_before, *self.since

    @property
    def unsaved(self) -> Sequence[Batch]:
        """The batches that are not on disk."""
        return *self.unsaved_before, *self.since[self.num_saved :]

    @property
    def size(self) -> int:
        """The number of vertices."""
        return self.base.numbering.size + sum(one.num_ids for one in self.since)

    @property
    def is_large(self) -> bool:
        """Whether the batches have so many edges or vertices that they should be merged into the base."""
        if not self.base.is_built:
            return False
        edges, before = sum(map(len, self.since)), self.base.numbering.size
        if edges > FEW and edges > self.base.num_edges // SHARE:
            return True
        return self.size - before > max(FEW, before // SHARE)

    def find(self, ids: pa.Array) -> np.ndarray:
        """The number of each of some ids, which ascend; -1 for those that the graph lacks."""
        found = self.base.numbering.found(ids)
        for batch in self.since:
            found = np.maximum(found, batch.find(ids))
        return found

    def present(self, keys: np.ndarray) -> np.ndarray:
        """How many edges there are with each key."""
        if self.base.is_built:
            counts, batches = self.base.counts(keys, self.rule.directed), self.since
        else:
            known, of_listed = self.of_listed(keys)
            counts = np.zeros(len(keys), np.int64)
            found = pairs_in(self.listed, of_listed, self.rule)
            counts[known] = sum((np.bincount(pair, minlength=len(of_listed)) for _, pair in found), 0)
            batches = tuple(self.batches)
        if self.rule.merges:
            counts = np.minimum(counts, 1)
        for batch in batches:
            counts = batch.present(keys, counts, self.rule)
        return counts

    def of_listed(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of these pairs the listed edges may have, and their keys by the numbers of these."""
        ends = [end.astype(np.int64) for end in ends_of(keys)]
        size = self.listed.num_vertices if self.numbers is None else len(self.numbers)
        if self.numbers is None:
            known = np.logical_and.reduce([end < size for end in ends])
        else:
            places = [np.searchsorted(self.numbers, end) for end in ends]
            known = np.logical_and.reduce(
                [
                    (place < size) & (self.numbers[np.minimum(place, max(size - 1, 0))] == end)
                    for place, end in zip(places, ends, strict=True)
                ]
            )
            ends = places
        return known, self.rule.keys(*(end[known] for end in ends))

    def with_batch(self, batch: Batch, version: object) -> History:
        """The history after a batch of changes of the graph of this version."""
        exist = self._exist if self.base.is_built else None  # else all listed edges would be read
        steps = with_step(self.steps, Step.of(batch, version, self.rule.directed, exist))
        saved, more = self.since[: self.num_saved], self.since[self.num_saved :]
        return replace(self, since=(*saved, *with_batch(more, batch, self.rule)), steps=steps)

    def as_saved(self) -> History:
        """The same history, once all batches are on disk."""
        since = self._chained(self.since[: self.num_saved], self.since[self.num_saved :])
        before = self._chained(self.before, self.unsaved_before)
        none = np.empty(0, np.uint32)
        return replace(self, before=before, since=since, num_saved=len(since), unsaved_before=(), unsaved_vertices=none)

    def _chained(self, batches: tuple[Batch, ...], more: Sequence[Batch]) -> tuple[Batch, ...]:
        return reduce(lambda all_, one: with_batch(all_, one, self.rule), more, batches)

    def _exist(self, keys: np.ndarray) -> np.ndarray:
        return self.present(keys) > 0

    def touched_since(self, version: object) -> Step | None:
        """What the updates since an earlier version of the graph touched, by numbers in `numbering`; None if nobody
        knows."""
        first = next((place for place, step in enumerate(self.steps) if step.before is version), None)
        if first is None:
            return None
        step = joined_steps(self.steps[first:])
        return step if self.keeps_numbers else step.renumbered(self.renumber, self.rule)

    # -- merging -------------------------------------------------------------------------------------------------------

    @cached_property
    def net(self) -> Batch:
        """The batches since the base as one."""
        return net_of(self.since, self.rule)

    @cached_property
    def _joined(self) -> tuple[Numbering, np.ndarray]:
        new = self.net.ids if self.since else None
        return (self.base.numbering, np.empty(0, np.int64)) if new is None else with_ids(self.base.numbering, new)

    @property
    def numbering(self) -> Numbering:
        """The numbering of all vertices, in the order of their ids."""
        return self._joined[0]

    @property
    def new_places(self) -> np.ndarray:
        """How many old vertices have smaller ids than each new vertex, in the order of their ids."""
        return self._joined[1]

    @cached_property
    def moves(self) -> np.ndarray | None:
        """The number in `numbering` of each vertex of the base; None if it is the same."""
        return moved_up(self._joined[1], self.base.numbering.size)

    @cached_property
    def new_numbers(self) -> np.ndarray:
        """The number in `numbering` of each new vertex, in the order in which they were numbered first."""
        places = self._joined[1]
        out = np.empty(len(places), np.uint32)
        out[self.net.numbers - self.base.numbering.size] = places + np.arange(len(places))
        return out

    @property
    def keeps_numbers(self) -> bool:
        """Whether all vertices have the numbers in `numbering` by which batches know them."""
        if not self.since or self.net.ids is None:
            return True
        return bool((self.new_numbers == np.arange(self.base.numbering.size, self.size)).all())

    def renumber(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers in `numbering` of vertices that batches name."""
        if not self.since:
            return numbers
        size, out = self.base.numbering.size, numbers.astype(np.uint32)
        is_new = numbers >= size
        if self.moves is not None:
            out[~is_new] = self.moves[numbers[~is_new]]
        out[is_new] = self.new_numbers[numbers[is_new] - size]
        return out

    def restored(self, numbers: np.ndarray) -> Any:
        """The ids of vertices that batches name, as a column of the user's type."""
        return self.numbering.restored(self.renumber(numbers))

    def on(self, base: Base) -> History:
        """The same history, of a graph whose own partition and numbering are the base of later batches."""
        if not self.since:
            return replace(self, base=base)
        unsaved = self.since[self.num_saved :]
        new = np.concatenate([self.unsaved_vertices, *(one.numbers for one in unsaved)])
        numbers = self.moves
        if self.numbers is not None:
            numbers = self.renumber(self.numbers)
        elif numbers is not None:
            numbers = numbers[: self.listed.num_vertices]
        steps = self.steps
        if not self.keeps_numbers:
            steps = tuple(one.renumbered(self.renumber, self.rule) for one in steps)
        return replace(
            self,
            base=base,
            numbers=numbers,
            before=self._chained(self._moved(self.before), self._moved(self.since[: self.num_saved])),
            since=(),
            steps=steps,
            num_saved=0,
            unsaved_before=self._chained(self._moved(self.unsaved_before), self._moved(unsaved)),
            unsaved_vertices=self.renumber(new),
        )

    def _moved(self, batches: Sequence[Batch]) -> tuple[Batch, ...]:
        """Batches of the base, by its own numbers."""
        if self.keeps_numbers:
            return tuple(one.without_ids() for one in batches)
        return tuple(one.renumbered(self.renumber, self.rule) for one in batches)
