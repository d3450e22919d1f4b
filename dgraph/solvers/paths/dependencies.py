"""How much shortest paths depend on each vertex: the sums of Brandes' algorithm (J. Math. Sociol. 25, 2001). Threads
take sources in turn.

Forward, `paths[v]` counts the shortest paths from the source to v, level by level: a small frontier pushes its counts
along its edges; where fewer edges lead to vertices that are still to be found, these pull. Backward, each vertex adds
up the `credit` of its out-neighbours, (1 + dependency) / paths, which is nonzero only for those one level further: no
level has to be looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.paths.dijkstra import rise, sink

POWER = 512  # where counts exceed 2**1023, each is a number times 2**(POWER * power)
LARGE, SMALL = 2.0**POWER, 2.0**-POWER


def dependencies(
    out: Adjacency,
    incoming: Adjacency,
    sources: np.ndarray,
    threads: int,
    *,
    endpoints: bool = False,
    edges: bool = False,
) -> tuple[np.ndarray, int]:
    """The sum of the dependencies of all distinct sources on each vertex, and the number of edges read. With
    `endpoints`, paths depend on their ends, too. With `edges`, the sums are those of the edges of `out`."""
    n, threads = len(out.indptr) - 1, max(1, min(threads, len(sources)))
    while edges and threads > 1 and not has_room(threads * out.num_edges * 8):
        threads -= 1
    total, counts = np.zeros((threads, n)), np.zeros(2, np.int64)
    large, sides = np.zeros(len(sources), np.bool_), (out.indptr, out.neighbours, incoming.indptr, incoming.neighbours)
    work = np.zeros((3, threads, n)), np.empty((threads, n), np.uint32), np.empty((threads, n + 2), np.uint32)
    of_edges = _sums_of_edges(threads, out.num_edges) if edges else None
    team(_sweep, threads, counts, *sides, sources, endpoints, large, total, *work, None, of_edges)
    if large.any():
        powers = np.zeros((2, threads, n), np.int32)
        again = sources[large]
        counts[0] = 0
        team(_sweep, threads, counts, *sides, again, endpoints, large[: len(again)], total, *work, powers, of_edges)
    return (total if of_edges is None else of_edges).sum(axis=0), int(counts[1])


def _sums_of_edges(threads: int, edges: int) -> np.ndarray:
    if not has_room(need := threads * edges * 8):
        refuse_beyond_memory(f"the sums of {edges:,} edges for each of {threads} threads", need)
    return np.zeros((threads, edges))


@kernel
def _sweep(
    rank, size, signals,
    counts, indptr, neighbours, in_indptr, in_neighbours, sources, endpoints, large,
    totals, work, queues, bounds, powers, of_edges,
):  # fmt: skip
    """Add to totals[rank] the dependencies of the sources that this thread takes. Without `powers`, a source with too
    many paths is left out, and its place in `large` set."""
    paths, fresh, credit, queue, level = work[0, rank], work[1, rank], work[2, rank], queues[rank], bounds[rank]
    total = totals[rank]
    n = uint64(paths.size)
    power: Any = None if powers is None else powers[0, rank]
    coming: Any = None if powers is None else powers[1, rank]
    edges = np.int64(0)
    while True:
        place = atomic_add(counts, 0, 1)
        if place >= sources.size or atomic_load(signals, STOP) != 0:
            break
        s = uint64(sources[place])
        paths[s], queue[0], level[0], level[1] = 1.0, s, 0, 1
        depth, finite = 0, True
        left = np.int64(in_neighbours.size) - np.int64(in_indptr[s + ONE] - in_indptr[s])
        while True:
            begin, end = uint64(level[depth]), uint64(level[depth + 1])
            ahead = np.int64(0)
            for i in range(begin, end):
                u = uint64(queue[i])
                ahead += np.int64(indptr[u + ONE] - indptr[u])
            tail = end
            if left + np.int64(n) < ahead:
                edges += left
                for i in range(begin, end):
                    u = uint64(queue[i])
                    credit[u] = paths[u]
                for v in range(n):
                    if paths[v] == 0:
                        found, raised = 0.0, 0
                        for e in range(uint64(in_indptr[v]), uint64(in_indptr[v + ONE])):
                            u = uint64(in_neighbours[e])
                            if credit[u] > 0:
                                if power is None:
                                    found += credit[u]
                                else:
                                    found, raised = _plus(found, raised, credit[u], power[u])
                        if found > 0:
                            fresh[v] = found
                            if power is not None:
                                coming[v] = raised
                            queue[tail] = v
                            tail += ONE
                for i in range(begin, end):
                    credit[queue[i]] = 0.0
            else:
                edges += ahead
                for i in range(begin, end):
                    u = uint64(queue[i])
                    own = paths[u]
                    for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
                        v = uint64(neighbours[e])
                        if paths[v] == 0:
                            if fresh[v] == 0:
                                queue[tail] = v
                                tail += ONE
                            if power is None:
                                fresh[v] += own
                            else:
                                fresh[v], coming[v] = _plus(fresh[v], coming[v], own, power[u])
            if tail == end:
                break
            for i in range(end, tail):
                v = uint64(queue[i])
                paths[v] = fresh[v]
                finite = finite and fresh[v] < np.inf
                fresh[v] = 0.0
                if power is not None:
                    power[v], coming[v] = coming[v], 0
                left -= np.int64(in_indptr[v + ONE] - in_indptr[v])
            depth += 1
            level[depth + 1] = tail
            if not finite:
                break
        reached = uint64(level[depth + 1])
        if finite:
            for d in range(depth, 0, -1):
                for i in range(uint64(level[d]), uint64(level[d + 1])):
                    v = uint64(queue[i])
                    credit[v] = (1.0 + fresh[v]) / paths[v]
                if d == 1 and of_edges is None:
                    break
                for i in range(uint64(level[d - 1]), uint64(level[d])):
                    u = uint64(queue[i])
                    found = 0.0
                    for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
                        v = uint64(neighbours[e])
                        if power is None:
                            found += credit[v]
                            if of_edges is not None:
                                of_edges[rank, e] += paths[u] * credit[v]
                        elif credit[v] > 0:
                            share = _times(credit[v], power[u] - power[v])
                            found += share
                            if of_edges is not None:
                                of_edges[rank, e] += paths[u] * share
                    edges += np.int64(indptr[u + ONE] - indptr[u])
                    fresh[u] = paths[u] * found
            if endpoints:
                total[s] += np.float64(reached) - 1.0
            for i in range(ONE, reached):
                v = uint64(queue[i])
                total[v] += fresh[v] + 1.0 if endpoints else fresh[v]
        else:
            large[place] = True
        for i in range(reached):
            v = uint64(queue[i])
            paths[v], fresh[v], credit[v] = 0.0, 0.0, 0.0
            if power is not None:
                power[v], coming[v] = 0, 0
    atomic_add(counts, 1, edges)


def weighted_dependencies(
    out: Adjacency,
    weights: np.ndarray,
    sources: np.ndarray,
    threads: int,
    *,
    endpoints: bool = False,
    edges: bool = False,
) -> tuple[np.ndarray, int, bool]:
    """The same for paths by weight, which must be greater than 0 and finite; and whether all path counts are finite."""
    n, threads = len(out.indptr) - 1, max(1, min(threads, len(sources)))
    while edges and threads > 1 and not has_room(threads * out.num_edges * 8):
        threads -= 1
    total, counts = np.zeros((threads, n)), np.zeros(3, np.int64)
    dist, numbers = np.full((threads, n), np.inf), np.zeros((2, threads, n))
    queues = np.empty((3, threads, n), np.uint32)
    table = out.indptr, out.neighbours, weights
    of_edges = _sums_of_edges(threads, out.num_edges) if edges else None
    team(_weighted_sweep, threads, counts, *table, sources, endpoints, total, dist, numbers, queues, of_edges)
    return (total if of_edges is None else of_edges).sum(axis=0), int(counts[1]), not counts[2]


@kernel
def _weighted_sweep(
    rank, size, signals,
    counts, indptr, neighbours, weights, sources, endpoints, totals, dists, numbers, queues, of_edges,
):  # fmt: skip
    """Add to totals[rank] the dependencies of the sources that this thread takes, in the order of Dijkstra's algorithm:
    a vertex that is taken from the heap has all its paths."""
    dist, paths, own, total = dists[rank], numbers[0, rank], numbers[1, rank], totals[rank]
    order, heap, where = queues[0, rank], queues[1, rank], queues[2, rank]
    edges = np.int64(0)
    while True:
        place = atomic_add(counts, 0, 1)
        if place >= sources.size or atomic_load(signals, STOP) != 0:
            break
        s = uint64(sources[place])
        dist[s], paths[s], heap[0], where[s] = 0.0, 1.0, s, 0
        waiting, done = 1, 0
        while waiting > 0:
            u = uint64(heap[0])
            waiting -= 1
            if waiting > 0:
                sink(heap[waiting], waiting, heap, where, dist)
            order[done] = u
            done += 1
            for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
                v = uint64(neighbours[e])
                over = dist[u] + weights[e]
                if over < dist[v]:
                    if dist[v] == np.inf:
                        where[v] = waiting
                        waiting += 1
                    dist[v], paths[v] = over, paths[u]
                    rise(v, heap, where, dist)
                elif over == dist[v] and over < np.inf and u != v:
                    paths[v] += paths[u]
            edges += np.int64(indptr[u + ONE] - indptr[u])
        for i in range(done - 1, 0 if of_edges is None else -1, -1):
            u = uint64(order[i])
            found = 0.0
            for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
                v = uint64(neighbours[e])
                if dist[v] == dist[u] + weights[e] and u != v:
                    share = (1.0 + own[v]) / paths[v]
                    found += share
                    if of_edges is not None:
                        of_edges[rank, e] += paths[u] * share
            if i == 0:
                break
            own[u] = paths[u] * found
            total[u] += own[u] + 1.0 if endpoints else own[u]
        if endpoints:
            total[s] += np.float64(done) - 1.0
        for i in range(done):
            u = uint64(order[i])
            if not paths[u] < np.inf:
                atomic_add(counts, 2, 1)
            dist[u], paths[u], own[u] = np.inf, 0.0, 0.0
    atomic_add(counts, 1, edges)


@inlined
def _plus(one, its, other, others):
    """The sum of two numbers with powers, as a number from 1 to LARGE and its power."""
    if one == 0 or others > its + 1:
        one, its = other, others
    elif others == its + 1:
        one, its = one * SMALL + other, others
    elif others == its:
        one += other
    elif others == its - 1:
        one += other * SMALL
    if one > LARGE:
        one, its = one * SMALL, its + 1
    return one, its


@inlined
def _times(number, power):
    """number * 2**(POWER * power)"""
    if power == 0:
        return number
    if power == 1:
        return number * LARGE
    if power == -1:
        return number * SMALL
    return 0.0
