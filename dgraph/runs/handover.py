"""The door to operations, and to cuGraph: with `engine="cugraph"` an operation's arguments and edges go to one GPU, and
its answer comes back as a result like any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np

from dgraph.devices.probe import lacking
from dgraph.engines.cugraph import OPERATIONS, PACKAGES, REMEDY, Edges, done
from dgraph.errors import LostError, OptionError
from dgraph.graph import Graph
from dgraph.options import known_options, vertices
from dgraph.partition.chunk import Numbered
from dgraph.plan import CUGRAPH
from dgraph.runs.execution import run
from dgraph.runs.found import Found, has_none
from dgraph.runs.result import RunResult, lasting
from dgraph.runs.unsettled import warn_not_converged

OF_VERTICES = ("component", "predecessor")  # columns


def operation(function: Callable[..., RunResult]) -> Callable[..., RunResult]:
    """An operation, which knows its own options and those of `run`, and may be one that can be handed over."""
    return known_options(run)(_or_by_cugraph(function) if function.__name__ in OPERATIONS else function)


def _or_by_cugraph(operation: Callable[..., RunResult]) -> Callable[..., RunResult]:
    """The operation, which `engine="cugraph"` hands over."""
    signature = inspect.signature(operation)

    @wraps(operation)
    def chosen(graph: Graph, *given: Any, **options: Any) -> RunResult:
        if options.get("engine") != CUGRAPH:
            return operation(graph, *given, **options)
        asked = signature.bind(graph, *given, **options)
        asked.apply_defaults()
        _, *arguments = asked.arguments.items()
        wanted = _obeyed(operation.__name__, signature, dict(arguments))
        return _handed_over(graph, operation.__name__, wanted)

    return chosen


def _handed_over(graph: Graph, name: str, arguments: dict[str, Any]) -> RunResult:
    """Called as the operation would be, so that a warning is shown where users called that."""
    result = lasting(graph, partial(_by_cugraph, name=name, arguments=arguments))
    if "converged" in result.totals:
        warn_not_converged(result.totals, arguments["max_iter"], arguments["tol"])
    return result


def _obeyed(name: str, signature: inspect.Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that cuGraph knows. Others, and options of `run`, are refused."""
    options, known = arguments.pop("options"), inspect.signature(OPERATIONS[name]).parameters
    refused = {one: value for one, value in options.items() if one not in ("engine", "device")}
    if options.get("device", "auto") not in ("auto", "cuda"):
        refused["device"] = options["device"]
    others = {one: value for one, value in arguments.items() if one not in known}
    refused |= {one: value for one, value in others.items() if value != signature.parameters[one].default}
    if refused:
        what = ", ".join(f"{one}={value!r}" for one, value in refused.items())
        raise OptionError(f'{what} cannot be had with engine={CUGRAPH!r}: leave it out, or choose engine="auto"')
    return {one: value for one, value in arguments.items() if one in known}


def _by_cugraph(graph: Graph, name: str, arguments: dict[str, Any]) -> RunResult:
    workers, reads_weights = graph.workers, arguments.get("weighted") or name == "sssp"
    on = workers.that_have(f"engine={CUGRAPH!r}", PACKAGES, REMEDY)[0]
    columns = (graph.weight,) if reads_weights and graph.weight is not None else ()
    numbers = {one: _numbers(graph, one, value) for one, value in arguments.items()}
    job = Job(name, numbers, columns, graph.num_vertices, graph.directed, graph.listed.rules.skip_loops)
    found = workers.wait(workers.hold([workers.call(job, graph.listed.by_number(columns), on=on)]))
    return RunResult(graph, found, OF_VERTICES, {"engine": CUGRAPH, "device": "cuda", "repartitioned": "to one GPU"})


def _numbers(graph: Graph, name: str, value: Any) -> Any:
    """An argument with vertices by number."""
    if name == "source":
        return np.array([graph.numbering.find(one) for one in vertices(name, value)], np.int64)
    if name == "personalization" and value is not None:
        if not isinstance(value, Mapping) or not value:
            raise OptionError(f"{name}={value!r}: give {{vertex: weight}} for engine={CUGRAPH!r}")
        return np.array([graph.numbering.find(one) for one in value], np.int64), np.array([*value.values()], float)
    return value


@dataclass(frozen=True)
class Job:
    """What the worker with the GPU does."""

    name: str
    arguments: dict[str, Any]
    columns: tuple[str, ...]  # of weights, if they are read
    vertices: int
    directed: bool
    skip_loops: bool

    def __call__(self, chunks: list[Numbered]) -> Found:
        if lacks := lacking(PACKAGES):
            raise LostError(f"a task for a GPU was placed on a worker that lacks {' and '.join(lacks)}; run again")
        compact = [chunk.compact() for chunk in chunks]
        ends = [np.concatenate([getattr(one, end) for one in compact]) for end in ("sources", "destinations")]
        weights = [np.concatenate([one.columns[name] for one in compact]) for name in self.columns]
        if self.skip_loops:
            kept = ends[0] != ends[1]
            ends, weights = ([one[kept] for one in some] for some in (ends, weights))
        edges = Edges.of((ends[0], ends[1]), weights[0] if weights else None, self.vertices, self.directed)
        values, totals, busy = done(self.name, edges, self.arguments)
        missing = {name for name in OF_VERTICES if name in values and has_none(values[name], self.vertices)}
        row: dict[str, Any] = {"superstep": 1, "partition": 0, "fired": self.vertices, "edges": len(edges.sources)}
        row |= {"messages": 0, "bytes": 0, "skipped": False, "direction": CUGRAPH, "device": "cuda"}
        row |= {"busy": busy, "idle": 0.0}  # seconds in cuGraph itself
        return Found({0: (np.arange(self.vertices), values)}, missing, [row], 1, totals)
