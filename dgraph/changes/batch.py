"""Edges that are removed from a graph and edges that are added to it, as the net effect of one or more updates.

An edge is found by the pair of its ends, as one key of 64 bits: the number of the first end and that of the second. In
an undirected graph the smaller number is first. Vertices that the graph did not have are numbered after all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.partition.ids.id_tables import places_of

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True)
class PairRule:
    """What counts as the same edge: in a directed graph, edges with the same source and destination. `merges` says
    whether there is one edge for each pair of ends; otherwise each listed edge is one."""

    directed: bool
    merges: bool
    skip_loops: bool

    def keys(self, sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
        """The key of each edge."""
        first, second = sources.astype(np.uint64), destinations.astype(np.uint64)
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        return (first << _HALF) | second


def ends_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second end of each pair."""
    return (keys >> _HALF).astype(np.uint32), (keys & _LOW).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Batch:
    """First, the last `counts[k]` of the edges with the key `removed[k]` are removed (all of them if edges are merged);
    `emptied[k]` says whether none was left then. Then edges with the keys `added` are added: edge i is in row `rows[i]`
    of the frame, and its ends were listed the other way round if `flipped[i]`. Keys ascend, and so do the rows of equal
    keys.

    The vertex `ids[k]`, which was new, has the number `numbers[k]`. Ids ascend.
    """

    removed: np.ndarray
    counts: np.ndarray
    added: np.ndarray
    rows: np.ndarray
    flipped: np.ndarray
    frame: pd.DataFrame  # with the user's columns
    ids: pa.Array | None = None
    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint32))
    emptied: np.ndarray = field(default_factory=lambda: np.empty(0, bool))

    @classmethod
    def of(
        cls,
        rule: PairRule,
        added: tuple[np.ndarray, np.ndarray],
        frame: pd.DataFrame,
        ids: pa.Array | None = None,
        size: int = 0,
    ) -> Batch:
        """A batch of added edges, given the numbers of their ends, and of new ids, which are numbered after `size`
        others."""
        keys = rule.keys(*added)
        rows = np.argsort(keys, kind="stable").astype(np.uint32)
        flipped = (added[0] > added[1])[rows] if not rule.directed else np.zeros(len(rows), bool)
        made = cls(np.empty(0, np.uint64), np.empty(0, np.uint32), keys[rows], rows, flipped, frame)
        if ids is None or not len(ids):
            return made
        return replace(made, ids=ids, numbers=np.arange(size, size + len(ids), dtype=np.uint32))

    def without(self, keys: np.ndarray, counts: np.ndarray, emptied: np.ndarray) -> Batch:
        """The batch of added edges, before which some are removed."""
        order = np.argsort(keys)
        return replace(self, removed=keys[order], counts=counts[order], emptied=emptied[order])

    def __len__(self) -> int:
        return len(self.removed) + len(self.added)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, without the frame."""
        arrays = (self.removed, self.counts, self.emptied, self.added, self.rows, self.flipped, self.numbers)
        return sum(one.nbytes for one in arrays) + (0 if self.ids is None else self.ids.nbytes)

    @property
    def num_ids(self) -> int:
        return len(self.numbers)

    def find(self, ids: pa.Array) -> np.ndarray:
        """The number of each of some ids, which ascend; -1 for those that are not new here."""
        if self.ids is None:
            return np.full(len(ids), -1)
        places = places_of(self.ids, ids)
        return np.where(places < 0, -1, self.numbers[np.maximum(places, 0)].astype(np.int64))

    def present(self, keys: np.ndarray, counts: np.ndarray, rule: PairRule) -> np.ndarray:
        """How many edges there are with each key, given how many there were before this batch."""
        place = np.minimum(np.searchsorted(self.removed, keys), max(len(self.removed) - 1, 0))
        here = self.removed[place] == keys if len(self.removed) else np.zeros(len(keys), bool)
        less = np.where(here, counts if rule.merges else self.counts[place] if len(self.removed) else 0, 0)
        more = np.searchsorted(self.added, keys, "right") - np.searchsorted(self.added, keys, "left")
        total = counts - less + more
        return np.minimum(total, 1) if rule.merges else total

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of both ends of each added edge, in the order and direction in which they were listed."""
        ends = ends_of(self.added)
        sources, destinations = np.empty_like(ends[0]), np.empty_like(ends[0])
        sources[self.rows] = np.where(self.flipped, ends[1], ends[0])
        destinations[self.rows] = np.where(self.flipped, ends[0], ends[1])
        return sources, destinations

    def then(self, later: Batch, rule: PairRule) -> Batch:
        """Both batches as one. What the later one removes is taken from the edges that this one adds, from the last to
        the first, and the rest from the graph."""
        high = np.searchsorted(self.added, later.removed, "right")
        there = high - np.searchsorted(self.added, later.removed, "left")
        cut = there if rule.merges else np.minimum(there, later.counts)
        kept = np.ones(len(self.added), bool)
        kept[np.repeat(high - cut, cut) + np.arange(cut.sum()) - np.repeat(np.cumsum(cut) - cut, cut)] = False
        left = later.counts if rule.merges else later.counts - cut.astype(np.uint32)
        more = left > 0
        removed, counts, emptied = _added_up(
            np.concatenate([self.removed, later.removed[more]]),
            np.concatenate([self.counts, left[more]]),
            np.concatenate([self.emptied, later.emptied[more]]),
        )
        first = self if kept.all() else self._only(kept)
        if not len(first.added) or not len(later.added):
            adds = later if len(later.added) else first
            both = adds.added, adds.rows, adds.flipped, adds.frame
        else:
            both = _joined(first, later)
        ids, numbers = _joined_ids(self, later)
        return Batch(removed, counts, *both, ids, numbers, emptied)

    def _only(self, kept: np.ndarray) -> Batch:
        """The batch without some of its added edges."""
        stays = np.zeros(len(self.frame), bool)
        stays[self.rows[kept]] = True
        rank = np.cumsum(stays, dtype=np.uint32) - np.uint32(1)
        return replace(
            self,
            added=self.added[kept],
            rows=rank[self.rows[kept]],
            flipped=self.flipped[kept],
            frame=self.frame[stays],
        )

    def without_ids(self) -> Batch:
        """The batch of a graph in which no vertex is new any more."""
        return replace(self, ids=None, numbers=np.empty(0, np.uint32))

    def renumbered(self, renumber: Callable[[np.ndarray], np.ndarray], rule: PairRule) -> Batch:
        """The batch with other numbers, in which no vertex is new any more."""
        gone = rule.keys(*map(renumber, ends_of(self.removed)))
        order = np.argsort(gone)
        sources, destinations = map(renumber, self.listed())
        moved = Batch.of(rule, (sources, destinations), self.frame)
        return replace(moved, removed=gone[order], counts=self.counts[order], emptied=self.emptied[order])


def net_of(batches: Sequence[Batch], rule: PairRule) -> Batch:
    """Some batches, the earliest first, as one."""
    return reduce(lambda first, later: first.then(later, rule), batches)


def with_batch(batches: Sequence[Batch], last: Batch, rule: PairRule) -> tuple[Batch, ...]:
    """The batches with one more. Each is kept more than twice as large as the next, so that there are few, and each
    edge is moved a few times only."""
    kept = [*batches, last]
    while len(kept) > 1 and len(kept[-2]) + kept[-2].num_ids <= 2 * (len(kept[-1]) + kept[-1].num_ids):
        later = kept.pop()
        kept[-1] = kept[-1].then(later, rule)
    return tuple(kept)


def _joined(first: Batch, later: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray, pd.DataFrame]:
    keys = np.concatenate([first.added, later.added])
    order = np.argsort(keys, kind="stable")
    rows = np.concatenate([first.rows, later.rows + np.uint32(len(first.frame))])[order]
    flipped = np.concatenate([first.flipped, later.flipped])[order]
    return keys[order], rows, flipped, pd.concat([first.frame, later.frame], ignore_index=True)


def _joined_ids(first: Batch, later: Batch) -> tuple[pa.Array | None, np.ndarray]:
    if first.ids is None or later.ids is None:
        one = first if later.ids is None else later
        return one.ids, one.numbers
    ids = pa.concat_arrays([first.ids, later.ids])
    order = np.asarray(pc.sort_indices(ids))
    return ids.take(pa.array(order)), np.concatenate([first.numbers, later.numbers])[order]


def _added_up(keys: np.ndarray, counts: np.ndarray, flags: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct keys in ascending order, each with the sum of its counts, and whether one of its flags is set."""
    distinct, places = np.unique(keys, return_inverse=True)
    total = np.bincount(places, counts, len(distinct)).astype(np.uint32)
    return distinct, total, np.bincount(places, flags, len(distinct)) > 0
