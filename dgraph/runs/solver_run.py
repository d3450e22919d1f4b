"""Runs an operation's own solver, in a single call from the first round to the last, if the graph has one partition."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.workers import threads_of_worker
from dgraph.devices.probe import CPU
from dgraph.native.interruptible_calls import SHORT_CALL_LOOKS, call_interruptibly
from dgraph.native.team import worthwhile_threads
from dgraph.partition.partition import Partition
from dgraph.programs.analysis import analyse, parameter_values
from dgraph.programs.program import VertexProgram
from dgraph.runs.plan import solver_orders
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import LOCAL
from dgraph.runs.vertex_columns import attach_columns
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex, single_call_row
from dgraph.solvers.solver import Problem, Solver
from dgraph.tables.edge_tables import EdgeTables


def solve(
    graph: PartitionedGraph, program: VertexProgram, columns: Mapping[str, Any] | None = None, random_seed: int = 0
) -> RunResult:
    """The result of the program's solver, which runs on the worker that holds the only partition and shows no
    progress."""
    analysis, workers = analyse(program), graph.workers
    edge_columns = graph.columns_for(analysis)
    orders = solver_orders(graph, program.solver)
    held = graph.partitioned(orders, tuple(name for name, _ in edge_columns.values())).held
    homes = workers.where(held)
    (only,) = held
    if columns or analysis.attributes:
        (only,) = attach_columns(graph, analysis, held, columns or {}, homes)
    values = {**parameter_values(program, lambda vertex: graph.numbering.find(vertex)), "random_seed": random_seed}
    threads, vertex_columns = workers.kernel_threads(1), analysis.vertex_results
    job = LocalJob(program.solver, values, graph.directed, edge_columns, threads, vertex_columns)
    if workers.client is None:
        call = partial(job, only)
        results = [call() if job.is_short(held[0]) else call_interruptibly(call)]
    else:
        results = workers.wait(workers.each(job, [(only,)], homes))
    return RunResult(graph, results, vertex_columns, {"engine": LOCAL, "device": CPU})


@dataclass(frozen=True)
class LocalJob:
    """The task of that worker, which calls the solver."""

    solver: Solver
    values: dict[str, Any]
    directed: bool
    columns: dict[str, tuple[str, str]]
    threads: int | None
    vertex_columns: Sequence[str]

    def __call__(self, only: Any) -> WorkerResult:
        partition, columns = only if isinstance(only, tuple) else (only, {})
        threads = self._threads(partition)
        edges = EdgeTables(partition, self.directed, self.columns, threads)
        begun = time.perf_counter()
        solved = self.solver.solve(Problem(edges, self.values, columns, threads))
        row = single_call_row(partition.num_owned, solved.edges, time.perf_counter() - begun)
        missing = {name for name in self.vertex_columns if has_missing_vertex(solved.values[name], partition.num_owned)}
        parts = {0: VertexValues(partition.numbers, solved.values)}
        return WorkerResult(parts, missing, [row], solved.rounds, solved.totals)

    def is_short(self, partition: Partition) -> bool:
        """Whether the call is short and takes one thread. The main thread makes only such calls, because Ctrl-C in the
        middle of a team of threads would leave the others waiting."""
        looks = max(self.solver.reads_per_edge, self.values.get("max_iter", 0)) * _size(partition)
        return looks <= SHORT_CALL_LOOKS and self._threads(partition) == 1

    def _threads(self, partition: Partition) -> int:
        return worthwhile_threads(self.threads or threads_of_worker(), self.solver.reads_per_edge * _size(partition))


def _size(partition: Partition) -> int:
    """The work of a round of all vertices, measured in edges, where a vertex counts as one edge."""
    return partition.num_owned + partition.num_edges
