"""What searches have found, as NetworkX returns it: dictionaries by node, the nearest first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.runs.result import RunResult


def lengths(G: NodeGraph, found: RunResult, cutoff: float | None, *, whole: bool) -> dict[Any, Any]:
    """The distance of each node within reach; integers if all lengths are `whole`."""
    distances, near = _nearest(G, found, cutoff)
    values = distances[near].astype(np.int64) if whole else distances[near]
    return dict(zip((G.nodes[number] for number in near.tolist()), values.tolist(), strict=True))


def paths(G: NodeGraph, found: RunResult, cutoff: float | None) -> dict[Any, list[Any]]:
    """The path to each node within reach."""
    _, near = _nearest(G, found, cutoff)
    before = G.column(found, "predecessor")
    before = np.where((before >= 0) & (before < len(G)), before, -1).tolist()
    known: dict[int, list[Any]] = {}
    for number in near.tolist():
        trail = []
        while number not in known and before[number] >= 0:  # edges of length 0 lead to nodes that come later
            trail.append(number)
            number = before[number]
        path = known.setdefault(number, [G.nodes[number]])
        for one in reversed(trail):
            path = known[one] = [*path, G.nodes[one]]
    return {G.nodes[number]: known[number] for number in near.tolist()}


def _nearest(G: NodeGraph, found: RunResult, cutoff: float | None) -> tuple[np.ndarray, np.ndarray]:
    """All distances, and the numbers of the nodes within reach, the nearest first."""
    distances = G.column(found, "distance")
    near = np.flatnonzero(np.isfinite(distances) & (distances <= (math.inf if cutoff is None else cutoff)))
    return distances, near[np.argsort(distances[near], kind="stable")]
