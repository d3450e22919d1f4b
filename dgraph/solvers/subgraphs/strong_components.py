"""Strongly connected components: that of a vertex with many edges by a search from it in each direction (Fleischer,
Hendrickson, Pinar, IPDPS 2000), which in most graphs is the largest by far; all others by one search in depth (Tarjan,
SIAM J. Comput. 1972)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import uint32, uint64

from dgraph.native.team import ONE, kernel
from dgraph.programs.monoid import NONE
from dgraph.solvers.paths.breadth_first import Goal, search
from dgraph.solvers.solver import Problem, Solution
from dgraph.tables.edge_tables import EdgeTables

NEW, DONE = uint32(0), uint32((1 << 32) - 1)  # as the `low` of a vertex: not yet met, and in a component that is known
NEAR = Goal(depth=128, target=NONE)  # as far as a search goes that shall find a component


def strong_components(problem: Problem) -> Solution:
    """The smallest vertex of each one's component."""
    (out,), n = problem.edges.senders("out"), problem.vertices
    component, low = np.empty(n, np.int64), np.zeros(n, np.uint32)
    members, looked = _around(problem) if n else (np.empty(0, np.int64), 0)
    if len(members):
        component[members], low[members] = members[0], DONE
    looked += _search_in_depth(out.indptr, out.neighbours, low, component)
    return Solution({"component": component}, edges=looked)


def _around(problem: Problem) -> tuple[np.ndarray, int]:
    """The members of the component of a vertex with many edges, and the number of edges looked at. Nobody, if others
    are far from it: then a search in each direction is as long as the one in depth, which still has to come."""
    pivot = np.argmax(np.minimum(problem.edges.degrees("out"), problem.edges.degrees("in")))
    found, looked = np.ones(problem.vertices, bool), 0
    for one_way in (problem, _turned(problem)):
        side = search(one_way, np.array([pivot]), NEAR)
        looked += side.edges
        if side.rounds > NEAR.depth:
            return np.empty(0, np.int64), looked
        found &= side.values["distance"] < np.inf
    return np.flatnonzero(found), looked


def _turned(problem: Problem) -> Problem:
    """The same with every edge the other way round."""
    edges = problem.edges
    return replace(problem, edges=EdgeTables(edges.partition.turned(), edges.directed, edges.columns, edges.threads))


@kernel
def _search_in_depth(indptr, neighbours, low, component):
    """Write the components of all who are not `DONE`; returns the number of edges looked at. A vertex on the way has
    its place in order of being met as its `low`, until an edge leads back to one with a smaller."""
    way, places = np.empty(low.size, np.uint32), np.empty(low.size, np.uint32)  # from the root to the vertex at hand
    edge = np.empty(low.size, np.uint64)  # the next of each vertex on the way
    waiting = np.empty(low.size, np.uint32)  # who have been left, in components that are not closed
    met, waits, looked = uint32(0), uint64(0), uint64(0)
    for root in range(uint64(low.size)):
        if low[root] != NEW:
            continue
        u, depth, entered = root, uint64(0), True
        while True:
            if entered:
                met += uint32(1)
                low[u] = places[depth] = met
                way[depth], edge[depth] = u, indptr[u]
                looked += uint64(indptr[u + ONE] - indptr[u])
            least, e, end, entered = low[u], edge[depth], uint64(indptr[u + ONE]), False
            while e < end and not entered:
                v = uint64(neighbours[e])
                entered = low[v] == NEW
                if low[v] < least and not entered:
                    least = low[v]
                e += ONE
            low[u], edge[depth] = least, e
            if entered:
                u, depth = v, depth + ONE
                continue
            if least == places[depth]:
                waits = _close(u, least, waiting, waits, low, component)
            else:
                waiting[waits], waits = u, waits + ONE
            if depth == 0:
                break
            depth -= ONE
            v, u = u, uint64(way[depth])
            if low[v] < low[u]:
                low[u] = low[v]
    return looked


@kernel
def _close(u, place, waiting, waits, low, component):
    """Make one component of u and of all who were met after it and wait. Returns how many wait still."""
    first, smallest = waits, u
    while first > 0 and low[waiting[first - ONE]] >= place:
        first -= ONE
        smallest = min(smallest, uint64(waiting[first]))
    for i in range(first, waits):
        v = uint64(waiting[i])
        component[v], low[v] = smallest, DONE
    component[u], low[u] = smallest, DONE
    return first
