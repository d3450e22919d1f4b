"""One shortest path, by searches from both of its ends that meet (Pohl, Machine Intelligence 6, 1971): level by level,
or by weight in the order of Dijkstra's algorithm.

Of several shortest paths, both find the one along the smallest predecessors that are nearer to the source, as searches
from the source alone do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, kernel, part
from dgraph.solvers.paths.dijkstra import rise, sink
from dgraph.solvers.solver import CsrArrays

FORWARD, BACKWARD = 1, -1
# Sums of weights from both ends may differ from those from the source by rounding; so much that paths of 10 million
# edges are looked at again if their length is this near to the shortest.
SLACK = 1 + 1e-9
KNOWN, DONE = (1, 2), (4, 8)  # bits of a vertex: forward and backward, whether it has a distance, and its final one


class WeightedRows(NamedTuple):
    """The arrays of an Adjacency with weights, for kernels."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray


def fewest_edges(out: CsrArrays, incoming: CsrArrays, source: int, target: int) -> np.ndarray:
    """The vertices of the path from `source` to another vertex; empty if there is none."""
    n = len(out.indptr) - 1
    # memory that is never touched costs nothing
    levels, before = np.zeros((2, n), np.int32 if n < 1 << 31 else np.int64)
    return _fewest_edges(out, incoming, source, target, levels, before, np.empty((2, n), np.uint32))


def least_weight(out: WeightedRows, incoming: WeightedRows, source: int, target: int) -> tuple[bool, np.ndarray]:
    """Whether there is a path from `source` to another vertex, and the vertices of the one of least weight. Weights are
    >= 0. The path is empty if some vertex on it has no predecessor that is strictly nearer."""
    n = len(out.indptr) - 1
    heaps, places = np.empty((2, 2, n), np.uint32)
    return _least_weight(out, incoming, source, target, np.zeros(n, np.uint8), np.empty((2, n)), heaps, places)


@kernel
def _fewest_edges(out, incoming, source, target, levels, before, queues):
    """levels[v] is 1 + the distance from the source, or its negative from the target. before[v] is 1 + the smallest
    predecessor on a shortest path: of all that the search forward finds, and then of those from where both meet."""
    levels[source], levels[target] = FORWARD, BACKWARD
    queues[0, 0], queues[1, 0] = source, target
    ahead, behind = _edges(out, source), _edges(incoming, target)
    first, last, level = (0, 1, 1)
    their_first, their_last, their_level = (0, 1, 1)
    met = False
    while not met and first < last and their_first < their_last:
        if ahead <= behind:
            end, ahead, met = _advance(out, queues[0], first, last, level, FORWARD, levels, before)
            if not met:
                first, last, level = last, end, level + 1
        else:
            end, behind, met = _advance(
                incoming, queues[1], their_first, their_last, their_level, BACKWARD, levels, before
            )
            if not met:
                their_first, their_last, their_level = their_last, end, their_level + 1
    path = np.empty(level + their_level if met else 0, np.int64)
    if met:
        for i in range(their_first - 1, -1, -1):
            v = uint64(queues[1, i])
            for e in range(uint64(incoming.indptr[v]), uint64(incoming.indptr[v + ONE])):
                u = uint64(incoming.neighbours[e])
                if levels[u] == levels[v] - 1 and before[u] != 0:
                    _lower(before, v, u)
        v = uint64(target)
        for i in range(path.size):
            path[path.size - 1 - i] = v
            v = uint64(before[v] - 1)
    return path


@part
def _advance(rows, queue, first, last, level, side, levels, before):
    """Search from the vertices of one level, queue[first:last]. Returns the end of the next level, the number of edges
    from there, and whether an edge led to the other side; if so, the next level does not matter."""
    end, edges, met = last, np.int64(0), False
    for i in range(first, last):
        u = uint64(queue[i])
        for e in range(uint64(rows.indptr[u]), uint64(rows.indptr[u + ONE])):
            v = uint64(rows.neighbours[e])
            there = levels[v] * side
            if there == 0:
                if met:
                    continue
                levels[v] = (level + 1) * side
                queue[end] = v
                end += 1
                edges += _edges(rows, v)
            met |= there < 0
            if side == FORWARD and (there <= 0 or there == level + 1):
                _lower(before, v, u)
            if side == BACKWARD and there < 0:
                _lower(before, u, v)
    return end, edges, met


@inlined
def _edges(rows, u):
    return np.int64(rows.indptr[uint64(u) + ONE] - rows.indptr[uint64(u)])


@inlined
def _lower(before, v, u):
    """Make u the predecessor of v, unless it has a smaller one."""
    if before[v] == 0 or np.int64(u) < before[v] - 1:
        before[v] = np.int64(u) + 1


@kernel
def _least_weight(out, incoming, source, target, known, dist, heaps, places):
    """Both searches settle vertices until no shorter path can be left. The search forward then goes on among the
    vertices that the search backward has settled, so that distances are those of a search from the source alone."""
    near, far = dist[0], dist[1]
    near[source], far[target] = 0.0, 0.0
    known[source], known[target] = KNOWN[0], KNOWN[1]
    heaps[0, 0], heaps[1, 0], places[0, source], places[1, target] = source, target, 0, 0
    waiting, theirs, best = 1, 1, np.inf
    while waiting > 0 and theirs > 0 and near[heaps[0, 0]] + far[heaps[1, 0]] <= best * SLACK:
        if waiting <= theirs:
            least = far[heaps[1, 0]]
            waiting, best = _settle(0, out, near, far, heaps[0], places[0], waiting, known, best, least)
        else:
            least = near[heaps[0, 0]]
            theirs, best = _settle(1, incoming, far, near, heaps[1], places[1], theirs, known, best, least)
    if best == np.inf:
        return False, np.empty(0, np.int64)
    while waiting > 0 and not (known[target] & KNOWN[0] != 0 and near[heaps[0, 0]] > near[target]):
        waiting, best = _settle(0, out, near, far, heaps[0], places[0], waiting, known, best, np.inf)
    path = np.empty(16, np.int64)
    path[0], length, v = target, 1, uint64(target)
    while v != source:
        nearest = np.int64(-1)
        for e in range(uint64(incoming.indptr[v]), uint64(incoming.indptr[v + ONE])):
            u = uint64(incoming.neighbours[e])
            leads = known[u] & KNOWN[0] != 0 and near[u] < near[v] and near[u] + incoming.weights[e] == near[v]
            if leads and (nearest < 0 or np.int64(u) < nearest):
                nearest = np.int64(u)
        if nearest < 0:
            return True, np.empty(0, np.int64)
        if length == path.size:
            path = np.append(path, np.empty(length, np.int64))
        path[length], v = nearest, uint64(nearest)
        length += 1
    return True, path[:length][::-1].copy()


@part
def _settle(side, rows, dist, other, heap, places, waiting, known, best, least):
    """Settle the first vertex of a heap. Vertices that the other search has not settled are at least `least` from its
    end; if that is infinite, they do not matter. Returns how many wait, and the length of the best path so far."""
    u = uint64(heap[0])
    waiting -= 1
    if waiting > 0:
        sink(heap[waiting], waiting, heap, places, dist)
    known[u] |= DONE[side]
    begin, end = uint64(rows.indptr[u]), uint64(rows.indptr[u + ONE])
    if least == np.inf and known[u] & DONE[1 - side] == 0:
        end = begin
    for e in range(begin, end):
        v = uint64(rows.neighbours[e])
        over, bits = dist[u] + rows.weights[e], known[v]
        if over == np.inf or (bits & KNOWN[side] != 0 and over >= dist[v]):
            continue
        if over + (other[v] if bits & DONE[1 - side] != 0 else least) > best * SLACK:
            continue
        if bits & KNOWN[side] == 0:
            known[v] |= KNOWN[side]
            places[v] = waiting
            waiting += 1
        dist[v] = over
        rise(v, heap, places, dist)
        if bits & KNOWN[1 - side] != 0:
            best = min(best, over + other[v])
    return waiting, best
