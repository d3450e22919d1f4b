"""The sides of connected components that are bipartite, by union-find on the double cover of the graph.

The cover has every vertex v twice, as 2 v and 2 v + 1, and for an edge u - v the edges 2 u - (2 v + 1) and (2 u + 1) -
2 v. So walks of an even and of an odd length lead to different copies, and both copies of a vertex are in one tree if,
and only if, its component has an odd cycle. Else the root of 2 v is a copy of the component's smallest vertex, and its
last bit is the side of v.
"""

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
    stopped,
    team,
    worthwhile_threads,
)
from dgraph.solvers.random_order import degree_of, neighbour_at
from dgraph.solvers.solver import CsrArrays, Problem, Solution
from dgraph.solvers.subgraphs.components import tables_to_link
from dgraph.solvers.union_find import flatten, link
from dgraph.tables.edge_tables import EdgeTables

NEITHER = 2  # the side of vertices whose component has an odd cycle
ROUNDS = 2  # edges of each vertex that are linked first: they find most of the odd components
GRAIN = 2048  # vertices that a thread takes at a time
MOST_NARROW = 1 << 32  # copies whose numbers fit into four bytes
EVEN, ODD = uint64(0), uint64(1)  # of the copies of a vertex


def sides(problem: Problem) -> Solution:
    """Solver of the column `side`: 0 or 1, or `NEITHER`. The smallest vertex of a component is on side 0."""
    root, edges = local_cover(problem.edges)
    side = np.where(root[::2] == root[1::2], NEITHER, root[::2] & 1).astype(np.uint8)
    return Solution({"side": side}, edges=edges)


def local_cover(edges: EdgeTables) -> tuple[np.ndarray, int]:
    """The root of each copy of the local vertices in the cover of this partition's edges; and the number of edges read.

    Both copies of a vertex have one root if its component has an odd cycle. Such a component may have several roots,
    because further edges between its vertices are not linked. This is harmless, because all that matters is whether
    the copies of each vertex have the same root, also once the roots of several partitions are joined."""
    tables, both_ends = tables_to_link(edges)
    rows = [CsrArrays(table.indptr, table.neighbours) for table in tables]
    empty = CsrArrays(np.zeros(1, np.int64), np.zeros(0, np.uint32))
    copies = 2 * edges.partition.num_local
    root = np.empty(copies, np.uint32 if copies <= MOST_NARROW else np.uint64)
    counts = np.zeros((2 * ROUNDS + 4, 8), np.int64)
    threads = worthwhile_threads(edges.threads, sum(len(one.neighbours) for one in rows))
    team(_unite, threads, *[*rows, empty][:2], both_ends, root, counts)
    return root, int(counts[-1, 0])


@kernel
def _unite(rank, size, signals, first, second, both_ends, root, counts):
    """Phases: make each copy a tree; `ROUNDS` times, link one edge of each vertex and flatten the trees; link the other
    edges; flatten. Edges to vertices below `both_ends` are in the row of either end."""
    n, last, edges = root.size // 2, 2 * ROUNDS + 2, np.int64(0)
    for phase in range(last + 1):
        while True:
            begin = atomic_add(counts[phase], 0, GRAIN)
            if begin >= n or atomic_load(signals, STOP) != 0:
                break
            end = min(begin + GRAIN, n)
            if phase == 0:
                for copy in range(uint64(2 * begin), uint64(2 * end)):
                    root[copy] = copy
            elif phase % 2 == 0:
                flatten(2 * begin, 2 * end, root)
            elif phase < last - 1:
                edges += _link_one(begin, end, phase // 2, first, second, root)
            else:
                edges += _link_rest(begin, end, both_ends, first, root)
                if second.indptr.size > 1:
                    edges += _link_rest(begin, end, both_ends, second, root)
        barrier(size, signals)
        if stopped(signals):
            break
    atomic_add(counts[-1], 0, edges)


@part
def _link_one(begin, end, place, first, second, root):
    edges = np.int64(0)
    for u in range(uint64(begin), uint64(end)):
        if uint64(place) < degree_of(u, first, second):
            _link(u, neighbour_at(uint64(place), u, first, second), root)
            edges += 1
    return edges


@part
def _link_rest(begin, end, both_ends, rows, root):
    """Link all edges of each vertex, but of a vertex with a known odd cycle only those which are in its row alone: it
    is enough that the vertex at the other end finds one."""
    edges = np.int64(0)
    for u in range(uint64(begin), uint64(end)):
        e, last = uint64(rows.indptr[u]), uint64(rows.indptr[u + ONE])
        while e < last and root[_copy(u, EVEN)] != root[_copy(u, ODD)]:
            _link(u, uint64(rows.neighbours[e]), root)
            e, edges = e + ONE, edges + 1
        if both_ends < root.size // 2:
            while e < last:
                if rows.neighbours[e] >= both_ends:
                    _link(u, uint64(rows.neighbours[e]), root)
                    edges += 1
                e += ONE
    return edges


@inlined
def _link(u, v, root):
    """Join the trees of opposite copies. A self loop says nothing about sides."""
    if u != v:
        link(_copy(u, EVEN), _copy(v, ODD), root)
        link(_copy(u, ODD), _copy(v, EVEN), root)


@inlined
def _copy(v, parity):
    return (v << ONE) | parity
