"""The door into execution: from a program and a graph to a result, in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dgraph.codegen.recipe import Recipe, recipe_of
from dgraph.devices.probe import CPU
from dgraph.errors import OptionError, RunError
from dgraph.estimates.memory_check import check_run_memory
from dgraph.graph import Graph
from dgraph.options import known_options
from dgraph.plan import LOCAL, Plan
from dgraph.programs.program import VertexProgram
from dgraph.runs import edge_moves
from dgraph.runs.choice import choose
from dgraph.runs.early_end_warnings import warn_unsent
from dgraph.runs.job import WorkerJob
from dgraph.runs.one_worker_finish import OneWorkerFinish
from dgraph.runs.progress import Progress, check_progress
from dgraph.runs.result import RunResult, lasting
from dgraph.runs.resumption import checkpoints_for, forget, forgetting
from dgraph.runs.run_in_rounds import RoundsDriver
from dgraph.runs.run_inputs import parameters_of, partitions_for, vertex_columns_of
from dgraph.runs.run_keywords import RunKeywords
from dgraph.runs.solver_run import solve
from dgraph.runs.vertex_columns import GivenColumns, attach_columns, check_columns
from dgraph.runs.worker_results import WorkerResult
from dgraph.supersteps.steps import Outcome


@known_options()
def run(
    graph: Graph,
    program: VertexProgram,
    *,
    engine: str = "auto",
    device: str = "auto",
    max_rounds: int | None = None,
    random_seed: int = 0,
    columns: GivenColumns | None = None,
    progress: bool | Callable[[dict[str, Any]], Any] | None = None,
    direction: str = "auto",
    active_only: bool = True,
    drop_weights: bool = True,
    changed_only: bool = True,
    skip_exchange: bool = True,
    lazy_upload: bool = True,
    exchange: str = "auto",
    local_rounds: int | None = None,
    deterministic: bool = False,
    checkpoint: Any = None,
    rebalance: bool = False,
    daemons: Any = "auto",
    pipeline_block: int | str | None = "auto",
    vertex_cache: int | str = "auto",
    memory_budget: int | None = None,
    block_size: int | str | None = None,
    order: str | None = None,
    mode: str | None = None,
    operator: str | None = None,
) -> RunResult:
    """Run a vertex program on a graph, on the cluster that holds the graph or in this process.

    engine:       "bsp" (send, merge, apply), "gas" (merge, apply, send), "bulk_async" (each partition at its own pace),
                  "block_descent" (a block of vertices at a time); of one partition "local" (the program's own solver);
                  or "auto": whichever is quickest.
    device:       "cpu", "cuda" (an NVIDIA GPU of each worker), or "auto": each worker takes a GPU if it has one, else
                  its CPU; what only CPUs can do is done there.
    max_rounds:   stop after so many rounds; by default the program says when.
    random_seed:  random choices depend on it, the round and the vertex alone.
    columns:      values of the vertex columns that the program reads, as {column: {vertex: value}}, {column: array in
                  ascending order of the vertices}, or {column: result.column(name)} of an earlier run, which stays
                  where it is; by default the graph's own.
    progress:     True, False, a function that is given a dict of counts, or None: shown on a terminal and in notebooks.
    direction:    "push" messages along the edges of those who send, "pull" them from all edges, or "auto": whichever is
                  quicker in each round.
    active_only, drop_weights, changed_only, skip_exchange, lazy_upload: optimisations, on by default; the answer is the
                  same without them. `skip_exchange`: rounds that concern one partition each follow one another without
                  an exchange. `lazy_upload`: a change travels only to where it will be read in the next round, and
                  messages stay with a daemon until a round's blocks are done, if that does no harm.
    exchange:     how values travel on a cluster: from worker to worker ("workers"), which takes plugins of Dask; as
                  edges of the task graph ("graph"), slower; or "auto": as the cluster allows.
    local_rounds: how many steps a partition takes by itself before others hear of it; only "bulk_async" takes more than
                  one. By default one, or where messages merge like minima, as many as leave nothing to do: on
                  "bulk_async", and wherever the operation brings an algorithm that gets there at once.
    deterministic: sums of floats are the same to the last bit for any number of partitions, workers and threads. It
                  takes partitions of its own, in which every vertex has all its edges, in one order.
    checkpoint:   a folder or URL: every 10 supersteps the run is written there, and goes on from there if it is started
                  again, or a worker is lost; or a `dgraph.Checkpoint`: how often, or in the memory of the workers.
    rebalance:    edges move between supersteps where the measured imbalance of the workers costs more than the move;
                  the report says when, and what it took.
    daemons:      who computes on each worker: "in process" (the default), "own process" (isolated: when it dies or
                  hangs it is started again and the run goes on), "cuda" or "cuda own process" (a GPU beside a CPU
                  worker), a list of kinds that take blocks of edges from one queue, or {number of a worker: such a
                  list}. A daemon lives on after the run, for the next. On "block_descent" the CPU takes blocks of
                  vertices beside them if "in process" is in the list; device="cuda" stands for ["in process", "cuda"].
    pipeline_block: how many edges a block has on its way to a daemon and back; "auto": as the measured costs say; None:
                  one block, one stage after the other. This and what follows is not for daemons="in process".
    vertex_cache: bytes of vertices that a daemon keeps between blocks and rounds, 0 for none.
    memory_budget: bytes of a GPU that a worker may use, by default all. Edges that find no room pass through it in
                  blocks of `pipeline_block` edges, each round; partitions that do fit stay.
    block_size, order, mode, operator: "block_descent" only. How many vertices are brought up to date at a time (a power
                  of two is taken, or "auto"); "priority", the block with most to gain before others, or "cyclic": by
                  default the first where blocks push (where they pull and read a global value, as PageRank's do, it
                  cannot be had); how workers wait for each other: "async", never (partitions that pull: after an
                  epoch), "barrier", after a block each (partitions: after an epoch), "bsp", after all blocks (then the
                  rest is no matter); a block's vertices "pull" from all their in-edges, "push" what
                  has changed along their out-edges (a synchronous program: if floats add up, on one partition), or
                  "pull_push": write to a slot for each edge, read in order.
    """
    asked = RunKeywords(**{name: value for name, value in locals().items() if name not in ("graph", "program")})
    if not isinstance(program, VertexProgram):
        raise OptionError(f"{program!r} is no program: pass an object of a class derived from dgraph.VertexProgram")
    check_progress(progress)
    check_columns(columns)
    plan = choose(graph, program, asked)
    if plan.engine == LOCAL:
        return lasting(graph, partial(solve, program=program, plan=plan, columns=columns or {}), columns)
    work = partial(_in_rounds, program=program, asked=asked)  # without the graph, which a result must not keep
    again = partial(work, plan=replace(plan, rebalance=False), progress=False)
    with forgetting(graph, plan.checkpoints):
        found = lasting(graph, partial(work, plan=plan, progress=progress), columns, again)
    warn_unsent(program, found)
    return found


def _recipes(graph: Graph, program: VertexProgram, plan: Plan) -> dict[str, Recipe]:
    """The program's kernels for each device, with the values of its parameters (vertices by number)."""
    values, operator = parameters_of(graph, program), plan.blocks.operator if plan.blocks else None
    bare = {device: recipe_of(program, device, operator, plan.settings.others) for device in plan.kernels_for}
    for device, recipe in bare.items():
        if plan.switches.direction == "push" and program.kind == "accumulative" and "push" not in recipe.source.kernels:
            merges = ", ".join(str(message.merge) for message in program.phases[0].messages)
            raise OptionError(f'direction="push" is not for device={device!r} and {merges}: choose "pull" or "auto"')
    return {device: replace(recipe, values=values) for device, recipe in bare.items()}


def _in_rounds(
    graph: Graph, program: VertexProgram, asked: RunKeywords, plan: Plan, progress: bool | Callable | None
) -> RunResult:
    """Run a plan in rounds: build partitions, take steps on the workers, make the result."""
    columns, recipes = asked.columns or {}, _recipes(graph, program, plan)
    gathering = OneWorkerFinish(graph, program, asked, plan)
    if gathering.was_due:
        return gathering.solve()
    recipe = recipes[CPU]
    partitions, edge_columns, plan = partitions_for(graph, recipe.analysis, plan)
    homes = graph.workers.where(partitions)
    given = attach_columns(graph, recipe.analysis, partitions, columns, homes, anew=bool(plan.repartitioned))
    check_run_memory(graph, partitions, recipe, plan.local_method)
    checkpoints = checkpoints_for(graph, recipe, plan, given)
    cores = graph.workers.kernel_threads(len(partitions))
    cost = edge_moves.move_cost(graph) if plan.rebalance else None
    gpus = frozenset(graph.workers.abilities.with_cuda if plan.device != CPU else ())
    job = WorkerJob(
        recipes, plan, graph.directed, graph.num_vertices, edge_columns, cores, checkpoints, cost, gpus=gpus
    )
    try:
        with Progress.of(progress) as shown:
            course = RoundsDriver(graph, job, columns, homes, shown, gathering)
            outcome, told, moves = course.to_the_end(given)
    except RunError:
        if not gathering.due:
            raise
        return gathering.solve()
    options = _options(plan, outcome, told, moves)
    found = RunResult(graph, outcome.results, vertex_columns_of(recipe.analysis), options, told=told)
    if checkpoints is not None:  # nobody will go on from there
        forget(graph, checkpoints.store)
    return found


def _options(plan: Plan, outcome: Outcome, told: Sequence[WorkerResult], moves: Sequence[str]) -> dict[str, Any]:
    """What the report says of the plan, and of what became of it."""
    devices = sorted({row["device"] for found in told for row in found.rows}) or [plan.device]
    options = {**plan.options(), "device": " and ".join(devices), "exchange": outcome.exchange}
    if plan.rebalance:
        options |= {"rebalanced": "; ".join(moves) or "no"} | ({"repartitioned": "by speed"} if moves else {})
    return options
