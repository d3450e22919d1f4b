"""Weakly connected components by union-find that samples: a few edges of every vertex find most of the largest
component, whose other edges are then passed over (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018)."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import (
    ONE,
    atomic_add,
    barrier,
    compare_and_swap,
    kernel,
    part,
    prefetch,
    team,
    worthwhile_threads,
)
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.solver import Problem, Solution
from dgraph.tables.edge_tables import EdgeTables

ROUNDS = 2  # edges of each vertex that are linked before the largest component is chosen
MORE = 2  # and so many from the other end of its row, while less than half of the vertices are in that component
LONG = 8  # edges of a vertex, on average, where more of them pay
SAMPLES = 256  # vertices that it is chosen by, about
GRAIN = 4096  # vertices that a thread takes at once
AHEAD = uint64(16)  # vertices whose neighbours, and trees, are asked for before their turn
FAR = uint64(48)  # vertices whose edges are

NOBODY = np.uint32((1 << 32) - 1)


def components(problem: Problem) -> Solution:
    """The smallest vertex of each one's component."""
    component = np.empty(problem.vertices, np.int64)
    _, edges = _united(problem.edges, component)
    return Solution({"component": component}, edges=edges)


def local_components(edges: EdgeTables) -> tuple[np.ndarray, int]:
    """For each local vertex, owned or proxy, the smallest local id that the edges of this partition join it with; and
    the number of edges looked at."""
    return _united(edges, np.empty(0, np.int64))


def _united(edges: EdgeTables, component: np.ndarray) -> tuple[np.ndarray, int]:
    """The same, which is also copied to `component` unless that is empty. One order of the edges is enough; with both,
    many edges can be passed over."""
    partition = edges.partition
    tables = [table for table in (partition.out, partition.incoming) if table is not None]
    met_twice = partition.num_local if len(tables) == 2 else _met_twice(edges, tables[0])
    if tables[0] is tables[-1]:
        tables = tables[:1]
    arrays = [array for table in (tables[0], tables[-1]) for array in (table.indptr, table.neighbours)]
    above = np.empty(partition.num_local, np.uint32)
    rounds = 2 * ROUNDS if len(tables) == 2 and _are_apart(*tables) else ROUNDS
    more = MORE if tables[0].num_edges >= LONG * partition.num_local else 0
    counts = np.zeros((2 * (rounds + more) + 4, 8), np.int64)
    threads = worthwhile_threads(edges.threads, tables[0].num_edges)
    # of the second order's edges, so many of each vertex come first, too: a proxy may have no others
    others_first = rounds // 2 if edges.directed and len(tables) == 2 else 0
    how = len(tables), rounds, more, others_first, met_twice, GRAIN
    team(_unite, threads, *arrays, *how, above, component, counts)
    return above, int(counts[-1, 0])


def _met_twice(edges: EdgeTables, table: Adjacency) -> int:
    """The local id below which an edge to a vertex is met from its other end, too. Of an undirected graph only owned
    vertices have rows; of a directed one, the edge of the other direction may be in another partition."""
    owned = edges.partition.num_owned
    return owned if not edges.directed and table.indptr[owned] == table.num_edges else 0


def _are_apart(one: Adjacency, other: Adjacency) -> bool:
    """Whether most vertices have several edges in one order and none in the other, as in a bipartite graph."""
    some = np.arange(0, len(one.indptr) - 1, max(1, len(one.indptr) // SAMPLES))
    few, many = np.sort([table.indptr[some + 1] - table.indptr[some] for table in (one, other)], axis=0)
    return bool(2 * np.count_nonzero((few == 0) & (many > 1)) > len(some))


@kernel
def _unite(
    rank, size, signals, indptr, neighbours, other_indptr, other_neighbours, tables, rounds, more, others_first,
    met_twice, grain, above, component, counts,
):  # fmt: skip
    """`above` makes trees of vertices. Phases: each vertex is a tree; link one edge of each vertex and flatten the
    trees, some times, and `more` times if no component is large yet; link the rest; flatten."""
    n, largest, looked = above.size, NOBODY, np.int64(0)
    first, last, behind, phase = rounds - others_first, 2 * rounds + 2, 0, 0
    while phase <= last:
        if phase == last - 1 and met_twice:
            largest, is_large = _most_frequent(above)
            if not is_large and behind < more:
                behind, last = behind + 1, last + 2
            barrier(size, signals)
        while True:
            begin = atomic_add(counts[phase], 0, grain)
            if begin >= n:
                break
            end = min(begin + grain, n)
            if phase == 0:
                for u in range(uint64(begin), uint64(end)):
                    above[u] = u
            elif phase == last - 1:
                looked += _link_rest(begin, end, first, behind, largest, met_twice, indptr, neighbours, above)
                if tables == 2:
                    looked += _link_rest(
                        begin, end, others_first, 0, largest, met_twice, other_indptr, other_neighbours, above
                    )
            elif phase % 2 and phase // 2 >= rounds:
                looked += _link_one(begin, end, rounds - 1 - phase // 2, indptr, neighbours, above)
            elif phase % 2 and phase // 2 >= first:
                looked += _link_one(begin, end, phase // 2 - first, other_indptr, other_neighbours, above)
            elif phase % 2:
                looked += _link_one(begin, end, phase // 2, indptr, neighbours, above)
            else:
                flatten(begin, end, above)
                if phase == last and component.size:
                    for u in range(uint64(begin), uint64(end)):
                        component[u] = above[u]
        barrier(size, signals)
        phase += 1
    atomic_add(counts[-1], 0, looked)


@part
def link(u, v, above):
    """Make one tree of the trees of two vertices. Nobody is above a smaller vertex, so a root is the smallest of its
    tree."""
    a, b = above[u], above[v]
    while a != b:
        high, low = max(a, b), min(a, b)
        found = above[high]
        if found == low or (found == high and compare_and_swap(above, high, high, low)):
            return
        a, b = above[above[high]], above[low]


@part
def _link_one(first, last, nth, indptr, neighbours, above):
    """Link the nth edge of every vertex, from the end of its row if that is below 0; returns how many have one."""
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
    """The place of the nth edge of a vertex; not before the end of its row if there is none."""
    if nth >= 0:
        return uint64(indptr[u]) + uint64(nth)
    e = indptr[u + ONE] + nth
    return uint64(e if e >= indptr[u] else indptr[u + ONE])


@part
def _link_rest(first, last, skip, skip_behind, largest, met_twice, indptr, neighbours, above):
    """Link the edges after the first few, and before the last few, of vertices outside the largest component, until
    they are in it. An edge out of that component is met from its other end, if that is below `met_twice`. Returns the
    number of edges."""
    edges = np.int64(0)
    for u in range(uint64(first), uint64(last)):
        e, end = uint64(indptr[u] + skip), uint64(max(indptr[u + ONE] - skip_behind, 0))
        while e < end and above[u] != largest:
            link(u, neighbours[e], above)
            e, edges = e + ONE, edges + 1
        if met_twice < above.size:
            while e < end:
                if neighbours[e] >= met_twice:
                    link(u, neighbours[e], above)
                    edges += 1
                e += ONE
    return edges


@part
def flatten(first, last, above):
    """Put every vertex right below its root; other threads may do the same for vertices in between."""
    for u in range(uint64(first), uint64(last)):
        if u + AHEAD < uint64(last):
            prefetch(above, above[u + AHEAD])
        root = above[u]
        while root != above[root]:
            root = above[root]
        above[u] = root


@part
def _most_frequent(above):
    """The most frequent root among a sample of vertices, and whether about half of all have it. The answer does not
    depend on which it is."""
    root, most = NOBODY, uint64(0)
    step = uint64(max(above.size // SAMPLES, 1))
    for i in range(uint64(0), uint64(above.size), step):
        count = uint64(0)
        for k in range(uint64(0), uint64(above.size), step):
            count += uint64(above[i] == above[k])
        if count > most:
            root, most = above[i], count
    return root, uint64(2) * most * step >= uint64(above.size)
