"""rustworkx: Rust behind Python, with Python objects on nodes and edges (Treinish et al., 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
import rustworkx as rx

from peers.library import Arrays, Library, Operation, by_number, distances, members


def graph_of(arrays: Arrays) -> Any:
    graph = (rx.PyDiGraph if arrays.directed else rx.PyGraph)()
    graph.add_nodes_from(range(arrays.vertices))
    graph.add_edges_from(
        list(zip(arrays.source.tolist(), arrays.destination.tolist(), arrays.weight.tolist(), strict=True))
    )
    return graph


def pagerank(graph: Any, arrays: Arrays) -> Any:
    directed = graph if arrays.directed else graph.to_directed()
    return rx.pagerank(directed, alpha=0.85, tol=1e-6 / len(directed), max_iter=1000)


def bfs(graph: Any, arrays: Arrays) -> Any:
    return rx.bfs_layers(graph, [arrays.start])


def levels(found: Any, arrays: Arrays) -> dict[str, np.ndarray]:
    distance = np.full(arrays.vertices, np.inf)
    for level, layer in enumerate(found):
        distance[list(layer)] = level
    return {"distance": distance}


def sssp(graph: Any, arrays: Arrays) -> Any:
    lengths = rx.digraph_dijkstra_shortest_path_lengths if arrays.directed else rx.graph_dijkstra_shortest_path_lengths
    return lengths(graph, arrays.start, edge_cost_fn=float)


def wcc(graph: Any, arrays: Arrays) -> Any:
    return rx.weakly_connected_components(graph) if arrays.directed else rx.connected_components(graph)


def scc(graph: Any, arrays: Arrays) -> Any:
    return rx.strongly_connected_components(graph)


LIBRARY = Library(
    ("rustworkx",),
    {
        "pagerank": Operation(
            graph_of,
            pagerank,
            by_number("pagerank"),
            "float64, until a tolerance, as it gives no fixed rounds",
            {"tol": 1e-5},
        ),
        "bfs": Operation(graph_of, bfs, levels, "layers"),
        "sssp": Operation(graph_of, sssp, distances, "Dijkstra; float64, distances only"),
        "wcc": Operation(graph_of, wcc, members, "sets of vertices", {"names": "any"}),
        "scc": Operation(graph_of, scc, members, "sets of vertices", {"names": "any"}),
        "core_number": Operation(graph_of, lambda graph, _: rx.core_number(graph), by_number("core"), "exact"),
    },
)
