"""Weakly connected components by union-find with sampling: a few edges of every vertex find most of the largest
component, and the other edges within it are then skipped (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018)."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import (
    ONE,
    STOP,
    atomic_add,
    atomic_load,
    barrier,
    kernel,
    part,
    prefetch,
    stopped,
    team,
    worthwhile_threads,
)
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.solver import Problem, Solution
from dgraph.solvers.union_find import flatten, link
from dgraph.tables.edge_tables import EdgeTables

ROUNDS = 2  # edges of each vertex that are linked before the largest component is chosen
MORE_EDGES = 2  # more edges, from the end of each row, while less than half of the vertices are in that component
LONG_ROWS = 8  # the mean degree from which these are worth it
SAMPLES = 256  # about how many vertices are sampled to choose the largest component
GRAIN = 4096  # vertices that a thread takes at a time
AHEAD = uint64(16)  # prefetch distance of neighbours' trees, in vertices
FAR = uint64(48)  # prefetch distance of edges, in vertices

NO_VERTEX = np.uint32((1 << 32) - 1)


def components(problem: Problem) -> Solution:
    """Solver of `wcc`: the column `component`, the smallest vertex of each vertex's component."""
    component = np.empty(problem.vertices, np.int64)
    _, edges = _find(problem.edges, component)
    return Solution({"component": component}, edges=edges)


def local_components(edges: EdgeTables) -> tuple[np.ndarray, int]:
    """For each local vertex, owned or proxy, the smallest local id in its component of this partition's edges; and the
    number of edges read."""
    return _find(edges, np.empty(0, np.int64))


def _find(edges: EdgeTables, component: np.ndarray) -> tuple[np.ndarray, int]:
    """Like `local_components`; also copies the components to `component` unless that is empty. One order of the edges
    is enough; with both, many edges can be skipped."""
    partition = edges.partition
    tables, listed_twice = tables_to_link(edges)
    arrays = [array for table in (tables[0], tables[-1]) for array in (table.indptr, table.neighbours)]
    above = np.empty(partition.num_local, np.uint32)
    rounds = 2 * ROUNDS if len(tables) == 2 and _is_bipartite(*tables) else ROUNDS
    more = MORE_EDGES if tables[0].num_edges >= LONG_ROWS * partition.num_local else 0
    counts = np.zeros((2 * (rounds + more) + 4, 8), np.int64)
    threads = worthwhile_threads(edges.threads, tables[0].num_edges)
    # This many rounds link edges of the second order, because a proxy may have no others.
    others_first = rounds // 2 if edges.directed and len(tables) == 2 else 0
    how = len(tables), rounds, more, others_first, listed_twice, GRAIN
    team(_unite, threads, *arrays, *how, above, component, counts)
    return above, int(counts[-1, 0])


def tables_to_link(edges: EdgeTables) -> tuple[list[Adjacency], int]:
    """The tables of this partition's edges, one or two; and the local id up to which vertices list each edge in a row
    of their own, if the other end lists it."""
    partition = edges.partition
    tables = [table for table in (partition.out, partition.incoming) if table is not None]
    if len(tables) < 2:
        return tables, _listed_twice(edges, tables[0])
    return tables[: 1 if tables[0] is tables[1] else 2], partition.num_local


def _listed_twice(edges: EdgeTables, table: Adjacency) -> int:
    """Edges to vertices below this local id are also listed in the row of that vertex. In an undirected graph, only
    owned vertices have rows; in a directed one, the reverse of an edge may be in another partition."""
    owned = edges.partition.num_owned
    return owned if not edges.directed and table.indptr[owned] == table.num_edges else 0


def _is_bipartite(one: Adjacency, other: Adjacency) -> bool:
    """Whether most vertices have several edges in one order and none in the other, as in a bipartite graph."""
    sample = np.arange(0, len(one.indptr) - 1, max(1, len(one.indptr) // SAMPLES))
    few, many = np.sort([table.indptr[sample + 1] - table.indptr[sample] for table in (one, other)], axis=0)
    return bool(2 * np.count_nonzero((few == 0) & (many > 1)) > len(sample))


@kernel
def _unite(
    rank, size, signals, indptr, neighbours, other_indptr, other_neighbours, tables, rounds, more, others_first,
    listed_twice, grain, above, component, counts,
):  # fmt: skip
    """Find the components; `above` holds the parent of each vertex. Phases: make each vertex a tree; `rounds` times,
    and up to `more` times if no component is large yet, link one edge of each vertex and flatten the trees; link the
    other edges; flatten."""
    n, largest, edges_read = above.size, NO_VERTEX, np.int64(0)
    first, last, behind, phase = rounds - others_first, 2 * rounds + 2, 0, 0
    while phase <= last:
        if phase == last - 1 and listed_twice:
            largest, is_large = _most_frequent(above)
            if not is_large and behind < more:
                behind, last = behind + 1, last + 2
            barrier(size, signals)
        while True:
            begin = atomic_add(counts[phase], 0, grain)
            if begin >= n or atomic_load(signals, STOP) != 0:
                break
            end = min(begin + grain, n)
            if phase == 0:
                for u in range(uint64(begin), uint64(end)):
                    above[u] = u
            elif phase == last - 1:
                edges_read += _link_rest(begin, end, first, behind, largest, listed_twice, indptr, neighbours, above)
                if tables == 2:
                    edges_read += _link_rest(
                        begin, end, others_first, 0, largest, listed_twice, other_indptr, other_neighbours, above
                    )
            elif phase % 2 and phase // 2 >= rounds:
                edges_read += _link_one(begin, end, rounds - 1 - phase // 2, indptr, neighbours, above)
            elif phase % 2 and phase // 2 >= first:
                edges_read += _link_one(begin, end, phase // 2 - first, other_indptr, other_neighbours, above)
            elif phase % 2:
                edges_read += _link_one(begin, end, phase // 2, indptr, neighbours, above)
            else:
                flatten(begin, end, above)
                if phase == last and component.size:
                    for u in range(uint64(begin), uint64(end)):
                        component[u] = above[u]
        barrier(size, signals)
        if stopped(signals):
            break
        phase += 1
    atomic_add(counts[-1], 0, edges_read)


@part
def _link_one(first, last, nth, indptr, neighbours, above):
    """Link the nth edge of every vertex, counted from the end of its row if negative; returns how many vertices have
    one."""
    edges = np.int64(0)
    for u in range(uint64(first), uint64(last)):
        if u + FAR < uint64(last):
            prefetch(neighbours, _nth(u + FAR, nth, indptr))
        if u + AHEAD < uint64(last):
            e = _nth(u + AHEAD, nth, indptr)
            if e < uint64(indptr[u + AHEAD + ONE]):
                prefetch(above, neighbours[e])
        e = _nth(u, nth, indptr)
        if e < uint64(indptr[u + ONE]):
            link(u, neighbours[e], above)
            edges += 1
    return edges


@inlined
def _nth(u, nth, indptr):
    """The index of the nth edge of a vertex, or an index past its row if it has fewer edges."""
    if nth >= 0:
        return uint64(indptr[u]) + uint64(nth)
    e = indptr[u + ONE] + nth
    return uint64(e if e >= indptr[u] else indptr[u + ONE])


@part
def _link_rest(first, last, skip, skip_behind, largest, listed_twice, indptr, neighbours, above):
    """Link the edges after the first `skip` and before the last `skip_behind` of vertices outside the largest
    component, until they are in it. Edges that leave that component are linked from their other end if that is below
    `listed_twice`. Returns the number of edges."""
    edges = np.int64(0)
    for u in range(uint64(first), uint64(last)):
        e, end = uint64(indptr[u] + skip), uint64(max(indptr[u + ONE] - skip_behind, 0))
        while e < end and above[u] != largest:
            link(u, neighbours[e], above)
            e, edges = e + ONE, edges + 1
        if listed_twice < above.size:
            while e < end:
                if neighbours[e] >= listed_twice:
                    link(u, neighbours[e], above)
                    edges += 1
                e += ONE
    return edges


@part
def _most_frequent(above):
    """The most frequent root among a sample of vertices, and whether about half of all have it. The components do not
    depend on the choice."""
    root, most = NO_VERTEX, uint64(0)
    step = uint64(max(above.size // SAMPLES, 1))
    for i in range(uint64(0), uint64(above.size), step):
        count = uint64(0)
        for k in range(uint64(0), uint64(above.size), step):
            count += uint64(above[i] == above[k])
        if count > most:
            root, most = above[i], count
    return root, uint64(2) * most * step >= uint64(above.size)
