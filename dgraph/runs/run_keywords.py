"""The options of `dgraph.run` as a user gave them; `choice.py` checks them and makes a Plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dgraph.codegen.descent.descent_kernel import OPERATORS
from dgraph.devices.probe import CPU
from dgraph.engines.descent.block_options import MODES, ORDERS
from dgraph.graph import Graph
from dgraph.options import AUTO, check_choice, check_flag, is_default
from dgraph.plan import CUGRAPH, DESCENT, DEVICES, ENGINES, LOCAL, WITHOUT_ROUNDS
from dgraph.programs.program import VertexProgram
from dgraph.supersteps.steps import EXCHANGES

OF_ROUNDS = (  # what only rounds can obey
    "max_rounds",
    "local_rounds",
    "direction",
    "active_only",
    "drop_weights",
    "changed_only",
    "skip_exchange",
    "lazy_upload",
    "deterministic",
    "exchange",
)
OF_BLOCKS = ("block_size", "order", "mode", "operator")
DIRECTIONS = (AUTO, "push", "pull")
WORDS: dict[str, tuple[str, ...]] = {  # what options say that are words
    "engine": (AUTO, LOCAL, *ENGINES, CUGRAPH),
    "device": DEVICES,
    "direction": DIRECTIONS,
    "exchange": EXCHANGES,
    "order": ORDERS,
    "mode": MODES,
    "operator": OPERATORS,
}


def check_words(options: Mapping[str, Any]) -> None:
    """Refuse what is no word where one is asked for. This comes before anybody compares it: of an array nobody can say
    whether it is "auto". Words that are not known are refused later, with what the run at hand may choose."""
    for name, choices in WORDS.items():
        if not isinstance(options.get(name), str | None):
            check_choice(name, options[name], choices)


@dataclass(frozen=True, kw_only=True)
class RunKeywords:
    """One field for each option of `dgraph.run`, whose docstring says what each means."""

    engine: str = AUTO
    device: str = AUTO
    max_rounds: int | None = None
    random_seed: int = 0
    columns: Any = None
    progress: Any = None
    direction: str = AUTO
    active_only: bool = True
    drop_weights: bool = True
    changed_only: bool = True
    skip_exchange: bool = True
    lazy_upload: bool = True
    exchange: str = AUTO
    local_rounds: int | None = None
    deterministic: bool = False
    checkpoint: Any = None
    rebalance: bool = False
    daemons: Any = AUTO
    pipeline_block: int | str | None = AUTO
    vertex_cache: int | str = AUTO
    memory_budget: int | None = None
    block_size: int | str | None = None
    order: str | None = None
    mode: str | None = None
    operator: str | None = None

    def __post_init__(self) -> None:
        check_words(vars(self))
        check_flag("deterministic", self.deterministic)  # who chooses a device asks it before all are checked

    def non_defaults(self, *names: str) -> dict[str, Any]:
        """Of these options, those that are not at their defaults."""
        return {
            name: value for name in names if not is_default(value := getattr(self, name), getattr(type(self), name))
        }

    @property
    def uses_daemons(self) -> bool:
        """Whether daemons compute, and not the worker itself."""
        return not any(is_default(self.daemons, one) for one in (AUTO, "in process", None))

    def device_on(self, graph: Graph) -> str:
        """The device to take: the CPU in place of "auto" where no worker has a GPU, or where only a CPU can do what was
        asked."""
        cpu_only = self.deterministic or self.engine in (LOCAL, DESCENT) or self.uses_daemons
        return CPU if self.device == AUTO and (cpu_only or not graph.workers.abilities.with_cuda) else self.device

    def uses_solver(self, graph: Graph, program: VertexProgram) -> bool:
        """Whether the program's solver does it all: it has one, the graph is one partition, and no option asks for
        rounds."""
        if program.solver is None or graph.num_parts > 1 or self.engine != AUTO:
            return program.solver is not None and graph.num_parts == 1 and self.engine == LOCAL
        return self.could_use_solver(graph, program)

    def could_use_solver(self, graph: Graph, program: VertexProgram) -> bool:
        """Whether the solver would do it all if the graph were one partition."""
        shown = not any(is_default(self.progress, one) for one in (None, False))
        needs_rounds = shown or self.uses_daemons or self.non_defaults("checkpoint", *OF_ROUNDS)
        return program.solver is not None and not needs_rounds and self.device_on(graph) == CPU

    def sends_changes(self, graph: Graph) -> bool:
        """Whether vertices send each other changes rather than what they hold: on engines without rounds, unless blocks
        pull."""
        if self.engine != DESCENT:
            return self.engine in WITHOUT_ROUNDS
        if self.operator in (None, AUTO):
            return graph.num_parts > 1 and self.mode != "bsp"
        return self.operator == "push"
