"""Whether nodes are joined to nodes of similar degrees."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import weights_of


def degree_assortativity_coefficient(
    G: NodeGraph, x: str = "out", y: str = "in", weight: str | None = None, nodes: Any = None
) -> float:
    """Pearson's correlation of the degrees at the two ends of edges; nan, with NumPy's warning, if all degrees at one
    end are the same. With `nodes`, the edges are those between these."""
    source, target = G.ends()
    weights = None if weight is None else weights_of(G, weight)
    sides = {"out": source, "in": target}
    degrees = {side: np.bincount(ends, weights, len(G)) for side, ends in sides.items()}
    if nodes is not None:
        listed = np.zeros(len(G), bool)
        listed[[G.numbers[node] for node in set(nodes) if node in G]] = True
        inside = listed[source] & listed[target]
        source, target = source[inside], target[inside]
    if G.directed:
        pairs = degrees[x][source], degrees[y][target]
    else:
        degree, apart = degrees["out"] + degrees["in"], source != target
        ends = np.concatenate([source, target[apart]]), np.concatenate([target, source[apart]])
        pairs = degree[ends[0]], degree[ends[1]]
    count = np.float64(len(pairs[0]))  # a number of NumPy's, which warns where the result is nan
    pairs = tuple(one - one[:1] for one in pairs)  # equal degrees are all 0 then, and not what rounding leaves of them
    first, second = (one - one.sum() / count for one in pairs)
    return float((first * second).sum() / np.sqrt((first * first).sum() * (second * second).sum()))
