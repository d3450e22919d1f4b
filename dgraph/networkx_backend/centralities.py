"""Centralities by degrees and by shortest paths."""

from __future__ import annotations

import random
from random import Random
from typing import Any

import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import edges_with_data, weights_of
from dgraph.networkx_backend.weighted_paths import search
from dgraph.ops.betweenness import betweenness
from dgraph.ops.closeness import closeness
from dgraph.ops.harmonic import harmonic


def degree_centrality(G: NodeGraph) -> dict[Any, float]:
    return _by_degree(G, "degree")


def in_degree_centrality(G: NodeGraph) -> dict[Any, float]:
    return _by_degree(G, "in_degree")


def out_degree_centrality(G: NodeGraph) -> dict[Any, float]:
    return _by_degree(G, "out_degree")


def closeness_centrality(G: NodeGraph, u: Any = None, distance: str | None = None, wf_improved: bool = True) -> Any:
    sources = None if u is None else G.vertices([G.number(u, "Source {} is not in G")])
    weighted = G.is_weighted(distance)
    found = closeness(G.graph(distance), sources=sources, wf_improved=wf_improved, weighted=weighted)
    if u is not None:
        return found.compute()["closeness"].item()
    return G.by_node(G.column(found, "closeness"))


def harmonic_centrality(
    G: NodeGraph, nbunch: Any = None, distance: str | None = None, sources: Any = None
) -> dict[Any, float]:
    if sources is not None:
        return _harmonic_from(G, sources, nbunch, distance)
    numbers, graph, weighted = G.bunch(nbunch), G.graph(distance), G.is_weighted(distance)
    if nbunch is None:
        return G.by_node(G.column(harmonic(graph, weighted=weighted), "harmonic"))
    numbers = list(dict.fromkeys(numbers))
    if not numbers:
        return {}
    found = harmonic(graph, sources=G.vertices(numbers), weighted=weighted).compute()
    values = dict(zip(found["vertex"].tolist(), found["harmonic"].tolist(), strict=True))
    return {G.nodes[number]: values[vertex] for number, vertex in zip(numbers, G.vertices(numbers), strict=True)}


def _harmonic_from(G: NodeGraph, sources: Any, nbunch: Any, distance: str | None) -> dict[Any, float]:
    """Sums over these sources alone, with a search from each."""
    sums = np.zeros(len(G))
    for number in dict.fromkeys(G.bunch(sources)):
        lengths = G.column(search(G, [number], distance), "distance")
        sums += np.divide(1, lengths, out=np.zeros(len(G)), where=lengths > 0)
    return {G.nodes[number]: sums[number].item() for number in dict.fromkeys(G.bunch(nbunch))}


def betweenness_centrality(
    G: NodeGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Random | None = None,
) -> dict[Any, float]:
    found = betweenness(
        _simple(G, weight),
        sources=_sample(G, k, seed),
        normalized=normalized,
        weighted=G.is_weighted(weight),
        endpoints=endpoints,
    )
    return G.by_node(G.column(found, "betweenness"))


def edge_betweenness_centrality(
    G: NodeGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    seed: Random | None = None,
) -> dict[tuple[Any, Any], float]:
    graph = _simple(G, weight)
    if graph.num_edges == 0:
        return {}
    source, target = G.ends()
    sources, weighted = _sample(G, k, seed), G.is_weighted(weight)
    frame = betweenness(graph, sources=sources, normalized=normalized, weighted=weighted, edges=True).compute()
    values = dict(zip(zip(frame.iloc[:, 0], frame.iloc[:, 1], strict=True), frame["betweenness"].tolist(), strict=True))
    if not G.multigraph:
        return {(G.nodes[u], G.nodes[v]): values[u, v] for u, v in zip(source.tolist(), target.tolist(), strict=True)}
    pair, weights = np.unique(source * len(G) + target, return_inverse=True)[1], weights_of(G, weight)
    least = np.full(len(values), np.inf)
    np.minimum.at(least, pair, weights)
    lightest = weights == least[pair]
    shares = np.array([values[ends] for ends in zip(source.tolist(), target.tolist(), strict=True)])
    shares = np.where(lightest, shares / np.bincount(pair[lightest])[pair], 0.0)
    edges = edges_with_data(G, np.arange(len(source)), keys=True, data=False)
    return dict(zip(edges, shares.tolist(), strict=True))


def _by_degree(G: NodeGraph, kind: str) -> dict[Any, float]:
    if len(G) <= 1:
        return dict.fromkeys(G.nodes, 1)
    return G.by_node(G.degrees(kind) * (1.0 / (len(G) - 1.0)))


def _simple(G: NodeGraph, weight: str | None) -> Any:
    """The graph for shortest paths between nodes: NetworkX counts edges of the same nodes as one path."""
    return G.graph(weight, repeats="min" if G.is_weighted(weight) else "first")


def _sample(G: NodeGraph, k: int | None, seed: Random | None) -> list[Any] | None:
    """The sources that NetworkX draws; None for all."""
    if k is None or k == len(G):
        return None
    if k == 0:
        raise ZeroDivisionError("division by zero")  # as in NetworkX: there is no mean of no sources
    drawn = (random if seed is None else seed).sample(G.nodes, k)
    return G.vertices([G.numbers[node] for node in drawn])
