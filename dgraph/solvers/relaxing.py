"""The inner loop of `delta_stepping.py`, in two forms: relax the edges of the vertices that wait in a chunk.

Either distances are float64, and predecessors numbers beside them, which are locked one by one. Or, where weights are
whole numbers and distances below 2**32 - 1, both are one *word*: the distance in its upper half and the predecessor in
the lower. The smaller word is the shorter path, and of paths as long the one by the smaller predecessor. So one atomic
minimum takes the place of a lock, and a vertex is on one cache line, not on two.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.monoid import UNREACHED
from dgraph.solvers.slots import LAST, ONE, ROOM, free, fresh, list_of, number_of
from dgraph.solvers.team import (
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    compare_and_swap,
    kernel,
    prefetch,
    scalar_part,
    share,
    team,
)

AHEAD = 8  # vertices whose rows are asked for before their turn
LOCKED = np.int64(-(2**63))  # the sign bit of a parent
FAR = (1 << 32) - 1  # half a word: no distance, or no predecessor
BLOCK = 4096  # vertices that are listed, and weights that are looked at, before it is asked what that means
HALF, LOW = uint64(32), uint64(FAR)

LOOKED, FLAT, BEYOND = 16, 17, 18  # places in `shared`, after those of `slots.py`


class PathTables(NamedTuple):
    """The edges of a partition's vertices, and what is known of their distances."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    dist: np.ndarray
    parent: np.ndarray  # the smallest strictly nearer one on a shortest path; empty if nobody asks
    improved: np.ndarray  # empty if nobody asks, which may be in words only
    numbers: np.ndarray  # by which parents are named and compared; empty if these are the rows
    tied: np.ndarray  # who has got another parent at the same distance; empty if nobody asks


class Words(NamedTuple):
    """Distance and predecessor of each vertex, in words; and the largest weight."""

    known: np.ndarray
    largest: int

    @property
    def dist(self) -> np.ndarray:
        """The distances: a view of the words."""
        return self.known.view(np.uint32)[sys.byteorder == "little" :: 2]

    def learn(self, ids: np.ndarray, dist: np.ndarray, parent: np.ndarray) -> bool:
        """Take in distances that have come for some vertices, with predecessors if there are any; False if one does not
        fit."""
        return bool(_learn(self.known, ids, dist, parent))

    def tell(self, improved: np.ndarray, owned: int, dist: np.ndarray, parent: np.ndarray) -> None:
        """Copy what has improved here to the arrays that travel. A new predecessor alone is news for masters of proxies
        only."""
        _tell(self.known, improved, owned, dist, parent)

    def apart(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and predecessors as two arrays."""
        dist, parent = np.empty(len(self.known)), np.empty(len(self.known), np.int64)
        team(_apart, threads, self.known, dist, parent)
        return dist, parent


def words_of(vertices: int, largest: int) -> Words:
    """Words of vertices of which nothing is known."""
    return Words(np.full(vertices, (FAR << 32) | FAR, np.uint64), largest)


def largest_whole(weights: np.ndarray, threads: int) -> int:
    """The largest weight, if all are whole numbers from 0 on, and less than FAR; else FAR."""
    found = np.zeros(1, np.int64)
    team(_largest_whole, threads, weights, found)
    return int(found[0])


@kernel
def _largest_whole(rank, size, signals, weights, found):
    lo, hi = share(rank, size, weights.size)
    for start in range(lo, hi, BLOCK):
        if atomic_load(found, 0) >= FAR:
            break
        largest, others = np.int64(0), False
        for e in range(uint64(start), uint64(min(start + BLOCK, hi))):
            weight = np.int64(weights[e])
            others |= (weight != weights[e]) | (weight < 0) | (weight >= FAR)
            largest = max(largest, weight)
        atomic_max(found, 0, FAR if others else largest)


@kernel
def _learn(known, ids, dist, parent):
    for i in range(uint64(ids.size)):
        v = ids[i]
        far = dist[v]
        if not (far < FAR and far == np.floor(far)):
            return False
        known[v] = uint64(np.int64(far)) << HALF | uint64(min(parent[v], FAR) if parent.size else FAR)
    return True


@kernel
def _tell(known, improved, owned, dist, parent):
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
                parent[v] = UNREACHED if by == FAR else by
            dist[v] = far


@kernel
def _apart(rank, size, signals, known, dist, parent):
    lo, hi = share(rank, size, known.size)
    for v in range(uint64(lo), uint64(hi)):
        far, by = known[v] >> HALF, known[v] & LOW
        dist[v] = np.inf if far == LOW else np.float64(far)
        parent[v] = UNREACHED if by == LOW else np.int64(by)


@scalar_part
def relax_chunk(place, slot, alone, rows, words, senders, window, scale, lists):
    """Relax the edges of a chunk's vertices, and give back the chunk; returns the number of edges.

    There are two forms, and Numba compiles only what the types need. Without words, whoever sets the sign bit of a
    parent has that vertex for itself; with words, vertices so far that a distance might not fit are left out. `push` is
    written out here, because a call for every edge costs a fifth.
    """
    indptr, neighbours, weights, dist, parent, improved, numbers, tied = rows
    tails, marks, _, pool, chained, shared = lists
    if words is not None:
        known, largest = words
    tree, named, tells, tells_ties = parent.size > 0, numbers.size > 0, improved.size > 0, tied.size > 0
    chunk = (place - 1) // ROOM
    begin, end, looked = uint64(chunk * ROOM), uint64(place), uint64(0)
    for i in range(begin, end):
        if i + uint64(AHEAD) < end:
            x = uint64(pool[i + uint64(AHEAD)])
            prefetch(indptr, x)
            if words is None:
                prefetch(dist, x)
            else:
                prefetch(known, x)
        if i + uint64(AHEAD // 2) < end:
            row = indptr[uint64(pool[i + uint64(AHEAD // 2)])]
            prefetch(neighbours, row)
            prefetch(weights, row)
            prefetch(neighbours, row + 16)
        u = uint64(pool[i])
        if words is None:
            d = dist[u]
        else:
            d = known[u] >> HALF
        if list_of(number_of(d, scale), window) != slot:
            continue  # it has been taken from a nearer slot
        if words is not None and d >= uint64(FAR - largest):
            shared[BEYOND] = 1
            continue
        number = np.int64(numbers[u]) if named else np.int64(u)  # with unsigned numbers, signed ones become floats
        first, last = uint64(indptr[u]), uint64(indptr[u + uint64(1)])
        looked += last - first
        for e in range(first, last):
            v = uint64(neighbours[e])
            if words is None:
                new, old = d + weights[e], dist[v]
                tie = tree and new == old and d < new < np.inf and not 0 <= atomic_load(parent, v) <= number
                if not (new < old or tie):
                    continue
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
                waits = improved[v]
            else:
                weight = uint64(np.int64(weights[e]))
                after, held = ((d + weight) << HALF) | uint64(number), known[v]
                if after >= held:
                    continue
                if weight == 0:
                    shared[FLAT] = 1
                    after |= LOW
                    if after >= held:
                        continue
                if alone:
                    known[v] = after
                else:
                    held = atomic_min(known, v, after)
                new, old = after >> HALF, held >> HALF
                waits = improved[v] if tells else old != LOW
            if old <= new:
                if tells_ties:
                    tied[v] = True
                continue
            if tells:
                improved[v] = True  # not of a tie: who has gone before, and has another parent only, waits nowhere
            there = list_of(number_of(new, scale), window)
            if there != slot and waits and list_of(number_of(old, scale), window) == there:
                continue  # it waits there already
            if v >= senders:
                continue  # nothing leads on
            place = tails[there]
            if place % ROOM == 0:
                begun = fresh(lists)
                if begun < 0:
                    continue
                chained[uint64(begun)] = place // ROOM - 1
                place = begun * ROOM
                marks[there >> 6] |= ONE << (uint64(there) & LAST)
            pool[uint64(place)] = v
            tails[there] = place + 1
    free(chunk, lists)
    return looked
