"""The plan of a run: engine, device, limits and optimizations. It is made from a user's options, given a program, a
graph and the workers; an error about an impossible choice names an alternative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from dgraph.agents.daemon_settings import CPU_AND_GPU, NO_DAEMONS, DaemonSettings, settings
from dgraph.arguments import AUTO
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.keeper import CheckpointSeries
from dgraph.cugraph.operations import OPERATIONS
from dgraph.devices.probe import CPU, CUDA, INSTALL_OR_CHOOSE, KERNEL_PACKAGES, OR_NO_DAEMON, require
from dgraph.engines.block_descent import block_descent
from dgraph.engines.bsp import bsp
from dgraph.engines.bulk_async import bulk_async
from dgraph.engines.descent.block_options import BlockOptions
from dgraph.engines.exact_sums import exact_sums
from dgraph.engines.gas import gas
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.errors import OptionError
from dgraph.options import Cuda
from dgraph.phrases.phrases import format_count
from dgraph.programs.analysis import Analysis, analyse, engines_for, obstacle
from dgraph.programs.program import VertexProgram
from dgraph.runs.run_options import CUGRAPH, LOCAL, RunOptions
from dgraph.solvers.solver import LocalMethod, Solver
from dgraph.vertex_state.switches import RoundOptions

ENGINES: dict[str, Callable] = {"bsp": bsp, "gas": gas, "bulk_async": bulk_async, "block_descent": block_descent}
ASYNCHRONOUS = ("bulk_async",)  # engines in which partitions do not wait for each other
DESCENT = "block_descent"
WITHOUT_COMMON_ROUNDS = (*ASYNCHRONOUS, DESCENT)  # engines that do not run in rounds
TASK_GRAPH = "graph"  # messages travel as edges of Dask's task graph


def refuse_without_common_rounds(engine: str, why: str) -> NoReturn:
    """Raise the error of an operation that needs rounds, for an engine that is `WITHOUT_COMMON_ROUNDS`."""
    raise OptionError(f"{engine=} is not available here: {why}; choose one of bsp, gas")


@dataclass(frozen=True)
class Plan:
    """All choices of a run. `choose` makes it, and it is sent to the workers."""

    engine: str
    device: str  # "auto" means that some workers use a GPU and the others their CPU
    max_rounds: int | None
    drop_weights: bool  # edge columns that the program never reads are neither stored nor sent (Falcon)
    round_options: RoundOptions
    local_rounds: int | None = None  # steps of a partition before it sends; None means chosen to suit the program
    settings: DaemonSettings = NO_DAEMONS  # settings of agents and daemons
    exchange: str = AUTO  # how messages travel on a cluster
    blocks: BlockOptions | None = None  # options of block descent
    checkpoints: CheckpointSeries | None = None
    rebalance: bool = False  # whether edges may move between supersteps
    local_method: LocalMethod | None = None  # how partitions reach their fixed points; None means single steps
    repartitioned: str = ""  # how partitions differ from the graph's own; empty if they do not

    def options(self) -> dict[str, Any]:
        """What the report says about the plan."""
        return {
            "engine": self.engine,
            "device": self.device,
            **self.settings.options(),
            "active vertices only": self.round_options.active_only,
            "weights dropped": self.drop_weights,
            "changed copies only": self.round_options.changed_only,
            "exchanges skipped": self.round_options.skip_exchange,
            "lazy upload": self.round_options.lazy_upload,
            "direction": self.round_options.direction,
            "deterministic": self.round_options.deterministic,
            "repartitioned": self.repartitioned or "no",
            "local rounds": self._local_rounds(),
            **(self.blocks.options() if self.blocks else {}),
        }

    def _local_rounds(self) -> str | int:
        if self.local_method:
            return "to the local fixed point"
        return self.local_rounds or ("by the program" if self.free else 1)

    @property
    def free(self) -> bool:
        """Whether partitions never wait for each other, which requires that all workers run at the same time."""
        return self.engine in ASYNCHRONOUS or (self.blocks is not None and self.blocks.free)

    @property
    def has_rounds(self) -> bool:
        """Whether there are moments between two rounds when no message is in flight."""
        return not (self.engine == LOCAL or self.free or self.blocks)

    def begun(self, rounds: Rounds) -> Superstep:
        """The engine as a generator that has not started."""
        if self.blocks is not None:
            return block_descent(rounds, self.blocks)
        if self.engine == "bulk_async":
            return bulk_async(rounds, self.local_rounds)
        return ENGINES[self.engine](rounds)

    @property
    def kernel_devices(self) -> tuple[str, ...]:
        """The devices for which kernels are generated."""
        return (CPU,) if self.device == CPU else (CPU, CUDA)

    def orders(self, analysis: Analysis, directed: bool) -> tuple[str, ...]:
        """The orders of edges that the run reads. A pull reads the rows of receiving vertices, a push those of sending
        vertices. Blocks that gather also notify others, so they read both; if a vertex sends the same change to all
        neighbours, they read only the first."""
        operator = self.blocks.operator if self.blocks else ""
        pushes_only = "push" in (operator, self.round_options.direction)
        pulls_only = analysis.synchronous and operator in ("", "pull")
        orders: list[str] = []
        for phase in analysis.phases:
            along = phase.along if directed else "out"
            pushes = {"out": ["out"], "in": ["incoming"], "both": ["out", "incoming"]}[along]
            pulls = {"out": ["incoming"], "in": ["out"], "both": ["incoming", "out"]}[along]
            orders += pulls if pulls_only else pushes if pushes_only else [*pushes, *pulls]
        return tuple(dict.fromkeys(orders))


# -- how it is chosen --------------------------------------------------------------------------------------------------


def choose(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> Plan:
    """The plan of a run. Options left open are chosen to suit the program, the graph and the workers."""
    rounds, optimizations = options.rounds, options.optimizations
    given = options.daemons or (options.device if isinstance(options.device, Cuda) else None)
    plan = Plan(
        engine=_engine(graph, program, options),
        device=device_on(graph, options),
        max_rounds=rounds.max_rounds,
        drop_weights=optimizations.drop_weights,
        round_options=_round_options(options),
        local_rounds=getattr(options.engine, "local_rounds", None),
        settings=settings(given, graph.num_parts) if given else NO_DAEMONS,
        exchange=AUTO if optimizations.direct_exchange else TASK_GRAPH,
        blocks=_blocks(options),
        checkpoints=options.checkpoint and CheckpointSeries.for_run(options.checkpoint, options.part, graph.client),
        rebalance=rounds.rebalance and graph.num_parts > 1,
    )
    if plan.rebalance:
        _check_rebalance(plan, graph)
    if plan.engine == LOCAL:
        return plan
    if plan.device == CUDA:
        require('device="cuda"', graph.workers.capabilities.lacking(KERNEL_PACKAGES), INSTALL_OR_CHOOSE)
        if plan.blocks:  # GPUs take blocks from the CPU's queue, and both compute
            plan = replace(plan, device=CPU, settings=replace(plan.settings, daemons=CPU_AND_GPU))
    elif CUDA in plan.settings.other_devices:
        graph.workers.capabilities.that_have(f"daemons={CUDA!r}", KERNEL_PACKAGES, OR_NO_DAEMON)
    plan = _complete_for(plan, analyse(program), graph.num_parts)
    return replace(plan, local_method=_local_method(graph, plan, program))


def device_on(graph: PartitionedGraph, options: RunOptions) -> str:
    """The device of a run: "auto" becomes the CPU if no worker has a GPU, or if an option works only on a CPU."""
    cpu_only = options.rounds.deterministic or options.engine == LOCAL or options.block_descent or options.daemons
    unnamed = options.device == AUTO and (cpu_only or not graph.workers.with_cuda())
    return CPU if unnamed else options.device_name


def uses_solver(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> bool:
    """Whether the program's own solver runs: it exists, the graph has one partition, and no option needs rounds."""
    if program.solver is None or graph.num_parts > 1 or options.engine != AUTO:
        return program.solver is not None and graph.num_parts == 1 and options.engine == LOCAL
    return could_use_solver(program, options) and device_on(graph, options) == CPU


def solver_orders(graph: PartitionedGraph, solver: Solver) -> tuple[str, ...]:
    """The orders of edges that a solver reads."""
    if not graph.directed:
        return ("out",)
    return solver.enough if solver.enough and graph.input_edges.streamed else solver.orders


def could_use_solver(program: VertexProgram, options: RunOptions) -> bool:
    """Whether the program's own solver would run on a CPU if the graph were one partition and the engine were
    "auto"."""
    without_rounds = options.daemons is None and options.checkpoint is None and not options.progress
    return program.solver is not None and without_rounds


def sends_changes(graph: PartitionedGraph, options: RunOptions) -> bool:
    """Whether vertices send changes of their values rather than the values, as they do on engines without rounds
    unless blocks pull."""
    if (blocks := options.block_descent) is None:
        return options.engine_name in ASYNCHRONOUS
    if blocks.operator == AUTO:
        return graph.num_parts > 1 and blocks.mode != "bsp"
    return blocks.operator == "push"


def local_method_for(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> LocalMethod | None:
    """The local method that this run would use; None if it would take single steps or use the program's solver."""
    return choose(graph, program, options).local_method


def _engine(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> str:
    """The name of the engine. "auto" means the program's own solver if possible, and otherwise "gas", which waits once
    per round ("bsp" waits up to twice)."""
    engine = options.engine_name
    if engine == CUGRAPH:
        raise OptionError(f'engine={engine!r} supports only {", ".join(OPERATIONS)}; choose engine="auto"')
    solved = uses_solver(graph, program, options)
    if engine == LOCAL and not solved:
        why = (
            "the program has no solver"
            if program.solver is None
            else f"the graph has {format_count(graph.joins or graph.num_parts, 'partition')}"
        )
        raise OptionError(f'engine="local" is not available here: {why}; choose one of auto, {", ".join(ENGINES)}')
    return engine if engine != AUTO else LOCAL if solved else "gas"


def _round_options(options: RunOptions) -> RoundOptions:
    chosen, deterministic = options.optimizations, options.rounds.deterministic
    direction = getattr(options.engine, "direction", AUTO)
    return RoundOptions(
        active_only=chosen.active_only,
        changed_only=chosen.changed_only,
        direction="pull" if deterministic and direction == AUTO else direction,  # pulling fixes the order of messages
        random_seed=options.random_seed,
        deterministic=deterministic,
        skip_exchange=chosen.skip_exchange,
        lazy_upload=chosen.lazy_upload,
    )


def _blocks(options: RunOptions) -> BlockOptions | None:
    """The options of block descent, or None for any other engine. An option that is "" is open."""
    if (descent := options.block_descent) is None:
        return None
    operator, order = ("" if one == AUTO else one for one in (descent.operator, descent.order))
    size = None if descent.block_size == AUTO else int(descent.block_size)
    return BlockOptions(operator, order, descent.mode, size)


def _complete_for(plan: Plan, analysis: Analysis, parts: int) -> Plan:
    """The plan completed for the program. Raises an error for an engine that cannot run the program, or a global value
    that cannot be deterministic."""
    suitable = [name for name in engines_for(analysis) if name in ENGINES]
    if plan.engine not in suitable:
        why = obstacle(plan.engine, analysis)
        raise OptionError(
            f"engine={plan.engine!r} cannot run {analysis.title}, which {why}; choose one of {', '.join(suitable)}"
        )
    if plan.round_options.deterministic:
        for name, (field, _) in analysis.globals.items():
            if field.dtype.kind == "f" and not field.merge.idempotent and name not in exact_sums(analysis):
                raise OptionError(
                    f"deterministic=True is not available for {field.name!r}, a {field.merge} of floats; only for sums"
                )
    if plan.blocks is None:
        return plan
    blocks = plan.blocks.completed_for(analysis, parts)
    return replace(plan, blocks=blocks.beside(plan.settings.daemons, analysis) if plan.settings.daemons else blocks)


def _check_rebalance(plan: Plan, graph: PartitionedGraph) -> None:
    """Reject `rebalance=True` if edges cannot move: without rounds, or if the user's function places them."""
    if not plan.has_rounds:
        raise OptionError(
            f"rebalance=True is not available with engine={plan.engine!r}: edges can be moved only between rounds that "
            "all workers run in step; choose gas or bsp"
        )
    if callable(graph.cut.owners):
        raise OptionError(
            "rebalance=True and a function as the policy are mutually exclusive: the function decides who owns a vertex"
        )


def _local_method(graph: PartitionedGraph, plan: Plan, program: VertexProgram) -> LocalMethod | None:
    """The program's local method, or None if rounds are single steps, because of an option or because the program
    counts rounds."""
    chosen = plan.local_rounds, plan.max_rounds, replace(plan.round_options, random_seed=0)
    if plan.blocks or chosen != (None, None, RoundOptions()) or plan.device != CPU or plan.settings.daemons:
        return None
    if program.diffuse is not None:  # checkpoints do not save its state
        sends_from_masters = graph.num_parts == 1 or graph.cut.sends_from_masters
        return program.diffuse if plan.free and plan.checkpoints is None and sends_from_masters else None
    method = None if program.solver is None else program.solver.local_method
    if method is None or method.in_rounds or "bulk_async" in engines_for(analyse(program)):
        return method
    return None
