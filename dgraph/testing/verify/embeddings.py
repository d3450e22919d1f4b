"""Embeddings by random projection, from SciPy's sparse products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array

from dgraph.testing.verify.edges import Edges, expect

ALL_BITS = 2**64 - 1


def fast_rp(
    edges: Edges,
    *,
    embedding: np.ndarray,
    weights: Sequence[float] = (0.0, 0.0, 1.0, 1.0),
    weighted: bool = False,
    random_seed: int = 0,
    rtol: float = 1e-4,
) -> None:
    """Verify the weighted sum of random vectors, the means of the neighbours' vectors, the means of these, and so on,
    within `rtol` of the largest number. The dimensions are those of the answer."""
    found = np.stack(list(embedding)) if len(embedding) else np.zeros((0, 1))
    found = found[:, None] if found.ndim == 1 else found  # of one dimension
    u, v, weight = edges.arcs
    arcs = weight if weighted and weight is not None else np.ones(len(u))
    matrix = coo_array((arcs, (u, v)), (edges.vertices, edges.vertices)).tocsr()
    sums = matrix.sum(axis=1)
    near = _random_vectors(edges.vertices, found.shape[1], random_seed)
    expected = weights[0] * near
    for factor in weights[1:]:
        near = np.divide(matrix @ near, sums[:, None], out=np.zeros(near.shape), where=sums[:, None] > 0)
        expected = expected + factor * near
    right = np.abs(found - expected) <= rtol * float(np.abs(expected).max(initial=0))
    expect(
        np.atleast_1d(right.all(axis=1)),
        lambda v: f"vertex {v}: embedding {found[v][:4]} ..., not {expected[v][:4]} ...",
    )


def _random_vectors(vertices: int, dimensions: int, random_seed: int) -> np.ndarray:
    """√3, -√3 or 0, from the bits of splitmix64."""
    word = _mixed(_mixed(np.array([random_seed & ALL_BITS], np.uint64)))
    of_vertex = _mixed(word ^ np.arange(vertices, dtype=np.uint64))
    bits = _mixed(of_vertex[:, None] ^ np.arange(dimensions, dtype=np.uint64)) >> np.uint64(11)
    drawn = bits * 2.0**-53 * 6
    return np.sqrt(3) * ((drawn < 1).astype(float) - ((drawn >= 1) & (drawn < 2)))


def _mixed(z: np.ndarray) -> np.ndarray:
    z = z + np.uint64(0x9E37_79B9_7F4A_7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return z ^ (z >> np.uint64(31))
