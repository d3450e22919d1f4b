"""Shortest paths by weight: the functions of NetworkX that are named for Dijkstra, and for Bellman and Ford."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx

from dgraph.errors import WeightError
from dgraph.networkx_backend.found_paths import length_to, lengths, paths
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.bfs import bfs
from dgraph.ops.sssp import sssp
from dgraph.runs.result import RunResult

NOT_FOUND, NOT_IN = "Node {} not found in graph", "Source {} not in G"
Found = tuple[Any, Any]  # distances and paths, or those of one target


def multi_source_dijkstra(
    G: NodeGraph,
    sources: Collection[Any],
    target: Any = None,
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> Found:
    numbers = _numbers(G, sources)
    if target is not None and target in sources:
        return 0, [target]
    if target is None:
        return _both(G, search(G, numbers, weight), cutoff, weight)
    return _to_target(G, search(G, numbers, weight, target), target, weight, f"No path to {target}.", cutoff)


def multi_source_dijkstra_path(
    G: NodeGraph, sources: Collection[Any], cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    found = search(G, _numbers(G, sources), weight)
    return paths(G, found, cutoff)


def multi_source_dijkstra_path_length(
    G: NodeGraph, sources: Collection[Any], cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, Any]:
    return lengths(G, search(G, _numbers(G, sources), weight), cutoff, whole=G.whole_weights(weight))


def single_source_dijkstra(
    G: NodeGraph, source: Any, target: Any = None, cutoff: float | None = None, weight: str | None = "weight"
) -> Found:
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def single_source_dijkstra_path(
    G: NodeGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    return multi_source_dijkstra_path(G, [source], cutoff, weight)


def single_source_dijkstra_path_length(
    G: NodeGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, Any]:
    return multi_source_dijkstra_path_length(G, [source], cutoff, weight)


def dijkstra_path(G: NodeGraph, source: Any, target: Any, weight: str | None = "weight") -> list[Any]:
    return single_source_dijkstra(G, source, target, weight=weight)[1]


def dijkstra_path_length(G: NodeGraph, source: Any, target: Any, weight: str | None = "weight") -> Any:
    number = G.number(source, NOT_FOUND)
    if source == target:
        return 0
    problem = f"Node {target} not reachable from {source}"
    return _to_target(G, search(G, [number], weight, target), target, weight, problem)[0]


def bidirectional_dijkstra(G: NodeGraph, source: Any, target: Any, weight: str | None = "weight") -> Found:
    number = G.number(source, "Source {} is not in G")
    G.number(target, "Target {} is not in G")
    if source == target:
        return 0, [source]
    problem = f"No path between {source} and {target}."
    return _to_target(G, search(G, [number], weight, target), target, weight, problem)


def all_pairs_dijkstra(
    G: NodeGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, Found]]:
    for node in G.nodes:
        yield node, single_source_dijkstra(G, node, None, cutoff, weight)


def all_pairs_dijkstra_path(
    G: NodeGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for node in G.nodes:
        yield node, single_source_dijkstra_path(G, node, cutoff, weight)


def all_pairs_dijkstra_path_length(
    G: NodeGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    for node in G.nodes:
        yield node, single_source_dijkstra_path_length(G, node, cutoff, weight)


def single_source_bellman_ford(G: NodeGraph, source: Any, target: Any = None, weight: str | None = "weight") -> Found:
    if source == target:
        G.number(source, "Node {} is not found in the graph")
        return 0, [source]
    found = _bellman_ford(G, source, weight)
    if target is None:
        return _both(G, found, None, weight)
    return _to_target(G, found, target, weight, f"Node {target} not reachable from {source}")


def single_source_bellman_ford_path(G: NodeGraph, source: Any, weight: str | None = "weight") -> dict[Any, list[Any]]:
    return paths(G, _bellman_ford(G, source, weight), None)


def single_source_bellman_ford_path_length(G: NodeGraph, source: Any, weight: str | None = "weight") -> dict[Any, Any]:
    return lengths(G, _bellman_ford(G, source, weight), None, whole=G.whole_weights(weight))


def bellman_ford_path(G: NodeGraph, source: Any, target: Any, weight: str | None = "weight") -> list[Any]:
    return single_source_bellman_ford(G, source, target, weight)[1]


def bellman_ford_path_length(G: NodeGraph, source: Any, target: Any, weight: str | None = "weight") -> Any:
    if source == target:
        G.number(source, NOT_FOUND)
        return 0
    found = _bellman_ford(G, source, weight)
    return _to_target(G, found, target, weight, f"node {target} not reachable from {source}")[0]


def all_pairs_bellman_ford_path(
    G: NodeGraph, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for node in G.nodes:
        yield node, single_source_bellman_ford_path(G, node, weight)


def all_pairs_bellman_ford_path_length(
    G: NodeGraph, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    for node in G.nodes:
        yield node, single_source_bellman_ford_path_length(G, node, weight)


def _numbers(G: NodeGraph, sources: Collection[Any]) -> list[int]:
    if not sources:
        raise ValueError("sources must not be empty")
    return [G.number(source, NOT_FOUND) for source in dict.fromkeys(sources)]


def search(G: NodeGraph, numbers: list[int], weight: str | None, target: Any = None) -> RunResult:
    """The shortest paths from the nearest source. With a target in the graph, as far as that is."""
    check_dijkstra(G, weight)
    [end] = G.vertices([G.numbers[target]]) if target is not None and target in G else [None]
    return (sssp if G.is_weighted(weight) else bfs)(G.graph(weight), G.vertices(numbers), target=end)


def check_dijkstra(G: NodeGraph, weight: str | None) -> None:
    """Refuse weights along which Dijkstra's algorithm does not find the lengths of paths."""
    if G.has_negative(weight):
        raise NotImplementedError("negative weights are not supported with Dijkstra's algorithm")
    G.check_lengths(weight)


def _bellman_ford(G: NodeGraph, source: Any, weight: str | None) -> RunResult:
    [start] = G.vertices([G.number(source, NOT_IN)])
    G.check_lengths(weight)
    try:
        return (sssp if G.is_weighted(weight) else bfs)(G.graph(weight), start)
    except WeightError as error:
        if G.has_ends and not G.has_negative(weight):
            raise
        raise nx.NetworkXUnbounded("Negative cycle detected.") from error


def _both(G: NodeGraph, found: RunResult, cutoff: float | None, weight: str | None) -> Found:
    return lengths(G, found, cutoff, whole=G.whole_weights(weight)), paths(G, found, cutoff)


def _to_target(
    G: NodeGraph, found: RunResult, target: Any, weight: str | None, problem: str, cutoff: float | None = None
) -> Found:
    """The distance of one node and the path to it."""
    length = length_to(G, found, target, cutoff, whole=G.whole_weights(weight))
    if length is None:
        raise nx.NetworkXNoPath(problem)
    return length, G.named(found.path(*G.vertices([G.numbers[target]])))
