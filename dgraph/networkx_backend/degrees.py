"""What the degrees of nodes tell about them, and about the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.components import is_connected, is_strongly_connected
from dgraph.networkx_backend.node_graphs import NodeGraph


def isolates(G: NodeGraph) -> Iterator[Any]:
    yield from (G.nodes[number] for number in np.flatnonzero(G.degrees("degree") == 0).tolist())


def number_of_isolates(G: NodeGraph) -> int:
    return int(np.count_nonzero(G.degrees("degree") == 0))


def is_isolate(G: NodeGraph, n: Any) -> bool:
    if n not in G:
        raise nx.NetworkXError(f"Node {n} is not in the graph.")
    return bool(G.degrees("degree")[G.numbers[n]] == 0)


def is_regular(G: NodeGraph) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Graph has no nodes.")
    kinds = ("in_degree", "out_degree") if G.directed else ("degree",)
    return all(len(np.unique(G.degrees(kind))) == 1 for kind in kinds)


def is_k_regular(G: NodeGraph, k: int) -> bool:
    return bool((G.degrees("degree") == k).all())


def is_eulerian(G: NodeGraph) -> bool:
    if G.directed:
        return bool((G.degrees("in_degree") == G.degrees("out_degree")).all()) and is_strongly_connected(G)
    return bool((G.degrees("degree") % 2 == 0).all()) and is_connected(G)


def overall_reciprocity(G: NodeGraph) -> float:
    source, target = G.ends()
    if len(source) == 0:
        raise nx.NetworkXError("Not defined for empty graphs")
    joined = np.unique(np.minimum(source, target) * len(G) + np.maximum(source, target))
    return (len(source) - len(joined)) * 2 / len(source)


def reciprocity(G: NodeGraph, nodes: Any = None) -> Any:
    if nodes is None:
        return overall_reciprocity(G)
    source, target = G.ends()
    arcs, reverse = source * len(G) + target, target * len(G) + source
    both = np.bincount(source[np.isin(reverse, arcs)], minlength=len(G))
    degree = np.bincount(source, minlength=len(G)) + np.bincount(target, minlength=len(G))
    shares = [
        2 * joined / every if every else None for joined, every in zip(both.tolist(), degree.tolist(), strict=True)
    ]
    if nodes not in G:
        return {G.nodes[number]: shares[number] for number in G.bunch(nodes)}
    share = shares[G.numbers[nodes]]
    if share is None:
        raise nx.NetworkXError("Not defined for isolated nodes.")
    return share
