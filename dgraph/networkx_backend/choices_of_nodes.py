"""Nodes chosen so that no two neighbours are alike: independent sets and colourings."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.coloring import coloring
from dgraph.ops.maximal_independent_set import maximal_independent_set as our_independent_set


def maximal_independent_set(G: NodeGraph, nodes: Any = None, seed: Random | None = None) -> list[Any]:
    if len(G) == 0:
        raise IndexError("Cannot choose from an empty sequence")  # as NetworkX, which chooses a first node
    drawn = 0 if seed is None else seed.randrange(1 << 31)
    chosen = G.column(our_independent_set(G.graph(), random_seed=drawn), "in_set")
    return [G.nodes[number] for number in np.flatnonzero(chosen).tolist()]


def greedy_color(G: NodeGraph, strategy: str = "largest_first", interchange: bool = False) -> dict[Any, int]:
    return G.by_node(G.column(coloring(G.graph()), "color"))
