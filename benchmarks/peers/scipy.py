"""SciPy: compressed matrices and csgraph, one thread. Operations that it lacks are written with them as users would."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csgraph, diags, tril

from peers.library import Arrays, Library, Operation


def plain(arrays: Arrays) -> Any:
    return arrays.matrix(np.ones(len(arrays.source), np.float32))


def weighted(arrays: Arrays) -> Any:
    return arrays.matrix(arrays.weight)


def transition(arrays: Arrays) -> Any:
    """Transition probabilities, with a row per destination, and the vertices without out-edges."""
    rows = arrays.matrix(np.ones(len(arrays.source)))
    degree = np.asarray(rows.sum(axis=1)).ravel()
    share = np.divide(1, degree, out=np.zeros(len(degree)), where=degree > 0)
    return (diags(share) @ rows).T.tocsr(), degree == 0


def pagerank(graph: Any, arrays: Arrays) -> np.ndarray:
    chance, stuck = graph
    n = arrays.vertices
    rank = np.full(n, 1 / n)
    for _ in range(20):
        rank = 0.85 * (chance @ rank) + (0.15 + 0.85 * rank[stuck].sum()) / n
    return rank


def bfs(graph: Any, arrays: Arrays) -> Any:
    return csgraph.breadth_first_order(graph, arrays.start)


def sssp(graph: Any, arrays: Arrays) -> Any:
    return csgraph.dijkstra(graph, indices=arrays.start, return_predecessors=True)


def wcc(graph: Any, arrays: Arrays) -> Any:
    return csgraph.connected_components(graph, connection="weak")[1]


def scc(graph: Any, arrays: Arrays) -> Any:
    return csgraph.connected_components(graph, connection="strong")[1]


def lower(arrays: Arrays) -> Any:
    return tril(plain(arrays), -1, "csr").astype(np.int32)


def triangles(graph: Any, arrays: Arrays) -> int:
    return int((graph @ graph).multiply(graph).sum())


LIBRARY = Library(
    ("scipy",),
    {
        "pagerank": Operation(transition, pagerank, "pagerank", "float64", {"rounds": 20}),
        "bfs": Operation(plain, bfs, lambda r, _: {"predecessor": r[1]}, "predecessors only", {"ties": "any"}),
        "sssp": Operation(
            weighted,
            sssp,
            lambda r, _: {"distance": r[0], "predecessor": r[1]},
            "Dijkstra; float64, predecessors",
            {"ties": "any"},
        ),
        "wcc": Operation(plain, wcc, "component", "labels of its own", {"names": "any"}),
        "scc": Operation(plain, scc, "component", "labels of its own", {"names": "any"}),
        "triangles": Operation(lower, triangles, "total", "the total only"),
    },
)
