"""What comes from the NetworkX graph behind a converted one: its parts, and the weights, keys and data of its edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any

import numpy as np

from dgraph.networkx_backend.conversion import numeric
from dgraph.networkx_backend.node_graphs import ConvertedGraph, NodeGraph, Weights

WeightFunction = Callable[[Any, Any, Any], Any]  # of the two ends of an edge, and of its data


def original(G: NodeGraph) -> Any:
    """The graph of NetworkX, of which a part is asked for, with all its attributes."""
    if not isinstance(G, ConvertedGraph):
        raise NotImplementedError(
            "parts of a dgraph.Graph are no graphs of NetworkX: call k_core, k_truss, ego or spanning_forest of dgraph"
        )
    graph = G.original()
    if graph is None:
        raise NotImplementedError("the graph of NetworkX is gone of which a part is asked for")
    return graph


def part(G: NodeGraph, nodes: Iterable[Any]) -> Any:
    """The subgraph of these nodes, as a graph of its own."""
    return original(G).subgraph(nodes).copy()


def weights_of(G: NodeGraph, weight: str | None) -> np.ndarray:
    """The weight of each edge, in the order of `ends`."""
    source, _ = G.ends()
    values = G.weights.get(weight) if isinstance(G, ConvertedGraph) and weight is not None else None
    return np.ones(len(source), np.int64) if values is None else values


def weighted_by(G: NodeGraph, function: WeightFunction) -> NodeGraph:
    """The graph with the results of a function as weights, which has them under the function as a name."""
    if not isinstance(G, ConvertedGraph):
        raise NotImplementedError("a function would be called for every edge, and the graph may be on a cluster")
    graph, (source, target) = original(G), G.ends()
    ends = [(G.nodes[u], G.nodes[v]) for u, v in zip(source.tolist(), target.tolist(), strict=True)]
    values = [function(u, v, graph._adj[u][v]) for u, v in ends]
    if not G.directed and values != [function(v, u, graph._adj[v][u]) for u, v in ends]:
        raise NotImplementedError("a function gives an edge another weight in each direction")
    weights: dict[Any, Weights] = {function: numeric(values, "what the function returns")}
    kind = {"directed": G.directed, "multigraph": G.multigraph}
    return GraphOfFunction(G.nodes, (source, target), weights, original=lambda: graph, **kind)


class GraphOfFunction(ConvertedGraph):
    """A graph with weights by a function, which would be called with the ends of reversed edges in another order."""

    def reversed(self) -> NodeGraph:
        if self.directed:
            raise NotImplementedError("a function may give reversed edges other weights")
        return self


def without_directions(G: NodeGraph) -> NodeGraph:
    """The graph whose edges lead both ways."""
    if not G.directed:
        return G
    if not isinstance(G, ConvertedGraph):
        raise NotImplementedError("edges in both directions are needed: make the graph with directed=False")
    return ConvertedGraph(G.nodes, G.ends(), {}, directed=False, multigraph=True, original=G.original)


def induced(G: NodeGraph, kept: np.ndarray) -> ConvertedGraph:
    """The subgraph of the nodes that are marked, without weights."""
    numbers = np.cumsum(kept) - 1
    inside = [kept[ends] for ends in G.ends()]
    ends = tuple(numbers[side[inside[0] & inside[1]]] for side in G.ends())
    return ConvertedGraph(
        list(compress(G.nodes, kept.tolist())),
        ends,
        {},
        directed=G.directed,
        multigraph=G.multigraph,
        original=lambda: None,
    )


def edges_with_data(G: NodeGraph, rows: np.ndarray, *, keys: bool, data: bool) -> list[tuple]:
    """Edges by their places in `ends`, as NetworkX lists them: with keys, if the graph is a multigraph, and data."""
    source, target = G.ends()
    ends = [(G.nodes[u], G.nodes[v]) for u, v in zip(source[rows].tolist(), target[rows].tolist(), strict=True)]
    if not (data or (keys and G.multigraph)):
        return ends
    graph = original(G)
    if not G.multigraph:
        return [(u, v, graph._adj[u][v]) for u, v in ends]
    repeats = [list(graph._adj[u][v].items()) for u, v in ends]
    chosen = [items[place] for items, place in zip(repeats, _places(source, target)[rows].tolist(), strict=True)]
    return [
        (*end, *([key] if keys else []), *([values] if data else []))
        for end, (key, values) in zip(ends, chosen, strict=True)
    ]


def _places(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """How many edges of the same ends are before each edge; those are listed one after the other."""
    rows = np.arange(len(source))
    starts = np.r_[True, (np.diff(source) != 0) | (np.diff(target) != 0)][: len(rows)]
    return rows - np.maximum.accumulate(np.where(starts, rows, 0))
