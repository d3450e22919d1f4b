"""The plan of a run: engine, device, limits and optimizations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from dgraph.agents.daemon_settings import NO_DAEMONS, DaemonSettings
from dgraph.arguments import AUTO
from dgraph.checkpoint.keeper import CheckpointSeries
from dgraph.devices.probe import CPU, CUDA
from dgraph.engines.block_descent import block_descent
from dgraph.engines.bsp import bsp
from dgraph.engines.bulk_async import bulk_async
from dgraph.engines.descent.block_options import BlockOptions
from dgraph.engines.gas import gas
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.errors import OptionError
from dgraph.programs.analysis import Analysis
from dgraph.solvers.solver import LocalMethod
from dgraph.vertex_state.switches import RoundOptions

ENGINES: dict[str, Callable] = {"bsp": bsp, "gas": gas, "bulk_async": bulk_async, "block_descent": block_descent}
ASYNCHRONOUS = ("bulk_async",)  # engines in which partitions do not wait for each other
DESCENT = "block_descent"
WITHOUT_COMMON_ROUNDS = (*ASYNCHRONOUS, DESCENT)  # engines that do not run in rounds
CUGRAPH = "cugraph"  # not an engine of programs; operations are passed to cuGraph instead
TASK_GRAPH = "graph"  # messages travel as edges of Dask's task graph
LOCAL = "local"  # not an engine, but the program's own solver, if the graph has one partition


def refuse_without_common_rounds(engine: str, why: str) -> NoReturn:
    """Raise the error of an operation that needs rounds, for an engine that is `WITHOUT_COMMON_ROUNDS`."""
    raise OptionError(f"{engine=} is not available here: {why}; choose one of bsp, gas")


@dataclass(frozen=True)
class Plan:
    """All choices of a run. `runs/choice.py` makes it from the user's options, and it is sent to the workers."""

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
