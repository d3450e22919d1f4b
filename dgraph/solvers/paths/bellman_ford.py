"""Distances by the Bellman-Ford method, which allows negative weights (Bellman 1958, Moore 1959) and detects negative
cycles (Cherkassky and Goldberg 1999); and predecessors for edges of length 0 or less.

An edge u -> v is *tight* if dist[u] + weight is dist[v]. Shortest paths consist of tight edges.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel
from dgraph.programs.monoid import NONE, UNREACHED


def by_steps(indptr, neighbours, weights, dist, parent, roots):
    """Give a parent to each vertex that has none (UNREACHED) and is not a root: the smallest one that is one tight edge
    nearer to the roots, or to a vertex that had a parent before. This keeps paths finite even where edges of length 0
    form cycles."""
    first = np.union1d(roots, np.flatnonzero(parent != UNREACHED)).astype(np.uint32)
    _by_steps(indptr, neighbours, weights, dist, parent, first)


@kernel
def _by_steps(indptr, neighbours, weights, dist, parent, first):
    """Search breadth-first along tight edges from `first`; parents are the smallest vertices of the previous step."""
    step = np.full(dist.size, UNREACHED)
    queue = np.empty(dist.size, np.uint32)
    tail = uint64(0)
    for u in first:
        step[u] = 0
        queue[tail] = u
        tail += ONE
    head = uint64(0)
    while head < tail:
        u = uint64(queue[head])
        head += ONE
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            v = uint64(neighbours[e])
            if step[v] <= step[u] or dist[v] == np.inf or dist[u] + weights[e] != dist[v]:
                continue
            if step[v] == UNREACHED:
                step[v] = step[u] + 1
                queue[tail] = v
                tail += ONE
            parent[v] = min(parent[v], np.int64(u))


def bellman_ford(indptr, neighbours, weights, dist, frontier):
    """Lower `dist` to its fixed point, as `delta_stepping.relax` does, for any weights. Returns the number of edges
    read, and the vertices of a negative cycle in the order of its edges; these are empty if there is a fixed point."""
    parent = np.full(len(dist), NONE)
    edges_read = _relax_first_in_first_out(indptr, neighbours, weights, dist, parent, frontier)
    return edges_read, cycle_of(parent)


def cycle_of(parent):
    """A cycle of parents, in the order of its edges, starting at its smallest vertex; empty if there is none."""
    u = _find_cycle(parent, np.zeros(len(parent), np.uint32))
    cycle = [] if u == NONE else [u]
    while cycle and parent[cycle[-1]] != u:
        cycle.append(int(parent[cycle[-1]]))
    return np.roll(np.array(cycle[::-1], np.int64), -int(np.argmin(cycle[::-1]))) if cycle else np.empty(0, np.int64)


@kernel
def _relax_first_in_first_out(indptr, neighbours, weights, dist, parent, frontier):
    """Relax vertices in the order in which they are lowered. The parent of a vertex is the one that lowered it last, so
    a cycle of parents is negative; look for one from time to time. Returns the number of edges read."""
    n, m = dist.size, neighbours.size
    queue, waits, mark = np.empty(n, np.uint32), np.zeros(n, np.bool_), np.zeros(n, np.uint32)
    length, head, edges_read, due = 0, 0, 0, n + m
    for u in frontier:
        waits[u] = True
        queue[length] = u
        length += 1
    while length:
        u = uint64(queue[head])
        head = head + 1 if head + 1 < n else 0
        length -= 1
        waits[u] = False
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            v = uint64(neighbours[e])
            new = dist[u] + weights[e]
            if new < dist[v]:
                dist[v], parent[v] = new, u
                if not waits[v]:
                    waits[v] = True
                    queue[(head + length) % n] = v
                    length += 1
        edges_read += indptr[u + ONE] - indptr[u]
        if edges_read >= due:
            due = edges_read + n + m
            if _find_cycle(parent, mark) != NONE:
                break
    return edges_read


@kernel
def _find_cycle(parent, mark):
    """A vertex on a cycle of parents; NONE if all parents lead to a root. `mark` is scratch."""
    mark[:] = 0
    for v in range(parent.size):
        u = v
        while u != NONE and mark[u] == 0:
            mark[u] = v + 1
            u = parent[u]
        if u != NONE and mark[u] == v + 1:
            return u
    return NONE
