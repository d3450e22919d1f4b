"""SuiteSparse:GraphBLAS (Davis, 2019) through python-graphblas, with algorithms modelled on LAGraph's."""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, select, semiring, unary

from peers.library import Arrays, Library, Operation

gb.ss.config["nthreads"] = 2


def plain(arrays: Arrays) -> Any:
    return _matrix(arrays, True)


def weighted(arrays: Arrays) -> Any:
    return _matrix(arrays, arrays.weight)


def _matrix(arrays: Arrays, values: Any) -> Any:
    n = arrays.vertices
    either = binary.first if values is True else binary.min
    rows = Matrix.from_coo(arrays.source, arrays.destination, values, nrows=n, ncols=n)
    return rows if arrays.directed else rows.ewise_add(rows.T, either).new()


def counted(arrays: Arrays) -> Any:
    """The matrix in both orders, with repeats as counts, and the number by which each vertex's rank is divided."""
    n, ones = arrays.vertices, np.ones(len(arrays.source))
    rows = Matrix.from_coo(arrays.source, arrays.destination, ones, nrows=n, ncols=n, dup_op=binary.plus)
    rows = rows if arrays.directed else rows.ewise_add(rows.T, binary.plus).new()
    degree = rows.reduce_rowwise(monoid.plus).new()
    return rows.T.new(), degree


def pagerank(graph: Any, arrays: Arrays) -> np.ndarray:
    incoming, degree = graph
    n = arrays.vertices
    rank = Vector(float, n)
    rank[:] << 1 / n
    for _ in range(20):
        share = rank.ewise_mult(degree, binary.truediv).new()
        stuck = rank.reduce().new().value - rank.dup(mask=degree.S).reduce().new().value
        rank = Vector(float, n)
        rank[:] << (0.15 + 0.85 * stuck) / n
        share << unary.identity(share.apply(binary.times, right=0.85))
        rank(binary.plus) << incoming.mxv(share, semiring.plus_times)
    return rank.to_dense()


def both(arrays: Arrays) -> Any:
    rows = plain(arrays)
    return rows, rows.T.new()


def bfs(graph: Any, arrays: Arrays) -> Any:
    """Parents, pushed from a small frontier, or pulled by the unvisited vertices if the frontier is large."""
    rows, columns = graph
    n, reached = arrays.vertices, 1
    parent = Vector(np.int64, n)
    parent[arrays.start] = arrays.start
    frontier = parent.dup()
    while frontier.nvals:
        frontier << frontier.apply(gb.indexunary.rowindex)
        new = Vector(np.int64, n)
        if frontier.nvals > n // 20:
            new(~parent.S) << columns.mxv(frontier, semiring.any_second)
        else:
            new(~parent.S) << frontier.vxm(rows, semiring.any_first)
        parent(new.S) << new
        frontier = new
        reached += new.nvals
    return parent


def parents(found: Any, arrays: Arrays) -> dict[str, np.ndarray]:
    parent = found.to_dense(fill_value=-1)
    parent[arrays.start] = -1
    return {"predecessor": parent}


def sssp(graph: Any, arrays: Arrays) -> Any:
    """Bellman-Ford relaxation from the vertices that changed."""
    distance = Vector(float, arrays.vertices)
    distance[arrays.start] = 0.0
    frontier = distance.dup()
    while frontier.nvals:
        new = frontier.vxm(graph, semiring.min_plus).new()
        old = distance.dup(mask=new.S)
        better = new.ewise_add(old, binary.min).new()
        nearer = new.ewise_mult(old, binary.lt).new()
        fresh = new.dup(mask=~old.S)
        frontier = better.dup(mask=nearer.V)
        frontier(binary.first) << fresh
        distance(binary.min) << frontier
    return distance


def symmetric(arrays: Arrays) -> Any:
    rows = plain(arrays)
    return rows.ewise_add(rows.T, binary.first).new() if arrays.directed else rows


def wcc(graph: Any, arrays: Arrays) -> np.ndarray:
    """FastSV (Zhang, Azad, Hu, 2020): vertices hook onto the smallest grandparent among their neighbours."""
    n = arrays.vertices
    parent = np.arange(n)
    grand = parent.copy()
    while True:
        least = Vector.from_dense(grand)
        near = least.dup()
        near(binary.min) << graph.mxv(least, semiring.min_second)
        low = near.to_dense()
        hooked = parent.copy()
        np.minimum.at(hooked, parent, low)
        hooked = np.minimum(np.minimum(hooked, low), grand)
        parent = hooked
        again = parent[parent]
        if np.array_equal(again, grand):
            return grand
        grand = again


def lower(arrays: Arrays) -> Any:
    rows = plain(arrays)
    degree = np.argsort(rows.reduce_rowwise(monoid.plus[int]).new().to_dense(fill_value=0), kind="stable")
    rows = rows[degree, degree].new()
    return rows.select(select.tril, -1).new(), rows.select(select.triu, 1).new()


def triangles(graph: Any, arrays: Arrays) -> int:
    below, above = graph
    found = Matrix(np.int64, *below.shape)
    found(below.S) << below.mxm(above.T, semiring.plus_pair)
    return int(found.reduce_scalar(monoid.plus).value or 0)  # the value is None if there are no triangles


LIBRARY = Library(
    ("python-graphblas", "suitesparse-graphblas"),
    {
        "pagerank": Operation(counted, pagerank, "pagerank", "float64", {"rounds": 20}),
        "bfs": Operation(both, bfs, parents, "predecessors only", {"ties": "any"}),
        "sssp": Operation(
            weighted,
            sssp,
            lambda r, _: {"distance": r.to_dense(fill_value=np.inf)},
            "Bellman-Ford; float64, distances only",
        ),
        "wcc": Operation(symmetric, wcc, "component", "FastSV"),
        "triangles": Operation(lower, triangles, "total", "the total only"),
    },
)
