"""The decorator of operations, which rejects unknown options, and `engine="cugraph"` (experimental), which it passes to
cuGraph: arguments and edges are sent to one GPU, or to several that can work together, and cuGraph's answer comes back
as a RunResult.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec

import numpy as np

from dgraph.arguments import is_default, known_options, shown, values_by_vertex, vertex_list
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cugraph.calls import (
    PACKAGES,
    REMEDY,
    TEAM_PACKAGES,
    Arcs,
    ColumnsAndTotals,
    CugraphCall,
    GpuAnswer,
    GraphShape,
    call_gpu,
    merge_answers,
    run_team,
    with_predecessors,
)
from dgraph.cugraph.operations import OPERATIONS
from dgraph.devices.probe import missing_requirements
from dgraph.errors import LostError, OptionError
from dgraph.keywords import HOW
from dgraph.options import Cuda
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.phrases.phrases import format_count
from dgraph.runs.early_end_warnings import warn_not_converged
from dgraph.runs.execution import recoverable_result
from dgraph.runs.old_keywords import old_keywords
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import CUGRAPH, RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex, single_call_row

P = ParamSpec("P")
VERTEX_COLUMNS = ("component", "predecessor")


def operation(function: Callable[P, RunResult]) -> Callable[P, RunResult]:
    """Decorate an operation, so that it rejects unknown options. With `engine="cugraph"`, cuGraph computes the
    result."""
    by_engine = {CUGRAPH: partial(_through_cugraph, function)} if function.__name__ in OPERATIONS else {}
    return known_options(by_engine=by_engine, old=old_keywords, runs=True)(function)


def _through_cugraph(function: Callable[..., RunResult], *positional: Any, **options: Any) -> RunResult:
    """Call cuGraph with the arguments that it supports; others raise an error."""
    signature = inspect.signature(function)
    bound = signature.bind(*positional, **options)
    bound.apply_defaults()
    arguments, known = bound.arguments, inspect.signature(OPERATIONS[function.__name__]).parameters
    graph, how = arguments.pop("graph"), {name: arguments.pop(name) for name in HOW if name in arguments}
    RunOptions(**how)  # rejects options that exclude cuGraph
    others = {one: value for one, value in arguments.items() if one not in known}
    if "progress" in how:  # an operation that runs no program lacks this option
        others["progress"] = how["progress"]
    if isinstance(how["device"], Cuda) and how["device"] != Cuda():
        others["device"] = how["device"]
    refused = {one: value for one, value in others.items() if not is_default(value, signature.parameters[one].default)}
    if refused:
        what = ", ".join(shown(one, value) for one, value in refused.items())
        raise OptionError(f'{what} is not available with engine={CUGRAPH!r}; leave it out, or choose engine="auto"')
    return run_on_cugraph(graph, function.__name__, {one: value for one, value in arguments.items() if one in known})


def run_on_cugraph(graph: PartitionedGraph, name: str, arguments: dict[str, Any]) -> RunResult:
    """The answer of cuGraph. The decorator calls this in place of the operation's own function, so that warnings point
    at the user's line."""
    if graph.weight is None and arguments.get("weighted"):
        raise graph.input_edges.edges.no_weight(f"weighted=True: {name} needs weights")
    if graph.weight is None and name == "sssp":
        graph.input_edges.edges.warn_without_weight(name)
    result = recoverable_result(graph, partial(_by_cugraph, name=name, arguments=arguments))
    result.options = RunOptions(engine=CUGRAPH, device="cuda")
    if "converged" in result.totals:
        warn_not_converged(result.totals, arguments["max_iter"], arguments["tol"])
    return result


def _by_cugraph(graph: PartitionedGraph, name: str, arguments: dict[str, Any]) -> RunResult:
    workers, listed, reads_weights = graph.workers, graph.input_edges, arguments.get("weighted") or name == "sssp"
    gpus = _gpus(graph)
    columns = (graph.weight,) if reads_weights and graph.weight is not None else ()
    numbers = {one: _numbers(graph, one, value) for one, value in arguments.items()}
    shape = GraphShape(graph.num_vertices, graph.num_edges, graph.directed, graph.weight is not None, len(gpus))
    call = OPERATIONS[name](shape, **numbers)
    chunks, skip = listed.by_number(columns), listed.rules.skip_loops
    shares = workers.hold(
        [workers.call(_share, chunks[i :: len(gpus)], columns, shape, call, skip, on=gpu) for i, gpu in enumerate(gpus)]
    )
    if len(gpus) == 1:
        results = workers.hold([workers.call(_ask, shares[0], call, on=gpus[0])])
    else:
        workers.wait(shares)  # raises the error of any share before others wait for it
        results = run_team(workers, [gpu for gpu in gpus if gpu is not None], shares, call)
    whole = workers.hold([workers.call(merge_answers, call, results, on=gpus[0])])[0]
    if call.steps:
        smallest = workers.reduce(_smallest, [workers.call(Arcs.nearest, one, whole, call.steps) for one in shares])
        whole = workers.call(with_predecessors, whole, smallest, on=gpus[0])
    result = workers.wait(workers.hold([workers.call(_result, results, whole, shape, on=gpus[0])]))
    moved = f"to {format_count(len(gpus), 'GPU')}"
    return RunResult(graph, result, VERTEX_COLUMNS, {"engine": CUGRAPH, "device": "cuda", "repartitioned": moved})


def _gpus(graph: PartitionedGraph) -> list[str | None]:
    """The workers whose GPUs are used: one per partition if they can work together, otherwise only one."""
    workers = graph.workers
    able = workers.capabilities.that_have(f"engine={CUGRAPH!r}", PACKAGES, REMEDY)
    if workers.client is None or graph.num_parts == 1:
        return able[:1]
    lacks = workers.capabilities.lacking(TEAM_PACKAGES)
    team = [one for one in able if not lacks.get(str(one), "it left")][: graph.num_parts]
    return team if len(team) > 1 else able[:1]


def _numbers(graph: PartitionedGraph, name: str, value: Any) -> Any:
    """An argument with its vertex ids converted to numbers."""
    if name == "source":
        return np.array([graph.numbering.find(one) for one in vertex_list(name, value)], np.int64)
    if name == "personalization" and value is not None:
        if not (weights := values_by_vertex(name, value)):
            raise OptionError(f"{name}={value!r} is not available with engine={CUGRAPH!r}; pass {{vertex: weight}}")
        return np.array([graph.numbering.find(one) for one in weights], np.int64), np.array([*weights.values()], float)
    return value


def _share(
    chunks: list[NumberedChunk], columns: tuple[str, ...], shape: GraphShape, call: CugraphCall, skip_loops: bool
) -> Arcs:
    """The edges that one GPU receives."""
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


def _result(answers: list[GpuAnswer], whole: ColumnsAndTotals, shape: GraphShape) -> WorkerResult:
    values, totals = whole
    missing = {name for name in VERTEX_COLUMNS if name in values and has_missing_vertex(values[name], shape.vertices)}
    arcs, busy = sum(one.arcs for one in answers), max(one.seconds for one in answers)  # seconds in cuGraph itself
    row = single_call_row(shape.vertices, arcs, busy, direction=CUGRAPH, device="cuda")
    return WorkerResult({0: VertexValues(np.arange(shape.vertices), values)}, missing, [row], 1, totals)
