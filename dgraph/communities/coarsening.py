"""The graph of communities: a vertex for each community, and the edges between them added up."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_choice, known_options
from dgraph.building.graph_frames import result_frame
from dgraph.cluster.retry import replicate, retry_on_loss
from dgraph.cluster.tasks import copy_here
from dgraph.communities.labels import Labels, read_labels
from dgraph.errors import WeightError
from dgraph.graph import Graph
from dgraph.native.interruptible_calls import call_team
from dgraph.partition.partition import Partition
from dgraph.solvers.communities.aggregation import Room, members_of, merged
from dgraph.solvers.communities.ties import Ties

WEIGHTS = ("sum", "count")
LARGEST = 2**53  # sums of whole weights are exact up to here


@known_options(runs=True)
def coarsen(graph: Graph, labels: Any, *, weights: str = "sum") -> Graph:
    """The graph of communities: one vertex for each, and one edge for all edges from one community to another.

    The edges inside a community become a self loop. Isolated vertices and communities remain.

    Parameters
    ----------
    graph : Graph
        The graph.
    labels : RunResult, str, mapping, Series, frame or array
        The community of each vertex, as for `dgraph.modularity`. Labels are integers, strings or UUIDs.
    weights : {"sum", "count"}, default "sum"
        The weight of an edge of the new graph: the sum of the weights of the edges that it stands for, or how many they
        are. Without weights, each edge counts as 1.

    Returns
    -------
    Graph
        Directed if `graph` is. Its vertices are the labels, with the column ``size``, the number of vertices that each
        stands for; the weights are in the column ``weight``. It is partitioned by the default policy.

    Raises
    ------
    OptionError
        If `weights` is neither ``"sum"`` nor ``"count"``.
    ColumnError
        If a vertex has no label, or the labels belong to other vertices.
    IdError
        If a label is given for a vertex that is not in the graph, or labels cannot be vertex ids.
    WeightError
        If a weight is negative or not finite, or the sum of whole weights is above 2**53.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3, 4], "dst": [1, 2, 0, 3, 4, 5]}, directed=False)
    >>> dg.coarsen(G, ["a", "a", "a", "b", "b", "b"]).edges.compute()
      src dst  weight
    0   a   a       3
    1   a   b       1
    2   b   b       2
    """
    check_choice("weights", weights, WEIGHTS)
    return _coarse(graph, read_labels(graph, labels), graph.weight if weights == "sum" else None)


@retry_on_loss
def _coarse(graph: Graph, labels: Labels, weight: str | None) -> Graph:
    workers, held = graph.workers, graph.partitioned(("out",), () if weight is None else (weight,)).held
    codes, names = workers.send([labels.codes, labels.names])
    how = names, weight, graph.directed, workers.threads_each(len(held))
    tables = workers.wait(workers.each(_pairs, [(one, codes, *how) for one in held]))
    vertices = pd.DataFrame({"id": labels.names, "size": np.bincount(labels.codes, minlength=labels.count)})
    if workers.client is None:
        edges = pd.concat(tables, ignore_index=True)
    else:
        (empty,) = workers.get([workers.call(pd.DataFrame.head, tables[0], 0)])
        copies = [workers.call(copy_here, one) for one in replicate(workers, tables)]  # two, for one may be lost
        edges = result_frame(workers, copies, empty, ["src", "dst"], as_cudf=False)
    same: dict[str, Any] = {"directed": graph.directed, "memory": graph.memory, "client": graph.client}
    return Graph.from_edges(edges, weight="weight", vertices=vertices, repeats="sum", **same)


def _pairs(
    partition: Partition, codes: np.ndarray, names: pd.Index, weight: str | None, directed: bool, threads: int
) -> pd.DataFrame:
    """The edges of one partition between communities, with their weights added up."""
    rows = partition.by_source
    column = np.zeros(0) if weight is None else rows.columns[weight]
    whole = weight is None or column.dtype.kind in "iu"
    if len(column) and not (column.min() >= 0 and column.max() < np.inf):
        bad = column[~((column >= 0) & (column < np.inf))][0]
        raise WeightError(f"column {weight!r} holds the weight {bad:g}: coarsen needs finite weights >= 0")
    local = codes[partition.numbers]
    ties = Ties.of(rows.indptr, rows.neighbours, column.astype(np.float64, copy=False))
    numbers = np.zeros(0, np.int64) if directed else np.asarray(partition.numbers, np.int64)
    call = partial(merged, ties, Ties.none(ties), local, members_of(local, len(names)), 1.0, threads, Room(), numbers)
    found = call_team(threads, call)
    sources, destinations, weights = found.listed()
    if whole and weights.max(initial=0) >= LARGEST:
        raise WeightError(
            f"column {weight!r}: the weights between two communities add up to {weights.max():.0f}, "
            'beyond 2**53; give weights as floats, or use weights="count"'
        )
    ends = {"src": names[sources], "dst": names[destinations]}
    return pd.DataFrame({**ends, "weight": weights.astype(np.int64) if whole else weights})
