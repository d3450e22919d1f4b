"""One shortest path between two vertices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgraph.arguments import check_flag, known_options
from dgraph.building.weights import bounds
from dgraph.cluster.retry import retry_on_loss
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.ops.bfs import bfs
from dgraph.ops.sssp import sssp
from dgraph.partition.partition import Partition
from dgraph.solvers.paths.both_ends import WeightedRows, fewest_edges, least_weight
from dgraph.solvers.paths.shortest_paths import weights_of
from dgraph.solvers.solver import CsrArrays
from dgraph.tables.edge_tables import EdgeTables


@known_options(runs=True)
def shortest_path(graph: Graph, source: Any, target: Any, *, weighted: bool | None = None) -> list[Any]:
    """A shortest path from one vertex to another.

    Parameters
    ----------
    graph : Graph
        The graph to search.
    source : vertex
        Where paths start.
    target : vertex
        Where they end.
    weighted : bool, optional
        Use the graph's weights: they are the lengths of edges, which are otherwise 1. By default they are used if the
        graph has any, as in `dgraph.sssp`.

    Returns
    -------
    list
        The vertices from `source` to `target`, both included; empty if there is no path. Of several shortest paths, it
        is the one whose predecessors, seen from the target, are the smallest: that of ``bfs(graph, source)`` or
        ``sssp(graph, source)``.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    IdError
        If `source` or `target` is not a vertex of the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If a weight is negative, and the source reaches a cycle of negative weight.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    With one partition, searches from both ends meet, so that few edges are read. With several, edges stay where they
    are, and a search from the source alone stops at the target. That is also how paths of negative weights are found,
    and those on which some edges of length 0 are needed; negative weights are searched to the end.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1, 2], "dst": [1, 3, 2, 3], "km": [2.0, 9.0, 3.0, 1.0]}, weight="km")
    >>> dg.shortest_path(G, 0, 3)
    [0, 1, 2, 3]
    >>> dg.shortest_path(G, 0, 3, weighted=False)
    [0, 3]
    """
    if weighted is None and graph.weight is None:
        graph.input_edges.edges.warn_without_weight("shortest_path")
    by_weight = graph.weight is not None if weighted is None else check_flag("weighted", weighted)
    if by_weight and graph.weight is None:
        raise graph.input_edges.edges.no_weight("weighted=True: shortest_path needs weights")
    ends = graph.numbering.find(source), graph.numbering.find(target)
    if by_weight and bounds(graph)[0] < 0:
        return sssp(graph, source).path(target)
    if ends[0] == ends[1]:
        return _ids(graph, np.array(ends[:1]))
    if graph.num_parts > 1:
        return (sssp if by_weight else bfs)(graph, source, target=target).path(target)
    known, found = _found(graph, ends, graph.weight if by_weight else None)
    if known:
        return _ids(graph, found)
    return sssp(graph, source, target=target).path(target)


def _ids(graph: Graph, numbers: np.ndarray) -> list[Any]:
    return graph.numbering.restored(numbers).tolist()


@retry_on_loss
def _found(graph: Graph, ends: tuple[int, int], weight: str | None) -> tuple[bool, np.ndarray]:
    """Whether the path is known, and its vertices."""
    orders, columns = ("out", "incoming") if graph.directed else ("out",), () if weight is None else (weight,)
    (partition,) = graph.partitioned(orders, columns).held
    workers = graph.workers
    (found,) = workers.bring(workers.each(_between, [(partition, graph.directed, ends, weight)]))
    return found


@explain_lack_of_memory("the vertices near both ends of a path", "search from both")
def _between(
    partition: Partition, directed: bool, ends: tuple[int, int], weight: str | None
) -> tuple[bool, np.ndarray]:
    out, looks = partition.by_source, partition.num_edges + partition.num_owned
    back = (partition.incoming if directed else None) or out
    if weight is None:
        rows, back_rows = (CsrArrays(one.indptr, one.neighbours) for one in (out, back))
        return True, call_team(1, partial(fewest_edges, rows, back_rows, *ends), looks)
    edges = EdgeTables(partition, directed, {"weight": (weight, "float64")}, 1)
    lengths, back_lengths = (WeightedRows(one.indptr, one.neighbours, weights_of(edges, one)) for one in (out, back))
    exists, path = call_team(1, partial(least_weight, lengths, back_lengths, *ends), looks)
    return len(path) > 0 or not exists, path
