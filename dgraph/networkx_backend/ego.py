"""The neighbourhood of a node, as a graph."""

from __future__ import annotations

from typing import Any

from dgraph.networkx_backend import distances, weighted_paths
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import original, part, without_directions


def ego_graph(
    G: NodeGraph,
    n: Any,
    radius: float = 1,
    center: bool = True,
    undirected: bool = False,
    distance: str | None = None,
) -> Any:
    original(G)  # refused before a search
    searched = without_directions(G) if undirected else G
    if distance is None:
        near = distances.single_source_shortest_path_length(searched, n, radius)
    else:
        near = weighted_paths.single_source_dijkstra_path_length(searched, n, radius, distance)
    graph = part(G, near)
    if not center:
        graph.remove_node(n)
    return graph
