"""Distances and paths in numbers of edges, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.found_paths import lengths, paths
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.bfs import bfs
from dgraph.runs.result import RunResult


def single_source_shortest_path_length(G: NodeGraph, source: Any, cutoff: float | None = None) -> dict[Any, int]:
    return lengths(G, *_search(G, source, cutoff, "Source {} is not in G"), whole=True)


def single_target_shortest_path_length(G: NodeGraph, target: Any, cutoff: float | None = None) -> dict[Any, int]:
    back = G.reversed()
    return lengths(back, *_search(back, target, cutoff, "Target {} is not in G"), whole=True)


def all_pairs_shortest_path_length(G: NodeGraph, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    for node in G.nodes:
        yield node, single_source_shortest_path_length(G, node, cutoff)


def single_source_shortest_path(G: NodeGraph, source: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    return paths(G, *_search(G, source, cutoff, "Source {} not in G"))


def single_target_shortest_path(G: NodeGraph, target: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    back = G.reversed()
    found = paths(back, *_search(back, target, cutoff, "Target {} not in G"))
    return {node: path[::-1] for node, path in found.items()}


def all_pairs_shortest_path(G: NodeGraph, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for node in G.nodes:
        yield node, single_source_shortest_path(G, node, cutoff)


def bidirectional_shortest_path(G: NodeGraph, source: Any, target: Any) -> list[Any]:
    start, end = G.number(source, "Source {} is not in G"), G.number(target, "Target {} is not in G")
    first, last = G.vertices([start, end])
    path = bfs(G.graph(), first, target=last).path(last)
    if not path:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.named(path)


def has_path(G: NodeGraph, source: Any, target: Any) -> bool:
    try:
        bidirectional_shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


def descendants(G: NodeGraph, source: Any) -> set[Any]:
    return _reached(G, source)


def ancestors(G: NodeGraph, source: Any) -> set[Any]:
    return _reached(G.reversed(), source)


def descendants_at_distance(G: NodeGraph, source: Any, distance: int) -> set[Any]:
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    found = single_source_shortest_path_length(G, source, distance)
    return {node for node, length in found.items() if length == distance}


def bfs_layers(G: NodeGraph, sources: Any) -> Iterator[list[Any]]:
    starts = [sources] if sources in G else list(dict.fromkeys(sources))
    for source in starts:
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
    if not starts:
        return
    found = bfs(G.graph(), G.vertices([G.numbers[source] for source in starts]))
    layers: dict[int, list[Any]] = {}
    for node, length in lengths(G, found, None, whole=True).items():
        layers.setdefault(length, []).append(node)
    yield from layers.values()


def _search(G: NodeGraph, node: Any, cutoff: float | None, message: str) -> tuple[RunResult, int | None]:
    """A search, and how far it goes: NetworkX takes another step as long as the cutoff is not reached."""
    [start] = G.vertices([G.number(node, message)])
    if cutoff is None or cutoff == math.inf:
        return bfs(G.graph(), start), None
    limit = math.ceil(min(cutoff, len(G))) if cutoff > 0 else 0
    return bfs(G.graph(), start, depth_limit=max(limit, 1)), limit


def _reached(G: NodeGraph, source: Any) -> set[Any]:
    """All nodes that a node reaches, but itself."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the digraph.")
    found, _ = _search(G, source, None, "")
    distances = G.column(found, "distance")
    return {G.nodes[number] for number in np.flatnonzero(np.isfinite(distances) & (distances > 0)).tolist()}
