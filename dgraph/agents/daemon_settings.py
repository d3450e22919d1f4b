"""The daemons of each worker, how long their blocks are, and how much they cache: what the options `daemons=` and
`device=` mean on a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dgraph.agents.daemon import Daemon
from dgraph.agents.local_daemon import LocalDaemon
from dgraph.agents.own_process_daemon import BEAT_TIMEOUT, ProcessDaemon
from dgraph.arguments import AUTO, assign
from dgraph.devices.probe import CPU, CUDA, OR_NO_DAEMON, require_cuda
from dgraph.errors import OptionError
from dgraph.options import DEFAULT_CACHE, IN_PROCESS, OWN_PROCESS, Cuda, DaemonKind, Daemons


@dataclass(frozen=True)
class InProcess:
    """A device in the process of the worker: a GPU (experimental) or the CPU, which may share a queue of blocks."""

    device: str = CPU

    def start(self, threads: int) -> Daemon:
        if self.device == CUDA:
            require_cuda(f"daemons={CUDA!r}", OR_NO_DAEMON)
        return LocalDaemon(threads)


@dataclass(frozen=True)
class OwnProcess:
    """A device in a separate process, which counts as hung after `patience` seconds without a heartbeat."""

    patience: float = BEAT_TIMEOUT
    device: str = CPU

    def start(self, threads: int) -> Daemon:
        return ProcessDaemon(threads, self.patience)


KINDS: dict[str, DaemonKind] = {
    IN_PROCESS: InProcess(),
    OWN_PROCESS: OwnProcess(),
    CUDA: InProcess(CUDA),
    f"{CUDA} {OWN_PROCESS}": OwnProcess(device=CUDA),
}
CPU_AND_GPU = KINDS[IN_PROCESS], KINDS[CUDA]  # the CPU and a GPU, on one queue


@dataclass(frozen=True)
class DaemonSettings:
    """The checked settings. Without daemons, kernels run over the tables themselves."""

    daemons: tuple[DaemonKind, ...] | Mapping[int, tuple[DaemonKind, ...]] = ()  # for all workers, or by worker number
    pipeline_block: int | str | None = AUTO  # edges; None: all edges are one block, without a pipeline
    vertex_cache: int = DEFAULT_CACHE  # bytes; 0 turns it off
    memory_budget: int | None = None  # bytes of GPU memory; edges that do not fit are streamed in blocks
    other_devices: tuple[str, ...] = field(init=False)  # the devices of daemons that are not CPUs

    def kinds_of_worker(self, worker: int) -> tuple[DaemonKind, ...]:
        """The kinds of one worker's daemons."""
        return self.daemons.get(worker, ()) if isinstance(self.daemons, Mapping) else self.daemons

    def __post_init__(self) -> None:
        every = self.daemons.values() if isinstance(self.daemons, Mapping) else [self.daemons]
        assign(self, "other_devices", tuple({kind.device for kinds in every for kind in kinds} - {CPU}))

    def options(self) -> dict[str, Any]:
        """The entries of the report."""
        if not self.daemons:
            budget = {} if self.memory_budget is None else {"memory budget": f"{self.memory_budget:,} bytes"}
            return {"daemons": IN_PROCESS, **budget}
        return {
            "daemons": self.daemons if isinstance(self.daemons, Mapping) else ", ".join(map(title_of, self.daemons)),
            "pipeline block": self.pipeline_block or "no pipeline",
            "vertex cache": f"{self.vertex_cache >> 10:,} KiB" if self.vertex_cache else "none",
        }


NO_DAEMONS = DaemonSettings()


def settings(option: Daemons | Cuda, workers: int | None = None) -> DaemonSettings:
    """The settings for the option `daemons=` or `device=`. With `workers` (their number), check the numbers of workers
    that the option names."""
    if isinstance(option, Cuda):
        return DaemonSettings((), option.block, memory_budget=None if option.memory is None else int(option.memory))
    if not isinstance(option.kinds, Mapping):
        return DaemonSettings(_started(option.kinds), option.block, int(option.cache))
    for worker in option.kinds:
        if workers is not None and worker >= workers:
            problem = f"daemons= has the key {worker}, which is not a worker"
            numbers = f"workers are numbered from 0 to {workers - 1}, at most one per partition"
            raise OptionError(f"{problem}; {numbers}")
    kinds = {worker: _started(one) for worker, one in option.kinds.items()}
    return DaemonSettings(kinds, option.block, int(option.cache))


def _started(kinds: Any) -> tuple[DaemonKind, ...]:
    """One or several kinds of daemons as objects that start them."""
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    return tuple(KINDS[one] if isinstance(one, str) else one for one in several)


def title_of(kind: DaemonKind) -> str:
    """The name of a kind of daemon in the report."""
    return next((name for name, known in KINDS.items() if known == kind), type(kind).__name__)
