"""NetworkX's general functions for shortest paths, with or without weights, and means of distances."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend import distances as unweighted
from dgraph.networkx_backend import weighted_paths as weighted
from dgraph.networkx_backend.components import is_connected, is_strongly_connected
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.closeness import closeness
from dgraph.ops.eccentricity import eccentricity as our_eccentricity
from dgraph.ops.harmonic import harmonic

EXACT_SUM = 1 << 50  # up to which a sum of whole numbers can be told from its rounded reciprocal
METHODS = ("dijkstra", "bellman-ford")


def shortest_path(
    G: NodeGraph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    method = _method(method, weight)
    if source is not None and target is not None:
        if method == "unweighted":
            return unweighted.bidirectional_shortest_path(G, source, target)
        if method == "dijkstra":
            return weighted.bidirectional_dijkstra(G, source, target, weight)[1]
        return weighted.bellman_ford_path(G, source, target, weight)
    if source is None and target is None:
        if method == "unweighted":
            return unweighted.all_pairs_shortest_path(G)
        every = weighted.all_pairs_dijkstra_path if method == "dijkstra" else weighted.all_pairs_bellman_ford_path
        return every(G, weight=weight)
    found = _from_one(G.reversed() if source is None else G, target if source is None else source, weight, method)
    return {node: path[::-1] for node, path in found.items()} if source is None else found


def shortest_path_length(
    G: NodeGraph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    method = _method(method, weight)
    if source is not None and target is not None:
        if method == "unweighted":
            return len(unweighted.bidirectional_shortest_path(G, source, target)) - 1
        one = weighted.dijkstra_path_length if method == "dijkstra" else weighted.bellman_ford_path_length
        return one(G, source, target, weight)
    if source is None and target is None:
        if method == "unweighted":
            return unweighted.all_pairs_shortest_path_length(G)
        if method == "dijkstra":
            return weighted.all_pairs_dijkstra_path_length(G, weight=weight)
        return weighted.all_pairs_bellman_ford_path_length(G, weight=weight)
    G, start = (G.reversed(), target) if source is None else (G, source)
    if method == "unweighted":
        return unweighted.single_source_shortest_path_length(G, start)
    if method == "dijkstra":
        return weighted.single_source_dijkstra_path_length(G, start, weight=weight)
    return weighted.single_source_bellman_ford_path_length(G, start, weight=weight)


def average_shortest_path_length(G: NodeGraph, weight: str | None = None, method: str | None = None) -> float:
    if method not in (None, "unweighted", *METHODS, "floyd-warshall", "floyd-warshall-numpy"):
        raise ValueError(f"method not supported: {method}")
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths, thus there is no average shortest path length")
    if len(G) == 1:
        return 0
    if not _is_in_one_piece(G):
        raise nx.NetworkXError(f"Graph is not {'strongly ' * G.directed}connected.")
    return _sum_of_distances(G, None if method == "unweighted" else weight) / (len(G) * (len(G) - 1))


def wiener_index(G: NodeGraph, weight: str | None = None) -> float:
    if not _is_in_one_piece(G):
        return math.inf
    total = _sum_of_distances(G, weight)
    return total if G.directed else total / 2


def efficiency(G: NodeGraph, u: Any, v: Any) -> float:
    try:
        return 1 / (len(unweighted.bidirectional_shortest_path(G, u, v)) - 1)
    except nx.NetworkXNoPath:
        return 0


def global_efficiency(G: NodeGraph) -> float:
    if len(G) < 2:
        return 0
    return float(G.column(harmonic(G.graph()), "harmonic").sum()) / (len(G) * (len(G) - 1))


def eccentricity(G: NodeGraph, v: Any = None, sp: Any = None, weight: str | None = None) -> Any:
    if sp is not None:
        known = {G.nodes[number]: _largest(G, sp, G.nodes[number]) for number in G.bunch(v)}
        return known[v] if v in G else known
    if len(G) == 0:
        return {}
    if v in G:
        values = np.full(len(G), np.inf)
        values[G.numbers[v]] = G.column(weighted.search(G, [G.numbers[v]], weight), "distance").max()
    else:
        weighted.check_dijkstra(G, weight)
        found = our_eccentricity(G.graph(weight), weighted=G.is_weighted(weight))
        values = G.column(found, "eccentricity")
    if not np.isfinite(values[G.bunch(v)]).all():
        raise nx.NetworkXError(_not_connected(G))
    values = np.where(np.isfinite(values), values, -1)
    return G.chosen(values.astype(np.int64) if G.whole_weights(weight) else values, v)


def diameter(G: NodeGraph, e: dict | None = None, usebounds: bool = False, weight: str | None = None) -> Any:
    return max((eccentricity(G, weight=weight) if e is None else e).values())


def radius(G: NodeGraph, e: dict | None = None, usebounds: bool = False, weight: str | None = None) -> Any:
    return min((eccentricity(G, weight=weight) if e is None else e).values())


def center(G: NodeGraph, e: dict | None = None, usebounds: bool = False, weight: str | None = None) -> list[Any]:
    known = eccentricity(G, weight=weight) if e is None else e
    least = min(known.values())
    return [node for node, value in known.items() if value == least]


def periphery(G: NodeGraph, e: dict | None = None, usebounds: bool = False, weight: str | None = None) -> list[Any]:
    known = eccentricity(G, weight=weight) if e is None else e
    largest = max(known.values())
    return [node for node, value in known.items() if value == largest]


def _largest(G: NodeGraph, sp: Any, node: Any) -> Any:
    """The largest of the known distances from a node."""
    try:
        known = sp[node]
        count = len(known)
    except TypeError as error:
        raise nx.NetworkXError('Format of "sp" is invalid.') from error
    if count != len(G):
        raise nx.NetworkXError(_not_connected(G))
    return max(known.values())


def _not_connected(G: NodeGraph) -> str:
    why = "digraph is not strongly connected" if G.directed else "graph is not connected"
    return f"Found infinite path length because the {why}"


def _method(method: str, weight: str | None) -> str:
    if method not in METHODS:
        raise ValueError(f"method not supported: {method}")
    return "unweighted" if weight is None else method


def _from_one(G: NodeGraph, start: Any, weight: str | None, method: str) -> dict[Any, list[Any]]:
    if method == "unweighted":
        return unweighted.single_source_shortest_path(G, start)
    if method == "dijkstra":
        return weighted.single_source_dijkstra_path(G, start, weight=weight)
    return weighted.single_source_bellman_ford_path(G, start, weight)


def _is_in_one_piece(G: NodeGraph) -> bool:
    return is_strongly_connected(G) if G.directed else is_connected(G)


def _sum_of_distances(G: NodeGraph, weight: str | None) -> float:
    """Of all ordered pairs of nodes of a (strongly) connected graph."""
    G.check_lengths(weight)
    result = closeness(G.graph(weight), wf_improved=False, weighted=G.is_weighted(weight))
    shares = G.column(result, "closeness")
    sums = (len(G) - 1) / shares[shares > 0]
    if not G.whole_weights(weight):
        return float(sums.sum())
    if len(sums) and sums.max() >= EXACT_SUM:
        raise NotImplementedError("distances add up to more than 2**50, and dgraph adds floating-point numbers")
    return sum(np.rint(sums).astype(np.int64).tolist())
