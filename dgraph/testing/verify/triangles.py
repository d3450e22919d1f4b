"""Triangles and clustering, by products of sparse matrices: each triangle once, from its vertex of smallest degree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array, csr_array

from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect, sized

WEDGES = 30_000_000  # paths of two edges in one product, which bounds its memory


def triangles(
    edges: Edges, *, triangles: np.ndarray | None = None, total: int | None = None, sample: int | None = None
) -> None:
    """Refuse wrong counts of the triangles through each vertex, or a wrong total; directions, self loops and repeats do
    not count.

    sample: verify no more than so many vertices, drawn by chance, where all of them would take too long.
    """
    sized(edges, {"triangles": triangles})
    if sample is not None and triangles is not None:
        some = np.random.default_rng(1).choice(edges.vertices, min(sample, edges.vertices), replace=False)
        counted = edges.remembered(("sample", sample), lambda: _through(edges.simple, some))
        right = triangles[some] == counted
        expect(right, lambda i: f"vertex {some[i]}: {triangles[some[i]]} triangles, not {counted[i]:.0f}")
        total = None if total is None else total - int(triangles.sum()) // 3
        expect(not total, lambda _: f"{total} triangles more in all than the vertices have")
        return
    if triangles is not None:
        expected = edges.remembered("triangles", lambda: opposite(edges.simple, directions=False))
        same = triangles == expected
        expect(same, lambda v: f"vertex {v}: {triangles[v]} triangles, not {expected[v]:.0f}")
    if total is not None:
        count = edges.remembered("triangles in all", lambda: count_all(edges))
        if total != count:
            raise AnswerError(f"{total:,} triangles, not {count:,}")


def lcc(edges: Edges, *, lcc: np.ndarray, rtol: float = 1e-12) -> None:
    """Refuse clustering coefficients: of all arcs that could join two neighbours of a vertex, the share that does."""
    sized(edges, {"lcc": lcc})
    degree = np.diff(edges.simple.indptr).astype(np.float64)
    found = edges.remembered("arcs", lambda: opposite(edges.simple, directions=edges.directed))
    possible = degree * (degree - 1) / (1 if edges.directed else 2)
    expected = np.divide(found, possible, out=np.zeros(len(found)), where=possible > 0)
    same = np.abs(lcc - expected) <= rtol * expected
    expect(same, lambda v: f"vertex {v}: clustering {lcc[v]}, not {expected[v]}")


def count_all(edges: Edges) -> int:
    """How many triangles there are."""
    if "triangles" in edges.known:
        return int(edges.known["triangles"].sum()) // 3
    up = _upwards(edges.simple)[1].astype(bool).astype(np.float64)
    return int(sum((up[rows] @ up).multiply(up[rows]).sum() for rows in _blocks(up)))


def _through(simple: csr_array, some: np.ndarray) -> np.ndarray:
    """The triangles through some vertices: edges between two of their neighbours."""
    order, up = _upwards(simple)
    up = up.astype(bool).astype(np.float64)
    near = simple[some][:, order].astype(bool).astype(np.float64)
    return (near @ up).multiply(near).sum(axis=1)


def opposite(simple: csr_array, *, directions: bool) -> np.ndarray:
    """For each vertex: the edges across from it in its triangles, or their arcs, if `directions` count."""
    order, arcs = _upwards(simple)
    up = arcs.astype(bool).astype(np.float64)
    arcs = arcs if directions else up
    found = np.zeros(len(order))
    down = up.T.tocsr()
    for rows in _blocks(up):  # lowest u, then v, then w: u is across from v w, w from u v, and v from u w
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
    """Vertices by degree, and each edge from its lower to its higher vertex in that order: no row is long."""
    order = np.argsort(np.diff(simple.indptr), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rows = rank[np.repeat(np.arange(simple.shape[0]), np.diff(simple.indptr))]
    columns = rank[simple.indices]
    upwards = rows < columns
    return order, coo_array((simple.data[upwards], (rows[upwards], columns[upwards])), simple.shape).tocsr()


def _blocks(left: csr_array, right: csr_array | None = None) -> list[slice]:
    """Slices of rows whose products with `right` need about so much memory."""
    right = left if right is None else right
    wedges = np.add.reduceat(np.append(np.diff(right.indptr)[left.indices], 0), left.indptr[:-1].clip(0, left.nnz))
    wedges = np.where(np.diff(left.indptr) > 0, wedges, 0)
    cuts = np.searchsorted(np.cumsum(wedges), np.arange(WEDGES, wedges.sum() + WEDGES, WEDGES), side="right")
    bounds = np.unique(np.concatenate([[0], cuts.clip(0, left.shape[0]), [left.shape[0]]]))
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]
