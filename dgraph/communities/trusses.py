"""The k-truss: the largest subgraph in which every edge is in at least k - 2 triangles (Cohen, 2008)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_integer, known_options
from dgraph.building import graph_frames
from dgraph.building.gathered_pairs import pairs_to_gather
from dgraph.building.joined_graphs import as_asked
from dgraph.cluster.retry import retry_on_loss
from dgraph.estimates.footprints import TRUSSES
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.ids.chunk import chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering
from dgraph.solvers.subgraphs.neighbours import ALL, by_degree, distinct
from dgraph.solvers.subgraphs.trusses import Trusses, truss, truss_numbers

if TYPE_CHECKING:
    import dask.dataframe as dd

COLUMN = "truss_number"
LOOKS = 8  # counting visits neighbours of neighbours, so it takes about this many times as long as a search
LEAST = 2  # the truss number of an edge without triangles, and of a self loop


@known_options(runs=True)
def k_truss(graph: Graph, k: int) -> dd.DataFrame:
    """The k-truss: the largest subgraph in which every edge is in at least k - 2 triangles.

    Directions, self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.
    k : int
        At least 2. The 2-truss has all edges, the 3-truss those of triangles.

    Returns
    -------
    dask.dataframe.DataFrame
        The edges of the k-truss with all their columns, as `Graph.edges` lists them. If some edges of a pair of
        vertices are in it, so are the others.

    Raises
    ------
    OptionError
        If `k` is not an integer of at least 2.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The edges of all partitions are gathered on one worker. Each partition of the frame then looks its edges up
    among all those found, which take 12 bytes per edge on its worker.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}, directed=False)
    >>> dg.k_truss(G, 3).compute()
       src  dst
    0    0    1
    1    1    2
    2    2    0
    """
    return _edges(graph, min(check_integer("k", k, LEAST), graph.num_vertices + LEAST))  # none is as large


@known_options(runs=True)
def truss_number(graph: Graph) -> dd.DataFrame:
    """Truss number of each edge: the largest k whose k-truss has the edge.

    Directions, self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    dask.dataframe.DataFrame
        All edges with all their columns, as `Graph.edges` lists them, and the column ``truss_number``: 2 for an edge
        without triangles, and for a self loop.

    Raises
    ------
    ColumnError
        If the edges already have a column ``truss_number``.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The edges of all partitions are gathered on one worker. Each partition of the frame then looks its edges up
    among all those found, which take 12 bytes per edge on its worker.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}, directed=False)
    >>> dg.truss_number(G).compute()
       src  dst  truss_number
    0    0    1             3
    1    1    2             3
    2    2    0             3
    3    2    3             2
    """
    graph_frames.check_new_column(graph, COLUMN)
    return _edges(graph, None)


@retry_on_loss
def _edges(graph: Graph, k: int | None) -> dd.DataFrame:
    workers, size = graph.workers, graph.num_vertices
    pieces = pairs_to_gather(graph, "gathering the edges of all partitions for trusses", TRUSSES)
    (found,) = workers.wait(workers.each(_trusses, [(pieces, size, k, workers.threads)]))
    (tasks, meta), ids = graph_frames.edge_tables(as_asked(graph)), workers.share(graph.numbering)
    ends = graph.input_edges.edges.source, graph.input_edges.edges.destination
    tables = [workers.call(_chosen, one, ends, ids, found, k) for one in tasks]
    return graph_frames.lazy_frame(workers, tables, meta if k is not None else meta.assign(**{COLUMN: np.int64(0)}))


class TrussesByPair:
    """Truss numbers to look up by the numbers of two vertices. This is a plain class because Dask would search a
    dataclass for tasks."""

    def __init__(self, found: Trusses, order: np.ndarray | None, size: int):
        high, low, self.size = found.high, found.low, size
        if order is not None:
            back = np.empty(size, np.uint32)
            back[order] = np.arange(size, dtype=np.uint32)
            high, low = back[high], back[low]
        keys = self._keys(high, low)
        sorting = np.argsort(keys)
        end = np.iinfo(np.uint64).max  # no key is as large, so that each one has a place before it
        self.keys, self.numbers = np.append(keys[sorting], end), np.append(found.numbers[sorting], 0)

    def _keys(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        low, high = np.minimum(first, second), np.maximum(first, second)
        return low.astype(np.uint64) * np.uint64(self.size) + high.astype(np.uint64)

    def of(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The truss number of each pair, 0 for those without one."""
        keys = self._keys(first, second)
        places = np.searchsorted(self.keys, keys)
        return np.where(self.keys[places] == keys, self.numbers[places], 0)

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.keys.nbytes + self.numbers.nbytes


@explain_lack_of_memory("the trusses of a graph", "find them")
def _trusses(pieces: list[tuple[np.ndarray, np.ndarray]], size: int, k: int | None, threads: int) -> TrussesByPair:
    threads = worthwhile_threads(threads, LOOKS * sum(len(high) for high, _ in pieces))
    return call_team(threads, partial(_by_team, pieces, size, k, threads))


def _by_team(pieces: list[tuple[np.ndarray, np.ndarray]], size: int, k: int | None, threads: int) -> TrussesByPair:
    order = by_degree(
        sum((np.bincount(end, minlength=size) for ends in pieces for end in ends), np.zeros(size, np.int64))
    )
    if order is not None:
        named = [(order[high], order[low]) for high, low in pieces]
        pieces = [(np.maximum(*ends), np.minimum(*ends)) for ends in named]
    rows = distinct([build([EdgeSlice(*ends) for ends in pieces], size, workers=threads)], size, threads, kept=ALL)
    return TrussesByPair(truss_numbers(rows, threads) if k is None else truss(rows, threads, k), order, size)


def _chosen(
    table: pd.DataFrame, ends: tuple[str, str], ids: Numbering, found: TrussesByPair, k: int | None
) -> pd.DataFrame:
    """The edges of the k-truss in a table of the user's, or all with their truss numbers."""
    first, second = (ids.number_of(chunk_of_vertices(table, end)) for end in ends)
    numbers: Any = np.where(first == second, LEAST, found.of(first, second))
    if k is None:
        return table.assign(**{COLUMN: numbers.astype(np.int64)})
    return table[numbers >= k].reset_index(drop=True)
