"""A partition after changes of its edges and vertices: what did not change is copied.

Each partition owns a range of vertex numbers, which grows by the new vertices that come between its own. A proxy stays
even if its last edge goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dgraph.partition import rules
from dgraph.partition.adjacency import Adjacency, common_type
from dgraph.partition.ids.chunk import Ids, NumberedChunk
from dgraph.partition.local_numbers import NOWHERE, NumberFinder, count_local
from dgraph.partition.partition import Half, Partition
from dgraph.partition.proxies import HAS_IN, HAS_OUT, Proxies, ProxyList, check_local_ids, grouped
from dgraph.partition.row_moves import NO_ROW, RowMove
from dgraph.partition.spliced_rows import count_edges, last_edges


class PartitionChange:
    """What changes in a partition. (A plain class because Dask would search a dataclass for tasks.)

    `gone` are edges by number, with how many of each pair go in the column `count`; all go if repeats are merged.
    `more` are edges by new number, with all columns; merged ones at most once. New vertex k comes before the old one
    with the number `places[k]`; `ids` are those of the new vertices that this partition will own. Partition p will own
    the numbers bounds[p]..bounds[p + 1].
    """

    def __init__(
        self,
        bounds: np.ndarray,
        places: np.ndarray,
        ids: Ids | None,
        gone: NumberedChunk,
        more: NumberedChunk,
        repeats: str,
        names: rules.Names,
    ):
        self.bounds, self.places, self.ids, self.gone, self.more = bounds, places, ids, gone, more
        self.repeats, self.names = repeats, names

    @property
    def merges(self) -> bool:
        return self.repeats != "keep"

    def moved(self, numbers: np.ndarray) -> np.ndarray:
        """The new numbers of old vertices."""
        return numbers.astype(np.int64) + np.searchsorted(self.places, numbers, side="right")

    def before(self, numbers: np.ndarray) -> np.ndarray:
        """The old numbers of vertices by their new ones; -1 for new vertices."""
        new = self.places + np.arange(len(self.places))
        return np.where(np.isin(numbers, new), NOWHERE, numbers - np.searchsorted(new, numbers))


class ChangedHalf(Half):
    """A changed partition, which still has the address tables of before where peers request no others."""

    def completed(self, requests: dict[int, ProxyList]) -> Partition:
        old = self.partition.proxies
        masters = {**old.masters, **{peer: request.locals for peer, request in requests.items()}}
        kinds = {**old.kinds, **{peer: request.kinds for peer, request in requests.items()}}
        return replace(self.partition, proxies=Proxies(old.groups, masters, kinds))


def changed_half(partition: Partition, change: PartitionChange, workers: int = 1) -> ChangedHalf:
    """A partition after a change, and its requests to the owners whose vertices it copies otherwise than before."""
    vertices = ChangedVertices.of(partition, change)
    tables = {order: getattr(partition, order) for order in ("out", "incoming")}
    made: dict[Adjacency, Adjacency] = {}  # one if both orders are the same
    for order, table in tables.items():
        if table is not None and table not in made:
            made[table] = ChangedTable(table, order, vertices, change, workers).made()
    orders: dict[str, Any] = {order: table and made[table] for order, table in tables.items()}
    changed = replace(
        partition,
        num_owned=vertices.num_owned,
        numbers=vertices.numbers,
        proxies=vertices.proxies,
        ids=vertices.ids_with(partition.ids),
        **orders,
    )
    return ChangedHalf(changed, vertices.requests)


@dataclass(frozen=True, eq=False)
class ChangedVertices:
    """The vertices of a changed partition. `moves` has the new local id of each old one, or is None if all keep
    theirs."""

    change: PartitionChange
    old: NumberFinder
    num_owned: int
    numbers: np.ndarray
    proxies: Proxies  # with the address tables of before, by new local ids
    moves: np.ndarray | None
    requests: dict[int, ProxyList]

    @classmethod
    def of(cls, partition: Partition, change: PartitionChange) -> ChangedVertices:
        old, bounds, more = NumberFinder(partition.numbers, partition.proxies), change.bounds, change.more
        low, high = int(bounds[partition.index]), int(bounds[partition.index + 1])
        owned, before = high - low, partition.num_owned
        ends = np.concatenate([more.destinations, more.sources]).astype(np.int64)
        is_source = np.arange(len(ends)) >= len(more)
        outside = (ends < low) | (ends >= high)
        distinct, place = np.unique(ends[outside], return_inverse=True)
        flags = np.zeros(len(distinct), np.uint8)
        np.bitwise_or.at(flags, place, np.where(is_source[outside], HAS_OUT, HAS_IN).astype(np.uint8))
        earlier = change.before(distinct)
        local = np.where(earlier < 0, NOWHERE, old.find(np.maximum(earlier, 0)))
        known, fresh = local >= 0, local < 0

        groups, copied = partition.proxies.groups, np.arange(before, partition.num_local)
        held = _flags_of(groups, len(copied), before)
        now = held.copy()
        now[local[known] - before] |= flags[known]
        is_same = not fresh.any() and np.array_equal(now, held)
        if is_same and owned == before:
            numbers = partition.numbers if not len(change.places) else _typed(change.moved(partition.numbers), bounds)
            return cls(change, old, owned, numbers, partition.proxies, None, {})
        check_local_ids(partition.index, partition.parts, owned, len(now) + int(fresh.sum()))

        positions = np.concatenate([change.moved(partition.numbers[before:]), distinct[fresh]])
        ascending = np.argsort(positions)
        owner = np.searchsorted(bounds, positions[ascending], side="right") - 1
        all_flags = np.concatenate([now, flags[fresh]])
        order, proxies = grouped(owner, all_flags[ascending], partition.parts, owned)
        order = ascending[order]
        slots = np.empty(len(order), np.int64)
        slots[order] = np.arange(owned, owned + len(order))
        own = change.moved(partition.numbers[:before]) - low
        moves = np.concatenate([own, slots[: len(now)]]).astype(np.uint32)
        numbers = _typed(np.concatenate([np.arange(low, high), positions[order]]), bounds)

        other = np.concatenate([now != held, np.ones(int(fresh.sum()), bool)])
        asked = np.unique(np.searchsorted(bounds, positions[other], side="right") - 1).tolist()
        requests = proxies.requests(positions[order], bounds)
        masters = {peer: own[locals].astype(np.uint32) for peer, locals in partition.proxies.masters.items()}
        proxies = Proxies(proxies.groups, masters, partition.proxies.kinds)
        return cls(change, old, owned, numbers, proxies, moves, {owner: requests[owner] for owner in asked})

    @property
    def size(self) -> int:
        return len(self.numbers)

    @cached_property
    def now(self) -> NumberFinder:
        """Finds local ids by new numbers."""
        return NumberFinder(self.numbers, self.proxies)

    def moved(self, local: np.ndarray) -> np.ndarray:
        """The new local ids of old ones."""
        return local if self.moves is None else self.moves[local]

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """The old local ids of vertices by their new numbers; -1 for those that the partition did not have."""
        earlier = self.change.before(numbers)
        return np.where(earlier < 0, NOWHERE, self.old.find(np.maximum(earlier, 0)))

    def ids_with(self, ids: Ids | None) -> Ids | None:
        """The ids of the owned vertices, given those of before."""
        new = self.change.ids
        if ids is None or new is None or not len(new):
            return ids
        stays = np.zeros(self.num_owned, bool)
        stays[self.moved(np.arange(len(ids)))] = True
        order = np.empty(self.num_owned, np.int64)
        order[stays], order[~stays] = np.arange(len(ids)), len(ids) + np.arange(len(new))
        if isinstance(ids, np.ndarray):
            return np.concatenate([ids, np.asarray(new).astype(ids.dtype)])[order]
        return pa.concat_arrays([ids, pa.array(new).cast(ids.type)]).take(pa.array(order))


def _flags_of(groups: np.ndarray, copied: int, first: int) -> np.ndarray:
    """Whether each proxy has in-edges and out-edges, by its place in the groups."""
    flags = np.zeros(copied, np.uint8)
    for begin, begin_out, end_in, end in (groups - first).tolist():
        flags[begin:end_in] |= HAS_IN
        flags[begin_out:end] |= HAS_OUT
    return flags


def _typed(numbers: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return numbers.astype(np.uint32 if bounds[-1] < 2**32 else np.int64)


class ChangedTable:
    """One order of a changed partition's edges."""

    def __init__(self, table: Adjacency, order: str, vertices: ChangedVertices, change: PartitionChange, workers: int):
        self.table, self.order, self.vertices, self.change, self.workers = table, order, vertices, change, workers

    def made(self) -> Adjacency:
        gone, there = self._gone(), self._is_there()
        if not len(gone) and not len(self.change.more) and self.vertices.moves is None:
            return self.table
        new = self.change.more[~there]
        rows, others = (self.vertices.now.find(end).astype(np.uint32) for end in new.ends(self.order))
        by_row = np.argsort(rows, kind="stable")
        origin, move = np.full(self.vertices.size, NO_ROW), self.vertices.moves
        old_rows = np.arange(len(self.table.indptr) - 1, dtype=np.uint32)
        targets = old_rows if move is None else move
        origin[targets] = old_rows
        moves = RowMove(self.table.indptr, origin, gone, rows[by_row])
        indptr = moves.indptr()
        how = indptr, self.workers
        neighbours = moves.values(self.table.neighbours, others[by_row], *how, renumber=move)
        columns = {}
        for name, values in self.table.columns.items():
            added = new.columns[name][by_row]
            columns[name] = moves.values(values, added, *how, dtype=type_with(name, values, added))
        made = Adjacency(indptr, neighbours, columns)
        if not there.any() or self.change.repeats == "first" or not columns:
            return made
        return self._with_merged_values(made, self.change.more[there], moves, targets)

    def _gone(self) -> np.ndarray:
        """The places of the edges that go."""
        rows, others = (self.vertices.old.find(end) for end in self.change.gone.ends(self.order))
        known = np.flatnonzero((rows >= 0) & (others >= 0))
        by_row = known[np.lexsort((others[known], rows[known]))]
        ends = rows[by_row].astype(np.uint32), others[by_row].astype(np.uint32)
        counts = self.change.gone.columns["count"][by_row].astype(np.int64)
        if self.change.merges:
            counts = count_edges(self.table, *ends)
        return last_edges(self.table, *ends, counts)

    def _is_there(self) -> np.ndarray:
        """Which of the edges that come, where edges are merged, the table has and keeps."""
        more, gone = self.change.more, self.change.gone
        if not self.change.merges:
            return np.zeros(len(more), bool)
        ends = [self.vertices.find(end) for end in more.ends(self.order)]
        lost = [self.vertices.old.find(end) for end in gone.ends(self.order)]
        keys, less = ((a.astype(np.int64) << 32) | b for a, b in (ends, lost))
        return (count_local(self.table, *ends) > 0) & ~np.isin(keys, less)

    def _with_merged_values(
        self, made: Adjacency, again: NumberedChunk, moves: RowMove, targets: np.ndarray
    ) -> Adjacency:
        """The table with the values of edges that were there and are added again."""
        rows, others = (self.vertices.find(end) for end in again.ends(self.order))
        by_row = np.lexsort((others, rows))
        again, rows, others = again[by_row], rows[by_row].astype(np.uint32), others[by_row].astype(np.uint32)
        old = last_edges(self.table, rows, others, np.ones(len(rows), np.int64))
        of_row = np.searchsorted(self.table.indptr, old, side="right")
        old = old[np.lexsort((self.table.neighbours[old], of_row))]  # in the order of `others`: rows are not sorted
        places, columns = moves.places(old, targets, made.indptr), dict(made.columns)
        for name, values in columns.items():
            if values.dtype.kind in "iuf":
                both = np.stack([self.table.columns[name][old].astype(values.dtype), again.columns[name]], axis=1)
                total = rules.merge_values(name, both, again, self.change.repeats, self.change.names)
                columns[name] = values.astype(np.result_type(values, total), copy=False)
                columns[name][places] = total
        return replace(made, columns=columns)


def type_with(name: str, old: np.ndarray, new: np.ndarray) -> np.dtype:
    """The type of a column with new values: the old one if it has all of them."""
    if old.dtype == new.dtype or np.array_equal(new.astype(old.dtype), new):
        return old.dtype
    return common_type(name, [old, new])
