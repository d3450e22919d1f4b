"""The client's side of a run in rounds: all workers take steps until the run ends. If edges move during the run, it
continues on new partitions; if it takes very many rounds, one worker may finish it (`one_worker_finish.py`)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.scheduler import hearing_of_silence
from dgraph.codegen.recipe import Recipe, recipe_of
from dgraph.devices.probe import CPU
from dgraph.errors import OptionError, SumError
from dgraph.estimates.memory_check import check_run_memory
from dgraph.exchange.mail import Token
from dgraph.native import threads
from dgraph.plan import Plan
from dgraph.programs.program import VertexProgram
from dgraph.runs import edge_moves
from dgraph.runs.edge_moves import move_partition
from dgraph.runs.endless_runs import Watch, patience_for
from dgraph.runs.job import WorkerJob
from dgraph.runs.one_worker_finish import OneWorkerFinish
from dgraph.runs.progress import Progress
from dgraph.runs.repartition import partitions_by_shares, partitions_for
from dgraph.runs.result import RunResult
from dgraph.runs.resumption import checkpoints_for, forget
from dgraph.runs.run_options import RunOptions
from dgraph.runs.vertex_columns import attach_columns
from dgraph.runs.worker_results import WorkerResult
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import CHUNK, Outcome


def in_rounds(
    graph: PartitionedGraph,
    program: VertexProgram,
    options: RunOptions,
    columns: Mapping[str, Any],
    plan: Plan,
    silent: Sequence[str] = (),
) -> RunResult:
    """Run a plan in rounds: build partitions, take steps on the workers, make the result. `silent` lists the workers
    that have not answered in earlier attempts; the caller may add more during this one."""
    with closing(Progress.of(options.progress, program.title)) as shown, hearing_of_silence(shown.silent):
        result = _run(graph, program, options, columns, plan, silent, shown)
        shown.end(result.rounds)
    return result


def _run(
    graph: PartitionedGraph,
    program: VertexProgram,
    options: RunOptions,
    columns: Mapping[str, Any],
    plan: Plan,
    silent: Sequence[str],
    shown: Progress,
) -> RunResult:
    shown.prepare("building partitions")
    recipes = _recipes(graph, program, plan)
    gathering = OneWorkerFinish(graph, program, options, columns)
    if gathering.was_due:
        return gathering.solve()
    analysis = recipes[CPU].analysis
    partitions, edge_columns, plan = partitions_for(graph, analysis, plan)
    homes = graph.workers.where(partitions)
    shares = partitions
    if columns or analysis.attributes:
        shares = attach_columns(graph, analysis, partitions, columns, homes, anew=bool(plan.repartitioned))
    check_run_memory(graph, partitions, recipes[CPU], plan.local_method)
    job = WorkerJob(
        recipes,
        plan,
        graph.directed,
        graph.num_vertices,
        edge_columns,
        threads=graph.workers.kernel_threads(len(partitions)),
        patience=patience_for(program, analysis, plan, graph.num_vertices),
        checkpoints=None
        if plan.checkpoints is None
        else checkpoints_for(graph, recipes[CPU], plan, plan.checkpoints, shares),
        cost=edge_moves.move_cost(graph) if plan.rebalance else None,
        gpus=frozenset(graph.workers.with_cuda() if plan.device != CPU else ()),
    )
    rows: list[dict[str, Any]] = []  # the report up to the last move of edges
    moves: list[str] = []
    watch = Watch(job.patience)
    shown.prepare("the first superstep, which compiles kernels that are new")
    with naming_vertices(graph):
        while True:
            outcome = _steps(graph, job, shares, homes, shown, watch, gathering)
            if outcome is None:
                return gathering.solve()
            if not (paused := outcome.summaries[0]).shares:
                break
            begun = time.perf_counter()
            rows += [row for one in outcome.summaries for row in one.rows]
            shares = _moved(graph, job, columns, homes, paused, outcome)
            split = " : ".join(f"{share / sum(paused.shares):.0%}" for share in paused.shares)
            seconds = time.perf_counter() - begun
            moves.append(f"after superstep {paused.rounds} to {split} of the work, in {seconds:.2g} s")
            job = replace(job, round=paused.rounds)
    summaries = outcome.summaries
    summaries[0].rows = rows + summaries[0].rows
    facts = _facts(plan, outcome, moves) | ({"silent workers": ", ".join(dict.fromkeys(silent))} if silent else {})
    result = RunResult(graph, outcome.results, analysis.vertex_results, facts, summaries=summaries)
    if job.checkpoints is not None:  # the run is over, so nothing will resume from them
        forget(graph, job.checkpoints.store)
    return result


@contextmanager
def naming_vertices(graph: PartitionedGraph) -> Iterator[None]:
    """Name the vertex of a SumError by its id, because workers know only its number."""
    try:
        yield
    except SumError as error:
        ids = graph.numbering
        (vertex,) = np.asarray(ids.id_type.restore(ids.take(np.array([error.number])))).tolist()
        raise SumError(error.program, error.number, vertex) from error


def _recipes(graph: PartitionedGraph, program: VertexProgram, plan: Plan) -> dict[str, Recipe]:
    """The program's kernels for each device, with the values of its parameters (vertices as numbers)."""
    values, operator = graph.parameters_of(program), plan.blocks.operator if plan.blocks else None
    recipes = {
        device: recipe_of(program, device, operator, plan.settings.other_devices) for device in plan.kernel_devices
    }
    for device, recipe in recipes.items():
        if (
            plan.round_options.direction == "push"
            and program.kind == "accumulative"
            and "push" not in recipe.source.kernels
        ):
            merges = ", ".join(str(message.merge) for message in program.phases[0].messages)
            raise OptionError(
                f'direction="push" is not available with device={device!r} and {merges}; choose "pull" or "auto"'
            )
    return {device: replace(recipe, values=values) for device, recipe in recipes.items()}


def _steps(
    graph: PartitionedGraph,
    job: WorkerJob,
    shares: Sequence[Any],
    homes: Sequence[str] | None,
    shown: Progress,
    watch: Watch,
    gathering: OneWorkerFinish,
) -> Outcome | None:
    """Take all steps of the workers until the run ends or edges should move; None if one worker should finish it."""

    def after_chunk(steps: int, tokens: Sequence[Token]) -> int | None:
        shown.after_chunk(tokens)
        watch.after_chunk(tokens)
        return gathering.look(steps, tokens)

    return run_steps(
        job.steps,
        shares,
        client=graph.client,
        homes=homes,
        threads=threads.cores(),
        chunk=1 if shown.active and graph.client is None else CHUNK,
        exact=shown.active,
        after_chunk=after_chunk,
        exchange=job.plan.exchange,
        fuse=True if job.plan.free else None,
    )


def _moved(
    graph: PartitionedGraph,
    job: WorkerJob,
    columns: Any,
    homes: Sequence[str] | None,
    paused: WorkerResult,
    outcome: Outcome,
) -> list[Any]:
    """Partitions with the sizes that a paused run asks for, with their columns and the state of the run."""
    plan, analysis, workers = job.plan, job.recipes[CPU].analysis, graph.workers
    orders, names = plan.orders(analysis, graph.directed), dict(job.columns.values())
    held = partitions_by_shares(graph, tuple(names), orders, plan.round_options, paused.shares)
    shares = attach_columns(graph, analysis, held, columns, workers.where(held), anew=True)
    return workers.wait(workers.each(move_partition, [(share, *outcome.results) for share in shares]))


def _facts(plan: Plan, outcome: Outcome, moves: Sequence[str]) -> dict[str, Any]:
    """What the report says about the plan and about the run."""
    devices = sorted({row["device"] for one in outcome.summaries for row in one.rows}) or [plan.device]
    facts = {**plan.options(), "device": " and ".join(devices), "exchange": outcome.exchange}
    if plan.rebalance:
        facts |= {"rebalanced": "; ".join(moves) or "no"} | ({"repartitioned": "by speed"} if moves else {})
    return facts
