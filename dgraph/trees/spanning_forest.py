"""The minimum or maximum spanning forest: of each partition, then of these forests, until one is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_flag, known_options
from dgraph.building import graph_frames
from dgraph.building.joined_graphs import as_asked
from dgraph.building.weights import bounds
from dgraph.cluster.retry import retry_on_loss
from dgraph.estimates.footprints import FOREST
from dgraph.estimates.memory_check import check_gathering_memory
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import check_local_ids
from dgraph.phrases.phrases import format_count
from dgraph.solvers.trees.forest_lookup import ForestByEnds, KeyedWeights, Sightings
from dgraph.solvers.trees.spanning import READS, KeyedEdges, WeighedRows, forest_of, forest_of_forests

if TYPE_CHECKING:
    import dask.dataframe as dd

    from dgraph.cluster.workers import Workers


@dataclass(frozen=True, eq=False)
class SpanningForest:
    """A spanning forest. `dgraph.spanning_forest` makes it.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
        The edges of the forest with all their columns, as `Graph.edges` lists them.
    totals : dict
        ``weight``, the sum of their weights (an integer if these are integers); ``edges``, how many they are; and
        ``trees``, how many trees they form, of which an isolated vertex is one.
    report : pandas.DataFrame
        For each ``partition``, how many ``edges`` it read (an undirected edge counts twice), how many it ``kept`` as
        the forest of its own edges, and the ``seconds`` that this took.

    Examples
    --------
    >>> forest = dg.spanning_forest(dg.grid(rows=20, cols=20, removed=0, weights=None))
    >>> forest
    <spanning forest: 399 edges in 1 tree, weight 399>
    >>> forest.report[["partition", "kept"]]
       partition  kept
    0          0   399
    """

    frame: dd.DataFrame = field(repr=False)
    totals: dict[str, Any]
    report: pd.DataFrame = field(repr=False)
    workers: Workers = field(repr=False)
    tables: list[Any] = field(repr=False)  # tasks that make the partitions of the frame

    def compute(self) -> pd.DataFrame:
        """Fetch the edges to this process.

        Returns
        -------
        pandas.DataFrame
            The rows of ``frame``.

        Examples
        --------
        >>> len(dg.spanning_forest(dg.grid(rows=20, cols=20, removed=0, weights=None)).compute())
        399
        """
        return graph_frames.joined(self.workers.get(self.tables))

    def __repr__(self) -> str:
        edges, trees = (format_count(self.totals[f"{one}s"], one) for one in ("edge", "tree"))
        return f"<spanning forest: {edges} in {trees}, weight {self.totals['weight']:,}>"


@known_options(runs=True)
def spanning_forest(graph: Graph, *, minimum: bool = True, weighted: bool = True) -> SpanningForest:
    """Spanning forest of the least weight: a tree for each connected component.

    Directions and self loops do not count. Of edges of equal weight, the one comes first whose lower end is less, then
    the one whose higher end is, and then the one that is listed first, so the forest is always the same.

    Parameters
    ----------
    graph : Graph
        The graph. Weights may be any numbers. Without weights, each edge has weight 1.
    minimum : bool, default True
        Find the forest of the least weight; with False, that of the largest.
    weighted : bool, default True
        With False, each edge has weight 1, even if the graph has weights.

    Returns
    -------
    SpanningForest
        Its ``frame`` is a lazy Dask frame of the edges with all their columns, as `Graph.edges` lists them, and
        ``compute()`` fetches them. ``totals`` has ``weight``, ``edges`` and ``trees``.

    Raises
    ------
    OptionError
        If `minimum` or `weighted` is not a boolean.
    WeightError
        If a weight is missing.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    Each partition finds the forest of its own edges. Workers then join these forests, several at a time, until one is
    left, which takes up to 16 bytes per vertex on its worker, and twice that while it is made. To list its edges, each
    worker gets a copy, with 8 bytes more per vertex.

    Examples
    --------
    >>> roads = {"src": ["a", "b", "c", "c"], "dst": ["b", "c", "a", "d"], "weight": [3, 1, 2, 5]}
    >>> G = dg.Graph.from_edges(roads, directed=False)
    >>> forest = dg.spanning_forest(G)
    >>> forest.compute()
      src dst  weight
    0   b   c       1
    1   c   a       2
    2   c   d       5
    >>> forest.totals
    {'weight': 8, 'edges': 3, 'trees': 1}
    """
    minimum, weighted = check_flag("minimum", minimum), check_flag("weighted", weighted)
    weight = graph.weight if weighted else None
    if weight is not None:
        bounds(graph)  # which refuses missing weights
    elif weighted:
        graph.input_edges.edges.warn_without_weight("spanning_forest")
    return _forest(graph, weight, minimum)


@retry_on_loss
def _forest(graph: Graph, weight: str | None, minimum: bool) -> SpanningForest:
    workers, size = graph.workers, graph.num_vertices
    check_local_ids(0, 1, size)
    check_gathering_memory(graph, "joining the spanning forests of all partitions", FOREST)
    held = graph.partitioned(("out",), () if weight is None else (weight,)).held
    how = weight, graph.directed, minimum, size, workers.threads_each(len(held))
    parts = workers.each(_of_partition, [(one, *how) for one in held], workers.where(held))
    rows = workers.each(_report_row, [(one,) for one in parts])
    joined = parts[0] if len(parts) == 1 else workers.reduce(partial(_joined, size, workers.threads), parts)
    (found,) = workers.each(_by_ends, [(joined, weight, minimum, size, workers.threads)])
    *rows, (total, count) = workers.bring([*rows, *workers.each(_totals, [(found,)])])
    tables, columns = graph_frames.edge_tables(
        as_asked(graph), partial(_listed, workers, found), reads=() if weight is None else (weight,)
    )
    totals = {"weight": total, "edges": count, "trees": size - count}
    frame = graph_frames.lazy_frame(workers, tables, columns)
    return SpanningForest(frame, totals, pd.DataFrame(rows), workers, tables)


class ForestOfPartition:
    """The forest of a partition's edges, the type of their weights, and a row of the report. This is a plain class
    because Dask would search a dataclass for tasks."""

    def __init__(self, forest: KeyedEdges, dtype: np.dtype | None, row: dict[str, Any]):
        self.forest, self.dtype, self.row = forest, dtype, row

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.forest.__sizeof__()


@explain_lack_of_memory("the edges of a partition", "find their spanning forest")
def _of_partition(
    partition: Partition, weight: str | None, directed: bool, minimum: bool, size: int, threads: int
) -> ForestOfPartition:
    begun, edges = time.perf_counter(), partition.by_source
    names = None if partition.parts == 1 else partition.numbers
    rows = WeighedRows.of(edges, weight, names, directed=directed, minimum=minimum)
    looks = READS * edges.num_edges
    threads = worthwhile_threads(threads, looks)
    forest = call_team(threads, partial(forest_of, rows, size, threads), looks)
    seconds = round(time.perf_counter() - begun, 6)
    row = {"partition": partition.index, "edges": edges.num_edges, "kept": len(forest), "seconds": seconds}
    return ForestOfPartition(forest, None if weight is None else edges.columns[weight].dtype, row)


def _report_row(part: ForestOfPartition) -> dict[str, Any]:
    return part.row


@explain_lack_of_memory("the spanning forests of several partitions", "join them")
def _joined(size: int, threads: int, parts: list[ForestOfPartition]) -> ForestOfPartition:
    forests = [part.forest for part in parts]
    looks = READS * sum(map(len, forests))
    forest = call_team(threads, partial(forest_of_forests, forests, size, threads), looks)
    return ForestOfPartition(forest, parts[0].dtype, {})


@explain_lack_of_memory("the edges of a spanning forest", "sort them")
def _by_ends(part: ForestOfPartition, weight: str | None, minimum: bool, size: int, threads: int) -> ForestByEnds:
    weights = None if weight is None or part.dtype is None else KeyedWeights(weight, part.dtype, minimum)
    return ForestByEnds(part.forest.sorted(size, threads), weights)


def _totals(found: ForestByEnds) -> tuple[Any, int]:
    return found.total(), len(found)


def _listed(workers: Any, found: Any, chunks: list[Any]) -> list[Any]:
    """The chunks of listed edges with those of the forest only, each once."""
    seen = [workers.call(_seen, found, chunk) for chunk in chunks]
    first = workers.call(_first_seen, found, seen)
    return [workers.call(_kept, *one, first) for one in zip(chunks, seen, strict=True)]


def _seen(found: ForestByEnds, chunk: NumberedChunk) -> Sightings:
    return found.seen_in(chunk)


def _first_seen(found: ForestByEnds, seen: list[Sightings]) -> np.ndarray | None:
    return found.first_seen(seen)


def _kept(chunk: NumberedChunk, seen: Sightings, first: np.ndarray | None) -> NumberedChunk:
    return chunk[seen.rows if first is None else seen.rows[seen.times == first[seen.places]]]
