"""Dijkstra's algorithm with a binary heap, for kernels that search from many sources, each thread with arrays of its
own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, team
from dgraph.partition.adjacency import Adjacency


class FarthestDistances(NamedTuple):
    """For each source, the largest of its distances; and the number of edges read."""

    distances: np.ndarray
    edges: int


def farthest(
    rows: Adjacency, weights: np.ndarray, sources: np.ndarray, members: np.ndarray, threads: int
) -> FarthestDistances:
    """The distance from each source to the farthest of the members that it reaches, itself included. Weights must not
    be negative."""
    n, threads = len(rows.indptr) - 1, max(1, min(threads, len(sources)))
    found, counts = np.zeros(len(sources)), np.zeros(2, np.int64)
    work = np.full((threads, n), np.inf), np.empty((3, threads, n), np.uint32)
    if len(sources):
        team(_farthest, threads, counts, rows.indptr, rows.neighbours, weights, sources, members, found, *work)
    return FarthestDistances(found, int(counts[1]))


@kernel
def _farthest(
    rank, size, signals,
    counts, indptr, neighbours, weights, sources, members, found, dists, queues,
):  # fmt: skip
    """Write found[i], the largest distance from sources[i]. Each thread takes sources in turn."""
    dist, order, heap, where = dists[rank], queues[0, rank], queues[1, rank], queues[2, rank]
    edges = np.int64(0)
    while True:
        place = atomic_add(counts, 0, 1)
        if place >= sources.size or atomic_load(signals, STOP) != 0:
            break
        done, read = search_by_weight(uint64(sources[place]), indptr, neighbours, weights, dist, order, heap, where)
        edges += read
        last = done - 1  # the source itself is first, and a member
        while not members[order[last]]:
            last -= 1
        found[place] = dist[order[last]]
        for i in range(done):
            dist[order[i]] = np.inf
    atomic_add(counts, 1, edges)


@inlined
def search_by_weight(s, indptr, neighbours, weights, dist, order, heap, where):
    """Write the distances from s, all of which are infinite before, and the vertices that it reaches, the nearest
    first. Returns the number of these, and of edges read."""
    dist[s], heap[0], where[s] = 0.0, s, 0
    waiting, done, edges = 1, 0, np.int64(0)
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
                dist[v] = over
                rise(v, heap, where, dist)
        edges += np.int64(indptr[u + ONE] - indptr[u])
    return done, edges


@inlined
def rise(v, heap, where, dist):
    """Move a vertex, whose distance is new, up the heap to its place."""
    place = where[v]
    while place > 0:
        above = (place - 1) // 2
        if dist[heap[above]] <= dist[v]:
            break
        heap[place] = heap[above]
        where[heap[place]] = place
        place = above
    heap[place] = v
    where[v] = place


@inlined
def sink(v, waiting, heap, where, dist):
    """Put a vertex in place of the first of the heap, and move it down to its place."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= waiting:
            break
        if below + 1 < waiting and dist[heap[below + 1]] < dist[heap[below]]:
            below += 1
        if dist[v] <= dist[heap[below]]:
            break
        heap[place] = heap[below]
        where[heap[place]] = place
        place = below
    heap[place] = v
    where[v] = place
