"""The inner loop of `delta_stepping.py`, in two forms: relax the edges of the vertices that wait in a chunk.

In the first form, distances are float64, and predecessors are separate integers, each with a lock. In the second, for
integer weights and distances below 2**32 - 1, both are one *word*: the distance in its upper half and the predecessor
in the lower. The smaller word is the shorter path or, if paths are equally long, the one with the smaller predecessor.
So one atomic minimum replaces a lock, and a vertex needs one cache line instead of two.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import (
    ONE,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    compare_and_swap,
    kernel,
    prefetch,
    share,
    team,
)
from dgraph.programs.monoid import UNREACHED
from dgraph.solvers.paths.distance_slots import CHUNK_SIZE, free_chunk, list_of, number_of, push
from dgraph.solvers.paths.vertex_numbers import VertexNumbers, number_of_vertex

AHEAD = 8  # prefetch distance, in vertices
LOCKED = np.int64(-(2**63))  # the sign bit of a parent, which locks its vertex
UNSET_HALF = (1 << 32) - 1  # in half a word: no distance, or no predecessor
BLOCK = 4096  # vertices or weights that are processed at a time
HALF, LOW = uint64(32), uint64(UNSET_HALF)

EDGES, FLAT, BEYOND = 16, 17, 18  # positions in `shared`, after those of `distance_slots.py`


class PathTables(NamedTuple):
    """The edges of a partition, and what is known about the distances of its vertices."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    dist: np.ndarray
    parent: np.ndarray  # the smallest strictly nearer predecessor on a shortest path; empty if not needed
    improved: np.ndarray  # flags; with words, empty if not needed
    numbers: VertexNumbers  # the values in `parent`
    tied: np.ndarray  # flags: a new parent at the same distance; empty if not needed


class PathWords(NamedTuple):
    """The distance and predecessor of each vertex, as words; and the largest weight."""

    known: np.ndarray
    largest: int

    @property
    def dist(self) -> np.ndarray:
        """The distances, as a view of the words."""
        return self.known.view(np.uint32)[sys.byteorder == "little" :: 2]

    def set_distances(self, ids: np.ndarray, dist: np.ndarray, parent: np.ndarray) -> bool:
        """Set the distances of some vertices, and their predecessors if `parent` is not empty; False if one does not
        fit."""
        return bool(_set_distances(self.known, ids, dist, parent))

    def copy_improvements(self, improved: np.ndarray, owned: int, dist: np.ndarray, parent: np.ndarray) -> None:
        """Copy improvements to the arrays that are sent. If only the predecessor is new, that matters only to the
        masters of proxies."""
        _copy_improvements(self.known, improved, owned, dist, parent)

    def split(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and predecessors as two arrays."""
        dist, parent = np.empty(len(self.known)), np.empty(len(self.known), np.int64)
        team(_split, threads, self.known, dist, parent)
        return dist, parent


def words_of(vertices: int, largest: int) -> PathWords:
    """Words of unreached vertices."""
    return PathWords(np.full(vertices, (UNSET_HALF << 32) | UNSET_HALF, np.uint64), largest)


def largest_whole(weights: np.ndarray, threads: int) -> int:
    """The largest weight, if all are integers from 0 to below UNSET_HALF; else UNSET_HALF."""
    largest = np.zeros(1, np.int64)
    team(_largest_whole, threads, weights, largest)
    return int(largest[0])


@kernel
def _largest_whole(rank, size, signals, weights, result):
    lo, hi = share(rank, size, weights.size)
    for start in range(lo, hi, BLOCK):
        if atomic_load(result, 0) >= UNSET_HALF:
            break
        largest, others = np.int64(0), False
        for e in range(uint64(start), uint64(min(start + BLOCK, hi))):
            weight = np.int64(weights[e])
            others |= (weight != weights[e]) | (weight < 0) | (weight >= UNSET_HALF)
            largest = max(largest, weight)
        atomic_max(result, 0, UNSET_HALF if others else largest)


@kernel
def _set_distances(known, ids, dist, parent):
    for i in range(uint64(ids.size)):
        v = ids[i]
        far = dist[v]
        if not (far < UNSET_HALF and far == np.floor(far)):
            return False
        known[v] = uint64(np.int64(far)) << HALF | uint64(min(parent[v], UNSET_HALF) if parent.size else UNSET_HALF)
    return True


@kernel
def _copy_improvements(known, improved, owned, dist, parent):
    listed = np.empty(BLOCK, np.uint32)
    for start in range(0, improved.size, BLOCK):
        count = uint64(0)
        for v in range(uint64(start), uint64(min(start + BLOCK, improved.size))):
            listed[count] = v
            count += uint64(improved[v])
        for i in range(count):
            v = uint64(listed[i])
            far, by = np.float64(known[v] >> HALF), np.int64(known[v] & LOW)
            improved[v] = far < dist[v] or (v >= owned and parent.size > 0)
            if parent.size and (far < dist[v] or by < parent[v]):
                parent[v] = UNREACHED if by == UNSET_HALF else by
            dist[v] = far


@kernel
def _split(rank, size, signals, known, dist, parent):
    lo, hi = share(rank, size, known.size)
    for v in range(uint64(lo), uint64(hi)):
        far, by = known[v] >> HALF, known[v] & LOW
        dist[v] = np.inf if far == LOW else np.float64(far)
        parent[v] = UNREACHED if by == LOW else np.int64(by)


@inlined
def relax_chunk(place, slot, alone, rows, words, senders, window, scale, lists):
    """Relax the edges of a chunk's vertices, and free the chunk; returns the number of edges. Numba compiles only the
    form for the type of `words`, which may be None. With words, skip vertices from which a distance might not fit."""
    chunk = (place - 1) // CHUNK_SIZE
    begin, end, edges_read = uint64(chunk * CHUNK_SIZE), uint64(place), uint64(0)
    for i in range(begin, end):
        _prefetch_ahead(i, end, rows, words, lists.pool)
        u = uint64(lists.pool[i])
        d = rows.dist[u] if words is None else words.known[u] >> HALF
        if list_of(number_of(d, scale), window) != slot:
            continue  # it was processed in a nearer slot
        if words is not None and d >= uint64(UNSET_HALF - words.largest):
            lists.shared[BEYOND] = 1
            continue
        number = number_of_vertex(u, rows.numbers)
        first, last = uint64(rows.indptr[u]), uint64(rows.indptr[u + ONE])
        edges_read += last - first
        for e in range(first, last):
            v = uint64(rows.neighbours[e])
            if words is None:
                lowered, new, old, waited = _lower(v, d, rows.weights[e], number, alone, rows, lists.shared)
            else:
                lowered, new, old, waited = _lower_word(
                    v, d, rows.weights[e], number, alone, rows, words.known, lists.shared
                )
            if not lowered or v >= senders:  # vertices from `senders` on have no edges
                continue
            there = list_of(number_of(new, scale), window)
            if there == slot or not waited or list_of(number_of(old, scale), window) != there:
                push(there, v, lists)  # unless it waits there already
    free_chunk(chunk, lists)
    return edges_read


@inlined
def _prefetch_ahead(i, end, rows, words, pool):
    """Prefetch the data of the vertices after position i of the pool."""
    if i + uint64(AHEAD) < end:
        x = uint64(pool[i + uint64(AHEAD)])
        prefetch(rows.indptr, x)
        if words is None:
            prefetch(rows.dist, x)
        else:
            prefetch(words.known, x)
    if i + uint64(AHEAD // 2) < end:
        row = rows.indptr[uint64(pool[i + uint64(AHEAD // 2)])]
        prefetch(rows.neighbours, row)
        prefetch(rows.weights, row)
        prefetch(rows.neighbours, row + 16)


@inlined
def _lower(v, d, weight, number, alone, rows, shared):
    """Update v by a path through the vertex `number`, which is at distance d. Returns whether that path is shorter than
    all before, the new distance, the old one, and whether v was already marked as improved. The thread that sets the
    sign bit of a parent has locked that vertex."""
    dist, parent, tree = rows.dist, rows.parent, rows.parent.size > 0
    new, old = d + weight, dist[v]
    tie = tree and new == old and d < new < np.inf and not 0 <= atomic_load(parent, v) <= number
    if not (new < old or tie):
        return False, new, old, False
    if not d < new:
        shared[FLAT] = 1
    by = number if d < new else UNREACHED
    if alone:
        dist[v] = new
        if tree:
            parent[v] = by if new < old else min(parent[v], by)
    elif not tree:
        old = atomic_min(dist, v, new)
    else:
        held = atomic_or(parent, v, LOCKED)
        while held < 0:
            held = atomic_or(parent, v, LOCKED)
        old, after = dist[v], held
        if new < old:
            dist[v], after = new, by
        elif new == old:
            after = min(held, by)
        compare_and_swap(parent, v, held | LOCKED, after)
    waited = rows.improved[v]
    return _mark(v, new < old, rows), new, old, waited


@inlined
def _lower_word(v, d, weight, number, alone, rows, known, shared):
    """Like `_lower`, but with words. Without `improved`, a vertex that had a distance counts as marked."""
    length = uint64(np.int64(weight))
    after, held = ((d + length) << HALF) | uint64(number), known[v]
    if after >= held:
        return False, after, held, False
    if length == 0:
        shared[FLAT] = 1
        after |= LOW
        if after >= held:
            return False, after, held, False
    if alone:
        known[v] = after
    else:
        held = atomic_min(known, v, after)
    new, old = after >> HALF, held >> HALF
    waited = rows.improved[v] if rows.improved.size > 0 else old != LOW
    return _mark(v, new < old, rows), new, old, waited


@inlined
def _mark(v, lowered, rows):
    """Mark v, which has a shorter path or, if not `lowered`, only a new parent. Returns `lowered`."""
    if lowered:
        if rows.improved.size > 0:
            rows.improved[v] = True  # not for a new parent, as a marked vertex must wait in a list, or have waited
    elif rows.tied.size > 0:
        rows.tied[v] = True
    return lowered
