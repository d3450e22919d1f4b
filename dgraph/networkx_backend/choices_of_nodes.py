"""Nodes chosen so that no two neighbours are alike: independent sets and colourings."""

from __future__ import annotations

import random
from collections.abc import Iterator
from random import Random
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import induced, original
from dgraph.ops.coloring import coloring
from dgraph.ops.maximal_independent_set import maximal_independent_set as our_independent_set
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.solvers.subgraphs.given_order import color_in_order

LARGEST_FIRST, RANDOM = "largest_first", "random_sequential"
SATURATION, INDEPENDENT = "saturation_largest_first", "independent_set"
STRATEGIES = {
    *(LARGEST_FIRST, RANDOM, "smallest_last", "connected_sequential", "connected_sequential_bfs"),
    *("connected_sequential_dfs", SATURATION, "DSATUR", INDEPENDENT),
}
WITHOUT_INTERCHANGE = {SATURATION: SATURATION, "DSATUR": SATURATION, INDEPENDENT: INDEPENDENT}


def maximal_independent_set(G: NodeGraph, nodes: Any = None, seed: Random | None = None) -> list[Any]:
    if len(G) == 0:
        raise IndexError("Cannot choose from an empty sequence")  # as NetworkX, which chooses a first node
    available = np.ones(len(G), bool)
    given = set(nodes or ())
    if given:
        if not all(node in G for node in given):
            raise nx.NetworkXUnfeasible(f"{given} is not a subset of the nodes of G")
        chosen, (source, target) = np.zeros(len(G), bool), G.ends()
        chosen[[G.numbers[node] for node in given]] = True
        if (chosen[source] & chosen[target]).any():
            raise nx.NetworkXUnfeasible(f"{given} is not an independent set of G")
        available[target[chosen[source]]] = available[source[chosen[target]]] = False
        available &= ~chosen
    drawn = 0 if seed is None else seed.randrange(1 << 31)
    rest = induced(G, available) if given else G
    in_set = rest.column(our_independent_set(rest.graph(), random_seed=drawn), "in_set")
    return [*given, *(rest.nodes[number] for number in np.flatnonzero(in_set).tolist())]


def greedy_color(G: NodeGraph, strategy: Any = LARGEST_FIRST, interchange: bool = False) -> dict[Any, int]:
    """The colors that NetworkX finds, in the order in which it colors nodes. Of a `Graph`, those of `dgraph.coloring`,
    which needs no edges in one place."""
    if len(G) == 0:
        return {}
    if not callable(strategy) and strategy not in STRATEGIES:
        raise nx.NetworkXError(f"strategy must be callable or a valid string. {strategy} not valid.")
    if interchange and strategy in WITHOUT_INTERCHANGE:
        raise nx.NetworkXPointlessConcept(f"interchange cannot be used with {WITHOUT_INTERCHANGE[strategy]}")
    if not G.has_ends and strategy == LARGEST_FIRST:
        return G.by_node(G.column(coloring(G.graph()), "color"))
    order = _order(G, strategy)
    source, target = (ends.astype(np.uint32) for ends in G.ends())
    ways = [EdgeSlice(source, target), *([] if G.directed else [EdgeSlice(target, source)])]
    colors = color_in_order(build(ways, len(G)), order)
    return dict(zip((G.nodes[number] for number in order.tolist()), colors[order].tolist(), strict=True))


def _order(G: NodeGraph, strategy: Any) -> np.ndarray:
    """The numbers of the nodes in the order of a strategy."""
    if strategy == LARGEST_FIRST:
        return np.argsort(-G.degrees("degree"), kind="stable")
    if strategy == RANDOM:
        numbers = list(range(len(G)))
        random.shuffle(numbers)
        return np.array(numbers)
    listed = strategy(original(G), {})
    if isinstance(listed, Iterator):
        raise NotImplementedError("a strategy that is a generator may depend on the colors of earlier nodes")
    return np.array([G.numbers[node] for node in listed])
