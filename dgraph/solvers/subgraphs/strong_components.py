"""Strongly connected components. A search in each direction from a vertex with many edges finds its component, which is
by far the largest in most graphs (Fleischer, Hendrickson, Pinar, IPDPS 2000). One depth-first search finds all others
(Tarjan, SIAM J. Comput. 1972)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import uint32, uint64

from dgraph.native.team import ONE, kernel
from dgraph.programs.monoid import NONE
from dgraph.solvers.paths.breadth_first import SearchGoal, search
from dgraph.solvers.solver import Problem, Solution
from dgraph.tables.edge_tables import EdgeTables

NEW, DONE = uint32(0), uint32((1 << 32) - 1)  # values of `low`: not visited yet; in a finished component
SHALLOW_GOAL = SearchGoal(depth=128, target=NONE)  # the depth at which the search for the first component gives up


def strong_components(problem: Problem) -> Solution:
    """Solver of `scc`: the column `component`, the smallest vertex of each vertex's component."""
    (out,), n = problem.edges.senders("out"), problem.vertices
    component, low = np.empty(n, np.int64), np.zeros(n, np.uint32)
    members, edges_read = _component_of_hub(problem) if n else (np.empty(0, np.int64), 0)
    if len(members):
        component[members], low[members] = members[0], DONE
    edges_read += _search_depth_first(out.indptr, out.neighbours, low, component)
    return Solution({"component": component}, edges=edges_read)


def _component_of_hub(problem: Problem) -> tuple[np.ndarray, int]:
    """The members of the component of a vertex with many edges, and the number of edges read. Empty if some vertices
    are far from it: then each of these searches would take as long as the depth-first search that follows."""
    pivot = np.argmax(np.minimum(problem.edges.degrees("out"), problem.edges.degrees("in")))
    reached, edges_read = np.ones(problem.vertices, bool), 0
    for one_way in (problem, _reversed(problem)):
        side = search(one_way, np.array([pivot]), SHALLOW_GOAL)
        edges_read += side.edges
        if side.rounds > SHALLOW_GOAL.depth:
            return np.empty(0, np.int64), edges_read
        reached &= side.values["distance"] < np.inf
    return np.flatnonzero(reached), edges_read


def _reversed(problem: Problem) -> Problem:
    """The same problem with all edges reversed."""
    edges = problem.edges
    return replace(problem, edges=EdgeTables(edges.partition.reversed(), edges.directed, edges.columns, edges.threads))


@kernel
def _search_depth_first(indptr, neighbours, low, component):
    """Write the components of all vertices that are not `DONE`; returns the number of edges read. The `low` of a vertex
    on the path is its position in the order of visits, until an edge leads back to a vertex with a smaller one."""
    path, places = np.empty(low.size, np.uint32), np.empty(low.size, np.uint32)  # the path from the root to u
    edge = np.empty(low.size, np.uint64)  # the next edge of each vertex on the path
    waiting = np.empty(low.size, np.uint32)  # vertices of unfinished components that the path has left
    visited, waits, edges_read = uint32(0), uint64(0), uint64(0)
    for root in range(uint64(low.size)):
        if low[root] != NEW:
            continue
        u, depth, entered = root, uint64(0), True
        while True:
            if entered:
                visited += uint32(1)
                low[u] = places[depth] = visited
                path[depth], edge[depth] = u, indptr[u]
                edges_read += uint64(indptr[u + ONE] - indptr[u])
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
            v, u = u, uint64(path[depth])
            if low[v] < low[u]:
                low[u] = low[v]
    return edges_read


@kernel
def _close(u, place, waiting, waits, low, component):
    """Make one component of u and all waiting vertices visited after it. Returns how many still wait."""
    first, smallest = waits, u
    while first > 0 and low[waiting[first - ONE]] >= place:
        first -= ONE
        smallest = min(smallest, uint64(waiting[first]))
    for i in range(first, waits):
        v = uint64(waiting[i])
        component[v], low[v] = smallest, DONE
    component[u], low[u] = smallest, DONE
    return first
