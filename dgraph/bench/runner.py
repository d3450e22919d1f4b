"""Runs a suite: load, build and run are timed apart, the cases of an operation take turns, every trial is verified.

Taking turns is what makes a ratio robust: a machine that is slow for a while is slow for both sides.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg
from dgraph.bench import measurements, peak_memory
from dgraph.bench.cases import WITHOUT_ENGINE, Case, cases_of
from dgraph.bench.suite import GraphSpec, OperationSpec, Suite
from dgraph.bench.verification import check
from dgraph.errors import OptionError
from dgraph.testing.verify import Edges

SEED = 27  # of the vertices that paths begin at, as in GAP's benchmark
Clusters = Callable[[int, int | None], AbstractContextManager[Any]]  # workers, threads of each -> a client


@dataclass
class LoadedGraph:
    """A graph that is loaded, the seconds that took, and the client that has it."""

    graph: Any
    load: float
    client: Any


@dataclass(frozen=True)
class Trial:
    """One run of a case: its figures as a record, and the report with the case's labels."""

    case: Case
    record: dict[str, Any]
    report: pd.DataFrame


@dataclass
class Runner:
    """Iterate over it to run a suite: it yields each `Trial` when that is verified. `clusters` starts workers; `only`
    (as in `cases_of`) and `trials` (so many of each case at most) make a shorter run; `tell` is given a line before
    each case."""

    suite: Suite
    clusters: Clusters
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trials: int | None = None
    tell: Callable[[str], None] = lambda line: None

    def __post_init__(self) -> None:
        self.cases = cases_of(self.suite, self.only)
        self.begun = time.perf_counter()
        self.standing: dict[Any, LoadedGraph] = {}
        self.edges: Edges | None = None

    @cached_property
    def count(self) -> int:
        """How many trials there will be."""
        return sum(self._trials(case.operation) for case in self.cases)

    def __iter__(self) -> Iterator[Trial]:
        with ExitStack() as stack:
            wanted = dict.fromkeys(case.workers for case in self.cases)
            clients = {n: stack.enter_context(self.clusters(n, self.suite.threads)) for n in wanted}
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
        """The trials of one operation on one graph, its cases in turn."""
        standing = {case: self._stand(case, clients[case.workers]) for case in cases}
        sources = self._sources(operation)
        for case, where in standing.items():
            self.tell(f"{self.suite.name}: {_named(case)}")
            for _ in range(self.suite.warmups):
                self._call(case, where.graph, sources[0])
        for trial in range(self._trials(operation)):
            for case, where in standing.items():
                yield self._trial(case, where, trial, sources[trial % len(sources)])

    def _trial(self, case: Case, where: LoadedGraph, trial: int, source: Any) -> Trial:
        gc.collect()
        peak_memory.reset(where.client)
        begun = time.perf_counter()
        result = self._call(case, where.graph, source)
        seconds = time.perf_counter() - begun
        record: dict[str, Any] = {**case.setting.options, "kind": "trial", "suite": self.suite.name, **case.labels}
        record["trial"] = trial
        if source is not None:
            record["source"] = source
        if self.suite.collect:
            begun = time.perf_counter()
            result.compute()
            record["collect"] = time.perf_counter() - begun
        record["peak"] = peak_memory.peak(where.client)
        assert self.edges is not None
        options = {**case.options, **({} if source is None else {"source": source})}
        check(case.operation.operation, self.edges, result, options, f"{_named(case)}, trial {trial}")
        record |= {"load": where.load, **measurements.of_graph(where.graph)}
        record |= measurements.of_run(result, seconds, where.graph, self.edges, case.operation.operation)
        record["elapsed"] = time.perf_counter() - self.begun
        return Trial(case, record, pd.DataFrame(result.report).assign(**case.labels))

    def _call(self, case: Case, graph: Any, source: Any) -> Any:
        function = getattr(dg, case.operation.operation)
        given = {name: value for name, value in case.options.items() if value != "auto"}
        if case.operation.operation not in WITHOUT_ENGINE:
            given["progress"] = False  # a suite has a line of its own
        try:
            if case.operation.operation in ("bfs", "sssp"):
                given.pop("source", None)
                return function(graph, source, **given)
            return function(graph, **given)
        except OptionError as refused:
            raise OptionError(f"{_named(case)}: {refused}") from refused

    def _stand(self, case: Case, client: Any) -> LoadedGraph:
        """The graph of a case, loaded unless an earlier case has left it, and brought to this process as verifiers read
        it."""
        key = case.place if self.suite.build == "once" else (case.place, case.setting.name, *case.labels.values())
        if key not in self.standing:
            begun = time.perf_counter()
            place = {"policy": case.policy, "parts": case.partitions or None, "capacities": case.capacities}
            graph = load(case.graph, **place, client=client)
            self.standing[key] = LoadedGraph(graph, time.perf_counter() - begun, client)
        if self.edges is None:
            self.edges = Edges.of(self.standing[key].graph)
        return self.standing[key]

    def _sources(self, operation: OperationSpec) -> list[Any]:
        """The vertices at which trials begin, in turn: with an edge that leads elsewhere, drawn by chance, the same in
        every run; or the one that the suite names, None where the operation begins nowhere."""
        if not operation.sources:
            return [operation.options.get("source")]
        assert self.edges is not None
        leading = np.unique(self.edges.source[self.edges.source != self.edges.destination])
        drawn = np.random.default_rng(SEED).choice(leading, min(operation.sources, len(leading)), replace=False)
        ids = drawn if self.edges.ids is None else self.edges.ids[drawn]
        return [one.item() if isinstance(one, np.generic) else one for one in ids]

    def _trials(self, operation: OperationSpec) -> int:
        wanted = operation.trials or (operation.sources if operation.sources > 1 else self.suite.trials)
        return min(wanted, self.trials or wanted)

    def _release(self) -> None:
        self.standing.clear()
        gc.collect()


def load(spec: GraphSpec, **place: Any) -> Any:
    """A graph of a suite, generated or read."""
    options = dict(spec.options)
    if "weights" in options:
        options["weights"] = tuple(options["weights"])
    if spec.make == "file":
        return dg.read_edges(options.pop("path"), **options, **place)
    return getattr(dg, spec.make)(**options, **place)


def _named(case: Case) -> str:
    return ", ".join(f"{axis} {value}" for axis, value in case.labels.items() if value not in ("", "auto", 0))
