"""Betweenness centrality (Freeman, 1977) by Brandes' algorithm (2001): the shares of shortest paths through a vertex.

With one partition, a solver takes source after source. With several, sources come in batches: one run finds the
distances from all of them and counts their paths, and one adds up how much paths depend on each vertex. By weights,
paths are counted in a run of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy import inf

from dgraph.arguments import check_flag
from dgraph.building.weights import check_lengths
from dgraph.cluster.retry import ATTEMPTS, retry
from dgraph.errors import LostChainError, OptionError
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.ops.brandes import NEVER, Dependencies, DependenciesByLevel, PathCounts, PathsFromEach
from dgraph.ops.degrees import Degrees
from dgraph.ops.edge_betweenness import edge_frame, too_many_paths
from dgraph.ops.sssp import FromEach
from dgraph.partition.partition import Partition
from dgraph.programs.program import VertexProgram
from dgraph.runs.execution import execute, recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.sources import batches, source_numbers
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.paths.dependencies import dependencies, weighted_dependencies

R = TypeVar("R")


@operation
def betweenness(
    graph: Graph,
    *,
    sources: Any = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
    edges: bool = False,
    random_seed: int = 0,
    engine: Literal["auto", "local"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> Any:
    """Betweenness centrality: the share of shortest paths between other vertices that pass through a vertex.

    All sources take time proportional to vertices times edges, so large graphs need a sample.

    Parameters
    ----------
    graph : Graph
        The graph. Each of several edges between two vertices makes a path of its own; self loops are on no path.
    sources : int or list of vertices, optional
        The vertices where paths start: a sample of so many, or a list; by default all. Values are then
        estimates: sums are scaled up, as in NetworkX 3.6, as if all vertices had been sources.
    normalized : bool, default True
        Divide by the number of pairs of vertices that a path through the vertex can join. Otherwise values are sums
        over pairs: ordered if the graph is directed, else unordered.
    weighted : bool, default False
        Use the graph's weights: as the lengths of edges, which must be finite and > 0.
    endpoints : bool, default False
        Whether paths also count for the vertices at their ends.
    edges : bool, default False
        Return the betweenness of edges instead: the share of shortest paths between vertices that use an edge.
    random_seed : int, default 0
        Seed of the random number generator, which draws the sample.
    engine : {"auto", "local"}, default "auto"
        ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu"}, default "auto"
        Only the CPU computes.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``betweenness``. The result's ``totals["sources"]`` is their number. With
        ``edges=True`` a Dask frame: all edges with all their columns, as `Graph.edges` lists them, and ``betweenness``.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, a source is listed twice, or a value has no estimate: that of a
        single source, if ends do not count.
    IdError
        If `sources` names a vertex that is not in the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights, or with ``edges=True`` these already have a column
        ``betweenness``.
    WeightError
        If ``weighted=True`` and a weight is not a finite number > 0.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 1], "dst": [1, 2, 3, 3]}, directed=False)
    >>> dg.betweenness(G, normalized=False).compute()
       vertex  betweenness
    0       0          0.0
    1       1          2.0
    2       2          0.0
    3       3          0.0
    """
    normalized, weighted = check_flag("normalized", normalized), check_flag("weighted", weighted)
    endpoints, edges = check_flag("endpoints", endpoints), check_flag("edges", edges)
    if edges and endpoints:
        raise OptionError("endpoints=True is about vertices: leave it out with edges=True")
    options = RunOptions.on_cpus(graph.num_parts, engine, device, random_seed)
    if weighted:
        check_lengths(graph, "betweenness", ("out",))
    numbers = source_numbers(graph, sources, options.random_seed)
    vertices = graph.num_vertices
    if edges:
        chosen = None if len(numbers) == vertices else numbers
        scale = Scale.of(vertices, chosen, normalized=normalized, directed=graph.directed, endpoints=True)
        return _of_edges(graph, numbers, weighted, scale.factor, options)
    if len(numbers) == 1 < vertices - 1 and not endpoints:
        raise OptionError(
            "sources: a single source gives no estimate for itself, since its own paths do not pass through it; pass "
            "more sources, or endpoints=True"
        )
    if graph.num_parts == 1:
        result = recoverable_result(graph, partial(_solved, numbers=numbers, weighted=weighted, endpoints=endpoints))
    else:
        result = _until_whole(partial(_in_batches, graph, numbers, weighted, endpoints, options))
    result.totals = {"sources": len(numbers)}
    chosen = None if len(numbers) == vertices else numbers
    scale = Scale.of(vertices, chosen, normalized=normalized, directed=graph.directed, endpoints=endpoints)
    result = result.map(scale)
    result.options = options
    return result


# -- one partition -----------------------------------------------------------------------------------------------------


def _solved(graph: Graph, numbers: np.ndarray, weighted: bool, endpoints: bool) -> RunResult:
    orders = ("out",) if weighted or not graph.directed else ("out", "incoming")
    columns = (graph.weight,) if weighted and graph.weight is not None else ()
    held = graph.partitioned(orders, columns).held
    how = numbers, columns, endpoints, graph.workers.threads
    results = graph.workers.wait(graph.workers.each(_whole, [(held[0], *how)]))
    return RunResult(graph, results, [], {"engine": "local", "device": "cpu"})


@explain_lack_of_memory("the shortest paths from many vertices", "count them")
def _whole(
    partition: Partition, sources: np.ndarray, columns: tuple[str, ...], endpoints: bool, threads: int
) -> WorkerResult:
    """All the work in one task, for a graph with one partition."""
    out, size = partition.by_source, partition.num_owned
    looks = len(sources) * (partition.num_edges + size)
    threads = worthwhile_threads(threads, looks)

    def by_team() -> WorkerResult:
        begun, finite = time.perf_counter(), True
        if columns:
            weights = out.columns[columns[0]].astype(np.float64, copy=False)
            total, edges, finite = weighted_dependencies(out, weights, sources, threads, endpoints=endpoints)
        else:
            total, edges = dependencies(out, partition.incoming or out, sources, threads, endpoints=endpoints)
        if not finite:
            raise too_many_paths()
        rows = [single_call_row(size, edges, time.perf_counter() - begun)]
        return WorkerResult({0: VertexValues(partition.numbers, {"betweenness": total})}, set(), rows, 1, {})

    return call_team(threads, by_team, looks)


# -- several partitions ------------------------------------------------------------------------------------------------


def _in_batches(graph: Graph, numbers: np.ndarray, weighted: bool, endpoints: bool, options: RunOptions) -> RunResult:
    """The sum over all batches of sources."""
    if not len(numbers):
        return execute(graph, Degrees(), options).map(_nothing)
    total: RunResult | None = None
    for batch, known, paths, shares in _runs(graph, numbers, weighted, options):
        reached = np.asarray(paths.totals["reached"]) if endpoints else None
        one = shares.map(partial(_summed, batch=batch, reached=reached), known)
        total = one if total is None else total.map(_added, one)
    assert total is not None
    return total


def _until_whole(work: Callable[[], R]) -> R:
    """The result of work that begins again if values of an earlier run of it were lost with a worker."""
    for _ in range(ATTEMPTS):
        with suppress(LostChainError):
            return work()
    return work()


def _runs(graph: Graph, numbers: np.ndarray, weighted: bool, options: RunOptions) -> Iterator[tuple[Any, ...]]:
    """For each batch: its sources, and the results with distances, with numbers of paths, and with dependencies."""
    for batch, ids in batches(graph, numbers):
        columns: dict[str, Any] = {}
        if weighted:
            known = execute(graph, FromEach(sources=ids), options)
            columns["known"] = known.column("distance")
            paths = execute(graph, PathCounts(sources=ids), options, columns)
            last: VertexProgram = Dependencies(sources=ids)
        else:
            known = paths = execute(graph, PathsFromEach(sources=ids), options)
            columns["known"] = known.column("distance")
            last = DependenciesByLevel(sources=ids, levels=int(known.totals["deepest"]))
        if not paths.totals["most"] < inf:
            raise too_many_paths()
        yield batch, known, paths, execute(graph, last, options, {**columns, "paths": paths.column("paths")})


def _of_edges(graph: Graph, numbers: np.ndarray, weighted: bool, factor: float, options: RunOptions) -> Any:
    def values() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for batch, known, paths, shares in _runs(graph, numbers, weighted, options):
            found = known.by_number("distance"), paths.by_number("paths"), shares.by_number("share")
            distance, count, share = (one[:, : len(batch)] for one in found)  # the others fill the batch up
            yield _lengths(distance), count, share

    def work() -> Any:
        return edge_frame(graph, numbers, graph.weight if weighted else None, factor, values())

    return retry(graph.client, partial(_until_whole, work), graph.forget_lost)


def _lengths(distances: np.ndarray) -> np.ndarray:
    """Distances as floats, which are inf where nothing is reached."""
    return distances if distances.dtype.kind == "f" else np.where(distances == NEVER, inf, distances)


def _summed(
    numbers: np.ndarray,
    shares: dict[str, np.ndarray],
    known: dict[str, np.ndarray],
    batch: np.ndarray,
    reached: np.ndarray | None,
) -> Any:
    """The sum over the sources of a batch; with `reached`, how many vertices each reaches, paths count for their ends,
    too."""
    count = len(batch)  # the others fill the batch up
    total = np.asarray(shares["share"])[:, :count].sum(axis=1)
    if reached is not None:
        ends = np.isfinite(_lengths(known["distance"][:, :count])).astype(np.float64)
        own = numbers[:, None] == batch
        total = total + np.where(own, reached[:count] - 1, ends).sum(axis=1)
    return numbers, {"betweenness": total}


def _added(numbers: np.ndarray, one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> Any:
    return numbers, {"betweenness": one["betweenness"] + other["betweenness"]}


def _nothing(numbers: np.ndarray, values: dict[str, np.ndarray]) -> Any:
    return numbers, {"betweenness": np.zeros(len(numbers))}


# -- from sums to values -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """The factors of NetworkX 3.6, which are others for the sources of a sample: a source has no part in its own
    paths."""

    factor: float
    of_sources: float
    sources: np.ndarray | None

    @classmethod
    def of(
        cls, vertices: int, sources: np.ndarray | None, *, normalized: bool, directed: bool, endpoints: bool
    ) -> Scale:
        """`sources` are None if paths from all vertices were counted."""
        ends = vertices if endpoints else vertices - 1  # where a path through a vertex can start
        if ends < 2:
            return cls(1.0, 1.0, None)
        starts = ends if sources is None else len(sources)

        def factor(starts: int) -> float:
            return 1 / (starts * (ends - 1)) if normalized else ends / (starts * (1 if directed else 2))

        if sources is None or endpoints:
            return cls(factor(starts), 1.0, None)
        return cls(factor(starts), factor(starts - 1), sources)

    def __call__(self, numbers: np.ndarray, values: dict[str, np.ndarray]) -> Any:
        factor: Any = self.factor
        if self.sources is not None:
            factor = np.where(np.isin(numbers, self.sources), self.of_sources, factor)
        return numbers, {"betweenness": values["betweenness"] * factor}
