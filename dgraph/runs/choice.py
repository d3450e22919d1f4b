"""From what a user asks to a Plan: everything is checked here, and what is impossible is refused with what to choose
instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dgraph.agents.daemon_settings import BESIDE, settings
from dgraph.checkpoint.checkpoint import CheckpointSeries
from dgraph.cugraph.operations import OPERATIONS
from dgraph.devices.probe import CPU, CUDA, KERNELS, OR_OTHERS, need
from dgraph.engines.descent.block_options import BlockOptions
from dgraph.engines.exact_sums import exact_sums
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.options import AUTO, check_choice, check_flag, check_integer, is_default
from dgraph.phrases import format_count, format_option
from dgraph.plan import CUGRAPH, DESCENT, DEVICES, ENGINES, LOCAL, WITHOUT_ROUNDS, Plan
from dgraph.programs.analysis import Analysis, analyse
from dgraph.programs.program import VertexProgram
from dgraph.programs.suitability import engines_for, obstacle
from dgraph.runs import edge_moves
from dgraph.runs.run_keywords import DIRECTIONS, OF_BLOCKS, WORDS, RunKeywords
from dgraph.solvers.solver import LocalMethod
from dgraph.supersteps.steps import EXCHANGES
from dgraph.vertex_state.switches import RoundOptions


def choose(graph: Graph, program: VertexProgram, asked: RunKeywords) -> Plan:
    """The plan of a run. Options that are open are set as suits the program, the graph and the workers."""
    plan = Plan(
        engine=_engine(graph, program, asked),
        device=check_choice("device", asked.device_on(graph), DEVICES),
        max_rounds=check_integer("max_rounds", asked.max_rounds, or_none=True),
        drop_weights=check_flag("drop_weights", asked.drop_weights),
        switches=_switches(asked),
        local_rounds=check_integer("local_rounds", asked.local_rounds, or_none=True),
        settings=settings(
            asked.daemons, asked.pipeline_block, asked.vertex_cache, asked.memory_budget, graph.num_parts
        ),
        exchange=check_choice("exchange", asked.exchange, EXCHANGES),
        blocks=_blocks(asked),
        checkpoints=CheckpointSeries.for_run(asked.checkpoint, graph.client),
        rebalance=check_flag("rebalance", asked.rebalance) and graph.num_parts > 1,
    )
    for problem in _conflicts(plan):
        raise OptionError(problem)
    if plan.rebalance:
        edge_moves.check_rebalance(plan, graph)
    if plan.engine == LOCAL:
        return plan
    if plan.device == CUDA:
        need('device="cuda"', graph.workers.abilities.lacking(KERNELS), OR_OTHERS)
        if plan.blocks:  # they take them from the CPU's queue, beside it
            plan = replace(plan, device=CPU, settings=replace(plan.settings, daemons=BESIDE))
    plan = _suited(plan, analyse(program), graph.num_parts)
    return replace(plan, local_method=_local_method(graph, plan, program))


def local_method_for(graph: Graph, program: VertexProgram, asked: RunKeywords) -> LocalMethod | None:
    """The local method that this run would take; None if it took single steps, or the program's solver."""
    return choose(graph, program, asked).local_method


def _engine(graph: Graph, program: VertexProgram, asked: RunKeywords) -> str:
    """The engine: for "auto" the program's solver if it may be taken, else "gas", which waits once a round where "bsp"
    waits up to twice."""
    engine = asked.engine
    if engine == CUGRAPH:
        raise OptionError(f'engine={engine!r} is for {", ".join(OPERATIONS)} alone; choose engine="auto"')
    solved = asked.uses_solver(graph, program)
    if engine == LOCAL and not solved:
        why = (
            "the program has no solver"
            if program.solver is None
            else f"the graph has {format_count(graph.num_parts, 'partition')}"
        )
        raise OptionError(f'engine="local" cannot be had: {why}; choose one of auto, {", ".join(ENGINES)}')
    check_choice("engine", engine, WORDS["engine"])
    return engine if engine != AUTO else LOCAL if solved else "gas"


def _switches(asked: RunKeywords) -> RoundOptions:
    direction = check_choice("direction", asked.direction, DIRECTIONS)
    deterministic = check_flag("deterministic", asked.deterministic)
    return RoundOptions(
        active_only=check_flag("active_only", asked.active_only),
        changed_only=check_flag("changed_only", asked.changed_only),
        direction="pull" if deterministic and direction == AUTO else direction,  # messages come in one order
        random_seed=check_integer("random_seed", asked.random_seed, -(2**63), 2**63 - 1),
        deterministic=deterministic,
        skip_exchange=check_flag("skip_exchange", asked.skip_exchange),
        lazy_upload=check_flag("lazy_upload", asked.lazy_upload),
    )


def _blocks(asked: RunKeywords) -> BlockOptions | None:
    """The options of block descent; None, and none of them may be given, for any other engine."""
    if asked.engine == DESCENT:
        return BlockOptions.asked({name: getattr(asked, name) for name in OF_BLOCKS})
    for name, value in asked.non_defaults(*OF_BLOCKS).items():
        if not is_default(value, AUTO):
            raise OptionError(
                f"{format_option(name, value)} is for engine={DESCENT!r}, not for engine={asked.engine!r}"
            )
    return None


def _conflicts(plan: Plan) -> Iterator[str]:
    """Options that exclude each other: a sentence for each."""
    engine, switches, settings = plan.engine, plan.switches, plan.settings
    daemons = "" if settings.direct else settings.options()["daemons"]
    if switches.deterministic and switches.direction == "push":
        yield 'direction="push" is not for deterministic=True, which gathers messages in one order: choose "pull"'
    if settings.memory_budget is not None and plan.device == CPU:
        yield f'memory_budget={settings.memory_budget} is for device="cuda", and this run is one of CPUs'
    if plan.device == CUDA:
        only = {"engine": engine if engine == LOCAL else "", "deterministic": switches.deterministic}
        for name, asked in {**only, "daemons": daemons}.items():
            if asked:
                yield f"{name}={asked!r} is for device='cpu', not for device={CUDA!r}"
    if plan.local_rounds not in (None, 1) and not plan.free:
        few = ", ".join(WITHOUT_ROUNDS)
        yield f"local_rounds={plan.local_rounds} is for {few}; engine={engine!r} takes 1"
    if plan.blocks and daemons and plan.blocks.mode != "bsp" and settings.pipeline_block not in (AUTO, None):
        yield f"pipeline_block={settings.pipeline_block} is not for engine={DESCENT!r}: choose block_size="
    if plan.free or plan.blocks or engine == LOCAL:
        for name, value in _of_common_rounds(plan, daemons).items():
            yield f"engine={engine!r} has no common rounds: {name}={value!r} cannot be had; choose gas"
    if plan.blocks and switches.direction != AUTO:
        yield f'direction={switches.direction!r} is not for engine={DESCENT!r}: choose operator="push" or "pull"'
    if plan.blocks and not plan.drop_weights:
        yield f"drop_weights=False is not for engine={DESCENT!r}: choose gas, bsp or bulk_async"
    if plan.checkpoints and engine == LOCAL:
        yield (
            f"checkpoint= is not for engine={engine!r}, which comes to no moment of which one could be made: "
            f"choose one of {', '.join(ENGINES)}"
        )
    if plan.checkpoints and daemons:
        yield 'checkpoint= is for daemons="in process": others keep a part of the run to themselves'


def _of_common_rounds(plan: Plan, daemons: Any) -> dict[str, Any]:
    """The options given that need common rounds, for an engine that has none."""
    switches, asked = plan.switches, dict[str, Any]()
    if plan.max_rounds is not None:
        asked["max_rounds"] = plan.max_rounds
    if switches.deterministic:
        asked["deterministic"] = True
    usual = ["active_only", "changed_only", "skip_exchange"]
    if plan.blocks or plan.engine == LOCAL:
        usual.append("lazy_upload")
    asked |= {name: False for name in usual if not getattr(switches, name)}
    if plan.engine == LOCAL:
        more = {"direction": switches.direction, "drop_weights": plan.drop_weights, "daemons": daemons or AUTO}
        asked |= {name: value for name, value in more.items() if value not in (AUTO, True)}
    return asked


def _suited(plan: Plan, analysis: Analysis, parts: int) -> Plan:
    """The plan completed for the program; refuses an engine that cannot run it, and global values that cannot be
    deterministic."""
    fitting = [name for name in engines_for(analysis) if name in ENGINES]
    if plan.engine not in fitting:
        why = obstacle(plan.engine, analysis)
        raise OptionError(
            f"engine={plan.engine!r} cannot run {analysis.title}, which {why}; choose one of {', '.join(fitting)}"
        )
    if plan.switches.deterministic:
        for name, (field, _) in analysis.globals.items():
            if field.dtype.kind == "f" and not field.merge.idempotent and name not in exact_sums(analysis):
                raise OptionError(
                    f"deterministic=True cannot fold {field.name!r}, a {field.merge} of floats; only sums of them"
                )
    if plan.blocks is None:
        return plan
    blocks = plan.blocks.suited(analysis, parts)
    return replace(plan, blocks=blocks if plan.settings.direct else blocks.beside(plan.settings.daemons, analysis))


def _local_method(graph: Graph, plan: Plan, program: VertexProgram) -> LocalMethod | None:
    """The program's local method. None where rounds are single steps: because an option asks for that, or because the
    program counts rounds."""
    asked = plan.local_rounds, plan.max_rounds, replace(plan.switches, random_seed=0)
    if plan.blocks or asked != (None, None, RoundOptions()) or plan.device != CPU or not plan.settings.direct:
        return None
    if program.diffuse is not None:  # no checkpoint has what it keeps
        sends_from_masters = graph.num_parts == 1 or graph.cut.sends_from_masters
        return program.diffuse if plan.free and plan.checkpoints is None and sends_from_masters else None
    found = None if program.solver is None else program.solver.local_method
    if found is None or found.in_rounds or "bulk_async" in engines_for(analyse(program)):
        return found
    return None
