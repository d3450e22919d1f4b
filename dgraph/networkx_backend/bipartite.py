"""Two sets of nodes between which all edges are: by the parity of distances from one node of each component."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import without_directions
from dgraph.ops.bfs import bfs
from dgraph.ops.wcc import wcc

NOT_BIPARTITE = "Graph is not bipartite."


def is_bipartite(G: NodeGraph) -> bool:
    return _colors(G) is not None


def color(G: NodeGraph) -> dict[Any, int]:
    colors = _colors(G)
    if colors is None:
        raise nx.NetworkXError(NOT_BIPARTITE)
    return G.by_node(colors)


def sets(G: NodeGraph, top_nodes: Collection[Any] | None = None) -> tuple[set[Any], set[Any]]:
    if top_nodes is not None:
        top = set(top_nodes)
        return top, set(G.nodes) - top
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    if len(np.unique(_components(G))) > 1:
        raise nx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
    colors = color(G)
    return {node for node, one in colors.items() if one}, {node for node, one in colors.items() if not one}


def _components(G: NodeGraph) -> np.ndarray:
    return G.column(wcc(G.graph()), "component")


def _colors(G: NodeGraph) -> np.ndarray | None:
    """0 or 1 for each node, as NetworkX colors them: 1 for the first node of a component from which an edge leads, and
    0 for nodes without edges. None if some edge has two ends of one color."""
    colors = np.zeros(len(G), np.int64)
    source, target = G.ends()
    leaving = np.sort(source if G.directed else np.concatenate([source, target]))
    if len(leaving) == 0:
        return colors
    roots = leaving[np.unique(_components(G)[leaving], return_index=True)[1]]
    found = bfs(without_directions(G).graph(), roots.tolist())
    distances = G.column(found, "distance")
    reached = np.isfinite(distances)
    colors[reached] = 1 - distances[reached].astype(np.int64) % 2
    return None if (colors[source] == colors[target]).any() else colors
