"""Distances and predecessors after edges came and went, from those before.

First, vertices whose predecessor was lost look for another one at the same distance, the nearest first; those that find
none are reset, and so those that they preceded look for others (KickStarter: Vora, Gupta, Xu, ASPLOS 2017). Then
distances spread from around the vertices that were reset, and along the edges that came, as in Dijkstra's algorithm.
Edges must have a length > 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.ascending import first_from
from dgraph.native.machine_code import inlined
from dgraph.native.team import kernel
from dgraph.solvers.paths.dijkstra import rise, sink
from dgraph.tables.changed_rows import (
    HALF,
    NOBODY,
    ONE,
    ChangedRows,
    extent,
    is_missing,
    most_to_read,
    other_end,
    weight_of,
)

WAITING, RESET = 1, 2  # states of vertices
READ, CHANGED, SIZE = 0, 1, 2  # counts: edges read; vertices that changed; the length of the heap


class TouchedArcs(NamedTuple):
    """Pairs of ends between which edges came or went, and the least weight of the edges between them; infinite if there
    is none."""

    sources: np.ndarray
    destinations: np.ndarray
    weights: np.ndarray


def arc_weights(rows: ChangedRows, sources: np.ndarray, destinations: np.ndarray) -> tuple[np.ndarray, int]:
    """The least weight of the edges from each source to its destination, and the number of edges read, each once. The
    search ends when these are more than is worth it."""
    arcs, places = np.unique(sources.astype(np.uint64) << HALF | destinations, return_inverse=True)
    weights = np.full(len(arcs), np.inf)
    read = _find_weights(rows, arcs, most_to_read(rows), weights)
    return weights[places], int(read)


def repaired_paths(
    distance: np.ndarray,
    parent: np.ndarray,
    out: ChangedRows,
    into: Callable[[], ChangedRows],
    touched: TouchedArcs,
    none: int,
    limit: float,
    read: int,
) -> tuple[int, int]:
    """Repair distances and parents in place, and return the number of edges read, `read` of them before, -1 if these
    are more than is worth it; and the number of vertices that have another distance or parent.

    New vertices are not reached yet. `out` and `into()` have the edges as they are, by source and by destination; the
    latter is called if a predecessor was lost. Vertices without a parent have `none`, and distances beyond the limit
    count as unreached.
    """
    sources, destinations, weights = touched
    lost = (parent[destinations] == sources) & (distance[sources] + weights > distance[destinations])
    doubtful, n = np.unique(destinations[lost]).astype(np.uint32), len(distance)
    heap, where, state = np.empty(n, np.uint32), np.empty(n, np.uint32), np.zeros(n, np.uint8)
    reset, counts = np.empty(n, np.uint32) if len(doubtful) else np.empty(0, np.uint32), np.zeros(3, np.int64)
    counts[READ], most = read, most_to_read(out)
    work = distance, parent, heap, where, state
    incoming = into() if len(doubtful) else out
    resets = _trim(out, incoming, doubtful, most, none, *work, reset, counts) if len(doubtful) else 0
    if resets >= 0 and counts[READ] <= most:
        _spread(out, incoming, reset[:resets], *touched, limit, most, *work, counts)
    return int(counts[READ]) if counts[READ] <= most else -1, int(counts[CHANGED])


@kernel
def farthest_of(distance):
    """The largest distance of a vertex that is reached; 0 if there is none."""
    farthest = 0.0
    for v in range(uint64(distance.size)):
        if farthest < distance[v] < np.inf:
            farthest = distance[v]
    return farthest


@kernel
def _find_weights(rows, arcs, most, weights):
    """Arcs are keys of their ends, which ascend."""
    first, read = uint64(0), np.int64(0)
    while first < uint64(arcs.size) and read <= most:
        u = arcs[first] >> HALF
        last = first_from(arcs, first, uint64(arcs.size), (u + ONE) << HALF)
        place = extent(u, rows)
        for i in range(place[1] + place[3]):
            v = other_end(uint64(i), u, place, rows)
            found = first_from(arcs, first, last, u << HALF | v) if v != uint64(NOBODY) else last
            if found < last and arcs[found] == u << HALF | v:
                weights[found] = min(weights[found], weight_of(uint64(i), place, rows))
        read += np.int64(place[1] + place[3])
        first = last
    return read


@inlined
def _wait(v, distance, heap, where, state, counts):
    """Let a vertex with a new distance wait in the heap."""
    if state[v] != WAITING:
        state[v] = WAITING
        where[v] = counts[SIZE]
        counts[SIZE] += 1
    rise(v, heap, where, distance)


@inlined
def _nearest(distance, heap, where, state, counts):
    """Take the nearest vertex from the heap."""
    u = uint64(heap[0])
    counts[SIZE] -= 1
    if counts[SIZE] > 0:
        sink(heap[counts[SIZE]], counts[SIZE], heap, where, distance)
    state[u] = 0
    return u


@kernel
def _trim(out, into, doubtful, most, none, distance, parent, heap, where, state, reset, counts):
    """Find new parents for vertices that have lost theirs; returns the number of those that are reset, because they
    have none."""
    resets = 0
    for k in range(doubtful.size):
        _wait(uint64(doubtful[k]), distance, heap, where, state, counts)
    while counts[SIZE] > 0 and counts[READ] <= most:
        v = _nearest(distance, heap, where, state, counts)
        place = extent(v, into)
        if is_missing(v, into):
            continue
        best = np.int64(-1)
        for i in range(place[1] + place[3]):
            u = other_end(uint64(i), v, place, into)
            if u == uint64(NOBODY) or state[u] == RESET or (best >= 0 and np.int64(u) >= best):
                continue
            if distance[u] + weight_of(uint64(i), place, into) == distance[v]:
                best = np.int64(u)
        counts[READ] += np.int64(place[1] + place[3])
        counts[CHANGED] += 1
        if best >= 0:
            parent[v] = best
            continue
        state[v] = RESET
        reset[resets] = v
        resets += 1
        place = extent(v, out)
        for i in range(place[1] + place[3]):
            u = other_end(uint64(i), v, place, out)
            if u != uint64(NOBODY) and parent[u] == np.int64(v) and state[u] == 0:
                _wait(u, distance, heap, where, state, counts)
        counts[READ] += np.int64(place[1] + place[3])
    for k in range(resets):
        v = uint64(reset[k])
        distance[v], parent[v], state[v] = np.inf, none, 0
    return resets


@inlined
def _reach(u, v, over, limit, distance, parent, heap, where, state, counts):
    """A path over u reaches v."""
    if over < distance[v]:
        if over <= limit:
            distance[v], parent[v] = over, np.int64(u)
            _wait(v, distance, heap, where, state, counts)
    elif over == distance[v] and over < np.inf and np.int64(u) < parent[v]:
        parent[v] = np.int64(u)


@kernel
def _spread(
    out, into, reset, sources, destinations, weights, limit, most,
    distance, parent, heap, where, state, counts,
):  # fmt: skip
    for k in range(reset.size):
        v = uint64(reset[k])
        place = extent(v, into)
        for i in range(place[1] + place[3]):
            u = other_end(uint64(i), v, place, into)
            if u != uint64(NOBODY) and state[u] != WAITING:
                over = distance[u] + weight_of(uint64(i), place, into)
                _reach(u, v, over, limit, distance, parent, heap, where, state, counts)
        counts[READ] += np.int64(place[1] + place[3])
    for k in range(sources.size):
        u = uint64(sources[k])
        _reach(
            u, uint64(destinations[k]), distance[u] + weights[k], limit, distance, parent, heap, where, state, counts
        )
    while counts[SIZE] > 0 and counts[READ] <= most:
        u = _nearest(distance, heap, where, state, counts)
        counts[CHANGED] += 1
        place = extent(u, out)
        for i in range(place[1] + place[3]):
            v = other_end(uint64(i), u, place, out)
            if v != uint64(NOBODY):
                over = distance[u] + weight_of(uint64(i), place, out)
                _reach(u, v, over, limit, distance, parent, heap, where, state, counts)
        counts[READ] += np.int64(place[1] + place[3])
