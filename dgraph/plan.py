"""What was chosen for a run: engine, device, limits, and the optimisations that are on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dgraph.agents.settings import DIRECT, Settings
from dgraph.analysis import Analysis
from dgraph.codegen.explain import engines_for, obstacle
from dgraph.engines.block_descent import block_descent
from dgraph.engines.bsp import bsp
from dgraph.engines.bulk_async import bulk_async
from dgraph.engines.cugraph import OPERATIONS
from dgraph.engines.gas import gas
from dgraph.errors import OptionError
from dgraph.exact import exact_sums
from dgraph.graph import Graph
from dgraph.options import one_of, switch, whole_number
from dgraph.program import VertexProgram
from dgraph.solvers.solver import Settle
from dgraph.states.blocks import Blocks
from dgraph.states.state import Switches

ENGINES: dict[str, Callable] = {"bsp": bsp, "gas": gas, "bulk_async": bulk_async, "block_descent": block_descent}
WITHOUT_ROUNDS = ("bulk_async",)  # engines in which partitions do not wait for each other
DESCENT = "block_descent"
CUGRAPH = "cugraph"  # not an engine of programs: operations are handed over before there is one
LOCAL = "local"  # not an engine: the operation's own solver, where the graph is one partition
AUTO, CPU, CUDA = "auto", "cpu", "cuda"
DEVICES = (AUTO, CPU, CUDA)

# Options of `run` that only rounds can obey, and what they are where nothing was asked.
OF_ROUNDS: dict[str, Any] = {
    "max_rounds": None,
    "local_rounds": None,
    "direction": "auto",
    "active_only": True,
    "drop_weights": True,
    "changed_only": True,
    "skip_exchange": True,
    "deterministic": False,
    "exchange": "auto",
}


@dataclass(frozen=True)
class Plan:
    """`repartitioned` says why the graph's partitions were not used as they are; empty if they were."""

    engine: str
    device: str  # "auto": each worker takes what it has, and some have CUDA
    max_rounds: int | None
    drop_weights: bool  # edge columns that the program never reads are neither stored nor sent (Falcon)
    switches: Switches
    repartitioned: str = ""
    local_rounds: int | None = None  # steps of a partition before others hear of it; None: as suits the program
    settings: Settings = DIRECT  # of agents and daemons
    settles: bool = False  # whether partitions go to their local fixed points, by the program's own algorithm
    blocks: Blocks | None = None  # of block descent
    rebalance: bool = False  # whether edges may move between supersteps

    def options(self) -> dict[str, Any]:
        """What the report says of the plan."""
        if self.engine == LOCAL:
            return {"engine": LOCAL, "device": self.device}
        return {
            "engine": self.engine,
            "device": self.device,
            **self.settings.options(),
            "active vertices only": self.switches.active_only,
            "weights dropped": self.drop_weights,
            "changed copies only": self.switches.changed_only,
            "exchanges skipped": self.switches.skip_exchange,
            "direction": self.switches.direction,
            "deterministic": self.switches.deterministic,
            "repartitioned": self.repartitioned or "no",
            "local rounds": self._local_rounds(),
            **(self.blocks.options() if self.blocks else {}),
        }

    def _local_rounds(self) -> str | int:
        if self.settles:
            return "to the local fixed point"
        return self.local_rounds or ("by the program" if self.free else 1)

    @property
    def free(self) -> bool:
        """Whether all workers must run at once, because they never wait for each other's rounds."""
        return self.engine in WITHOUT_ROUNDS or (self.blocks is not None and self.blocks.free)

    @property
    def has_rounds(self) -> bool:
        """Whether there are moments at which nothing is under way."""
        return not (self.engine == LOCAL or self.free or self.blocks)


def sends_changes(graph: Graph, options: Mapping[str, Any]) -> bool:
    """Whether an engine is asked for that only passes on changes: block descent does where it pushes, and unless it is
    told otherwise, where partitions need not wait for each other."""
    by_block, operator = options.get("engine") == DESCENT, options.get("operator")
    if operator in (None, "auto"):
        operator = "push" if graph.num_parts > 1 and options.get("mode") != "bsp" else "pull"
    return options.get("engine") in WITHOUT_ROUNDS or (by_block and operator == "push")


def solves(graph: Graph, program: VertexProgram, options: Mapping[str, Any]) -> bool:
    """Whether `run` takes the program's solver: where there is one, on a graph of one partition, and nothing was asked
    that only rounds can give."""
    if program.solver is None or graph.num_parts > 1:
        return False
    plain = not options.get("progress") and device_for(graph, options) == CPU
    plain = plain and options.get("daemons", "auto") in ("auto", "in process") and options.get("checkpoint") is None
    plain = plain and all(options.get(name, usual) == usual for name, usual in OF_ROUNDS.items())
    return options.get("engine", "auto") == LOCAL or (options.get("engine", "auto") == "auto" and plain)


def device_for(graph: Graph, options: Mapping[str, Any]) -> str:
    """The device that was asked for; in place of "auto" the CPU, where none that may be used has another, or where
    something was asked that only a CPU does."""
    asked = options.get("device", AUTO)
    only = options.get("deterministic") or options.get("engine") in (LOCAL, DESCENT)
    only = only or options.get("daemons", "auto") not in ("auto", "in process", None)
    return CPU if asked == AUTO and (only or not graph.workers.with_cuda) else asked


def choose(
    *,
    engine: str,
    device: str,
    max_rounds: int | None,
    direction: str,
    active_only: bool,
    drop_weights: bool,
    changed_only: bool,
    random_seed: int,
    skip_exchange: bool = True,
    local_rounds: int | None = None,
    deterministic: bool = False,
    solved: bool = False,
    settings: Settings = DIRECT,
    blocks: Mapping[str, Any] | None = None,
) -> Plan:
    """Check what a user asked for. Rounds in GAS order wait once for the others, in BSP order at times twice; a local
    solver is quicker than both, where there is one (`solved`)."""
    if engine == CUGRAPH:
        raise OptionError(f'engine={engine!r} is for {", ".join(OPERATIONS)} alone; choose engine="auto"')
    switches = Switches(
        switch("active_only", active_only),
        switch("changed_only", changed_only),
        one_of("direction", direction, ("auto", "push", "pull")),
        random_seed=whole_number("random_seed", random_seed, -(2**63), 2**63 - 1),
        deterministic=switch("deterministic", deterministic),
        skip_exchange=switch("skip_exchange", skip_exchange),
    )
    plan = Plan(
        one_of("engine", engine, ("auto", LOCAL, *ENGINES)),
        one_of("device", device, DEVICES),
        whole_number("max_rounds", max_rounds, or_none=True),
        switch("drop_weights", drop_weights),
        switches,
        local_rounds=whole_number("local_rounds", local_rounds, or_none=True),
        settings=settings,
        blocks=_blocks(engine, blocks or {}),
    )
    for problem in _conflicts(plan):
        raise OptionError(problem)
    if deterministic:  # messages of a vertex come in one order
        plan = replace(plan, switches=replace(switches, direction="pull"))
    return replace(plan, engine=LOCAL if solved else "gas") if engine == "auto" else plan


def _conflicts(plan: Plan) -> Iterator[str]:
    """What was asked and does not go together."""
    engine, switches, settings = plan.engine, plan.switches, plan.settings
    daemons = "" if settings.direct else settings.options()["daemons"]
    if switches.deterministic and switches.direction == "push":
        yield 'direction="push" is not for deterministic=True, which gathers messages in one order: choose "pull"'
    if settings.memory_budget is not None and plan.device == CPU:
        yield f'memory_budget={settings.memory_budget} is for device="cuda", and this run is one of CPUs'
    if plan.device == CUDA:
        only = {"engine": engine if engine in (LOCAL, DESCENT) else "", "deterministic": switches.deterministic}
        for name, asked in {**only, "daemons": daemons}.items():
            if asked:
                yield f"{name}={asked!r} is for device='cpu', not for device={CUDA!r}"
    if plan.local_rounds not in (None, 1) and not plan.free:
        few = ", ".join(WITHOUT_ROUNDS)
        yield f"local_rounds={plan.local_rounds} is for {few}; engine={engine!r} takes 1"
    if plan.blocks and daemons:
        yield f"engine={DESCENT!r} is for daemons='in process', not for {daemons!r}"
    if plan.free or plan.blocks or engine == LOCAL:
        refused: dict[str, Any] = {"max_rounds": plan.max_rounds, "deterministic": switches.deterministic or None}
        usual = ("active_only", "changed_only", "skip_exchange")
        refused |= {name: False for name in usual if not getattr(switches, name)}
        if engine == LOCAL:
            more = {"direction": switches.direction, "drop_weights": plan.drop_weights, "daemons": daemons or AUTO}
            refused |= {name: value for name, value in more.items() if value not in (AUTO, True)}
        for name, value in refused.items():
            if value is not None:
                yield f"engine={engine!r} has no common rounds: {name}={value!r} cannot be had; choose gas"
    if plan.blocks and switches.direction != "auto":
        yield f'direction={switches.direction!r} is not for engine={DESCENT!r}: choose operator="push" or "pull"'
    if plan.blocks and not plan.drop_weights:
        yield f"drop_weights=False is not for engine={DESCENT!r}: choose gas, bsp or bulk_async"


def settling(plan: Plan, program: VertexProgram, analysis: Analysis) -> Settle | None:
    """How partitions go to their local fixed points; None where rounds are single steps: because that was asked, or
    because the program counts them."""
    asked = plan.local_rounds, plan.max_rounds, replace(plan.switches, random_seed=0)
    if plan.blocks or asked != (None, None, Switches()) or "bulk_async" not in engines_for(analysis):
        return None
    if plan.device != CPU or not plan.settings.direct:
        return None
    return None if program.solver is None else program.solver.settle


def _blocks(engine: str, asked: Mapping[str, Any]) -> Blocks | None:
    """What was asked of block descent; of any other engine, nothing may be."""
    if engine == DESCENT:
        return Blocks.asked(asked)
    for name, value in asked.items():
        if value is not None and value != "auto":
            raise OptionError(f"{name}={value!r} is for engine={DESCENT!r}, not for engine={engine!r}")
    return None


def admit(plan: Plan, analysis: Analysis, parts: int) -> Plan:
    """Refuse an engine that cannot run a program, and what cannot be made deterministic; the plan as suits it."""
    fitting = [name for name in engines_for(analysis) if name in ENGINES]
    if plan.engine not in fitting:
        why = obstacle(plan.engine, analysis)
        raise OptionError(
            f"engine={plan.engine!r} cannot run {analysis.title}, which {why}; choose one of {', '.join(fitting)}"
        )
    if plan.blocks:
        plan = replace(plan, blocks=plan.blocks.suited(analysis, parts))
    if plan.switches.deterministic:
        for name, (field, _) in analysis.globals.items():
            if field.dtype.kind == "f" and not field.merge.idempotent and name not in exact_sums(analysis):
                raise OptionError(
                    f"deterministic=True cannot fold {field.name!r}, a {field.merge} of floats; only sums of them"
                )
    return plan


def admit_checkpoints(plan: Plan, asked: Any) -> None:
    """Checkpoints are of the moment between two rounds, and of what this process has of them."""
    if asked is None:
        return
    if plan.engine == LOCAL or plan.blocks:
        raise OptionError(
            f"checkpoint= is not for engine={plan.engine!r}, which comes to no moment of which one could be made: "
            "choose gas, bsp or bulk_async"
        )
    if not plan.settings.direct:
        raise OptionError('checkpoint= is for daemons="in process": others keep a part of the run to themselves')


def orders_for(analysis: Analysis, directed: bool, plan: Plan) -> tuple[str, ...]:
    """The orders of edges that are read: rows of those who are sent to, and to push, of those who send. Blocks that
    gather need these to tell others, or where all of a vertex's changes are alike, nothing more."""
    operator = plan.blocks.operator if plan.blocks else ""
    pushes_only = "push" in (operator, plan.switches.direction)
    pulls_only = analysis.synchronous and operator != "pull_push"
    wanted: list[str] = []
    for phase in analysis.phases:
        along = phase.along if directed else "out"
        pushes = {"out": ["out"], "in": ["incoming"], "both": ["out", "incoming"]}[along]
        pulls = {"out": ["incoming"], "in": ["out"], "both": ["incoming", "out"]}[along]
        wanted += pulls if pulls_only else pushes if pushes_only else [*pushes, *pulls]
    return tuple(dict.fromkeys(wanted))
