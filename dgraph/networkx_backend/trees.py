"""Spanning forests of the least and of the largest weight, as Kruskal's algorithm finds them, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

import networkx as nx
import numpy as np

from dgraph.networkx_backend.node_graphs import ConvertedGraph, NodeGraph
from dgraph.networkx_backend.originals import edges_with_data, original, weights_of
from dgraph.trees.spanning_forest import spanning_forest

NO_MULTIGRAPHS = ("boruvka", "borůvka")
ALGORITHMS = ("kruskal", "prim", *NO_MULTIGRAPHS)


def minimum_spanning_edges(
    G: NodeGraph,
    algorithm: str = "kruskal",
    weight: str | None = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple]:
    _check_algorithm(algorithm)
    return _edges(G, weight, algorithm, keys, data, ignore_nan, minimum=True)


def maximum_spanning_edges(
    G: NodeGraph,
    algorithm: str = "kruskal",
    weight: str | None = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple]:
    _check_algorithm(algorithm)
    return _edges(G, weight, algorithm, keys, data, ignore_nan, minimum=False)


def minimum_spanning_tree(
    G: NodeGraph, weight: str | None = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    return _tree(G, weight, algorithm, ignore_nan, minimum=True)


def maximum_spanning_tree(
    G: NodeGraph, weight: str | None = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    return _tree(G, weight, algorithm, ignore_nan, minimum=False)


def _check_algorithm(algorithm: str) -> None:
    if algorithm not in ALGORITHMS:
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")


def _tree(G: NodeGraph, weight: str | None, algorithm: str, ignore_nan: bool, *, minimum: bool) -> Any:
    if G.directed:
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    _check_algorithm(algorithm)
    graph = original(G)
    tree = graph.__class__()
    tree.graph.update(graph.graph)
    tree.add_nodes_from(graph.nodes.items())
    tree.add_edges_from(_edges(G, weight, algorithm, True, True, ignore_nan, minimum=minimum))
    return tree


def _edges(
    G: NodeGraph, weight: str | None, algorithm: str, keys: bool, data: bool, ignore_nan: bool, *, minimum: bool
) -> Iterator[tuple]:
    """The edges of the forest, the best first. Each edge gets a weight of its own, its place in the order of Kruskal's
    algorithm, so that of edges of equal weight NetworkX's choice is found."""
    if G.multigraph and algorithm in NO_MULTIGRAPHS:
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")
    weights = weights_of(G, weight)
    numbers = np.flatnonzero(~np.isnan(weights))
    if len(numbers) < len(weights) and not ignore_nan:
        [edge] = edges_with_data(G, np.flatnonzero(np.isnan(weights))[:1], keys=True, data=True)
        raise ValueError(f"NaN found as an edge weight. Edge {edge}")
    listed = numbers if minimum else numbers[::-1]
    order = listed[np.argsort(weights[listed], kind="stable")]
    order = order if minimum else order[::-1]
    source, target = G.ends()
    ranked = ConvertedGraph(
        G.nodes,
        (source[order], target[order]),
        {"place": np.arange(len(order))},
        directed=False,
        multigraph=True,
        original=ref(original(G)),
    )
    places = spanning_forest(ranked.graph("place")).compute()["weight"].to_numpy()
    yield from edges_with_data(G, order[np.sort(places)], keys=keys, data=data)
