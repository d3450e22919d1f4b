"""Topological orders of directed graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.ops.topological_generations import generations_of
from dgraph.runs.run_options import RunOptions


def topological_generations(G: NodeGraph) -> Iterator[list[Any]]:
    """Nodes that are neither on a cycle nor behind one have a generation even if there are cycles, as in NetworkX."""
    if not G.directed:
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    found = generations_of(G.graph(), RunOptions())
    generation = G.column(found, "generation")
    order = np.argsort(generation, kind="stable")[found.totals["unplaced"] :]
    starts = np.flatnonzero(np.diff(generation[order], prepend=-1))
    for numbers in np.split(order, starts[1:]) if len(order) else []:
        yield [G.nodes[number] for number in numbers.tolist()]
    if found.totals["unplaced"]:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def topological_sort(G: NodeGraph) -> Iterator[Any]:
    for generation in topological_generations(G):
        yield from generation
