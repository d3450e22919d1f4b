"""scikit-network: Cython and SciPy (Bonald et al., 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np
import sknetwork
from scipy.sparse import csr_matrix

from peers.library import Arrays, Library, Operation


def rows(arrays: Arrays) -> csr_matrix:
    return arrays.matrix(np.ones(len(arrays.source)))


def pagerank(graph: Any, arrays: Arrays) -> np.ndarray:
    return sknetwork.ranking.PageRank(0.85, solver="piteration", n_iter=20, tol=0).fit_predict(graph)


def settled(rank: np.ndarray, arrays: Arrays) -> dict[str, np.ndarray]:
    """Check that one more round of its own iteration changes little enough. Its ranks are defined differently, so our
    verifier cannot check them."""
    chance = rows(arrays)
    degree = np.diff(chance.indptr)
    chance.data /= np.repeat(degree, degree)
    again = 0.85 * (chance.T @ rank) + (1 - 0.85 * (degree > 0)) / arrays.vertices
    change = np.abs(again / again.sum() - rank).sum()
    if abs(rank.sum() - 1) > 1e-9 or change > 2 * 0.85**20:
        raise ValueError(f"one more round changes ranks by {change:g}")
    return {}


def bfs(graph: Any, arrays: Arrays) -> np.ndarray:
    return sknetwork.path.get_distances(graph, source=arrays.start)


def label_propagation(graph: Any, arrays: Arrays) -> np.ndarray:
    return sknetwork.clustering.PropagationClustering(sort_clusters=False).fit_predict(graph)


LIBRARY = Library(
    ("scikit-network", "scipy"),
    {
        "pagerank": Operation(
            rows, pagerank, settled, "float64; surfers jump to vertices without out-edges more often than to others"
        ),
        "bfs": Operation(
            rows, bfs, lambda r, _: {"distance": np.where(r < 0, np.inf, r.astype(float))}, "distances only"
        ),
        "wcc": Operation(
            rows,
            lambda graph, _: sknetwork.topology.get_connected_components(graph, connection="weak"),
            "component",
            "labels of its own",
            {"names": "any"},
        ),
        "scc": Operation(
            rows,
            lambda graph, _: sknetwork.topology.get_connected_components(graph, connection="strong"),
            "component",
            "labels of its own",
            {"names": "any"},
        ),
        "triangles": Operation(
            rows,
            lambda graph, _: sknetwork.topology.count_triangles(graph, parallelize=True),
            "total",
            "the total only",
        ),
        "label_propagation": Operation(rows, label_propagation, "label", "asynchronous", {"restless": 1.0}),
        "core_number": Operation(
            rows, lambda graph, _: sknetwork.topology.get_core_decomposition(graph), "core", "exact"
        ),
    },
)
