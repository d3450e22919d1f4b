"""What changed of a graph without directions, loops and repeated edges; and its rows, as kernels read them: those by
source, then those by destination."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numba import uint64

from dgraph.native.ascending import first_from
from dgraph.native.machine_code import inlined
from dgraph.native.team import kernel
from dgraph.tables.changed_rows import HALF, ONE, ChangedRows, extent, other_end

NO_RANK = -1


class SimplePairs(NamedTuple):
    """Pairs of vertices between which an edge came (`present`) or the last one went. The key of pair k, in both
    directions, is in `keys`, which ascend, at the places where `ranks` is k."""

    first: np.ndarray
    second: np.ndarray
    present: np.ndarray
    keys: np.ndarray
    ranks: np.ndarray

    @classmethod
    def of(cls, first: np.ndarray, second: np.ndarray, present: np.ndarray) -> Self:
        first, second = first.astype(np.uint64), second.astype(np.uint64)
        keys = np.concatenate([first << HALF | second, second << HALF | first])
        order = np.argsort(keys)
        ranks = (order % max(1, len(first))).astype(np.int64)
        return cls(first.astype(np.uint32), second.astype(np.uint32), present, keys[order], ranks)

    def in_order(self, order: np.ndarray) -> SimplePairs:
        """The same pairs with other ranks."""
        return SimplePairs.of(self.first[order], self.second[order], self.present[order])

    def of_longer_rows(self, lengths: np.ndarray) -> SimplePairs:
        """The same pairs, ordered by the end with the longer row, which is the second one then. `lengths` are those of
        the rows of the first ends, then those of the second ends."""
        of_first, of_second = np.split(lengths, 2)
        turned = of_first > of_second
        first, second = np.where(turned, self.second, self.first), np.where(turned, self.first, self.second)
        order = np.argsort(second, kind="stable")
        return SimplePairs.of(first[order], second[order], self.present[order])


def simple_pairs(
    ends: tuple[np.ndarray, np.ndarray],
    existed: np.ndarray,
    present: np.ndarray,
    tables: Callable[[], tuple[ChangedRows, ...]] | None,
) -> tuple[SimplePairs, int]:
    """The pairs that became neighbours, or are none any more, given all pairs that were touched; and the number of
    edges read. Where edges have directions, `tables()` has the rows by source and by destination, in which those of the
    other direction are looked up."""
    kept = ends[0] != ends[1]
    sources, destinations = (some[kept].astype(np.uint64) for some in ends)
    low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
    keys, places, ways = np.unique(low << HALF | high, return_inverse=True, return_counts=True)
    before = np.bincount(places, existed[kept], len(keys)) > 0
    after = np.bincount(places, present[kept], len(keys)) > 0
    changed, read = before != after, 0
    if tables is not None and changed.any():
        one_way = np.flatnonzero((changed & (ways == 1))[places])
        found = np.zeros(len(one_way), bool)
        out, into = tables()
        others = destinations[one_way], sources[one_way]
        read = int(_find_arcs(out, into, *others, found))
        changed[places[one_way[found]]] = False
    low, high = keys[changed] >> HALF, keys[changed] & np.uint64((1 << 32) - 1)
    return SimplePairs.of(low, high, after[changed]), read


@kernel
def _find_arcs(out, into, sources, destinations, found):
    """Look for arcs, each in the shorter row; returns the number of edges read."""
    read = np.int64(0)
    for k in range(sources.size):
        u, v = sources[k], destinations[k]
        place, beside = extent(u, out), extent(v, into)
        total, other_total = place[1] + place[3], beside[1] + beside[3]
        if total <= other_total:
            for i in range(total):
                found[k] |= other_end(uint64(i), u, place, out) == v
            read += np.int64(total)
        else:
            for i in range(other_total):
                found[k] |= other_end(uint64(i), v, beside, into) == u
            read += np.int64(other_total)
    return read


@inlined
def places_of(u, rows, other_rows, tables):
    """Where the neighbours of a vertex are in one table, and in two if there are; and how many there are, with
    repeats."""
    place = extent(u, rows)
    beside, total = place, place[1] + place[3]
    if tables == 2:
        beside = extent(u, other_rows)
        total += beside[1] + beside[3]
    return place, beside, total


@inlined
def neighbour(i, u, place, beside, rows, other_rows):
    """The vertex's neighbour i, maybe itself or one that it had before; NOBODY if that edge is left out."""
    length = place[1] + place[3]
    if i < length:
        return other_end(i, u, place, rows)
    return other_end(i - length, u, beside, other_rows)


@inlined
def pairs_at(u, keys):
    """The places of the pairs of a vertex."""
    last = uint64(keys.size)
    first = first_from(keys, uint64(0), last, u << HALF)
    return first, first_from(keys, first, last, (u + ONE) << HALF)


@inlined
def rank_of(u, v, first, last, keys, ranks):
    """The rank of a pair of u, given the places of all of these; NO_RANK if there is none with v."""
    if first < last:
        place = first_from(keys, first, last, u << HALF | v)
        if place < last and keys[place] == u << HALF | v:
            return ranks[place]
    return np.int64(NO_RANK)


def row_lengths(rows: ChangedRows, other_rows: ChangedRows, tables: int, vertices: np.ndarray) -> np.ndarray:
    """The number of edges of each vertex in one table or two."""
    lengths = rows.lengths(vertices)
    return lengths + other_rows.lengths(vertices) if tables == 2 else lengths
