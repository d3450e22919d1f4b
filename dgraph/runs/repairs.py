"""Answers that go on from earlier ones: what changed since is found, and the earlier values are repaired."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.changes.current_rows import CurrentRows
from dgraph.changes.fetched_rows import MOST_TRIPS, FetchedRows
from dgraph.changes.steps import Step
from dgraph.cluster.retry import retry
from dgraph.devices.probe import CPU
from dgraph.native.interruptible_calls import call_interruptibly
from dgraph.native.team import worthwhile_threads
from dgraph.native.threads import cores
from dgraph.phrases.phrases import format_count
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.programs.program import VertexProgram
from dgraph.runs.earlier_answer import TOO_FAR, TOO_MUCH, TWO_TABLES, EarlierAnswer, Repair, RowsOf
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.rank_repairs import RunFrom, ranks_in_rounds, repaired_ranks
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import LOCAL, RunOptions
from dgraph.runs.subgraph_repairs import repaired_core_numbers, repaired_triangle_counts
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex, single_call_row
from dgraph.solvers.paths.repaired_paths import TouchedArcs, arc_weights, farthest_of, repaired_paths
from dgraph.solvers.subgraphs.repaired_components import repaired_components

RepairFunction: TypeAlias = Callable[[PartitionedGraph, EarlierAnswer, RowsOf], Repair | str]
UNKNOWN = "what changed since previous= is not known, because this graph was not made from its graph by few updates"
SMALL_WEIGHTS = "some weights are <= 0, or too small to change a distance"


def repaired(
    graph: PartitionedGraph,
    call: OperationCall,
    previous: RunResult,
    program: VertexProgram | None,
    options: RunOptions,
    columns: Mapping[str, np.ndarray],
    run_from: RunFrom | None = None,
) -> RunResult | str:
    """The answer to a call, by repairing an earlier one; or the reason why that is not possible."""
    earlier: OperationCall = previous._answers
    edges = graph.input_edges
    touched = Step.nothing(edges.version) if earlier.version is edges.version else None
    if touched is None and edges.history is not None:
        touched = edges.history.touched_since(earlier.version)
    if touched is None:
        return UNKNOWN
    begun = time.perf_counter()
    how = EarlierAnswer.of(previous, touched, graph.num_vertices)
    solve = SOLVERS.get(call.operation)
    if solve is None:
        assert program is not None, "only operations without one are solved otherwise"
        if is_spread(graph):
            assert run_from is not None, "ranks have it"
            result = ranks_in_rounds(graph, how, program, run_from, evenly=not columns)
            if isinstance(result, str):
                return result
            result._options["previous"] = _said(touched)
            return call.answered_by(result)
        repair = call_interruptibly(partial(repaired_ranks, graph, how, program=program, columns=columns))
    elif is_spread(graph):
        repair = retry(graph.client, lambda: _fetching(graph, how, solve), graph.forget_lost)
    else:
        repair = call_interruptibly(lambda: solve(graph, how, partial(CurrentRows, graph)))
    if isinstance(repair, str):
        return repair
    result = _result(graph, repair, touched, time.perf_counter() - begun)
    result.options = replace(options, engine=LOCAL, device=CPU, progress=None)
    return replace(call, lowest=repair.lowest).answered_by(result)


def is_spread(graph: PartitionedGraph) -> bool:
    """Whether rows have to be fetched from partitions."""
    return graph.client is not None or graph.num_parts > 1


def _fetching(graph: PartitionedGraph, earlier: EarlierAnswer, solve: RepairFunction) -> Repair | str:
    """Repair an answer, again and again until all rows that this reads are here."""
    kept: dict[str | None, FetchedRows] = {}

    def rows_with(weight: str | None) -> FetchedRows:
        if weight not in kept:
            kept[weight] = FetchedRows(graph, weight, in_part=solve is _components)
        return kept[weight]

    while True:
        repair = call_interruptibly(lambda: solve(graph, earlier, rows_with))
        if isinstance(repair, str):
            return repair
        waited = [rows.fetch() for rows in kept.values()]
        if not any(waited):
            return repair._replace(edges=max(repair.edges, *(rows.num_fetched for rows in kept.values()), 0))
        if any(rows.is_beyond_use for rows in kept.values()):
            return TOO_MUCH
        if any(rows.trips > MOST_TRIPS for rows in kept.values()):
            return TOO_FAR


def _said(touched: Step) -> str:
    return f"went on from it, after changes between {format_count(len(touched), 'pair')} of vertices"


def _result(graph: PartitionedGraph, repair: Repair, touched: Step, seconds: float) -> RunResult:
    """The result of a repair. On a cluster, a worker holds the values, and this process, too, for later calls."""
    n, client = graph.num_vertices, graph.client
    row = single_call_row(repair.fired, repair.edges, seconds)
    parts = {0: VertexValues(np.arange(n, dtype=np.uint32 if n < 2**32 else np.int64), repair.values)}
    said = {"engine": LOCAL, "device": CPU, "previous": _said(touched)}
    work = WorkerResult(parts, set(repair.missing), [row], repair.rounds, dict(repair.totals))

    def sent(graph: PartitionedGraph) -> RunResult:
        summaries = () if client is None else [work.without_values()]
        return RunResult(graph, graph.workers.send([work]), repair.vertex_columns, said, summaries=summaries)

    if client is None:
        return sent(graph)
    result = recoverable_result(graph, sent)
    result._values = repair.values
    return result


def _components(graph: PartitionedGraph, earlier: EarlierAnswer, rows_with: RowsOf) -> Repair | str:
    touched, orders = earlier.touched, ("out", "incoming") if graph.directed else ("out",)
    if graph.directed and graph.input_edges.streamed is not None:
        return TWO_TABLES
    labels = earlier.vertices("component", lambda vertices: vertices)
    rows, (first, second), present = rows_with(None), touched.ends, touched.present
    labels, edges = repaired_components(
        labels,
        lambda: [rows(order) for order in orders],
        (first[~present], second[~present]),
        (first[present], second[present]),
        worthwhile_threads(graph.workers.kernel_threads(1) or cores(), len(labels)),
    )
    return TOO_MUCH if edges < 0 else Repair({"component": labels}, len(touched), edges, ("component",))


def _paths(graph: PartitionedGraph, earlier: EarlierAnswer, rows_with: RowsOf) -> Repair | str:
    is_weighted = earlier.call.operation == "sssp"
    rows, none = rows_with(graph.weight if is_weighted else None), UNREACHED if is_weighted else NONE
    lowest = min(rows.lowest, earlier.call.lowest)
    distance = earlier.column("distance", lambda _: np.inf).copy()
    parent = earlier.vertices("predecessor", lambda _: none).copy()
    if not _changes_distances(lowest, distance):
        return SMALL_WEIGHTS
    arcs, read = _touched_arcs(graph, earlier.touched, rows, is_weighted)
    depth = earlier.call.arguments.get("depth_limit")
    limit = np.inf if depth is None else float(depth)
    edges, fired = repaired_paths(distance, parent, rows("out"), lambda: rows("incoming"), arcs, none, limit, read)
    if edges < 0:
        return TOO_MUCH
    if not _changes_distances(lowest, distance):
        return SMALL_WEIGHTS
    values, some_missing = {"distance": distance, "predecessor": parent}, has_missing_vertex(parent, graph.num_vertices)
    missing = frozenset({"predecessor"} if some_missing else ())
    return Repair(values, fired, edges, ("predecessor",), missing, lowest)


def _changes_distances(lowest: float, distance: np.ndarray) -> bool:
    """Whether each weight makes each distance larger, even half of it, however sums are rounded."""
    farthest = farthest_of(distance)
    return lowest > 0 and farthest + lowest / 2 > farthest


def _touched_arcs(
    graph: PartitionedGraph, touched: Step, rows: CurrentRows | FetchedRows, is_weighted: bool
) -> tuple[TouchedArcs, int]:
    """The touched pairs as arcs, and how many edges were read to find their weights, each in the shorter row."""
    sources, destinations = touched.ends
    present = touched.present
    if not touched.directed:
        sources, destinations = np.concatenate([sources, destinations]), np.concatenate([destinations, sources])
        present = np.concatenate([present, present])
    weights, read = np.where(present, 1.0, np.inf), 0
    there = np.flatnonzero(present)
    if is_weighted and len(there):
        out, ends = rows("out"), (sources[there], destinations[there])
        by_source = np.ones(len(there), bool)
        if rows.has("incoming"):
            into = rows("incoming")
            by_source = out.lengths(ends[0]) <= into.lengths(ends[1])
            other = there[~by_source]
            weights[other], read = arc_weights(into, destinations[other], sources[other])
        some = there[by_source]
        weights[some], more = arc_weights(out, sources[some], destinations[some])
        if isinstance(rows, FetchedRows) and rows.fetch():  # else distances would spread from what is not known
            weights[some], more = arc_weights(rows("out"), sources[some], destinations[some])
        read += more
    return TouchedArcs(sources.astype(np.int64), destinations.astype(np.int64), weights), read


SOLVERS: dict[str, RepairFunction] = {
    "wcc": _components,
    "bfs": _paths,
    "sssp": _paths,
    "triangles": repaired_triangle_counts,
    "core_number": repaired_core_numbers,
}
