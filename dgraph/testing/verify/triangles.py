"""Triangles and clustering, verified by products of sparse matrices. Each triangle is counted once, at its vertex of
lowest degree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array, csr_array

from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect

WEDGES = 30_000_000  # paths of two edges in one product, which bounds its memory


def triangles(
    edges: Edges, *, triangles: np.ndarray | None = None, total: int | None = None, sample: int | None = None
) -> None:
    """Verify the triangles through each vertex, or their total. Directions, self loops and repeats do not count.

    With `sample`, only this many random vertices are verified, for when verifying all of them would take too long.
    """
    if sample is not None and triangles is not None:
        some = np.random.default_rng(1).choice(edges.vertices, min(sample, edges.vertices), replace=False)
        counted = edges.cached(("sample", sample), lambda: _through(edges.simple, some))
        right = triangles[some] == counted
        expect(right, lambda i: f"vertex {some[i]}: {triangles[some[i]]} triangles, not {counted[i]:.0f}")
        total = None if total is None else total - int(triangles.sum()) // 3
        expect(not total, lambda _: f"the total exceeds the triangles of the vertices by {total}")
        return
    if triangles is not None:
        expected = edges.cached("triangles", lambda: opposite(edges.simple, directions=False))
        same = triangles == expected
        expect(same, lambda v: f"vertex {v}: {triangles[v]} triangles, not {expected[v]:.0f}")
    if total is not None:
        count = edges.cached("triangles in all", lambda: count_all(edges))
        if total != count:
            raise AnswerError(f"expected {count:,} triangles, got {total:,}")


def lcc(edges: Edges, *, lcc: np.ndarray, rtol: float = 1e-12) -> None:
    """Verify clustering coefficients: the fraction of the possible arcs between neighbours of a vertex that exist."""
    degree = np.diff(edges.simple.indptr).astype(np.float64)
    existing = edges.cached("arcs", lambda: opposite(edges.simple, directions=edges.directed))
    possible = degree * (degree - 1) / (1 if edges.directed else 2)
    expected = np.divide(existing, possible, out=np.zeros(len(existing)), where=possible > 0)
    same = np.abs(lcc - expected) <= rtol * expected
    expect(same, lambda v: f"vertex {v}: clustering {lcc[v]}, not {expected[v]}")


def count_all(edges: Edges) -> int:
    """The number of triangles."""
    if "triangles" in edges.known:
        return int(edges.known["triangles"].sum()) // 3
    up = _upwards(edges.simple)[1].astype(bool).astype(np.float64)
    return int(sum((up[rows] @ up).multiply(up[rows]).sum() for rows in _blocks(up)))


def _through(simple: csr_array, some: np.ndarray) -> np.ndarray:
    """The numbers of triangles through some vertices: of edges between two of their neighbours."""
    order, up = _upwards(simple)
    up = up.astype(bool).astype(np.float64)
    near = simple[some][:, order].astype(bool).astype(np.float64)
    return (near @ up).multiply(near).sum(axis=1)


def opposite(simple: csr_array, *, directions: bool) -> np.ndarray:
    """For each vertex, the number of edges opposite to it in its triangles, or of arcs, if `directions` count."""
    order, arcs = _upwards(simple)
    up = arcs.astype(bool).astype(np.float64)
    arcs = arcs if directions else up
    found = np.zeros(len(order))
    down = up.T.tocsr()
    for rows in _blocks(up):  # u, v, w ascending: u is opposite to v w, w to u v, and v to u w
        across = (up[rows] @ arcs).multiply(up[rows])
        found[rows] += across.sum(axis=1)
        if directions:
            across = (arcs[rows] @ up).multiply(up[rows])
        found += across.sum(axis=0)
    for rows in _blocks(down, up):
        found[rows] += (down[rows] @ arcs).multiply(up[rows]).sum(axis=1)
    restored = np.empty_like(found)
    restored[order] = found
    return restored


def _upwards(simple: csr_array) -> tuple[np.ndarray, csr_array]:
    """The vertices by degree, and each edge from the lower to the higher vertex in that order, so no row is long."""
    order = np.argsort(np.diff(simple.indptr), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rows = rank[np.repeat(np.arange(simple.shape[0]), np.diff(simple.indptr))]
    columns = rank[simple.indices]
    upwards = rows < columns
    return order, coo_array((simple.data[upwards], (rows[upwards], columns[upwards])), simple.shape).tocsr()


def _blocks(left: csr_array, right: csr_array | None = None) -> list[slice]:
    """Slices of rows whose products with `right` have about `WEDGES` paths."""
    right = left if right is None else right
    wedges = np.add.reduceat(np.append(np.diff(right.indptr)[left.indices], 0), left.indptr[:-1].clip(0, left.nnz))
    wedges = np.where(np.diff(left.indptr) > 0, wedges, 0)
    cuts = np.searchsorted(np.cumsum(wedges), np.arange(WEDGES, wedges.sum() + WEDGES, WEDGES), side="right")
    bounds = np.unique(np.concatenate([[0], cuts.clip(0, left.shape[0]), [left.shape[0]]]))
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]
