"""Communities. CDLP is verified by repeating it in the simplest way, label propagation by checking its fixed point."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from dgraph.testing.verify.edges import Edges, expect


def cdlp(edges: Edges, *, label: np.ndarray, max_iter: int = 10) -> None:
    """Verify the labels after `max_iter` rounds, in each of which every vertex takes the most frequent label among its
    neighbours; among ties, the smallest."""

    def repeated() -> np.ndarray:
        now = np.arange(edges.vertices)
        for _ in range(max_iter):
            now = most_frequent(edges, now)[0]
        return now

    expected = edges.cached(("cdlp", max_iter), repeated)
    expect(label == expected, lambda v: f"vertex {v}: label {label[v]} after {max_iter} rounds, not {expected[v]}")


def label_propagation(edges: Edges, *, label: np.ndarray, restless: float = 0.0, weighted: bool = False) -> None:
    """Verify that no label is more frequent, or weighs more, among a vertex's neighbours than the vertex's own label.

    `restless` is the fraction of vertices that may break this rule, for libraries that stop when few labels change.
    """
    best, most, own = most_frequent(edges, label, weighted)
    short = own < most - (_rounding(edges, most) if weighted else 0)
    if np.count_nonzero(short) <= restless * edges.vertices:
        return
    expect(~short, lambda v: f"vertex {v}: {own[v]} neighbours have its label {label[v]}, and {most[v]} have {best[v]}")


def most_frequent(edges: Edges, label: np.ndarray, weighted: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each vertex, among its neighbours in both directions: the most frequent label, its number of votes, and the
    number of votes for the vertex's own label."""
    n = edges.vertices
    votes = edges.cached(("votes", weighted), lambda: _votes(edges, weighted))
    names, name = np.unique(label, return_inverse=True)
    ones, ends = np.ones(n, votes.dtype), np.arange(n + 1, dtype=votes.indptr.dtype)
    cast = votes @ csr_array((ones, name.astype(ends.dtype), ends), (n, len(names)))
    begins = cast.indptr[:-1].astype(np.int64)
    some = np.flatnonzero(np.diff(cast.indptr))
    rows = np.repeat(np.arange(n), np.diff(cast.indptr))
    best, most, own = label.copy(), np.zeros(n, votes.dtype), np.zeros(n, votes.dtype)
    if len(some):
        most[some] = np.maximum.reduceat(cast.data, begins[some])
        winning = np.where(cast.data == most[rows], cast.indices, len(names))
        best[some] = names[np.minimum.reduceat(winning, begins[some])]
        mine = cast.indices == name[rows]
        own[rows[mine]] = cast.data[mine]
    return best, most, own


def _rounding(edges: Edges, most: np.ndarray) -> np.ndarray:
    """The possible error of sums of weights, since the operation counts integer votes while weights are floats."""
    heaviest = 0.0 if edges.weight is None else edges.weight.max(initial=0)
    degree = np.bincount(np.concatenate([edges.source, edges.destination]), minlength=edges.vertices)
    return heaviest * len(edges.source) * 2.0**-58 * degree + most * 2.0**-40


def _votes(edges: Edges, weighted: bool) -> csr_array:
    """The matrix of votes, in which an element is the number of votes from the column's vertex to the row's vertex."""
    given = edges.arcs[2] if weighted else np.ones(len(edges.arcs[0]), np.int32)
    return edges.matrix(given) + edges.matrix(given, incoming=True) if edges.directed else edges.matrix(given)
