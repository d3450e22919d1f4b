"""`engine="cugraph"`: the way to cuGraph. Arguments and edges go to one GPU, or to several that can work together, and
the answer comes back as a result like any other."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgraph.cugraph.calls import (
    PACKAGES,
    REMEDY,
    Arcs,
    ColumnsAndTotals,
    CugraphCall,
    GpuAnswer,
    GraphShape,
    call_gpu,
    merge_answers,
    with_predecessors,
)
from dgraph.cugraph.gpu_team import TEAM, run_team
from dgraph.cugraph.operations import OPERATIONS
from dgraph.devices.probe import missing_requirements
from dgraph.errors import LostError, OptionError
from dgraph.graph import Graph
from dgraph.options import by_vertex, vertex_list
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.phrases import format_count
from dgraph.plan import CUGRAPH
from dgraph.runs.early_end_warnings import warn_not_converged
from dgraph.runs.result import RunResult, lasting
from dgraph.runs.run_report import row_at_once
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex

OF_VERTICES = ("component", "predecessor")  # columns


def run_on_cugraph(graph: Graph, name: str, arguments: dict[str, Any]) -> RunResult:
    """The answer of cuGraph. An operation's own function would be called in the place of this one, so a warning points
    at the user's line here, too."""
    result = lasting(graph, partial(_by_cugraph, name=name, arguments=arguments))
    if "converged" in result.totals:
        warn_not_converged(result.totals, arguments["max_iter"], arguments["tol"])
    return result


def _by_cugraph(graph: Graph, name: str, arguments: dict[str, Any]) -> RunResult:
    workers, listed, reads_weights = graph.workers, graph.listed, arguments.get("weighted") or name == "sssp"
    on = _gpus(graph)
    columns = (graph.weight,) if reads_weights and graph.weight is not None else ()
    numbers = {one: _numbers(graph, one, value) for one, value in arguments.items()}
    shape = GraphShape(graph.num_vertices, graph.num_edges, graph.directed, graph.weight is not None, len(on))
    call = OPERATIONS[name](shape, **numbers)
    chunks, skip = listed.by_number(columns), listed.rules.skip_loops
    shares = [
        workers.call(_share, chunks[i :: len(on)], columns, shape, call, skip, on=where) for i, where in enumerate(on)
    ]
    if len(on) == 1:
        shares = workers.hold(shares)
        found = workers.hold([workers.call(_ask, shares[0], call, on=on[0])])
    else:
        shares = workers.wait(workers.hold(shares))  # what is wrong with one is said before others wait for it
        found = run_team(workers, [where for where in on if where is not None], shares, call)
    whole = workers.hold([workers.call(merge_answers, call, found, on=on[0])])[0]
    if call.steps:
        smallest = workers.reduce(_smallest, [workers.call(Arcs.nearest, one, whole, call.steps) for one in shares])
        whole = workers.call(with_predecessors, whole, smallest, on=on[0])
    result = workers.wait(workers.hold([workers.call(_found, found, whole, shape, on=on[0])]))
    taken = f"to {format_count(len(on), 'GPU')}"
    return RunResult(graph, result, OF_VERTICES, {"engine": CUGRAPH, "device": "cuda", "repartitioned": taken})


def _gpus(graph: Graph) -> list[str | None]:
    """The workers whose GPUs take part: one for each partition, if they can work together; else one."""
    workers = graph.workers
    able = workers.abilities.workers_with(f"engine={CUGRAPH!r}", PACKAGES, REMEDY)
    if workers.client is None or graph.num_parts == 1:
        return able[:1]
    lacks = workers.abilities.lacking(TEAM)
    team = [one for one in able if not lacks.get(str(one), "it has left")][: graph.num_parts]
    return team if len(team) > 1 else able[:1]


def _numbers(graph: Graph, name: str, value: Any) -> Any:
    """An argument, with vertices as numbers."""
    if name == "source":
        return np.array([graph.numbering.find(one) for one in vertex_list(name, value)], np.int64)
    if name == "personalization" and value is not None:
        if not (weights := by_vertex(name, value)):
            raise OptionError(f"{name}={value!r}: give {{vertex: weight}} for engine={CUGRAPH!r}")
        return np.array([graph.numbering.find(one) for one in weights], np.int64), np.array([*weights.values()], float)
    return value


def _share(
    chunks: list[NumberedChunk], columns: tuple[str, ...], shape: GraphShape, call: CugraphCall, skip_loops: bool
) -> Arcs:
    """The edges that one GPU is given."""
    compact = [chunk.compact() for chunk in chunks]
    ends = [_joined([getattr(one, end) for one in compact], np.int64) for end in ("sources", "destinations")]
    weights = [_joined([one.columns[name] for one in compact], np.float64) for name in columns]
    if skip_loops:
        kept = ends[0] != ends[1]
        ends, weights = ([one[kept] for one in some] for some in (ends, weights))
    edges = Arcs.of(ends, weights[0] if weights else None, shape)
    call.check(edges.weights)
    return edges


def _joined(arrays: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


def _ask(edges: Arcs, call: CugraphCall) -> GpuAnswer:
    if lacks := missing_requirements(PACKAGES):
        raise LostError(f"a task for a GPU was placed on a worker that lacks {' and '.join(lacks)}; run again")
    return call_gpu(edges, call)


def _smallest(some: list[np.ndarray]) -> np.ndarray:
    return np.minimum.reduce(some)


def _found(answers: list[GpuAnswer], whole: ColumnsAndTotals, shape: GraphShape) -> WorkerResult:
    values, totals = whole
    missing = {name for name in OF_VERTICES if name in values and has_missing_vertex(values[name], shape.vertices)}
    arcs, busy = sum(one.arcs for one in answers), max(one.seconds for one in answers)  # in cuGraph itself
    row = row_at_once(shape.vertices, arcs, busy, direction=CUGRAPH, device="cuda")
    return WorkerResult({0: VertexValues(np.arange(shape.vertices), values)}, missing, [row], 1, totals)
