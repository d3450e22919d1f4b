"""The betweenness of edges, as a frame of the user's edges: what `betweenness(..., edges=True)` returns.

With one partition, a solver adds up the shares of paths along each of its edges, and the user's edges are looked up
among them. With several, each table of the user's edges adds them up from the distances, paths and dependencies at its
ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.building import graph_frames
from dgraph.building.joined_graphs import as_asked
from dgraph.errors import RunError
from dgraph.frames.any_frame import numeric_column
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.partition.ids.chunk import chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Partition
from dgraph.solvers.paths.dependencies import dependencies, weighted_dependencies

if TYPE_CHECKING:
    import dask.dataframe as dd

COLUMN = "betweenness"
SLICE = 1 << 15  # edges whose shares are added up at a time
Runs = Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]  # of batches: distances, numbers of paths, dependencies


class EdgeEnds:
    """The numbers of both ends of a table of edges, and the lengths of these. This is a plain class because Dask would
    search a dataclass for tasks."""

    def __init__(self, first: np.ndarray, second: np.ndarray, lengths: np.ndarray | None):
        self.first, self.second, self.lengths = first, second, lengths

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.first.nbytes + self.second.nbytes + (0 if self.lengths is None else self.lengths.nbytes)


class SumsByEnds:
    """The sums of edges, to look up by the numbers of both ends. A plain class, as above."""

    def __init__(self, keys: np.ndarray, sums: np.ndarray, lengths: np.ndarray | None, size: int):
        self.keys, self.sums, self.lengths, self.size = keys, sums, lengths, size

    def of(self, first: np.ndarray, second: np.ndarray, lengths: np.ndarray | None) -> np.ndarray:
        """The sums of these edges; 0 for edges that are not the shortest between their ends."""
        if not len(self.keys):
            return np.zeros(len(first))
        keys = first.astype(np.uint64) * np.uint64(self.size) + second.astype(np.uint64)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        right = self.keys[places] == keys
        if lengths is not None and self.lengths is not None:
            right &= self.lengths[places] == lengths
        return np.where(right, self.sums[places], 0.0)

    def __sizeof__(self) -> int:
        return self.keys.nbytes + self.sums.nbytes + (0 if self.lengths is None else self.lengths.nbytes)


def edge_frame(graph: Graph, numbers: np.ndarray, weight: str | None, factor: float, runs: Runs) -> dd.DataFrame:
    """All edges with all their columns, and their betweenness: sums over the paths from the sources, times `factor`.
    `runs` are only made if there are several partitions."""
    graph_frames.check_new_column(graph, COLUMN)
    workers, ids = graph.workers, graph.workers.share(graph.numbering)
    (tasks, meta), ends = graph_frames.edge_tables(as_asked(graph)), graph.input_edges.edges
    names = ends.source, ends.destination, weight
    listed = workers.wait(workers.hold([workers.call(_ends, one, names, ids) for one in tasks]))
    if graph.num_parts == 1:
        held = graph.partitioned(
            ("out",) if weight or not graph.directed else ("out", "incoming"), () if weight is None else (weight,)
        ).held
        (found,) = workers.wait(workers.each(_sums_by_ends, [(held[0], numbers, weight, workers.threads)]))
        sums = [workers.call(_looked_up, one, found, graph.directed) for one in listed]
    else:
        sums = [workers.call(_nothing, one) for one in listed]
        for run in runs:
            told = workers.share(PathsOfBatch(*run))
            added = [workers.call(_with_batch, *one, told, graph.directed) for one in zip(sums, listed, strict=True)]
            sums = workers.wait(workers.hold(added))
    tables = [workers.call(_table, *one, factor) for one in zip(tasks, sums, strict=True)]
    return graph_frames.lazy_frame(workers, tables, meta.assign(**{COLUMN: np.float64(0)}))


def _ends(table: pd.DataFrame, names: tuple[str, str, str | None], ids: Numbering) -> EdgeEnds:
    first, second = (ids.number_of(chunk_of_vertices(table, name)) for name in names[:2])
    lengths = None if names[2] is None else numeric_column(table, names[2], is_weight=True).astype(np.float64)
    return EdgeEnds(first, second, lengths)


def _table(table: pd.DataFrame, sums: np.ndarray, factor: float) -> pd.DataFrame:
    return table.assign(**{COLUMN: sums * factor})


# -- one partition -----------------------------------------------------------------------------------------------------


@explain_lack_of_memory("the sums of all edges", "find their betweenness")
def _sums_by_ends(partition: Partition, sources: np.ndarray, weight: str | None, threads: int) -> SumsByEnds:
    out, size = partition.by_source, partition.num_owned
    looks = len(sources) * (partition.num_edges + size)
    threads = worthwhile_threads(threads, looks)
    lengths = None if weight is None else out.columns[weight].astype(np.float64, copy=False)
    if lengths is None:
        search = partial(dependencies, out, partition.incoming or out, sources, threads, edges=True)
        sums, _ = call_team(threads, search, looks)
    else:
        by_length = partial(weighted_dependencies, out, lengths, sources, threads, edges=True)
        sums, _, finite = call_team(threads, by_length, looks)
        if not finite:
            raise too_many_paths()
    keys = out.rows().astype(np.uint64) * np.uint64(size) + out.neighbours.astype(np.uint64)
    order = np.argsort(keys, kind="stable") if lengths is None else np.lexsort([lengths, keys])
    first = np.ones(len(order), bool)
    first[1:] = np.diff(keys[order]) > 0
    chosen = order[first]  # of several edges between two vertices, those of the least length have the same sum
    return SumsByEnds(keys[chosen], sums[chosen], None if lengths is None else lengths[chosen], size)


def _looked_up(ends: EdgeEnds, found: SumsByEnds, directed: bool) -> np.ndarray:
    sums = found.of(ends.first, ends.second, ends.lengths)
    return sums if directed else sums + found.of(ends.second, ends.first, ends.lengths)


# -- several partitions ------------------------------------------------------------------------------------------------


class PathsOfBatch:
    """Distances, numbers of paths and dependencies from each source of a batch, by vertex number. A plain class, as
    above."""

    def __init__(self, known: np.ndarray, paths: np.ndarray, shares: np.ndarray):
        self.known, self.paths, self.shares = known, paths, shares

    def along(self, first: np.ndarray, second: np.ndarray, lengths: Any) -> np.ndarray:
        """The paths along edges from `first` to `second`, as shares of all paths to where they lead."""
        reached = np.isfinite(self.known[first]) & (self.known[first] + lengths == self.known[second])
        reached &= (first != second)[:, None]
        parts = np.divide(self.paths[first], self.paths[second], out=np.zeros(reached.shape), where=reached)
        return (parts * (1 + self.shares[second])).sum(axis=1)

    def __sizeof__(self) -> int:
        return self.known.nbytes + self.paths.nbytes + self.shares.nbytes


def _nothing(ends: EdgeEnds) -> np.ndarray:
    return np.zeros(len(ends.first))


def _with_batch(sums: np.ndarray, ends: EdgeEnds, told: PathsOfBatch, directed: bool) -> np.ndarray:
    total = sums.copy()
    for start in range(0, len(total), SLICE):
        part = slice(start, start + SLICE)
        lengths = 1.0 if ends.lengths is None else ends.lengths[part, None]
        total[part] += told.along(ends.first[part], ends.second[part], lengths)
        if not directed:
            total[part] += told.along(ends.second[part], ends.first[part], lengths)
    return total


def too_many_paths() -> RunError:
    return RunError(
        "there are more than 1.8e308 shortest paths between two vertices, which float64 cannot count: make the graph "
        "with parts=1, and leave out weighted=True, where larger counts are possible"
    )
