"""The range of a graph's weights, cached as long as the graph lives, and checks of weights."""

from __future__ import annotations

from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import WeightError

_bounds: WeakKeyDictionary[PartitionedGraph, tuple[float, float]] = WeakKeyDictionary()


def bounds(graph: PartitionedGraph, orders: tuple[str, ...] = ("out",)) -> tuple[float, float]:
    """The lowest weight or 0, whichever is less, and the highest weight or 0, whichever is greater. `orders` lists the
    edge orders that the caller will read anyway."""
    lowest, highest = _extremes(graph, orders)
    return min(lowest, 0.0), max(highest, 0.0)


def lowest_weight(graph: PartitionedGraph) -> float:
    """The lowest weight; infinity without edges."""
    return _extremes(graph, ("out",))[0]


@retry_on_loss
def _extremes(graph: PartitionedGraph, orders: tuple[str, ...]) -> tuple[float, float]:
    """The lowest and the highest weight; without edges, infinity and minus infinity."""
    if graph not in _bounds:
        assert graph.weight is not None
        partitions = graph.partitioned(orders, (graph.weight,))
        pieces = graph.workers.each(_extremes_here, [(one, graph.weight) for one in partitions.held])
        lows, highs = zip(*graph.workers.bring(pieces), strict=True)
        if np.isnan(lows).any():  # only in a saved graph whose weight was saved as another column
            raise WeightError(f"column {graph.weight!r}: a weight is missing (nan); open the graph with weight=None")
        _bounds[graph] = min(lows), max(highs)
    return _bounds[graph]


def _extremes_here(partition: Any, weight: str) -> tuple[float, float]:
    sides = (side for side in (partition.out, partition.incoming) if side and weight in side.columns)
    weights = next(sides).columns[weight]
    return float(weights.min()) if len(weights) else inf, float(weights.max()) if len(weights) else -inf


@retry_on_loss
def lone_cycles(graph: PartitionedGraph) -> np.ndarray:
    """Edges that are negative cycles by themselves, as rows of two vertex numbers: self loops and undirected edges
    with negative weights."""
    assert graph.weight is not None
    held = graph.partitioned(("out",), (graph.weight,)).held
    pieces = graph.workers.each(_lone_cycles_here, [(one, graph.weight, graph.directed) for one in held])
    return np.concatenate(graph.workers.bring(pieces))


def _lone_cycles_here(partition: Any, weight: str, directed: bool) -> np.ndarray:
    rows = partition.out
    below = rows.columns[weight] < 0
    ends = np.stack([rows.rows()[below], rows.neighbours[below]], axis=1)
    return partition.numbers.astype(np.int64)[ends if not directed else ends[ends[:, 0] == ends[:, 1]]]


def check_weights(graph: PartitionedGraph, operation: str, orders: tuple[str, ...]) -> None:
    """Reject a graph whose weights are missing, negative or infinite."""
    if graph.weight is None:
        raise graph.input_edges.edges.no_weight(f"weighted=True: {operation} needs weights")
    lowest, highest = bounds(graph, orders)
    if lowest < 0 or not highest < inf:
        worst = lowest if lowest < 0 else highest
        problem = f"column {graph.weight!r} holds the weight {worst:g}"
        raise WeightError(f"{problem}: weighted {operation} needs finite weights >= 0")


def check_lengths(graph: PartitionedGraph, operation: str, orders: tuple[str, ...]) -> None:
    """Reject a graph whose weights cannot be the lengths of edges that are counted: those must be > 0, too, since edges
    of length 0 may form cycles, and what is divided by a distance has no value."""
    check_weights(graph, operation, orders)
    if _extremes(graph, orders)[0] == 0:
        raise WeightError(
            f"column {graph.weight!r} holds the weight 0: weighted {operation} needs lengths > 0; leave out such "
            "edges, or give them a small length"
        )


def unit_of(graph: PartitionedGraph) -> float:
    """A power of two by which weights become numbers of about 1 at most, of which sums and products have a range."""
    return 2.0 ** -max(float(np.frexp(bounds(graph)[1])[1]), -1000.0)
