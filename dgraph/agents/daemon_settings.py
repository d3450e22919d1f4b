"""The user's settings for daemons: which ones a worker has, how long blocks are, and how much daemons cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.agents.cuda_daemon import CudaDaemon
from dgraph.agents.daemon import CpuDaemon, Daemon
from dgraph.agents.own_process_daemon import BEAT_TIMEOUT, ProcessDaemon
from dgraph.arguments import AUTO, is_default
from dgraph.devices.probe import CPU, CUDA, require_cuda
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_option

CACHE_BYTES = 64 << 20  # bytes of vertices that a daemon caches per partition
IN_PROCESS, OWN_PROCESS = "in process", "own process"


class DaemonKind(ABC):
    """A kind of daemon: a small value that is sent to workers and starts a daemon there. Equal kinds share one."""

    device: str = CPU  # the device whose kernels it runs

    @abstractmethod
    def start(self, threads: int) -> Daemon:
        """Start a daemon, on a worker."""


@dataclass(frozen=True)
class InProcess(DaemonKind):
    """A device in the process of the worker: a GPU (experimental) or the CPU, which may share a queue of blocks."""

    device: str = CPU

    def start(self, threads: int) -> Daemon:
        if self.device == CPU:
            return CpuDaemon(threads)
        require_cuda()
        return CudaDaemon()


@dataclass(frozen=True)
class OwnProcess(DaemonKind):
    """A device in a process of its own, which counts as hung after `patience` seconds without a heartbeat."""

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
    vertex_cache: int = CACHE_BYTES  # bytes; 0 turns it off
    memory_budget: int | None = None  # bytes of GPU memory; edges that do not fit are streamed in blocks

    @property
    def without_daemons(self) -> bool:
        return not self.daemons

    def kinds_of_worker(self, worker: int) -> tuple[DaemonKind, ...]:
        """The kinds of one worker's daemons."""
        return self.daemons.get(worker, ()) if isinstance(self.daemons, Mapping) else self.daemons

    @property
    def other_devices(self) -> tuple[str, ...]:
        """The devices of daemons that are not CPUs."""
        every = self.daemons.values() if isinstance(self.daemons, Mapping) else [self.daemons]
        return tuple({kind.device for kinds in every for kind in kinds} - {CPU})

    def options(self) -> dict[str, Any]:
        """The entries of the report."""
        if self.without_daemons:
            budget = {} if self.memory_budget is None else {"memory budget": f"{self.memory_budget:,} bytes"}
            return {"daemons": IN_PROCESS, **budget}
        return {
            "daemons": self.daemons if isinstance(self.daemons, Mapping) else ", ".join(map(title_of, self.daemons)),
            "pipeline block": self.pipeline_block or "no pipeline",
            "vertex cache": f"{self.vertex_cache >> 10:,} KiB" if self.vertex_cache else "none",
        }


NO_DAEMONS = DaemonSettings()


def settings(
    daemons: Any, pipeline_block: Any, vertex_cache: Any, memory_budget: Any = None, workers: int | None = None
) -> DaemonSettings:
    """Check the user's options; with `workers` (how many there are), also the numbers of workers that they name."""
    check_block("pipeline_block", pipeline_block)
    check_cache("cache", vertex_cache)
    kinds = kinds_of(daemons, workers)
    if memory_budget is not None and kinds:
        raise OptionError(
            f"memory_budget={memory_budget!r} and {daemons=} are mutually exclusive: the budget applies to a GPU that "
            "runs without daemons"
        )
    if not kinds and memory_budget is None and not is_default(pipeline_block, AUTO):
        raise OptionError(
            f"pipeline_block={pipeline_block!r} needs daemons that compute blocks, which daemons={daemons!r} does not "
            f'start: use daemons="{OWN_PROCESS}" or daemons=["{IN_PROCESS}"]'
        )
    block = pipeline_block if pipeline_block in (AUTO, None) else int(pipeline_block)
    return DaemonSettings(kinds, block, CACHE_BYTES if vertex_cache == AUTO else int(vertex_cache), memory_budget)


def check_block(name: str, value: Any) -> None:
    """Check the length of a block."""
    if value is not None and not is_default(value, AUTO) and not _is_integer(value, 1):
        raise OptionError(
            f'{format_option(name, value)} must be a positive number of edges, "auto", or None for no pipeline'
        )


def check_cache(name: str, value: Any) -> None:
    """Check the size of a vertex cache."""
    if not is_default(value, AUTO) and not _is_integer(value, 0):
        raise OptionError(f'{format_option(name, value)} must be a number of bytes (0 turns the cache off), or "auto"')


def kinds_of(daemons: Any, workers: int | None = None) -> Any:
    """The kinds of daemons of all workers, or a dict by worker number. Empty if kernels run over the tables."""
    if not isinstance(daemons, Mapping):
        return _kinds(daemons)
    for worker in daemons:
        if not _is_integer(worker, 0) or (workers is not None and worker >= workers):
            numbers = "from 0 up" if workers is None else f"from 0 to {workers - 1}, at most one per partition"
            raise OptionError(f"daemons= has the key {worker!r}, which is not a worker; workers are numbered {numbers}")
    return {int(worker): _kinds(value) for worker, value in daemons.items()}


def _kinds(value: Any) -> tuple[DaemonKind, ...]:
    if value is None or is_default(value, AUTO) or is_default(value, IN_PROCESS):
        return ()  # the CPU alone needs no blocks
    several = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    kinds: list[Any] = [KINDS.get(one) if isinstance(one, str) else one for one in several]
    if not kinds or not all(isinstance(kind, DaemonKind) for kind in kinds):
        raise OptionError(
            f"{format_option('daemons', value)} is not known; choose one of {', '.join(map(repr, KINDS))}, or a list "
            "of them, which share one queue of blocks"
        )
    return tuple(kinds)


def _is_integer(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def title_of(kind: DaemonKind) -> str:
    """The name of a kind of daemon in the report."""
    return next((name for name, known in KINDS.items() if known == kind), type(kind).__name__)
