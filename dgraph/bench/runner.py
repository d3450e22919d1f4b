"""Runs a suite. Load, build and run are timed separately, the cases of an operation take turns, and every trial is
verified."""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg
from dgraph.bench import measurements, resources
from dgraph.bench.cases import WITHOUT_ENGINE, Case, cases_of
from dgraph.bench.resources import timed
from dgraph.bench.suite import GraphSpec, OperationSpec, Suite
from dgraph.errors import AnswerError, OptionError
from dgraph.io.format_options import OPTIONS, format_with
from dgraph.io.formats import format_of
from dgraph.testing.verify import VERIFIERS, Edges, verify

SINGLE = 1e-4  # relative tolerance for ranks in float32
SAMPLE = 4_000_000  # edges beyond which triangles are verified only at some vertices, because all take minutes
SEED = 27  # the seed for drawing sources of paths, as in GAP's benchmark
Clusters = Callable[[int, int | None], AbstractContextManager[Any]]  # workers, threads of each -> a client


@dataclass(frozen=True)
class Trial:
    """One run of a case: its figures as a record, and its report with the labels of the case."""

    case: Case
    record: dict[str, Any]
    report: pd.DataFrame


@dataclass
class Runner:
    """Runs a suite when iterated, and yields each `Trial` once it is verified. `clusters` starts workers; `only` (see
    `cases_of`) and `trials` (the maximum per case) shorten the run; `tell` receives a line before each case."""

    suite: Suite
    clusters: Clusters
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trials: int | None = None
    tell: Callable[[str], None] = lambda line: None

    def __post_init__(self) -> None:
        self.cases = cases_of(self.suite, self.only)
        self.begun = time.perf_counter()
        self.loaded_graphs: dict[Any, tuple[float, Any]] = {}  # the seconds that loading took, and the graph
        self.edges: Edges | None = None

    def __iter__(self) -> Iterator[Trial]:
        with ExitStack() as stack:
            sizes = dict.fromkeys(case.workers for case in self.cases)
            clients = {n: stack.enter_context(self.clusters(n, self.suite.threads)) for n in sizes}
            for graph in self.suite.graphs.values():
                self.edges = None
                for operation in self.suite.operations.values():
                    cases = [case for case in self.cases if (case.graph, case.operation) == (graph, operation)]
                    if cases:
                        yield from self._operation(operation, cases, clients)
                    if self.suite.build == "each":
                        self._release()
                self._release()

    def _operation(self, operation: OperationSpec, cases: list[Case], clients: Mapping[int, Any]) -> Iterator[Trial]:
        """The trials of one operation on one graph; its cases take turns."""
        standing = {case: self._stand(case, clients[case.workers]) for case in cases}
        sources = self._sources(operation)
        for case, (_, graph) in standing.items():
            self.tell(f"{self.suite.name}: {_named(case)}")
            for _ in range(self.suite.warmups):
                self._call(case, graph, sources[0])
        for trial in range(self._trials(operation)):
            for case, (loading, graph) in standing.items():
                yield self._trial(case, loading, graph, trial, sources[trial % len(sources)])

    def _trial(self, case: Case, loading: float, graph: Any, trial: int, source: Any) -> Trial:
        resources.reset(graph.client)
        seconds, result = timed(lambda: self._call(case, graph, source))
        record: dict[str, Any] = {**case.setting.options, "kind": "trial", "suite": self.suite.name, **case.labels}
        start = {} if source is None else {"source": source}
        record |= {"trial": trial, **start}
        if self.suite.collect:
            record["collect"], _ = timed(result.compute)
        record["peak"] = resources.peak(graph.client)
        assert self.edges is not None
        options = {**case.options, **start}
        check(case.operation.operation, self.edges, result, options, f"{_named(case)}, trial {trial}")
        record |= {"load": loading, **measurements.graph_figures(graph)}
        record |= measurements.run_figures(result, seconds, graph, self.edges, case.operation.operation)
        record["elapsed"] = time.perf_counter() - self.begun
        return Trial(case, record, pd.DataFrame(result.report).assign(**case.labels))

    def _call(self, case: Case, graph: Any, source: Any) -> Any:
        options = {name: value for name, value in case.options.items() if value != "auto"}
        if source is not None:
            options["source"] = source
        if case.operation.operation not in WITHOUT_ENGINE:
            options["progress"] = False  # the suite shows its own progress line
        try:
            return getattr(dg, case.operation.operation)(graph, **options)
        except OptionError as refused:
            raise OptionError(f"{_named(case)}: {refused}") from refused

    def _stand(self, case: Case, client: Any) -> tuple[float, Any]:
        """The seconds that loading the graph of a case took, and the graph, which is reused if an earlier case loaded
        it; its edges are fetched for the verifiers."""
        key = case.place if self.suite.build == "once" else (case.place, case.setting.name, *case.labels.values())
        if key not in self.loaded_graphs:
            place = {"policy": case.policy, "parts": case.partitions or None, "capacities": case.capacities}
            self.loaded_graphs[key] = timed(lambda: load(case.graph, **place, client=client))
        if self.edges is None:
            self.edges = Edges.of(self.loaded_graphs[key][1])
        return self.loaded_graphs[key]

    def _sources(self, operation: OperationSpec) -> list[Any]:
        """The source vertices that trials use in turn. They are drawn at random from the vertices with an edge to
        another vertex, with a fixed seed. Otherwise, the source that the suite names, or None if the operation has no
        source."""
        if not operation.sources:
            return [operation.options.get("source")]
        assert self.edges is not None
        leading = np.unique(self.edges.source[self.edges.source != self.edges.destination])
        drawn = np.random.default_rng(SEED).choice(leading, min(operation.sources, len(leading)), replace=False)
        ids = drawn if self.edges.ids is None else self.edges.ids[drawn]
        return [one.item() if isinstance(one, np.generic) else one for one in ids]

    def _trials(self, operation: OperationSpec) -> int:
        trials = operation.trials or (operation.sources if operation.sources > 1 else self.suite.trials)
        return min(trials, self.trials or trials)

    def _release(self) -> None:
        self.loaded_graphs.clear()
        gc.collect()


def load(spec: GraphSpec, **place: Any) -> Any:
    """Generate or read a graph of a suite."""
    options = dict(spec.options)
    if "weights" in options:
        options["weights"] = tuple(options["weights"])
    if spec.make == "file":
        path, named = options.pop("path"), options.get("format")
        if of_format := {name: options.pop(name) for name in OPTIONS if name in options}:
            options["format"] = format_with(path, format_of(path, named), of_format)
        return dg.read_edges(path, **options, **place)
    return getattr(dg, spec.make)(**options, **place)


def check(operation: str, edges: Edges, result: Any, options: Mapping[str, Any], case: str) -> None:
    """Raise an AnswerError that names the `case` if the result is wrong. `edges` are the edges of the graph, and
    `options` those of the call."""
    known = inspect.signature(VERIFIERS[operation][0]).parameters
    how = {name: value for name, value in options.items() if name in known}
    if operation == "pagerank" and not options.get("tol", 1e-6):  # a number of rounds, not a fixed point
        how |= {"rounds": options.get("max_iter", 100)}
    if options.get("dtype") == "float32" and "rtol" in known:
        how["rtol"] = SINGLE
    if operation == "label_propagation" and "restless" in result.totals:  # vertices that oscillate forever
        how["restless"] = result.totals["restless"] / edges.vertices
    if operation == "factorize":  # the factors must be as good as the report says
        errors = [one for one in map(result.totals.get, ("rmse", "held_out")) if one == one]  # NaN: none held out
        how |= {"mean": result.totals["mean"], "rmse": max(errors) * (1 + 1e-9)}
    if operation == "triangles" and len(edges.source) > SAMPLE:
        how["sample"] = 1000
    answer = result if options.get("predecessors", True) else {"distance": result.by_number("distance")}
    try:
        verify(operation, edges, answer, **how)
    except AnswerError as wrong:
        raise AnswerError(f"{case}: {wrong}") from wrong


def _named(case: Case) -> str:
    return ", ".join(f"{axis} {value}" for axis, value in case.labels.items() if value not in ("", "auto", 0))
