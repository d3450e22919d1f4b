"""NetworkX: plain Python, the library whose terminology we follow (Hagberg et al., 2008)."""

from __future__ import annotations

from typing import Any

import networkx as nx

from peers.library import Arrays, Library, Operation, by_number, distances, members


def graph_of(arrays: Arrays) -> Any:
    graph = (nx.DiGraph if arrays.directed else nx.Graph)()
    graph.add_nodes_from(range(arrays.vertices))
    ends = arrays.source.tolist(), arrays.destination.tolist(), arrays.weight.tolist()
    graph.add_weighted_edges_from(zip(*ends, strict=True))
    return graph


def pagerank(graph: Any, arrays: Arrays) -> Any:
    return nx.pagerank(graph, alpha=0.85, tol=1e-6 / len(graph), max_iter=1000, weight=None)


def bfs(graph: Any, arrays: Arrays) -> Any:
    return nx.single_source_shortest_path_length(graph, arrays.start)


def sssp(graph: Any, arrays: Arrays) -> Any:
    return nx.single_source_dijkstra_path_length(graph, arrays.start)


def wcc(graph: Any, arrays: Arrays) -> Any:
    return list(nx.weakly_connected_components(graph) if arrays.directed else nx.connected_components(graph))


def scc(graph: Any, arrays: Arrays) -> Any:
    return list(nx.strongly_connected_components(graph))


LIBRARY = Library(
    ("networkx",),
    {
        "pagerank": Operation(
            graph_of,
            pagerank,
            by_number("pagerank"),
            "float64, by SciPy, until a tolerance, as it gives no fixed rounds",
            {"tol": 1e-5},
        ),
        "bfs": Operation(graph_of, bfs, distances, "distances"),
        "sssp": Operation(graph_of, sssp, distances, "Dijkstra; float64, distances only"),
        "wcc": Operation(graph_of, wcc, members, "sets of vertices", {"names": "any"}),
        "scc": Operation(graph_of, scc, members, "sets of vertices", {"names": "any"}),
        "triangles": Operation(
            graph_of, lambda graph, _: nx.triangles(graph), by_number("triangles"), "of every vertex"
        ),
        "core_number": Operation(graph_of, lambda graph, _: nx.core_number(graph), by_number("core"), "exact"),
    },
)
