"""Turns a user's options into a Plan. All options are checked here, and an error for an impossible choice names an
alternative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dgraph.agents.daemon_settings import CPU_AND_GPU, DaemonSettings, settings
from dgraph.arguments import AUTO
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.checkpoint import CheckpointSeries
from dgraph.cugraph.operations import OPERATIONS
from dgraph.devices.probe import CPU, CUDA, INSTALL_OR_CHOOSE, KERNEL_PACKAGES, require
from dgraph.engines.descent.block_options import BlockOptions
from dgraph.engines.global_values import exact_sums
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_count
from dgraph.plan import CUGRAPH, DESCENT, ENGINES, LOCAL, Plan
from dgraph.programs.analysis import Analysis, analyse, engines_for, obstacle
from dgraph.programs.program import VertexProgram
from dgraph.runs import edge_moves
from dgraph.runs.option_values import Daemons
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.solver import LocalMethod
from dgraph.vertex_state.switches import RoundOptions


def choose(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> Plan:
    """The plan of a run. Options left open are chosen to suit the program, the graph and the workers."""
    optimisations = options.optimisations
    plan = Plan(
        engine=_engine(graph, program, options),
        device=options.device_on(graph),
        max_rounds=None if options.max_rounds is None else int(options.max_rounds),
        drop_weights=optimisations.drop_weights,
        round_options=_switches(options),
        local_rounds=options.steps_alone,
        settings=_settings(options, graph.num_parts),
        exchange=optimisations.exchange,
        blocks=_blocks(options),
        checkpoints=None if options.checkpoint is None else CheckpointSeries.for_run(options.checkpoint, graph.client),
        rebalance=bool(options.rebalance) and graph.num_parts > 1,
    )
    for problem in _conflicts(plan):
        raise OptionError(problem)
    if plan.rebalance:
        edge_moves.check_rebalance(plan, graph)
    if plan.engine == LOCAL:
        return plan
    if plan.device == CUDA:
        require('device="cuda"', graph.workers.capabilities.lacking(KERNEL_PACKAGES), INSTALL_OR_CHOOSE)
        if plan.blocks:  # GPUs take blocks from the CPU's queue, and both compute
            plan = replace(plan, device=CPU, settings=replace(plan.settings, daemons=CPU_AND_GPU))
    plan = _complete_for(plan, analyse(program), graph.num_parts)
    return replace(plan, local_method=_local_method(graph, plan, program))


def local_method_for(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> LocalMethod | None:
    """The local method that this run would use; None if it would take single steps, or use the program's solver."""
    return choose(graph, program, options).local_method


def _engine(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> str:
    """The engine. "auto" means the program's own solver if possible, and "gas" otherwise: it waits once per round,
    "bsp" up to twice."""
    engine = options.engine_name
    if engine == CUGRAPH:
        raise OptionError(f'engine={engine!r} supports only {", ".join(OPERATIONS)}; choose engine="auto"')
    solved = options.solves(graph, program)
    if engine == LOCAL and not solved:
        why = (
            "the program has no solver"
            if program.solver is None
            else f"the graph has {format_count(graph.num_parts, 'partition')}"
        )
        raise OptionError(f'engine="local" is not available here: {why}; choose one of auto, {", ".join(ENGINES)}')
    return engine if engine != AUTO else LOCAL if solved else "gas"


def _switches(options: RunOptions) -> RoundOptions:
    chosen, deterministic = options.optimisations, options.deterministic
    return RoundOptions(
        active_only=chosen.active_only,
        changed_only=chosen.changed_only,
        direction="pull" if deterministic and chosen.direction == AUTO else chosen.direction,  # a fixed message order
        random_seed=int(options.random_seed),
        deterministic=deterministic,
        skip_exchange=chosen.skip_exchange,
        lazy_upload=chosen.lazy_upload,
    )


def _settings(options: RunOptions, workers: int) -> DaemonSettings:
    """The settings of agents and daemons."""
    daemons = options.daemons
    if not isinstance(daemons, Daemons):
        return settings(daemons, options.pipeline_block, AUTO, options.memory_budget, workers)
    return settings(daemons.kinds, daemons.block, daemons.cache, options.memory_budget, workers)


def _blocks(options: RunOptions) -> BlockOptions | None:
    """The options of block descent, or None for any other engine; "" leaves an option open."""
    if (descent := options.block_descent) is None:
        return None
    named = descent.operator, descent.order, descent.mode
    operator, order, mode = ("" if one in (AUTO, None) else str(one) for one in named)
    size = None if descent.block_size in (AUTO, None) else int(descent.block_size)
    return BlockOptions(operator, order, mode or "async", size)


def _conflicts(plan: Plan) -> Iterator[str]:
    """An error message for each conflict between options."""
    engine, switches, settings = plan.engine, plan.round_options, plan.settings
    daemons = "" if settings.without_daemons else settings.options()["daemons"]
    if switches.deterministic and switches.direction == "push":
        yield (
            'direction="push" and deterministic=True are mutually exclusive, because messages are then gathered in a '
            'fixed order; choose "pull"'
        )
    if plan.device == CUDA:
        only = {"engine": engine if engine == LOCAL else "", "deterministic": switches.deterministic}
        for name, value in {**only, "daemons": daemons}.items():
            if value:
                yield f"{name}={value!r} is not available with device={CUDA!r}; choose device='cpu'"
    if plan.local_rounds not in (None, 1) and not plan.free:
        yield f"local_rounds={plan.local_rounds} is not available with engine={engine!r}; choose bulk_async"
    if plan.blocks and daemons and plan.blocks.mode != "bsp" and settings.pipeline_block not in (AUTO, None):
        yield f"pipeline_block={settings.pipeline_block} is not available with engine={DESCENT!r}; choose block_size="
    if plan.free or plan.blocks or engine == LOCAL:
        for name, value in _for_common_rounds(plan, daemons).items():
            yield f"{name}={value!r} is not available with engine={engine!r}, which has no common rounds; choose gas"
    if plan.blocks and switches.direction != AUTO:
        yield (
            f"direction={switches.direction!r} is not available with engine={DESCENT!r}; "
            'choose operator="push" or "pull"'
        )
    if plan.blocks and not plan.drop_weights:
        yield f"drop_weights=False is not available with engine={DESCENT!r}; choose gas, bsp or bulk_async"
    if plan.checkpoints and engine == LOCAL:
        yield (
            f"checkpoint= is not available with engine={engine!r}, which does not pause to write one; "
            f"choose one of {', '.join(ENGINES)}"
        )
    if plan.checkpoints and daemons:
        yield (
            f"checkpoint= and daemons={daemons!r} are mutually exclusive, because such daemons hold a part of the "
            'state; choose daemons="in process"'
        )


def _for_common_rounds(plan: Plan, daemons: str) -> dict[str, Any]:
    """The options of a plan without common rounds that need them."""
    usual: dict[str, Any] = {"max_rounds": None, "deterministic": False}
    usual |= {"active_only": True, "changed_only": True, "skip_exchange": True}
    if plan.blocks or plan.engine == LOCAL:
        usual["lazy_upload"] = True
    if plan.engine == LOCAL:
        usual |= {"direction": AUTO, "drop_weights": True, "daemons": ""}
    chosen = {**vars(plan.round_options), **vars(plan), "daemons": daemons}
    return {name: chosen[name] for name, value in usual.items() if chosen[name] != value}


def _complete_for(plan: Plan, analysis: Analysis, parts: int) -> Plan:
    """The plan completed for the program. An engine that cannot run the program, or a global value that cannot be
    deterministic, raises an error."""
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
    return replace(
        plan, blocks=blocks if plan.settings.without_daemons else blocks.beside(plan.settings.daemons, analysis)
    )


def _local_method(graph: PartitionedGraph, plan: Plan, program: VertexProgram) -> LocalMethod | None:
    """The program's local method. None if rounds are single steps, because of an option or because the program counts
    rounds."""
    chosen = plan.local_rounds, plan.max_rounds, replace(plan.round_options, random_seed=0)
    if plan.blocks or chosen != (None, None, RoundOptions()) or plan.device != CPU or not plan.settings.without_daemons:
        return None
    if program.diffuse is not None:  # checkpoints do not save its state
        sends_from_masters = graph.num_parts == 1 or graph.cut.sends_from_masters
        return program.diffuse if plan.free and plan.checkpoints is None and sends_from_masters else None
    method = None if program.solver is None else program.solver.local_method
    if method is None or method.in_rounds or "bulk_async" in engines_for(analyse(program)):
        return method
    return None
