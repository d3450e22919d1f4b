"""Sums over the distances of many sources: how many vertices each reaches, and the sums of their distances and of
1 / distance.

Up to 64 sources are searched at a time, each a bit in a word per vertex (MS-BFS: Then and others, VLDB 2014), as long
as their searches meet: where a vertex is mostly in the frontier of few of them, as in road networks, searches go one by
one instead, with a bit per vertex. Threads take batches of sources in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numba.cpython.unsafe.numbers import trailing_zeros

from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.paths.dijkstra import search_by_weight

_first: Any = trailing_zeros  # the position of a word's lowest bit
WORD = 64
SIX, LOW, ZERO = uint64(6), uint64(63), uint64(0)
PULL = 4  # a level is pulled if its frontier has more than 1/PULL of all edges
MEETING = 4  # sources per vertex of a frontier, on average, below which searches go one by one
DEEP = 32  # levels per source, on average, up to which searches go together again
PLANES = 33  # bits of a count of vertices
FEW = 64  # vertices of a level that are counted bit by bit


class DistanceSums(NamedTuple):
    """For each source, over the vertices that it reaches, without itself."""

    reached: np.ndarray  # their number
    total: np.ndarray  # the sum of their distances
    inverse: np.ndarray  # the sum of 1 / distance


def distance_sums(
    rows: Adjacency, reverse: Adjacency, sources: np.ndarray, threads: int, weights: np.ndarray | None = None
) -> tuple[DistanceSums, int]:
    """The sums of searches along `rows`, and the number of edges read. `reverse` holds the same edges the other way
    round. With `weights`, which must be > 0, these are the lengths of edges."""
    n, threads = len(rows.indptr) - 1, max(1, min(threads, len(sources)))
    sums = DistanceSums(*np.zeros((3, len(sources))))
    counts = np.zeros(2, np.int64)
    if weights is not None:
        work = np.full((threads, n), np.inf), np.empty((3, threads, n), np.uint32)
        team(_weighted_sums, threads, counts, rows.indptr, rows.neighbours, weights, sources, *sums, *work)
    else:
        width = min(WORD, -(-len(sources) // threads))
        sides = rows.indptr, rows.neighbours, reverse.indptr, reverse.neighbours
        work = np.zeros((3, threads, n), np.uint64), np.empty((3, threads, n + 1), np.uint32)
        team(_sums, threads, counts, *sides, sources, width, MEETING, DEEP, *sums, *work)
    return sums, int(counts[1])


@kernel
def _sums(
    rank, size, signals,
    counts, indptr, neighbours, in_indptr, in_neighbours, sources, width, meeting, deep, reached, total, inverse,
    words, queues,
):  # fmt: skip
    """Write the sums of the sources that this thread takes."""
    seen, front, fresh = words[0, rank], words[1, rank], words[2, rank]
    now, then, touched = queues[0, rank], queues[1, rank], queues[2, rank]
    planes, found = np.zeros(PLANES, np.uint64), np.zeros(WORD, np.int64)
    n, arcs, edges = uint64(seen.size), np.int64(neighbours.size), np.int64(0)
    apart, pause = 0, 1  # batches that go one by one, and how many do after the next that did not meet
    while True:
        begin = atomic_add(counts, 0, 1) * width
        if begin >= sources.size or atomic_load(signals, STOP) != 0:
            break
        end = min(begin + width, sources.size)
        if apart > 0:
            levels = np.int64(0)
            for place in range(begin, end):
                if atomic_load(signals, STOP) == 0:
                    read, level = _search(place, indptr, neighbours, sources, reached, total, inverse, seen, now)
                    edges, levels = edges + read, levels + level
            if levels <= deep * (end - begin):
                apart -= 1
            continue
        ahead = np.int64(0)
        tail: Any = ZERO
        for place in range(begin, end):
            v = uint64(sources[place])
            now[tail], touched[tail] = v, v
            tail += ONE
            front[v] = seen[v] = ONE << uint64(place - begin)
            ahead += np.int64(indptr[v + ONE] - indptr[v])
        level, entries = 0, np.int64(0)
        known: Any = tail
        every = ~ZERO >> uint64(WORD - (end - begin))
        while tail > 0 and atomic_load(signals, STOP) == 0:
            level += 1
            length, tail = tail, ZERO
            if ahead * PULL > arcs + np.int64(n):
                for u in range(n):
                    lacks = every & ~seen[u]
                    if lacks != 0:
                        first, last = uint64(in_indptr[u]), uint64(in_indptr[u + ONE])
                        heard, e = ZERO, first
                        while e < last and heard & lacks != lacks:
                            heard |= front[in_neighbours[e]]
                            e += ONE
                        edges += np.int64(e - first)
                        if heard & lacks != 0:
                            fresh[u] = heard & lacks
                            then[tail] = u
                            tail += ONE
            else:
                edges += ahead
                for i in range(length):
                    v = uint64(now[i])
                    word = front[v]
                    for e in range(uint64(indptr[v]), uint64(indptr[v + ONE])):
                        u = uint64(neighbours[e])
                        told = word & ~seen[u]
                        if told != 0:
                            if fresh[u] == 0:
                                then[tail] = u
                                tail += ONE
                            fresh[u] |= told
            for i in range(length):
                front[now[i]] = ZERO
            ahead, top = np.int64(0), ZERO
            entries += np.int64(tail)
            for i in range(tail):
                u = uint64(then[i])
                word = fresh[u]
                if seen[u] == 0:
                    touched[known] = u
                    known += ONE
                seen[u] |= word
                ahead += np.int64(indptr[u + ONE] - indptr[u])
                if tail < FEW:
                    while word != 0:
                        found[_first(word)] += 1
                        word &= word - ONE
                else:  # planes[i] has bit i of the counts of all sources
                    plane: Any = ZERO
                    while word != 0:
                        carried = planes[plane] & word
                        planes[plane] ^= word
                        word = carried
                        plane += ONE
                    top = max(top, plane)
            for j in range(end - begin):
                count = found[j]
                found[j] = 0
                for plane in range(top):
                    count += np.int64(((planes[plane] >> uint64(j)) & ONE) << plane)
                if count > 0:
                    place = begin + j
                    reached[place] += count
                    total[place] += count * level
                    inverse[place] += count / level
            planes[:top] = ZERO
            front, fresh = fresh, front
            now, then = then, now
        for i in range(known):
            seen[touched[i]] = ZERO
        met = np.int64(0)
        for place in range(begin, end):
            met += np.int64(reached[place])
        if met < meeting * entries:
            apart, pause = pause, 2 * pause
    atomic_add(counts, 1, edges)


@inlined
def _search(place, indptr, neighbours, sources, reached, total, inverse, seen, queue):
    """Write the sums of a single source; `seen` has a bit for each vertex. Returns the number of edges read, and of
    levels."""
    s = uint64(sources[place])
    seen[s >> SIX] |= ONE << (s & LOW)
    queue[0] = s
    begin, end, level, edges = ZERO, ONE, 0, np.int64(0)
    while True:
        tail = end
        for i in range(begin, end):
            v = uint64(queue[i])
            first, last = uint64(indptr[v]), uint64(indptr[v + ONE])
            edges += np.int64(last - first)
            for e in range(first, last):
                u = uint64(neighbours[e])
                word, bit = seen[u >> SIX], u & LOW
                queue[tail] = u  # stays only if it is new
                tail += ONE - ((word >> bit) & ONE)
                seen[u >> SIX] = word | (ONE << bit)
        if tail == end:
            break
        level += 1
        count = np.int64(tail - end)
        total[place] += count * level
        inverse[place] += count / level
        begin, end = end, tail
    reached[place] = end - ONE
    for i in range(end):
        seen[uint64(queue[i]) >> SIX] = ZERO
    return edges, level


@kernel
def _weighted_sums(
    rank, size, signals,
    counts, indptr, neighbours, weights, sources, reached, total, inverse, dists, queues,
):  # fmt: skip
    """The same for distances by weight, in the order of Dijkstra's algorithm."""
    dist, order, heap, where = dists[rank], queues[0, rank], queues[1, rank], queues[2, rank]
    edges = np.int64(0)
    while True:
        place = atomic_add(counts, 0, 1)
        if place >= sources.size or atomic_load(signals, STOP) != 0:
            break
        done, read = search_by_weight(uint64(sources[place]), indptr, neighbours, weights, dist, order, heap, where)
        edges += read
        for i in range(1, done):
            total[place] += dist[order[i]]
            inverse[place] += 1 / dist[order[i]]
        reached[place] = done - 1
        for i in range(done):
            dist[order[i]] = np.inf
    atomic_add(counts, 1, edges)
