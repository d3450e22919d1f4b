"""Closeness centrality (Bavelas, 1950): how near a vertex is to those that reach it, with the factor of Wasserman and
Faust (1994) for graphs of several components.

Searches start from each vertex whose centrality is asked for. With one partition, a solver runs up to 64 of them at a
time; with several, a vertex program finds the distances from as many as its batch has. Sketches of the sets of vertices
within each distance (Boldi and Vigna, 2013) give estimates for all vertices at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy import float64, inf, int64

from dgraph.arguments import check_choice, check_flag
from dgraph.building.weights import check_lengths
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.ops.balls import LOG2M, sketched_sums, standard_error
from dgraph.ops.degrees import Degrees
from dgraph.ops.sssp import FromEach
from dgraph.partition.partition import Partition
from dgraph.programs.monoid import MIN, SUM
from dgraph.programs.program import Global, Parameter, State, VertexProgram, vertex
from dgraph.runs.execution import execute, recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.sources import batches, source_numbers
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.paths.distance_sums import DistanceSums, distance_sums


class LengthSums(VertexProgram):
    """Sums over the distances from each source."""

    operation = "closeness"
    dist = State(float64, start=inf, shape="sources")
    merge = MIN
    sources = Parameter(vertex, shape=...)
    seed, send, apply = FromEach.seed, FromEach.send, FromEach.apply

    @Global(int64, SUM, shape="sources")
    def reached(dist):
        return 1 if dist < inf else 0

    @Global(float64, SUM, shape="sources")
    def total(dist):
        return dist if dist < inf else 0.0

    @Global(float64, SUM, shape="sources")
    def inverse(dist):
        return 1 / dist if dist > 0 else 0.0


class LengthSumsTo(LengthSums):
    """The same for the distances to each source."""

    along = "in"


class HopSums(LengthSums):
    """The same, with edges of length 1."""

    def send(dist):
        return dist + 1


class HopSumsTo(HopSums):
    along = "in"


@operation
def closeness(
    graph: Graph,
    *,
    sources: Any = None,
    direction: Literal["in", "out"] = "in",
    wf_improved: bool = True,
    weighted: bool = False,
    method: Literal["exact", "sketch"] = "exact",
    random_seed: int = 0,
    engine: Literal["auto", "local"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> RunResult:
    """Closeness centrality: 1 / the mean distance from the vertices that reach a vertex.

    Each vertex takes a search of its own, so on large graphs ask for some of them, or for estimates.

    Parameters
    ----------
    graph : Graph
        The graph.
    sources : int or list of vertices, optional
        The vertices whose closeness is computed: a list, or a number of vertices to draw; by default all. The result
        lists no others.
    direction : {"in", "out"}, default "in"
        Whether the distances are those to a vertex, as in NetworkX, or those from it.
    wf_improved : bool, default True
        Multiply by the share of the other vertices that reach the vertex, as Wasserman and Faust propose. Otherwise
        a vertex in a small component may seem more central than any in a large one.
    weighted : bool, default False
        Use the graph's weights: as the lengths of edges, which must be finite and > 0.
    method : {"exact", "sketch"}, default "exact"
        How values are found: exactly, or for all vertices from sketches of 256 bytes each, without weights. The work
        for these grows with the edges and the largest distance, not with the number of sources. Single values may be
        far off, above all where few vertices are near.
    random_seed : int, default 0
        Seed of the random number generator, which draws the sample and the sketches.
    engine : {"auto", "local"}, default "auto"
        ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu"}, default "auto"
        Only the CPU computes.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``closeness``, which is 0 for a vertex that no other reaches. The result's
        ``totals["sources"]`` is the number of rows. With sketches, ``totals["error"]`` is the standard error of the
        number of vertices within a distance, relative to it.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or a source is listed twice.
    IdError
        If `sources` names a vertex that is not in the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is not a finite number > 0.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]}, directed=False)
    >>> dg.closeness(G).compute()
      vertex  closeness
    0      a       0.50
    1      b       0.75
    2      c       0.75
    3      d       0.50
    """
    wf_improved = check_flag("wf_improved", wf_improved)
    values = partial(_closeness, others=graph.num_vertices - 1, improved=wf_improved)
    options = RunOptions.on_cpus(graph.num_parts, engine, device, random_seed)
    return from_sums(graph, "closeness", sources, direction, weighted, method, options, values)


def _closeness(numbers: np.ndarray, sums: dict[str, np.ndarray], others: int, improved: bool) -> Any:
    reached, total = sums["reached"], sums["total"]
    values = np.divide(reached, total, out=np.zeros(len(total)), where=total > 0)
    share = np.minimum(reached / max(others, 1), 1)  # an estimate may exceed 1
    return numbers, {"closeness": values * share if improved else values}


def from_sums(
    graph: Graph,
    operation: str,
    sources: Any,
    direction: str,
    weighted: bool,
    method: str,
    options: RunOptions,
    values: Callable[..., Any],
) -> RunResult:
    """What `values` makes of the numbers of sources and the sums over the distances to or from each, which have a
    column for each field of `DistanceSums`."""
    weighted = check_flag("weighted", weighted)
    check_choice("direction", direction, ("in", "out"))
    check_choice("method", method, ("exact", "sketch"))
    if weighted and method == "sketch":
        raise OptionError('method="sketch" counts edges and is not available with weighted=True; omit one of them')
    along = "out" if direction == "out" or not graph.directed else "incoming"
    if weighted:
        check_lengths(graph, operation, (along,))
    numbers = source_numbers(graph, sources, options.random_seed)
    if method == "sketch":
        result = sketched_sums(graph, numbers, along, options)
    elif graph.num_parts == 1:
        result = recoverable_result(graph, partial(_solved, numbers=numbers, along=along, weighted=weighted))
    else:
        result = _in_batches(graph, numbers, along, weighted, options)
    result = result.map(values, whole=len(numbers) == graph.num_vertices)
    result.totals = {"sources": len(numbers)} | ({"error": standard_error(LOG2M)} if method == "sketch" else {})
    result.options = options.decided("local" if graph.num_parts == 1 else "gas", "cpu")
    return result


# -- one partition -----------------------------------------------------------------------------------------------------


def _solved(graph: Graph, numbers: np.ndarray, along: str, weighted: bool) -> RunResult:
    orders = ("out", "incoming") if graph.directed and not weighted else (along,)
    weight = graph.weight if weighted else None
    held = graph.partitioned(orders, () if weight is None else (weight,)).held
    how = numbers, along, weight, graph.workers.threads
    results = graph.workers.wait(graph.workers.each(_whole, [(held[0], *how)]))
    return RunResult(graph, results, [], {"engine": "local", "device": "cpu"})


@explain_lack_of_memory("the distances from many vertices", "find them")
def _whole(partition: Partition, sources: np.ndarray, along: str, weight: str | None, threads: int) -> WorkerResult:
    """All the work in one task, for a graph with one partition."""
    size = partition.num_owned
    sides = partition.out or partition.incoming, partition.incoming or partition.out
    rows, reverse = sides if along == "out" else sides[::-1]
    assert rows is not None and reverse is not None
    weights = None if weight is None else rows.columns[weight].astype(np.float64, copy=False)
    looks = len(sources) * (partition.num_edges + size)
    threads = worthwhile_threads(threads, looks)

    def by_team() -> WorkerResult:
        begun = time.perf_counter()
        sums, edges = distance_sums(rows, reverse, sources, threads, weights)
        report = [single_call_row(len(sources), edges, time.perf_counter() - begun)]
        return WorkerResult({0: VertexValues(partition.numbers[sources], sums._asdict())}, set(), report, 1, {})

    return call_team(threads, by_team, looks)


# -- several partitions ------------------------------------------------------------------------------------------------


def _in_batches(graph: Graph, numbers: np.ndarray, along: str, weighted: bool, options: RunOptions) -> RunResult:
    """The sums come to this process, which tells each partition those of its vertices."""
    kinds = ((HopSums, HopSumsTo), (LengthSums, LengthSumsTo))
    kind: Any = kinds[weighted][along == "incoming"]
    sums = np.zeros((len(DistanceSums._fields), len(numbers)))
    searched: RunResult | None = None
    start = 0
    for batch, ids in batches(graph, numbers):
        searched = execute(graph, kind(sources=ids), options).with_rounds_before(searched)
        some = np.array([searched.totals[name] for name in DistanceSums._fields], np.float64)
        sums[:, start : start + len(batch)] = some[:, : len(batch)]
        start += len(batch)
    sums[0] -= 1  # a source reaches itself
    found = execute(graph, Degrees(), options).with_rounds_before(searched)
    return found.map(partial(_of_sources, sources=numbers, sums=DistanceSums(*sums)))


def _of_sources(numbers: np.ndarray, _: Any, sources: np.ndarray, sums: DistanceSums) -> Any:
    here = np.isin(numbers, sources)
    at = np.searchsorted(sources, numbers[here])
    return numbers[here], {name: values[at] for name, values in sums._asdict().items()}
