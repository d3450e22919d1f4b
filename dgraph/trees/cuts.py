"""Where a graph can be cut: bridges, articulation points, and the biconnected components between these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import known_options
from dgraph.building import graph_frames
from dgraph.building.gathered_pairs import pairs_to_gather
from dgraph.building.joined_graphs import as_asked
from dgraph.cluster.retry import retry_on_loss
from dgraph.estimates.footprints import CUTS
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import check_local_ids
from dgraph.solvers.trees.lowpoints import NO_BLOCK, Blocks, Bridges, DepthFirstSearch

if TYPE_CHECKING:
    import dask.dataframe as dd

COMPONENT, VERTEX = "component", "vertex"


@known_options(runs=True)
def bridges(graph: Graph) -> dd.DataFrame:
    """Bridges, without which there would be more connected components.

    Directions do not count. A repeated edge is not a bridge, nor is an edge whose reverse is there, nor a self loop.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    dask.dataframe.DataFrame
        The bridges with all their columns, as `Graph.edges` lists them.

    Raises
    ------
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    One worker gathers all edges, and searches them on one thread.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}, directed=False)
    >>> dg.bridges(G).compute()
       src  dst
    0    2    3
    """
    return _bridges(graph)


@known_options(runs=True)
def articulation_points(graph: Graph) -> dd.DataFrame:
    """Articulation points, or cut vertices: the vertices without which there would be more connected components.

    Directions, self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    dask.dataframe.DataFrame
        The articulation points, in the column ``vertex``, in ascending order.

    Raises
    ------
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    One worker gathers all edges, and searches them on one thread.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c", "c"], "dst": ["b", "c", "a", "d"]}, directed=False)
    >>> dg.articulation_points(G).compute()["vertex"].tolist()
    ['c']
    """
    return _articulation_points(graph)


@known_options(runs=True)
def biconnected_components(graph: Graph) -> dd.DataFrame:
    """Biconnected component of each edge: two edges are in the same one if a cycle without repeated vertices has both.

    Directions do not count. A bridge is a component by itself, and repeated edges are in the same one.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    dask.dataframe.DataFrame
        All edges with all their columns, as `Graph.edges` lists them, and the nullable column ``component``: components
        are numbered from 0 on, in the order of their two smallest vertices, of which no two have the same pair. A self
        loop is in none.

    Raises
    ------
    ColumnError
        If the edges already have a column ``component``.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    One worker gathers all edges, and searches them on one thread.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3], "dst": [1, 2, 0, 3, 3]}, directed=False)
    >>> dg.biconnected_components(G).compute()
       src  dst  component
    0    0    1          0
    1    1    2          0
    2    2    0          0
    3    2    3          1
    4    3    3       <NA>
    """
    graph_frames.check_new_column(graph, COMPONENT)
    return _components(graph)


@retry_on_loss
def _bridges(graph: Graph) -> dd.DataFrame:
    workers, found = graph.workers, _searched(graph, Bridges)

    def choose(chunks: list[Any]) -> list[Any]:
        return [workers.call(_bridges_of, chunk, found) for chunk in chunks]

    return graph_frames.lazy_frame(workers, *graph_frames.edge_tables(as_asked(graph), choose))


@retry_on_loss
def _articulation_points(graph: Graph) -> dd.DataFrame:
    workers, found = graph.workers, _searched(graph, DepthFirstSearch.articulation_points)
    table = workers.call(_vertices, found, workers.share(graph.numbering))
    meta = _vertices(np.zeros(0, np.uint32), graph.numbering)
    return graph_frames.result_frame(workers, [table], meta, [VERTEX], as_cudf=False)


@retry_on_loss
def _components(graph: Graph) -> dd.DataFrame:
    workers, found = graph.workers, _searched(graph, Blocks)

    def choose(chunks: list[Any]) -> list[Any]:
        return [workers.call(_with_blocks, chunk, found) for chunk in chunks]

    tasks, meta = graph_frames.edge_tables(as_asked(graph), choose, adds={COMPONENT: "int64"})
    return graph_frames.lazy_frame(workers, [workers.call(_nullable, one) for one in tasks], _nullable(meta))


def _searched(graph: Graph, tell: Callable[[DepthFirstSearch], Any]) -> Any:
    """What `tell` makes of a depth-first search, on the worker that has done it."""
    workers = graph.workers
    check_local_ids(0, 1, graph.num_vertices)
    if graph.num_parts > 1:
        found = workers.each(_by_rows, [(_gathered_rows(graph), tell)])
    else:
        (only,) = graph.partitioned(("out", "incoming") if graph.directed else ("out",)).held
        found = workers.each(_by_partition, [(only, graph.directed, tell, workers.threads)])
    return workers.wait(found)[0]


def _gathered_rows(graph: Graph) -> Any:
    """The edges of all partitions, on one worker. The pieces that they are made of are no longer held."""
    pieces = pairs_to_gather(graph, "gathering the edges of all partitions for a depth-first search", CUTS)
    (rows,) = graph.workers.wait(
        graph.workers.each(_rows_of_pairs, [(pieces, graph.num_vertices, graph.workers.threads)])
    )
    return rows


@explain_lack_of_memory("the edges of all partitions", "join them")
def _rows_of_pairs(pieces: list[tuple[np.ndarray, np.ndarray]], size: int, threads: int) -> Adjacency:
    both = [EdgeSlice(*ends) for high, low in pieces for ends in ((high, low), (low, high))]
    return build(both, size, workers=threads)


@explain_lack_of_memory("a depth-first search", "make it")
def _by_partition(partition: Partition, directed: bool, tell: Callable[[DepthFirstSearch], Any], threads: int) -> Any:
    rows, back = partition.by_source, partition.incoming
    return _by_rows(rows.joined(back, (), threads) if directed and back is not None else rows, tell)


@explain_lack_of_memory("a depth-first search", "make it")
def _by_rows(rows: Adjacency, tell: Callable[[DepthFirstSearch], Any]) -> Any:
    return call_team(1, lambda: tell(DepthFirstSearch(rows)), rows.num_edges)


def _bridges_of(chunk: NumberedChunk, found: Bridges) -> NumberedChunk:
    return chunk[found.in_chunk(chunk)]


def _with_blocks(chunk: NumberedChunk, found: Blocks) -> NumberedChunk:
    return replace(chunk, columns={**chunk.columns, COMPONENT: found.of_chunk(chunk)})


def _nullable(table: pd.DataFrame) -> pd.DataFrame:
    """The table with self loops in no component."""
    numbers = table[COMPONENT].to_numpy(np.int64)
    return table.assign(**{COMPONENT: pd.arrays.IntegerArray(numbers, numbers == NO_BLOCK)})


def _vertices(numbers: np.ndarray, ids: Numbering) -> pd.DataFrame:
    return pd.DataFrame({VERTEX: ids.restored(numbers)})
