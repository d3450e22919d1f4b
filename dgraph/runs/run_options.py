"""The options of `dgraph.run` and of every operation, as the user passed them. `choice.py` turns them into a
Plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dgraph.arguments import AUTO, check_choice, check_flag, check_integer, is_default
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.checkpoint import CheckpointSeries
from dgraph.devices.probe import CPU, CUDA, DEVICES
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_option
from dgraph.plan import ASYNCHRONOUS, CUGRAPH, DESCENT, ENGINES, LOCAL
from dgraph.programs.program import VertexProgram
from dgraph.runs.option_values import USUAL, BlockDescent, BulkAsync, Daemons, Gpu, Optimisations

NAMES_OF_ENGINES = (AUTO, LOCAL, *ENGINES, CUGRAPH)
BULK_ASYNC = "bulk_async"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """One field for each option of `dgraph.run`, whose docstring describes them. Checks that need neither graph nor
    program are made here; `choice.py` makes the rest."""

    engine: str | BlockDescent | BulkAsync = AUTO
    device: str | Gpu = AUTO
    max_rounds: int | None = None
    random_seed: int = 0
    columns: Any = None
    progress: Any = None
    deterministic: bool = False
    checkpoint: Any = None
    rebalance: bool = False
    local_rounds: int | None = None
    pipeline_block: int | str | None = AUTO
    daemons: Any = AUTO
    optimisations: Optimisations = USUAL

    def __post_init__(self) -> None:
        if not isinstance(self.engine, BlockDescent | BulkAsync):
            check_choice("engine", self.engine, NAMES_OF_ENGINES)
        if not isinstance(self.device, Gpu):
            check_choice("device", self.device, DEVICES)
        check_flag("deterministic", self.deterministic)
        check_flag("rebalance", self.rebalance)
        check_integer("max_rounds", self.max_rounds, or_none=True)
        check_integer("random_seed", self.random_seed, -(2**63), 2**63 - 1)
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise OptionError(
                f"{format_option('progress', self.progress)} must be True, False, None or a function that receives a "
                "dict"
            )
        if not isinstance(self.columns, Mapping | None):
            raise OptionError(f"columns is a {type(self.columns).__name__}; expected a mapping {{column: values}}")
        if not isinstance(self.optimisations, Optimisations):
            raise OptionError(
                f"{format_option('optimisations', self.optimisations)} must be a dgraph.Optimisations, such as "
                "dgraph.Optimisations(direction='pull')"
            )
        check_integer("local_rounds", self.local_rounds, or_none=True)
        for name, usual, value, spelling in (
            ("local_rounds", None, self.engine, "engine=BulkAsync(local_rounds=...)"),
            ("pipeline_block", AUTO, self.daemons, "daemons=Daemons(..., block=...)"),
        ):
            passed = getattr(self, name)
            if isinstance(value, BulkAsync | Daemons) and not is_default(passed, usual):
                raise OptionError(
                    f"{format_option(name, passed)} and {value!r} are mutually exclusive; write only {spelling}"
                )

    @property
    def engine_name(self) -> str:
        """The name of the engine."""
        if isinstance(self.engine, str):
            return self.engine
        return DESCENT if isinstance(self.engine, BlockDescent) else BULK_ASYNC

    @property
    def block_descent(self) -> BlockDescent | None:
        """The options of block descent, if that is the engine."""
        if isinstance(self.engine, BlockDescent):
            return self.engine
        return BlockDescent() if self.engine == DESCENT else None

    @property
    def steps_alone(self) -> int | None:
        """The steps that a partition takes before it sends to the others."""
        return self.engine.local_rounds if isinstance(self.engine, BulkAsync) else self.local_rounds

    @property
    def device_name(self) -> str:
        """The name of the device."""
        return self.device if isinstance(self.device, str) else CUDA

    @property
    def memory_budget(self) -> int | None:
        """The bytes of each GPU that may be used."""
        return self.device.memory_budget if isinstance(self.device, Gpu) else None

    @property
    def by_daemons(self) -> bool:
        """Whether daemons compute rather than the worker itself."""
        kinds = self.daemons.kinds if isinstance(self.daemons, Daemons) else self.daemons
        return not any(is_default(kinds, one) for one in (AUTO, "in process", None))

    @property
    def needs_rounds(self) -> bool:
        """Whether an option needs rounds, which a program's own solver does not have."""
        usual = (self.checkpoint, self.max_rounds, self.local_rounds) == (None, None, None)
        usual = usual and self.optimisations == USUAL and is_default(self.pipeline_block, AUTO)
        return not usual or bool(self.progress) or self.by_daemons or self.deterministic

    def device_on(self, graph: PartitionedGraph) -> str:
        """The device of a run: "auto" becomes the CPU if no worker has a GPU, or if an option works only on a CPU."""
        cpu_only = self.deterministic or self.engine_name in (LOCAL, DESCENT) or self.by_daemons
        unnamed = self.device_name == AUTO and (cpu_only or not graph.workers.with_cuda())
        return CPU if unnamed else self.device_name

    def solves(self, graph: PartitionedGraph, program: VertexProgram) -> bool:
        """Whether the program's own solver runs: it has one, the graph is one partition, and no option needs rounds."""
        if program.solver is None or graph.num_parts > 1 or self.engine_name != AUTO:
            return program.solver is not None and graph.num_parts == 1 and self.engine_name == LOCAL
        return self.solves_whole(graph, program)

    def solves_whole(self, graph: PartitionedGraph, program: VertexProgram) -> bool:
        """Whether the program's own solver would run if the graph were one partition."""
        return program.solver is not None and not self.needs_rounds and self.device_on(graph) == CPU

    def sends_changes(self, graph: PartitionedGraph) -> bool:
        """Whether vertices send changes of their values rather than the values: on engines without rounds, unless
        blocks pull."""
        if (blocks := self.block_descent) is None:
            return self.engine_name in ASYNCHRONOUS
        if blocks.operator in (None, AUTO):
            return graph.num_parts > 1 and blocks.mode != "bsp"
        return blocks.operator == "push"

    def for_part(self, part: int) -> RunOptions:
        """The options of one of several runs of an operation, with its own checkpoints. Such a run may in turn consist
        of several."""
        series = CheckpointSeries.from_option(self.checkpoint)
        return self if series is None else replace(self, checkpoint=replace(series, part=f"{series.part}_{part}"))
