"""How good a division into communities is: modularity, and a table of measures for each community."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_flag, check_positive, known_options
from dgraph.building.weights import check_weights
from dgraph.cluster.retry import retry_on_loss
from dgraph.communities.labels import Labels, read_labels
from dgraph.errors import WeightError
from dgraph.graph import Graph
from dgraph.native.interruptible_calls import call_team
from dgraph.phrases.phrases import format_count
from dgraph.solvers.communities.quality import CommunitySums, community_sums, inner_trees, roots


@dataclass(frozen=True, eq=False)
class PartitionQuality:
    """How good a division into communities is. `dgraph.partition_quality` makes it.

    Attributes
    ----------
    modularity : float
        The share of the edges' weight inside communities, minus the share that chance would put there.
    coverage : float
        The share of the edges' weight inside communities.
    internal_edges : float
        The share of the edges inside communities, whatever they weigh.
    conductance : float
        The mean of the communities' conductances.
    worst_conductance : float
        The largest of the communities' conductances.
    disconnected : int
        The number of communities that are not connected by their own edges, directions aside. With ``weighted=True``,
        an edge of weight 0 does not connect.
    communities : pandas.DataFrame
        One row per community: ``community``, its label; ``size``, its number of vertices; ``edges``, the number of
        edges inside; ``conductance``; and ``connected``.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 3], "dst": [1, 2, 0, 4]}, directed=False)
    >>> dg.partition_quality(G, {0: "a", 1: "a", 2: "a", 3: "b", 4: "b"}).communities
      community  size  edges  conductance  connected
    0         a     3      3          0.0       True
    1         b     2      1          0.0       True
    """

    modularity: float
    coverage: float
    internal_edges: float
    conductance: float
    worst_conductance: float
    disconnected: int
    communities: pd.DataFrame = field(repr=False)

    def __repr__(self) -> str:
        measures = {
            "modularity": self.modularity,
            "coverage": self.coverage,
            "internal edges": self.internal_edges,
            "conductance, mean": self.conductance,
            "conductance, worst": self.worst_conductance,
        }
        sizes = self.communities["size"]
        lines = [format_count(len(sizes), "community")]
        if len(sizes):
            lines[0] += f" of {sizes.min():,} to {sizes.max():,} vertices, {self.disconnected:,} disconnected"
        return "\n".join([*lines, *(f"  {name:<20}{value:.4f}" for name, value in measures.items())])


@known_options(runs=True)
def modularity(graph: Graph, labels: Any, *, resolution: float = 1.0, weighted: bool = False) -> float:
    """Modularity: the share of the edges inside communities, minus what chance would put there.

    Parameters
    ----------
    graph : Graph
        The graph. In a directed one, chance keeps the in- and out-degrees of all vertices (Leicht and Newman).
    labels : RunResult, str, mapping, Series, frame or array
        The community of each vertex: the result of `dgraph.leiden` or another operation, the name of a vertex column,
        ``{vertex: label}``, a Series indexed by vertex, a frame of vertices and labels, or an array in ascending order
        of the vertices.
    resolution : float, default 1.0
        Factor of what chance would put inside: the larger, the more small communities are favoured.
    weighted : bool, default False
        Count each edge by its weight, which must be finite and >= 0.

    Returns
    -------
    float
        At most 1; 0 for a graph without edges. A self loop adds 2 to the degree of its vertex, as in NetworkX.

    Raises
    ------
    OptionError
        If `resolution` is not a positive number.
    ColumnError
        If a vertex has no label, the labels belong to other vertices, or ``weighted=True`` and there are no weights.
    IdError
        If a label is given for a vertex that is not in the graph.
    WeightError
        If a weight is negative or infinite.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3, 4], "dst": [1, 2, 0, 3, 4, 5]}, directed=False)
    >>> round(dg.modularity(G, [0, 0, 0, 1, 1, 1]), 4)
    0.3194
    """
    check_positive("resolution", resolution)
    sums = _sums(graph, read_labels(graph, labels), _weight(graph, weighted))
    return _modularity(sums, resolution)


@known_options(runs=True)
def partition_quality(
    graph: Graph, labels: Any, *, resolution: float = 1.0, weighted: bool = False
) -> PartitionQuality:
    """Measure how good a division into communities is.

    The conductance of a community is the weight of the edges that leave it, divided by the sum of its vertices' degrees
    or of all other vertices' degrees, whichever is less; 0 if there are none. Directions do not count for it.

    Parameters
    ----------
    graph : Graph
        The graph.
    labels : RunResult, str, mapping, Series, frame or array
        The community of each vertex, as for `dgraph.modularity`.
    resolution : float, default 1.0
        The resolution of the modularity.
    weighted : bool, default False
        Count each edge by its weight, which must be finite and >= 0.

    Returns
    -------
    PartitionQuality
        Modularity, coverage, conductance, and a frame with one row per community.

    Raises
    ------
    OptionError
        If `resolution` is not a positive number.
    ColumnError
        If a vertex has no label, the labels belong to other vertices, or ``weighted=True`` and there are no weights.
    IdError
        If a label is given for a vertex that is not in the graph.
    WeightError
        If a weight is negative or infinite.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3, 4], "dst": [1, 2, 0, 3, 4, 5]}, directed=False)
    >>> dg.partition_quality(G, [0, 0, 0, 1, 1, 1])
    2 communities of 3 to 3 vertices, 0 disconnected
      modularity          0.3194
      coverage            0.8333
      internal edges      0.8333
      conductance, mean   0.2000
      conductance, worst  0.2000
    """
    check_positive("resolution", resolution)
    read, weight = read_labels(graph, labels), _weight(graph, weighted)
    sums = _sums(graph, read, weight)
    trees = roots(graph.num_vertices, _measure(graph, read, weight, inner_trees))
    pieces = np.bincount(read.codes[np.unique(trees)], minlength=read.count)
    degrees, total = sums.leaving + sums.entering, sums.leaving.sum()
    least = np.minimum(degrees, 2 * total - degrees)
    conductance = np.divide(degrees - 2 * sums.inside, least, out=np.zeros(read.count), where=least > 0).clip(0)
    twice = 1 if graph.directed else 2
    table = pd.DataFrame(
        {
            "community": read.names,
            "size": np.bincount(read.codes, minlength=read.count),
            "edges": sums.edges_inside // twice,
            "conductance": conductance,
            "connected": pieces == 1,
        }
    )
    edges = graph.num_edges
    return PartitionQuality(
        _modularity(sums, resolution),
        float(sums.inside.sum() / total) if total else 0.0,
        float(sums.edges_inside.sum() / twice / edges) if edges else 0.0,
        float(conductance.mean()) if read.count else 0.0,
        float(conductance.max(initial=0.0)),
        int((pieces > 1).sum()),
        table,
    )


def _weight(graph: Graph, weighted: bool) -> str | None:
    if not check_flag("weighted", weighted):
        return None
    check_weights(graph, "modularity", ("out",))
    return graph.weight


def _sums(graph: Graph, labels: Labels, weight: str | None) -> CommunitySums:
    """The sums over all edges, for each community."""
    pieces = _measure(graph, labels, weight, community_sums, labels.count, 1 if graph.directed else 2)
    with np.errstate(over="ignore"):
        sums = CommunitySums(*(np.sum(arrays, axis=0) for arrays in zip(*pieces, strict=True)))
        if not np.isfinite(2 * sums.leaving.sum()):
            raise WeightError(f"column {weight!r}: the sum of the weights is beyond 1.8e308; scale them down")
    return sums


@retry_on_loss
def _measure(graph: Graph, labels: Labels, weight: str | None, function: Callable[..., Any], *how: Any) -> list[Any]:
    """What a function finds in each partition, given the communities of all vertices."""
    workers, held = graph.workers, graph.partitioned(("out",), () if weight is None else (weight,)).held
    (codes,) = workers.send([labels.codes])
    how = weight, *how, workers.threads_each(len(held))
    return workers.bring(workers.each(_measure_here, [(function, one, codes, *how) for one in held]))


def _measure_here(function: Callable[..., Any], *of_partition: Any) -> Any:
    return call_team(of_partition[-1], partial(function, *of_partition))


def _modularity(sums: CommunitySums, resolution: float) -> float:
    total = sums.leaving.sum()
    if not total:
        return 0.0
    return float((sums.inside / total - resolution * (sums.leaving / total) * (sums.entering / total)).sum())
