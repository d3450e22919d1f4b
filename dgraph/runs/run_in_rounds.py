"""The client's side of a run in rounds: all workers take steps until the run ends. If edges move during the run, it
continues on new partitions; if it takes very many rounds, one worker may finish it with the program's own solver."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.arguments import AUTO
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.scheduler import hearing_of_silence
from dgraph.codegen.recipe import Recipe, recipe_of
from dgraph.devices.probe import CPU
from dgraph.engines.round_limits import Patience, has_bound, passes_best
from dgraph.errors import EndlessWarning, OptionError, RoomError, SumError
from dgraph.estimates.footprints import footprint_of
from dgraph.estimates.memory_check import check_build_memory, check_run_memory
from dgraph.exchange.mail import Token
from dgraph.native import threads
from dgraph.partition.policies import PartitionOptions
from dgraph.phrases.phrases import warn
from dgraph.programs.analysis import Analysis, analyse, parameter_values
from dgraph.programs.program import VertexProgram
from dgraph.runs.job import WorkerJob, move_partition
from dgraph.runs.plan import WITHOUT_COMMON_ROUNDS, Plan, could_use_solver, solver_orders
from dgraph.runs.progress import Progress
from dgraph.runs.repartition import can_reverse, neighbourhood_partitions, partitions_by_shares
from dgraph.runs.result import RunResult
from dgraph.runs.result_column import ResultColumn
from dgraph.runs.resumption import checkpoints_for, forget
from dgraph.runs.run_options import RunOptions
from dgraph.runs.solver_run import solve
from dgraph.runs.vertex_columns import attach_columns
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import CHUNK, Outcome, is_done
from dgraph.tables.vertex_tables import bytes_per_vertex

BUILD_STEPS = ("place", "partition", "transpose")  # the steps that a move repeats
SECONDS_AN_EDGE = 1e-7  # the assumed time of a move, if those steps were not timed
# A run is gathered after FEWEST_STEPS steps, and one more for every EDGES_A_STEP edges, or after each worker has read
# all edges MOST_LOOKS times, since gathering takes about as long. On a graph that was gathered before, it takes
# FEWER_ONCE_DONE times fewer steps; a program that was gathered before takes none.
FEWEST_STEPS, EDGES_A_STEP, MOST_LOOKS, FEWER_ONCE_DONE = 40, 1 << 16, 8, 4
SMALL_GRAPH = 1 << 21  # edges that a thread reads in less time than an almost empty step takes

_one_partition_graphs: WeakKeyDictionary[PartitionedGraph, PartitionedGraph] = WeakKeyDictionary()
_programs_of_many_rounds: WeakKeyDictionary[PartitionedGraph, set[type[VertexProgram]]] = WeakKeyDictionary()


def in_rounds(
    graph: PartitionedGraph,
    program: VertexProgram,
    options: RunOptions,
    columns: Mapping[str, Any],
    plan: Plan,
    shown: Progress,
    silent: Sequence[str] = (),
) -> RunResult:
    """Run a plan in rounds: build partitions, take steps on the workers, make the result. `silent` lists the workers
    that have not answered in earlier attempts; the caller may add more during this one."""
    with hearing_of_silence(shown.silent):
        shown.prepare("building partitions")
        recipes = _recipes(graph, program, plan)
        gathering = OneWorkerFinish(graph, program, options, columns, plan)
        outcome: Outcome | None = None  # stays None if one worker should finish the run
        if not gathering.was_due:
            job, shares, homes = _job(graph, program, columns, plan, recipes)
            watch, moves = Watch(job.patience), EdgeMoves()
            shown.prepare("the first superstep, which compiles kernels that are new")

            def after_chunk(steps: int, tokens: Sequence[Token]) -> int | None:
                shown.after_chunk(tokens)
                watch.after_chunk(tokens)
                return gathering.look(steps, tokens)

            with naming_vertices(graph):
                while True:
                    outcome = run_steps(
                        job.steps,
                        shares,
                        client=graph.client,
                        homes=homes,
                        threads=threads.cores(),
                        chunk=1 if shown.active and graph.client is None else CHUNK,
                        exact=shown.active,
                        after_chunk=after_chunk,
                        exchange=plan.exchange,
                        fuse=True if plan.free else None,
                    )
                    if outcome is None or not outcome.summaries[0].shares:
                        break
                    shares = moves.move(graph, job, columns, outcome)
                    job = replace(job, round=outcome.summaries[0].rounds)
        result = gathering.solve() if outcome is None else _result(graph, job, outcome, moves, silent)
        shown.end(result.rounds)
    return result


def _job(
    graph: PartitionedGraph, program: VertexProgram, columns: Mapping[str, Any], plan: Plan, recipes: dict[str, Recipe]
) -> tuple[WorkerJob, Sequence[Any], list[str] | None]:
    """What workers do, the partitions that they do it with, and where these are."""
    analysis = recipes[CPU].analysis
    partitions, edge_columns, plan = _partitions_for(graph, analysis, plan)
    homes = graph.workers.where(partitions)
    shares = partitions
    if columns or analysis.attributes:
        shares = attach_columns(graph, analysis, partitions, columns, homes, anew=bool(plan.repartitioned))
    check_run_memory(graph, partitions, recipes[CPU], bytes_per_vertex(recipes[CPU]), plan.local_method)
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
        cost=move_cost(graph) if plan.rebalance else None,
        gpus=frozenset(graph.workers.with_cuda() if plan.device != CPU else ()),
        title=program.title,
    )
    return job, shares, homes


def _result(
    graph: PartitionedGraph, job: WorkerJob, outcome: Outcome, moves: EdgeMoves, silent: Sequence[str]
) -> RunResult:
    summaries, plan = outcome.summaries, job.plan
    summaries[0].rows = moves.rows + summaries[0].rows
    devices = sorted({row["device"] for one in summaries for row in one.rows}) or [plan.device]
    facts = {**plan.options(), "device": " and ".join(devices)}
    facts |= {"exchange": outcome.exchange, "mail route": outcome.mail_route}
    if plan.rebalance:
        facts |= {"rebalanced": "; ".join(moves.told) or "no"} | ({"repartitioned": "by speed"} if moves.told else {})
    if silent:
        facts["silent workers"] = ", ".join(dict.fromkeys(silent))
    results = job.recipes[CPU].analysis.vertex_results
    result = RunResult(graph, outcome.results, results, facts, summaries=summaries)
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
        (vertex,) = np.asarray(ids.restored(np.array([error.number]))).tolist()
        raise SumError(error.program, error.number, vertex) from error


def _recipes(graph: PartitionedGraph, program: VertexProgram, plan: Plan) -> dict[str, Recipe]:
    """The program's kernels for each device, with the values of its parameters (vertices as numbers)."""
    operator = plan.blocks.operator if plan.blocks else None
    values = parameter_values(program, lambda vertex: graph.numbering.find(vertex))
    recipes = {
        device: recipe_of(program, device, operator, plan.settings.other_devices) for device in plan.kernel_devices
    }
    for device, recipe in recipes.items():
        if (
            plan.round_options.direction == "push"
            and program.kind == "accumulative"
            and "push" not in recipe.source.kernels
        ):
            merges = ", ".join(f"{one.merge} of {one.dtype.name}" for one in program.phases[0].messages)
            raise OptionError(
                f'direction="push" is not available with device={device!r} and {merges}; choose "pull" or "auto"'
            )
    return {device: replace(recipe, values=values) for device, recipe in recipes.items()}


# -- partitions --------------------------------------------------------------------------------------------------------


def _partitions_for(
    graph: PartitionedGraph, analysis: Analysis, plan: Plan
) -> tuple[Sequence[Any], dict[str, tuple[str, str]], Plan]:
    """Partitions with the columns that the program reads. They are rebuilt if it merges whole neighbourhoods."""
    columns = graph.columns_for(analysis)
    kept = tuple(name for name, _ in columns.values())
    if not plan.drop_weights and graph.weight is not None:
        kept = tuple(dict.fromkeys([*kept, graph.weight]))
    orders = plan.orders(analysis, graph.directed)
    anew, twice = _needs_neighbourhoods(graph, analysis, gathers=plan.blocks is not None and plan.blocks.gathers)
    in_order = plan.round_options.deterministic
    if not anew and not in_order:
        return graph.partitioned(orders, kept).held, columns, plan
    cut = "to an incoming cut" + (" with every edge at both of its ends" if twice else "")
    cut = "" if can_reverse(graph, in_order=in_order) else cut
    held = neighbourhood_partitions(graph, kept, orders, twice=twice, in_order=in_order)
    return (
        held,
        columns,
        replace(plan, round_options=replace(plan.round_options, whole=True, twice=twice), repartitioned=cut),
    )


def _needs_neighbourhoods(graph: PartitionedGraph, analysis: Analysis, *, gathers: bool) -> tuple[bool, bool]:
    """Whether a program cannot run on the graph's own partitions, and whether it needs each edge at both ends. With
    `gathers`, every vertex gathers over all its edges, whatever the merge."""
    alongs = {phase.along if graph.directed else "out" for phase in analysis.phases}
    gathers |= not all(phase.combines for phase in analysis.phases)
    twice = alongs != {"out"}
    return gathers and graph.num_parts > 1 and (twice or not graph.cut.gathers_at_masters), twice


# -- edges that move ---------------------------------------------------------------------------------------------------


class EdgeMoves:
    """The moves of edges during a run, and the report up to the last one."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.told: list[str] = []

    def move(self, graph: PartitionedGraph, job: WorkerJob, columns: Any, outcome: Outcome) -> list[Any]:
        """Partitions with the sizes that a paused run asks for, with their columns and the state of the run."""
        begun = time.perf_counter()
        self.rows += [row for one in outcome.summaries for row in one.rows]
        paused, plan, analysis, workers = outcome.summaries[0], job.plan, job.recipes[CPU].analysis, graph.workers
        orders, names = plan.orders(analysis, graph.directed), dict(job.columns.values())
        held = partitions_by_shares(graph, tuple(names), orders, plan.round_options, paused.shares)
        shares = attach_columns(graph, analysis, held, columns, workers.where(held), anew=True)
        shares = workers.wait(workers.each(move_partition, [(share, *outcome.results) for share in shares]))
        split = " : ".join(f"{share / sum(paused.shares):.0%}" for share in paused.shares)
        seconds = time.perf_counter() - begun
        self.told.append(f"after superstep {paused.rounds} to {split} of the work, in {seconds:.2g} s")
        return shares


def move_cost(graph: PartitionedGraph) -> float:
    """The estimated seconds of a move, which equal the time that it took to build the partitions."""
    return (
        sum(graph.input_edges.stopwatch.seconds.get(step, 0.0) for step in BUILD_STEPS)
        or graph.num_edges * SECONDS_AN_EDGE
    )


# -- runs that may never end -------------------------------------------------------------------------------------------


def patience_for(program: VertexProgram, analysis: Analysis, plan: Plan, vertices: int) -> Patience | None:
    """How long a user's program may run. None if something bounds it, or if it is an operation, which is known to
    end."""
    if program.operation or plan.max_rounds is not None or has_bound(analyse(program).stop):
        return None
    in_rounds = plan.engine not in WITHOUT_COMMON_ROUNDS
    return Patience(analysis.title, vertices, in_rounds, in_rounds and passes_best(analysis))


class Watch:
    """Warns once about a run in rounds that may never end. A run without rounds offers no moment to check it."""

    def __init__(self, patience: Patience | None):
        self.patience, self.begun = patience, time.monotonic()

    def after_chunk(self, tokens: Sequence[Token]) -> None:
        """Called with the tokens of all workers after each chunk of steps."""
        if self.patience is None:
            return
        rounds = max(token.values["round"] for token in tokens)
        if self.patience.doubts(rounds, time.monotonic() - self.begun):
            warn(f"{self.patience.doubt(rounds)}. {self.patience.remedy}", EndlessWarning)
            self.patience = None


# -- runs that one worker finishes -------------------------------------------------------------------------------------


class OneWorkerFinish:
    """Decides whether and when a run is gathered on one worker."""

    def __init__(
        self,
        graph: PartitionedGraph,
        program: VertexProgram,
        options: RunOptions,
        columns: Mapping[str, Any],
        plan: Plan,
    ):
        self.graph, self.program, self.options, self.columns = graph, program, options, columns
        reads_results = any(isinstance(column, ResultColumn) for column in columns.values())
        analysis = analyse(program)
        as_many_rounds = analysis.synchronous and analysis.stop is not None  # whether one worker takes as many rounds
        small = graph.input_edges.num_arcs <= SMALL_GRAPH * graph.workers.threads
        open_to_it = options.engine == AUTO and plan.device == CPU and could_use_solver(program, options)
        self.allowed = (small or not as_many_rounds) and open_to_it and not reads_results

    @property
    def was_due(self) -> bool:
        """Whether an earlier run of the same program was gathered."""
        return self.allowed and type(self.program) in _programs_of_many_rounds.get(self.graph, ())

    def look(self, steps: int, tokens: Sequence[Token]) -> int | None:
        """Called between steps. Returns the number of steps after which to call it again at the latest; 0 if the run
        should stop here and start again on one worker; None if that will not happen."""
        arcs, edges_read = self.graph.input_edges.num_arcs, sum(token.values["edges"] for token in tokens)
        left = (FEWEST_STEPS + arcs // EDGES_A_STEP) // (
            FEWER_ONCE_DONE if self.graph in _one_partition_graphs else 1
        ) - steps
        endless = left <= 0 or edges_read > MOST_LOOKS * len(tokens) * arcs
        if self.allowed and endless and not is_done(tokens):
            try:
                orders = solver_orders(self.graph, self.program.solver)
                check_build_memory(
                    as_one_partition(self.graph), "bringing the graph together", footprint_of(orders, ())
                )
            except RoomError:
                self.allowed = False
            else:
                _programs_of_many_rounds.setdefault(self.graph, set()).add(type(self.program))
                return 0
        return max(left, 1) if self.allowed else None

    def solve(self) -> RunResult:
        """The result, computed on one worker. If that worker is lost, the run starts again."""
        result = solve(as_one_partition(self.graph), self.program, self.columns, self.options.random_seed)
        result.report.options["gathered"] = "on one worker, after many rounds"
        return result


def as_one_partition(graph: PartitionedGraph) -> PartitionedGraph:
    """The same graph as one partition, which is cached as long as the graph lives."""
    if graph.num_parts == 1:  # the values of a gathered run are being recomputed
        return graph
    if graph not in _one_partition_graphs:
        _one_partition_graphs[graph] = PartitionedGraph(graph.input_edges.anew(), PartitionOptions(parts=1))
        _one_partition_graphs[graph].joins = graph.joins
    return _one_partition_graphs[graph]
