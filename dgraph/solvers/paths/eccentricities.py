"""Eccentricities, diameter and radius from few searches, by bounds (Takes and Kosters, Algorithms 6, 2013; both
directions: Borassi and others, Theor. Comput. Sci. 586, 2015).

Let f, b and e be the distance of v from the source of a search, its distance to it, and the source's eccentricity.
Then that of v is at least b and at least e - f, and at most b + e. Sources are in turn vertices with the highest upper
bound, which are likely to be at the rim, and those with the lowest lower bound, which are likely to be in the middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, barrier, kernel, share, stopped, team
from dgraph.partition.adjacency import Adjacency

EVERY, DIAMETER, RADIUS = 0, 1, 2  # what is wanted
NOBODY = -1
ECCENTRICITY, LARGEST, LEAST, HIGH, LOW = range(5)  # what a thread tells the others; on one cache line
UNBOUND = np.iinfo(np.int32).max


class EccentricityBounds(NamedTuple):
    """Bounds of the eccentricities of some vertices, and how much work it took to find them."""

    lower: np.ndarray
    upper: np.ndarray
    searches: int
    edges: int


def eccentricities(
    out: Adjacency,
    incoming: Adjacency | None,
    members: np.ndarray,
    middle: np.ndarray,
    wanted: int,
    most: int,
    threads: int,
) -> EccentricityBounds:
    """Bounds for each of the vertices `middle`, within the subgraph of `members`, all of which they reach. They are
    equal if every eccentricity is `wanted`, else where that matters; not all need be if `most` searches do not suffice.
    Without `incoming`, edges lead both ways."""
    n, count = len(out.indptr) - 1, len(middle)
    threads = max(1, min(threads, count))
    lower, upper = np.zeros(count, np.int32), np.full(count, UNBOUND, np.int32)
    ways = 1 if incoming is None else 2
    back = out if incoming is None else incoming
    sides = out.indptr, out.neighbours, back.indptr, back.neighbours
    work = (
        np.full((ways, threads, n), -1, np.int32),
        np.empty((threads, n + 1), np.uint32),
        np.empty((threads, count), np.uint32),
    )
    told, counts = np.full((threads, 8), NOBODY, np.int64), np.zeros((threads, 8), np.int64)
    chosen, whole = np.full((threads, threads), NOBODY, np.int64), bool(members.all())
    if count:
        team(_bound, threads, *sides, members, middle, wanted, most, lower, upper, *work, told, chosen, counts, whole)
    return EccentricityBounds(lower, upper, *(int(one) for one in counts[:, :2].sum(axis=0)))


@kernel
def _bound(
    rank, size, signals,
    indptr, neighbours, in_indptr, in_neighbours, members, middle, wanted, most,
    lower, upper, dists, queues, lists, told, chosen, counts, whole,
):  # fmt: skip
    """Narrow lower[i] and upper[i], the bounds of the vertex middle[i]. Each thread searches from a vertex of its own,
    then all threads apply what was found to their shares of the bounds."""
    mine, open_ones = told[rank], lists[rank]
    first, last = share(rank, size, middle.size)
    left = last - first
    for i in range(left):
        open_ones[i] = first + i
    source, turn = NOBODY, 0
    if rank == 0:
        source, best = 0, np.int64(-1)
        for i in range(middle.size):
            degree = _degree(middle[i], indptr)
            if degree > best:
                source, best = i, degree
    while True:
        mine[ECCENTRICITY] = NOBODY
        if source != NOBODY:
            s, queue = uint64(middle[source]), queues[rank]
            mine[ECCENTRICITY], edges = _search(s, indptr, neighbours, members, middle, whole, dists[0, rank], queue)
            if dists.shape[0] > 1:
                _, more = _search(s, in_indptr, in_neighbours, members, middle, whole, dists[1, rank], queue)
                edges += more
            lower[source] = upper[source] = mine[ECCENTRICITY]
            counts[rank, 0] += 1
            counts[rank, 1] += edges
        barrier(size, signals)
        largest, least = np.int64(0), np.int64(UNBOUND)
        for k in range(left):
            i = open_ones[k]
            v, low, high = middle[i], np.int64(lower[i]), np.int64(upper[i])
            for other in range(size):
                eccentricity = told[other, ECCENTRICITY]
                if eccentricity != NOBODY:
                    away, back = np.int64(dists[0, other, v]), np.int64(dists[dists.shape[0] - 1, other, v])
                    low = max(low, back, eccentricity - away)
                    high = min(high, back + eccentricity)
            lower[i], upper[i] = low, high
            largest, least = max(largest, low), min(least, high)
        mine[LARGEST], mine[LEAST] = max(mine[LARGEST], largest), min(least, mine[LEAST]) if turn else least
        searches = np.int64(0)
        barrier(size, signals)
        for other in range(size):
            largest, least = max(largest, told[other, LARGEST]), min(least, told[other, LEAST])
            searches += counts[other, 0]
        kept = 0
        high, low = np.int64(NOBODY), np.int64(NOBODY)
        for k in range(left):
            i = open_ones[k]
            if (
                lower[i] == upper[i]
                or (wanted == DIAMETER and upper[i] <= largest)
                or (wanted == RADIUS and lower[i] >= least)
            ):
                continue
            open_ones[kept] = i
            kept += 1
            if high == NOBODY or _is_better(-upper[i], i, -upper[high], high, middle, indptr):
                high = i
            if low == NOBODY or _is_better(lower[i], i, lower[low], low, middle, indptr):
                low = i
        left = kept
        mine[HIGH], mine[LOW] = high, low
        turn += 1
        barrier(size, signals)
        source = _choose(rank, size, turn, most - searches, told, chosen[rank], lower, upper, middle, indptr)
        anybody = False
        for other in range(size):
            anybody = anybody or told[other, HIGH] != NOBODY
        if not anybody or searches >= most or stopped(signals):
            break
        barrier(size, signals)


@inlined
def _degree(v, indptr):
    return np.int64(indptr[uint64(v) + ONE] - indptr[uint64(v)])


@inlined
def _is_better(one, i, other, j, middle, indptr):
    """Whether the source i, with this bound, comes before j: by the bound, then by its degree, then as listed."""
    if j == NOBODY or one != other:
        return j == NOBODY or one < other
    its, others = _degree(middle[i], indptr), _degree(middle[j], indptr)
    return its > others or (its == others and i < j)


@inlined
def _choose(rank, size, turn, left, told, taken, lower, upper, middle, indptr):
    """The next source of a thread: no other thread's, as all choose in the order of their ranks, and none if no search
    is left. The first two take the best of all threads' vertices, the others the best of their own."""
    source = NOBODY
    for one in range(min(rank + 1, left)):
        which, source = HIGH if (one + turn) % 2 else LOW, NOBODY
        for other in range(size):
            i = told[other, which]
            if i == NOBODY or (one >= 2 and other != one):
                continue
            free = True
            for before in range(one):
                free = free and taken[before] != i
            if not free:
                continue
            if which == HIGH and _is_better(-upper[i], i, -upper[source], source, middle, indptr):
                source = i
            if which == LOW and _is_better(lower[i], i, lower[source], source, middle, indptr):
                source = i
        taken[one] = source
    return source if rank < left else NOBODY


@inlined
def _search(s, indptr, neighbours, members, middle, whole, dist, queue):
    """Write the distances of all members from s; returns the largest, and the number of edges read. Unless the members
    are the whole graph, they are `middle`, and only their distances have to be reset."""
    if whole:
        dist[:] = -1
    else:
        for i in range(middle.size):
            dist[middle[i]] = -1
    dist[s], queue[0] = 0, s
    begin, end, level, edges = uint64(0), ONE, 0, np.int64(0)
    while True:
        tail = end
        for place in range(begin, end):
            v = uint64(queue[place])
            first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
            edges += np.int64(last - first)
            for e in range(first, last):
                u = uint64(neighbours[e])
                if dist[u] < 0 and members[u]:
                    dist[u] = level + 1
                    queue[tail] = u
                    tail += ONE
        if tail == end:
            return level, edges
        level += 1
        begin, end = end, tail
