"""Minimum spanning forests by the method of Boruvka (1926): every tree takes its lightest edge to another one, until no
edge leaves a tree. If there are many edges, the lightest few grow first, and most others are then found to lie inside a
tree (Osipov, Sanders, Singler: Filter-Kruskal, 2009).

Edges are ordered by weight, then by their lower and by their higher end. So the forest is the same whichever thread or
partition has an edge, and one of a graph is within those of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import (
    ONE,
    atomic_add,
    atomic_load,
    barrier,
    compare_and_swap,
    kernel,
    share,
    stopped,
    team,
    worthwhile_threads,
)
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.solvers.subgraphs.higher_ends import ANY, FROM_HIGHER, is_chosen
from dgraph.solvers.trees.weight_keys import bits_of, key_of, kind_of
from dgraph.solvers.union_find import flatten, link

KEY = "key"
GRAIN, BLOCK = 512, 1024  # rows that a thread takes at a time; places in a list that it takes
SAMPLES = 1 << 14  # edges from which the limit of light ones is found
LIGHT, MANY = 2, 5  # light edges per vertex; edges per vertex from which they grow first
NEXT, LENGTH, LEFT, GROWN = 0, 16, 32, 64  # in `tally`, each on a cache line; LEFT has one for each of two rounds
READS = 4  # how often an edge is looked at, about


class KeyedEdges:
    """Edges with the key of each. This is a plain class because Dask would search a tuple for tasks."""

    def __init__(self, low: np.ndarray, high: np.ndarray, keys: np.ndarray):
        self.low, self.high, self.keys = low, high, keys

    def __len__(self) -> int:
        return len(self.low)

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.low.nbytes + self.high.nbytes + self.keys.nbytes

    def sorted(self, size: int, threads: int) -> Adjacency:
        """A row for each lower end, with the higher ends in ascending order."""
        by_high = build([EdgeSlice(self.high, self.low, {KEY: self.keys})], size, workers=threads)
        return by_high.transposed(threads)


class WeighedRows(NamedTuple):
    """The edges of a partition. An undirected edge is there twice, or in two partitions."""

    indptr: np.ndarray
    neighbours: np.ndarray
    bits: np.ndarray | None  # of the weights; None if each edge weighs as much
    kind: int  # of the weights
    names: np.ndarray | None  # the number of each local vertex, unless that is its local id
    which: int

    @classmethod
    def of(
        cls, edges: Adjacency, weight: str | None, names: np.ndarray | None, *, directed: bool, minimum: bool
    ) -> WeighedRows:
        which = ANY if directed else FROM_HIGHER
        if weight is None:
            return cls(edges.indptr, edges.neighbours, None, 0, names, which)
        weights = edges.columns[weight]
        kind = kind_of(weights.dtype, minimum=minimum)
        return cls(edges.indptr, edges.neighbours, bits_of(weights), kind, names, which)

    def limit(self, size: int) -> tuple[int, int, bool]:
        """The key and the lower end up to which edges are light, and whether there are others."""
        count = len(self.neighbours) // (1 if self.which == ANY else 2)
        if count <= MANY * size:
            return (1 << 64) - 1, size, False
        step = max(1, len(self.neighbours) // SAMPLES) | 1
        places = np.arange(step // 2, len(self.neighbours), step)
        rows = np.searchsorted(self.indptr, places, side="right") - 1
        ends = rows, self.neighbours[places]
        low = np.minimum(*(ends if self.names is None else (self.names[end] for end in ends))).astype(np.int64)
        keys = np.zeros(len(places), np.uint64)
        if self.bits is not None:
            _sampled_keys(self.bits, places, self.kind, keys)
        chosen = np.lexsort((low, keys))[min(len(places) - 1, len(places) * LIGHT * size // count)]
        return int(keys[chosen]), int(low[chosen]), True


class _Growth:
    """A forest that grows, list of edges by list."""

    def __init__(self, size: int, threads: int):
        self.threads = threads
        self.above = np.arange(size, dtype=np.uint32)  # the tree of each vertex
        self.active = np.empty(size, np.uint32)
        self.found = tuple(np.empty(max(size - 1, 0), kind) for kind in (np.uint32, np.uint32, np.uint64))
        self.tally = np.zeros(80, np.int64)

    def grow(self, low: np.ndarray, high: np.ndarray, keys: np.ndarray) -> None:
        """Add the edges of the list that belong to the forest of all edges so far. Overwrites `keys`."""
        count = len(low)
        small = np.uint32 if count < 2**32 - 1 else np.uint64
        ends, ids = np.empty((2, count), np.uint32), np.empty(count, small)
        best = np.zeros(len(self.above), small)
        self.tally[:GROWN] = 0
        lists = low, high, keys, *ends, ids
        team(_grow, self.threads, self.tally, *lists, self.above, best, self.active, *self.found)

    def forest(self) -> KeyedEdges:
        return KeyedEdges(*(values[: self.tally[GROWN]] for values in self.found))


def forest_of(rows: WeighedRows, size: int, threads: int) -> KeyedEdges:
    """The minimum spanning forest of a partition's edges, between vertices of which there are `size` in all."""
    growth, edges = _Growth(size, threads), len(rows.neighbours)
    *limit, more = rows.limit(size)
    lists = [np.empty(edges + threads * BLOCK, kind) for kind in (np.uint32, np.uint32, np.uint64)]
    for heavy in (False, True) if more else (False,):
        tally = np.zeros(32, np.int64)
        limits = heavy, np.uint64(limit[0]), np.int64(limit[1])
        team(_select, threads, tally, *rows, *limits, growth.above, *lists)
        growth.grow(*(values[: tally[LENGTH]] for values in lists))
    return growth.forest()


def forest_of_forests(forests: Sequence[KeyedEdges], size: int, threads: int) -> KeyedEdges:
    """The minimum spanning forest of the edges of all these forests."""
    lists = [np.concatenate(ends) for ends in zip(*((one.low, one.high, one.keys) for one in forests), strict=True)]
    growth = _Growth(size, worthwhile_threads(threads, READS * len(lists[0])))
    growth.grow(*lists)
    return growth.forest()


@kernel
def _sampled_keys(bits, places, kind, keys):
    for i in range(uint64(places.size)):
        keys[i] = key_of(bits[places[i]], kind)


@kernel
def _select(
    rank, size, signals, tally, indptr, neighbours, bits, kind, names, which, heavy, limit, last, above, low, high, keys
):  # fmt: skip
    """List the light edges, or with `heavy` the others that are not within a tree. A thread takes blocks of places; it
    fills what it does not need with self loops, which belong to no forest."""
    n, at, end = indptr.size - 1, uint64(0), uint64(0)
    while True:
        begin = atomic_add(tally, NEXT, GRAIN)
        if begin >= n:
            break
        for row in range(uint64(begin), uint64(min(begin + GRAIN, n))):
            u = uint64(row) if names is None else uint64(names[row])
            tree = above[u]
            for e in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
                v = uint64(neighbours[e]) if names is None else uint64(names[neighbours[e]])
                if not is_chosen(u, v, which):
                    continue
                key = uint64(0) if bits is None else key_of(bits[e], kind)
                lower = min(u, v)
                if heavy:
                    if key < limit or (key == limit and lower <= uint64(last)) or above[v] == tree:
                        continue
                elif key > limit or (key == limit and lower > uint64(last)):
                    continue
                if at == end:
                    at = uint64(atomic_add(tally, LENGTH, BLOCK))
                    end = at + uint64(BLOCK)
                low[at], high[at], keys[at] = lower, max(u, v), key
                at += ONE
    while at < end:
        low[at] = high[at] = 0
        at += ONE
    barrier(size, signals)
    return 0


@kernel
def _grow(
    rank, size, signals, tally,
    low, high, keys, one, other, ids, above, best, active, found_low, found_high, found_keys,
):  # fmt: skip
    """Each thread has its own part of the list, from which it leaves out edges within a tree, and its own vertices.
    What is left are the trees at both ends, the key, and the place in the list of each edge. `best` has 1 more than the
    place of each tree's lightest edge among these."""
    begin, end = share(rank, size, low.size)
    first, last = share(rank, size, above.size)
    begin, end, first, last, parity, fresh = uint64(begin), uint64(end), uint64(first), uint64(last), 0, True
    count = first
    while True:
        left = begin
        for k in range(begin, end):
            if fresh:
                a, b, e = uint64(above[low[k]]), uint64(above[high[k]]), k
            else:
                a, b, e = uint64(above[one[k]]), uint64(above[other[k]]), uint64(ids[k])
            if a != b:
                one[left], other[left], keys[left], ids[left] = a, b, keys[k], e
                _offer(a, left, best, keys, ids, low, high)
                _offer(b, left, best, keys, ids, low, high)
                left += ONE
        end = left
        atomic_add(tally, LEFT + parity, np.int64(end - begin))
        barrier(size, signals)
        if tally[LEFT + parity] == 0 or stopped(signals):
            break
        parity = 1 - parity
        if rank == 0:
            tally[LEFT + parity] = 0
        count = _still_active(first, last if fresh else count, fresh, best, active)
        fresh = False
        _join(
            first,
            count,
            tally,
            best,
            active,
            one,
            other,
            keys,
            ids,
            low,
            high,
            above,
            found_low,
            found_high,
            found_keys,
        )
        barrier(size, signals)
        for i in range(first, count):
            c = uint64(active[i])
            best[c] = 0
            root = uint64(above[c])
            while root != uint64(above[root]):
                root = uint64(above[root])
            above[c] = root
        barrier(size, signals)
    flatten(first, last, above)
    barrier(size, signals)
    return 0


@inlined
def _offer(c, k, best, keys, ids, low, high):
    """Make edge k the lightest of tree c, unless that has a lighter one."""
    while True:
        known = uint64(atomic_load(best, c))
        if known and not _is_lighter(k, known - ONE, keys, ids, low, high):
            return
        if compare_and_swap(best, c, known, k + ONE):
            return


@inlined
def _is_lighter(j, k, keys, ids, low, high):
    if keys[j] != keys[k]:
        return keys[j] < keys[k]
    e, f = uint64(ids[j]), uint64(ids[k])
    if low[e] != low[f]:
        return low[e] < low[f]
    if high[e] != high[f]:
        return high[e] < high[f]
    return e < f


@inlined
def _still_active(first, last, fresh, best, active):
    """Keep the trees that have edges to others, at first of all vertices. Returns the end of their list."""
    count = first
    for i in range(first, last):
        c = i if fresh else uint64(active[i])
        if best[c]:
            active[count] = c
            count += ONE
    return count


@inlined
def _is_first(c, k, best, one, other):
    """Whether tree c, and not the one at the other end, adds its lightest edge, if it is that of both."""
    d = uint64(one[k]) ^ uint64(other[k]) ^ c
    return best[d] != k + ONE or c < d


@inlined
def _join(
    first, count, tally, best, active, one, other, keys, ids, low, high, above, found_low, found_high, found_keys
):  # fmt: skip
    """Add the lightest edge of each tree to the forest, once, and join the trees at its ends."""
    many = 0
    for i in range(first, count):
        c = uint64(active[i])
        many += 1 if _is_first(c, uint64(best[c]) - ONE, best, one, other) else 0
    at = uint64(atomic_add(tally, GROWN, many))
    for i in range(first, count):
        c = uint64(active[i])
        k = uint64(best[c]) - ONE
        if _is_first(c, k, best, one, other):
            e = uint64(ids[k])
            found_low[at], found_high[at], found_keys[at] = low[e], high[e], keys[k]
            at += ONE
            link(uint64(one[k]), uint64(other[k]), above)
