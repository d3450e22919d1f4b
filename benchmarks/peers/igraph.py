"""igraph: C behind Python, one thread (Csárdi and Nepusz, 2006)."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np

from peers.library import Arrays, Library, Operation


def graph_of(arrays: Arrays) -> Any:
    edges = np.stack([arrays.source, arrays.destination], axis=1)
    graph = igraph.Graph(n=arrays.vertices, edges=edges, directed=arrays.directed)
    graph.es["weight"] = arrays.weight
    return graph


def bfs(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(graph.bfs(arrays.start)[2])


def parents(found: np.ndarray, arrays: Arrays) -> dict[str, np.ndarray]:
    """Parents in our form. For the source and unreached vertices, igraph returns the vertex itself or vertex 0."""
    own = np.arange(arrays.vertices)
    return {"predecessor": np.where((found == own) | (own == arrays.start), -1, found)}


def sssp(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(graph.distances(arrays.start, weights="weight")[0])


def wcc(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(graph.connected_components(mode="weak").membership)


def scc(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(graph.connected_components(mode="strong").membership)


LIBRARY = Library(
    ("igraph",),
    {
        "pagerank": Operation(
            graph_of,
            lambda graph, _: np.array(graph.pagerank(damping=0.85)),
            "pagerank",
            "float64, PRPACK: until it converges, it knows no rounds",
            {"tol": 1e-9},
        ),
        "bfs": Operation(graph_of, bfs, parents, "predecessors only", {"ties": "any"}),
        "sssp": Operation(graph_of, sssp, "distance", "Dijkstra; float64, distances only"),
        "wcc": Operation(graph_of, wcc, "component", "labels of its own", {"names": "any"}),
        "scc": Operation(
            graph_of,
            scc,
            "component",
            "labels of its own; from the second call on it knows that a graph is one component",
            {"names": "any"},
        ),
        "triangles": Operation(
            graph_of,
            lambda graph, _: len(graph.list_triangles()) if graph.ecount() < 1000 else _triangles(graph),
            "total",
            "the total only",
        ),
        "label_propagation": Operation(
            graph_of,
            lambda graph, _: np.array(graph.community_label_propagation(mode="all").membership),
            "label",
            "asynchronous; both directions",
            {"restless": 0.0},
        ),
        "leiden": Operation(
            graph_of,
            lambda graph, _: np.array(graph.community_leiden("modularity", n_iterations=2).membership),
            "community",
            "2 iterations",
            {"names": "any", "connected": False},
        ),
        "core_number": Operation(graph_of, lambda graph, _: np.array(graph.coreness()), "core", "exact"),
    },
)


def _triangles(graph: Any) -> int:
    """The number of triangles, derived from the clustering of the whole graph, because igraph has no count."""
    degree = np.array(graph.degree(), np.float64)
    wedges = (degree * (degree - 1) / 2).sum()
    return round(graph.transitivity_undirected(mode="zero") * wedges / 3)
