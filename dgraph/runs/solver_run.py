"""Running an operation's own solver where the graph is one partition: one call from the first round to the last."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from dgraph.cluster.workers import threads_of_worker
from dgraph.graph import Graph
from dgraph.native.interruptible_calls import call_interruptibly
from dgraph.native.team import worthwhile_threads
from dgraph.partition.partition import Partition
from dgraph.plan import Plan
from dgraph.programs.analysis import analyse
from dgraph.programs.program import VertexProgram
from dgraph.runs.result import RunResult
from dgraph.runs.run_inputs import edge_columns_of, parameters_of, vertex_columns_of
from dgraph.runs.run_report import row_at_once
from dgraph.runs.vertex_columns import GivenColumns, attach_columns, detach_columns
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex
from dgraph.solvers.solver import Problem, Solver
from dgraph.tables.edge_tables import EdgeTables

SHORT = 1 << 22  # looks at edges: tenths of a second at most, for which Ctrl-C may wait


def solve(graph: Graph, program: VertexProgram, plan: Plan, columns: GivenColumns) -> RunResult:
    """The result of the program's solver, on the worker of the one partition. It is one step, so there is no progress
    to show."""
    analysis, workers = analyse(program), graph.workers
    edge_columns = edge_columns_of(graph, analysis)
    orders = program.solver.orders if graph.directed else ("out",)
    held = graph.partitioned(orders, tuple(name for name, _ in edge_columns.values())).held
    homes = workers.where(held)
    (partition,) = attach_columns(graph, analysis, held, columns, homes)
    values = {**parameters_of(graph, program), "random_seed": plan.switches.random_seed}
    threads, of_vertices = workers.kernel_threads(1), vertex_columns_of(analysis)
    job = SolverJob(program.solver, values, graph.directed, edge_columns, threads, of_vertices)
    if workers.client is None:
        call = partial(job, partition)
        found = [call() if job.is_short(partition) else call_interruptibly(call)]
    else:
        found = workers.wait(workers.hold([workers.call(job, partition, on=homes[0] if homes else None)]))
    return RunResult(graph, found, job.vertex_columns, plan.options())


@dataclass(frozen=True)
class SolverJob:
    """The task of that worker: one call of the solver."""

    solver: Solver
    values: dict[str, Any]
    directed: bool
    columns: dict[str, tuple[str, str]]
    threads: int | None
    vertex_columns: list[str]

    def __call__(self, given: Any) -> WorkerResult:
        partition, columns = detach_columns(given)
        threads = self._threads(partition)
        edges = EdgeTables(partition, self.directed, self.columns, threads)
        begun = time.perf_counter()
        solved = self.solver.solve(Problem(edges, self.values, columns, threads))
        row = row_at_once(partition.num_owned, solved.edges, time.perf_counter() - begun)
        missing = {name for name in self.vertex_columns if has_missing_vertex(solved.values[name], partition.num_owned)}
        parts = {0: VertexValues(partition.numbers, solved.values)}
        return WorkerResult(parts, missing, [row], solved.rounds, solved.totals)

    def is_short(self, given: Any) -> bool:
        """Whether the call is short and takes one thread: then the main thread makes it. (Ctrl-C in the midst of a team
        would leave its other threads waiting.)"""
        partition, _ = detach_columns(given)
        looks = max(self.solver.looks, self.values.get("max_iter", 0)) * _size(partition)
        return looks <= SHORT and self._threads(partition) == 1

    def _threads(self, partition: Partition) -> int:
        return worthwhile_threads(self.threads or threads_of_worker(), self.solver.looks * _size(partition))


def _size(partition: Partition) -> int:
    """Looks that a round of all vertices takes: a vertex takes about as long as an edge."""
    return partition.num_owned + partition.num_edges
