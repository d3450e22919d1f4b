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


def length_to(G: NodeGraph, found: RunResult, node: Any, cutoff: float | None, *, whole: bool) -> Any:
    """The distance of one node; None if it is not within reach."""
    distance = G.column(found, "distance")[[G.numbers[node]] if node in G else []]
    if not _is_near(distance, cutoff).any():
        return None
    return int(distance[0]) if whole else distance.item()


def paths(G: NodeGraph, found: RunResult, cutoff: float | None) -> dict[Any, list[Any]]:
    """The path to each node within reach."""
    _, near = _nearest(G, found, cutoff)
    before = _predecessors(G, found).tolist()
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


def _predecessors(G: NodeGraph, found: RunResult) -> np.ndarray:
    """-1 for a source."""
    before = G.column(found, "predecessor")
    return np.where((before >= 0) & (before < len(G)), before, -1)


def _nearest(G: NodeGraph, found: RunResult, cutoff: float | None) -> tuple[np.ndarray, np.ndarray]:
    """All distances, and the numbers of the nodes within reach, the nearest first. Sources always are."""
    distances = G.column(found, "distance")
    near = _is_near(distances, cutoff)
    if cutoff is not None and cutoff < 0:
        near = (distances == 0) & (_predecessors(G, found) < 0)
    numbers = np.flatnonzero(near)
    return distances, numbers[np.argsort(distances[numbers], kind="stable")]


def _is_near(distances: np.ndarray, cutoff: float | None) -> np.ndarray:
    return np.isfinite(distances) & ~(distances > (math.inf if cutoff is None else cutoff))
