"""Answers that go on from earlier ones: what changed since is found, and the earlier values are repaired."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.changes.current_rows import CurrentRows
from dgraph.changes.steps import Step
from dgraph.devices.probe import CPU
from dgraph.native.interruptible_calls import call_interruptibly
from dgraph.phrases.phrases import format_count
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import LOCAL, RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex, single_call_row
from dgraph.solvers.paths.repaired_paths import TouchedArcs, arc_weights, farthest_of, repaired_paths
from dgraph.solvers.subgraphs.repaired_components import repaired_components

UNKNOWN = "what changed since previous= is not known, because this graph was not made from its graph by few updates"
TOO_MUCH = "too much depends on what changed"
SMALL_WEIGHTS = "some weights are <= 0, or too small to change a distance"


class Repair(NamedTuple):
    """The values of an answer, which of them are vertices, and how many vertices and edges were looked at."""

    values: dict[str, np.ndarray]
    vertex_column: str
    fired: int
    edges: int
    lowest: float = 1.0


@dataclass(frozen=True, eq=False)
class EarlierAnswer:
    """An earlier answer, what was touched since, and the number that each vertex of its graph has now; None if it has
    the same."""

    call: OperationCall
    result: RunResult
    touched: Step
    numbers: np.ndarray | None

    @classmethod
    def of(cls, result: RunResult, touched: Step, num_vertices: int) -> Self:
        if not len(touched.vertices):
            return cls(result._answers, result, touched, None)
        is_old = np.ones(num_vertices, bool)
        is_old[touched.vertices] = False
        return cls(result._answers, result, touched, np.flatnonzero(is_old))

    def column(self, name: str, new: Callable[[np.ndarray], Any]) -> np.ndarray:
        """A copy of its values by present numbers; `new` makes those of new vertices."""
        values = self._by_number(name)
        if self.numbers is None:
            return values
        out = np.empty(len(self.numbers) + len(self.touched.vertices), values.dtype)
        out[self.numbers], out[self.touched.vertices] = values, new(self.touched.vertices)
        return out

    def vertices(self, name: str, new: Callable[[np.ndarray], Any]) -> np.ndarray:
        """The same of a column of vertices, in which numbers that are none stay."""
        out = self.column(name, new)
        if self.numbers is not None:
            old = out[self.numbers]
            valid = np.flatnonzero((old >= 0) & (old < len(self.numbers)))
            old[valid] = self.numbers[old[valid]]
            out[self.numbers] = old
        return out

    def _by_number(self, name: str) -> np.ndarray:
        held = self.result._available()
        if len(held.homes) > 1:
            return self.result.by_number(name)
        (part,) = held.homes
        numbers, columns = held.of(part).parts[part]
        out = np.empty_like(columns[name])
        out[numbers] = columns[name]
        return out


def repaired(graph: PartitionedGraph, call: OperationCall, previous: RunResult, options: RunOptions) -> RunResult | str:
    """The answer to a call, by repairing an earlier one; or the reason why that is not possible."""
    earlier: OperationCall = previous._answers
    edges = graph.input_edges
    touched = Step.nothing(edges.version) if earlier.version is edges.version else None
    if touched is None and edges.history is not None:
        touched = edges.history.touched_since(earlier.version)
    if touched is None:
        return UNKNOWN
    n = graph.num_vertices
    begun = time.perf_counter()
    how = graph, EarlierAnswer.of(previous, touched, n)
    solve: Callable[..., Repair | str] = _components if call.operation == "wcc" else _paths
    repair = call_interruptibly(lambda: solve(*how))
    if isinstance(repair, str):
        return repair
    row = single_call_row(repair.fired, repair.edges, time.perf_counter() - begun)
    missing = {name for name in [repair.vertex_column] if has_missing_vertex(repair.values[name], n)}
    parts = {0: VertexValues(np.arange(n, dtype=np.uint32 if n < 2**32 else np.int64), repair.values)}
    went = f"went on from it, after changes between {format_count(len(touched), 'pair')} of vertices"
    said = {"engine": LOCAL, "device": CPU, "previous": went}
    result = RunResult(graph, [WorkerResult(parts, missing, [row], 1, {})], [repair.vertex_column], said)
    result.options = replace(options, engine=LOCAL, device=CPU, progress=None)
    return replace(call, lowest=repair.lowest).answered_by(result)


def _components(graph: PartitionedGraph, earlier: EarlierAnswer) -> Repair | str:
    touched, orders = earlier.touched, ("out", "incoming") if graph.directed else ("out",)
    if graph.directed and graph.input_edges.streamed is not None:
        return "the edges are too many to hold by source and by destination"
    labels = earlier.vertices("component", lambda vertices: vertices)
    rows, (first, second), present = CurrentRows(graph, None), touched.ends, touched.present
    labels, edges = repaired_components(
        labels,
        lambda: [rows(order) for order in orders],
        (first[~present], second[~present]),
        (first[present], second[present]),
    )
    return TOO_MUCH if edges < 0 else Repair({"component": labels}, "component", len(touched), edges)


def _paths(graph: PartitionedGraph, earlier: EarlierAnswer) -> Repair | str:
    is_weighted = earlier.call.operation == "sssp"
    rows, none = CurrentRows(graph, graph.weight if is_weighted else None), UNREACHED if is_weighted else NONE
    lowest = min(rows.lowest, earlier.call.lowest)
    distance = earlier.column("distance", lambda _: np.inf)
    parent = earlier.vertices("predecessor", lambda _: none)
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
    return Repair({"distance": distance, "predecessor": parent}, "predecessor", fired, edges, lowest)


def _changes_distances(lowest: float, distance: np.ndarray) -> bool:
    """Whether each weight makes each distance larger, even half of it, however sums are rounded."""
    farthest = farthest_of(distance)
    return lowest > 0 and farthest + lowest / 2 > farthest


def _touched_arcs(
    graph: PartitionedGraph, touched: Step, rows: CurrentRows, is_weighted: bool
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
        read += more
    return TouchedArcs(sources.astype(np.int64), destinations.astype(np.int64), weights), read
