"""What the weights of a graph are, as a whole: kept as long as the graph is."""

from __future__ import annotations

from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, WeightError
from dgraph.graph import Graph

_bounds: WeakKeyDictionary[Graph, tuple[float, float]] = WeakKeyDictionary()


@retry_on_loss
def bounds(graph: Graph, orders: tuple[str, ...] = ("out",)) -> tuple[float, float]:
    """The lowest weight and the highest, or 0 if that is nearer; `orders` are those that will be read anyway."""
    if graph not in _bounds:
        assert graph.weight is not None
        partitions = graph.partitioned(orders, (graph.weight,))
        found = graph.workers.each(_bounds_here, [(one, graph.weight) for one in partitions.held])
        lows, highs = zip(*graph.workers.bring(found), strict=True)
        _bounds[graph] = min(lows), max(highs)
    return _bounds[graph]


def _bounds_here(partition: Any, weight: str) -> tuple[float, float]:
    weights = next(
        side.columns[weight] for side in (partition.out, partition.incoming) if side and weight in side.columns
    )
    return float(weights.min(initial=0)), float(weights.max(initial=0))


@retry_on_loss
def lone_cycles(graph: Graph) -> np.ndarray:
    """The edges that are negative cycles by themselves, as rows of two numbers of vertices: loops below zero, and
    undirected edges."""
    assert graph.weight is not None
    held = graph.partitioned(("out",), (graph.weight,)).held
    found = graph.workers.each(_lone_cycles_here, [(one, graph.weight, graph.directed) for one in held])
    return np.concatenate(graph.workers.bring(found))


def _lone_cycles_here(partition: Any, weight: str, directed: bool) -> np.ndarray:
    rows = partition.out
    below = rows.columns[weight] < 0
    ends = np.stack([rows.rows()[below], rows.neighbours[below]], axis=1)
    return partition.numbers.astype(np.int64)[ends if not directed else ends[ends[:, 0] == ends[:, 1]]]


def check_weights(graph: Graph, operation: str, orders: tuple[str, ...]) -> None:
    """Refuse what a weighted sum of scores cannot be made of."""
    if graph.weight is None:
        raise ColumnError(
            f"weighted=True: {operation} would read weights, and the graph has none; name their column when you make "
            "it: weight="
        )
    lowest, highest = bounds(graph, orders)
    if lowest < 0 or not highest < inf:
        worst = lowest if lowest < 0 else highest
        raise WeightError(
            f"column {graph.weight!r} holds the weight {worst:g}: weighted {operation} needs finite weights of zero or "
            "more"
        )
