"""Eccentricity: how far away the farthest vertex is. Bounds from few searches make most searches needless
(`solvers/paths/eccentricities.py`), in one place: the edges of several partitions are gathered."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import uint64

from dgraph.arguments import check_choice, check_flag, check_integer
from dgraph.building.weights import check_weights
from dgraph.errors import OptionError, UnsettledWarning
from dgraph.estimates.footprints import FOOTPRINTS
from dgraph.estimates.memory_check import check_gathering_memory
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory, refuse_beyond_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import ONE, kernel, worthwhile_threads
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.partition import Partition
from dgraph.phrases.phrases import format_count, warn
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.paths.dijkstra import farthest
from dgraph.solvers.paths.eccentricities import DIAMETER, EVERY, eccentricities
from dgraph.solvers.solver import Problem
from dgraph.solvers.subgraphs.components import components as weak_components
from dgraph.solvers.subgraphs.strong_components import strong_components
from dgraph.tables.edge_tables import EdgeTables

ALL, LARGEST = "all", "largest"
LOOKS = 16  # searches that a graph is worth, at least, when threads are chosen
OUTSIDE = -1.0  # the bounds of a vertex outside the largest component
NO_LIMIT = np.iinfo(np.int64).max


@operation
def eccentricity(
    graph: Graph,
    *,
    components: Literal["all", "largest"] = "all",
    weighted: bool = False,
    max_searches: int | None = None,
    engine: Literal["auto", "local"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> RunResult:
    """Eccentricity of each vertex: the distance to the vertex that is farthest from it.

    Distances are numbers of edges, along their direction, or with ``weighted=True`` sums of their weights.

    Parameters
    ----------
    graph : Graph
        The graph.
    components : {"all", "largest"}, default "all"
        Which components count. With ``"all"``, the eccentricity of a vertex that does not reach every other is
        infinite. With ``"largest"``, only the largest component counts (strongly connected, if the graph is directed),
        and only its vertices are listed.
    weighted : bool, default False
        Use the graph's weights: as the lengths of edges, which must be finite and >= 0. Each vertex then takes a search
        of its own.
    max_searches : int, optional
        Stop after searches from this many vertices, and list bounds, too; not by weight.
    engine : {"auto", "local"}, default "auto"
        Both run in one place.
    device : {"auto", "cpu"}, default "auto"
        Only the CPU computes.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``eccentricity``, and with `max_searches` also ``lower`` and ``upper``, its
        bounds; where these still differ, the eccentricity is missing, and an ``UnsettledWarning`` says how often. The
        result's ``totals["searches"]`` is the number of searches.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or not finite.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The edges of all partitions are gathered on one worker.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]}, directed=False)
    >>> dg.eccentricity(G).compute()
      vertex  eccentricity
    0      a           3.0
    1      b           2.0
    2      c           2.0
    3      d           3.0
    """
    check_choice("components", components, (ALL, LARGEST))
    check_choice("engine", engine, ("auto", "local"))
    check_choice("device", device, ("auto", "cpu"))
    most, weight = limit_of(max_searches), None
    if check_flag("weighted", weighted):
        if max_searches is not None:
            raise OptionError(
                f"max_searches={max_searches}: bounds are those of distances in edges, and not available with "
                "weighted=True; omit one of them"
            )
        check_weights(graph, "eccentricity", ("out",))
        weight = graph.weight
    bounds = max_searches is not None
    result = recoverable_result(graph, partial(_run, components=components, most=most, bounds=bounds, weight=weight))
    result.options = RunOptions(engine=engine, device=device)
    result.totals = dict(result.totals)
    if unknown := result.totals.pop("unknown"):
        warn(
            f"max_searches={max_searches} did not suffice: {format_count(unknown, 'eccentricity')} are only known by "
            "bounds",
            UnsettledWarning,
        )
    if components == LARGEST:
        result = result.map(_listed, whole=False)
    return result


def limit_of(max_searches: int | None) -> int:
    return NO_LIMIT if max_searches is None else check_integer("max_searches", max_searches, 1)


def _run(graph: Graph, components: str, most: int, bounds: bool, weight: str | None) -> RunResult:
    workers, found = graph.workers, extent(graph, components, EVERY, most, weight)
    tasks = [workers.call(Extent.result, found, one, bounds) for one in graph.partitions.held]
    return RunResult(graph, workers.wait(workers.hold(tasks)), [], {"engine": "local", "device": "cpu"})


def _listed(numbers: np.ndarray, values: dict[str, np.ndarray]) -> Any:
    """The rows of the largest component; the others have no bounds."""
    inside = values["eccentricity"] != OUTSIDE
    return numbers[inside], {name: column[inside] for name, column in values.items()}


class Ends(NamedTuple):
    """Bounds of the diameter and of the radius."""

    diameter: tuple[float, float]
    radius: tuple[float, float]
    searches: int


class Extent:
    """Bounds of the eccentricities of a graph's vertices. This is a plain class because Dask would search a dataclass
    for tasks."""

    def __init__(self, lower: np.ndarray, upper: np.ndarray, searches: int, edges: int, seconds: float):
        self.lower, self.upper = lower, upper  # by vertex number
        self.searches, self.edges, self.seconds = searches, edges, seconds

    def result(self, partition: Partition, bounds: bool) -> WorkerResult:
        """The result for the vertices that a partition owns."""
        numbers = partition.numbers[: partition.num_owned]
        lower, upper = self.lower[numbers], self.upper[numbers]
        values = {"eccentricity": np.where(lower == upper, lower, np.nan)}
        if bounds:
            values |= {"lower": lower, "upper": upper}
        totals = {"searches": self.searches, "unknown": int(np.count_nonzero(self.lower != self.upper))}
        rows = [single_call_row(len(self.lower), self.edges, self.seconds)] if partition.index == 0 else []
        return WorkerResult({partition.index: VertexValues(numbers, values)}, set(), rows, 1, totals)

    def ends(self) -> Ends:
        inside = self.lower != OUTSIDE
        lower, upper = self.lower[inside], self.upper[inside]
        largest = float(lower.max()), float(upper.max())
        return Ends(largest, (float(lower.min()), float(upper.min())), self.searches)

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.lower.nbytes + self.upper.nbytes


def extent(graph: Graph, components: str, wanted: int, most: int, weight: str | None = None) -> Any:
    """An `Extent`, left on the worker that found it. The edges of several partitions are gathered there."""
    workers, how = graph.workers, (components, wanted, most, weight, graph.workers.threads)
    columns = () if weight is None else (weight,)
    if graph.num_parts == 1:
        (partition,) = graph.partitioned(("out", "incoming") if graph.directed else ("out",), columns).held
        (found,) = workers.each(_extent, [(partition, graph.directed, *how)])
    else:
        check_gathering_memory(graph, "gathering edges for eccentricities", FOOTPRINTS["eccentricity"])
        if graph.num_vertices >= 1 << 32:
            refuse_beyond_memory(f"eccentricities of {graph.num_vertices:,} vertices in one place", 1 << 62)
        held = graph.partitioned(("out",), columns).held
        pieces = workers.each(_arcs, [(one, columns) for one in held])
        (found,) = workers.each(_extent_of_pieces, [(pieces, graph.num_vertices, graph.directed, *how)])
    return workers.wait([found])[0]


def _arcs(partition: Partition, columns: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The numbers of both ends of each arc of a partition, and these columns."""
    rows, numbers = partition.by_source, partition.numbers.astype(np.uint32, copy=False)
    return numbers[rows.rows()], numbers[rows.neighbours], {name: rows.columns[name] for name in columns}


@explain_lack_of_memory("the edges of a graph in one place", "find eccentricities")
def _extent_of_pieces(
    pieces: list[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]],
    size: int,
    directed: bool,
    components: str,
    *how: Any,
) -> Extent:
    threads = how[-1]
    table = build([EdgeSlice(*piece) for piece in pieces], size, workers=threads)
    partition = Partition.of_whole_graph(table, "out")
    if directed:
        back = build([EdgeSlice(target, source) for source, target, _ in pieces], size, workers=threads)
        partition = replace(partition, incoming=back)
    return _extent(partition, directed, components, *how)


@explain_lack_of_memory("the bounds of eccentricities", "find them")
def _extent(
    partition: Partition, directed: bool, components: str, wanted: int, most: int, weight: str | None, threads: int
) -> Extent:
    threads = worthwhile_threads(threads, LOOKS * (partition.num_edges + partition.num_owned))

    looks = partition.num_owned * (partition.num_edges + partition.num_owned)

    def by_team() -> Extent:
        begun, n = time.perf_counter(), partition.num_owned
        outside = OUTSIDE if components == LARGEST else np.inf
        lower, upper = np.full(n, outside), np.full(n, outside)
        members, middle = _inside(partition, directed, components, threads)
        if wanted == DIAMETER and components == ALL and len(middle) < n:
            return Extent(lower, upper, 0, partition.num_edges, time.perf_counter() - begun)  # some are infinite
        rows, back = partition.by_source, partition.incoming if directed else None
        if weight is not None:
            lengths = rows.columns[weight].astype(np.float64, copy=False)
            distances, edges = farthest(rows, lengths, middle, members, threads)
            lower[middle] = upper[middle] = distances
            return Extent(lower, upper, len(middle), edges, time.perf_counter() - begun)
        found = eccentricities(rows, back, members, middle, wanted, most, threads)
        lower[middle], upper[middle] = found.lower, found.upper
        return Extent(lower, upper, found.searches, found.edges, time.perf_counter() - begun)

    return call_team(threads, by_team, looks)


def _inside(partition: Partition, directed: bool, components: str, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Which vertices are in the largest component or in the graph, and the numbers of those that reach all of these."""
    problem = Problem(EdgeTables(partition, directed, {}, threads), {}, {}, threads)
    component = (strong_components if directed else weak_components)(problem).values["component"]
    sizes = np.bincount(component, minlength=len(component))
    everyone, nobody = np.ones(len(component), bool), np.empty(0, np.int64)
    if not len(component):
        return everyone, nobody
    if components == LARGEST:
        members = component == sizes.argmax()
        return members, np.flatnonzero(members)
    # no edge enters a component that reaches all others, and there is no other such component
    entered = sizes == 0
    if directed:
        _mark_entered(partition.by_source.indptr, partition.by_source.neighbours, component, entered)
    first = np.flatnonzero(~entered)
    return everyone, np.flatnonzero(component == first[0]) if len(first) == 1 else nobody


@kernel
def _mark_entered(indptr, neighbours, component, entered):
    for v in range(uint64(component.size)):
        for e in range(uint64(indptr[v]), uint64(indptr[v + ONE])):
            other = component[neighbours[e]]
            if other != component[v]:
                entered[other] = True
