"""What a user may say of daemons: which ones a worker has, how long blocks are, and what daemons keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.agents.cuda_daemon import CudaDaemon
from dgraph.agents.daemon import CpuDaemon, Daemon
from dgraph.agents.own_process_daemon import PATIENCE, ProcessDaemon
from dgraph.devices.probe import CPU, CUDA, require_cuda
from dgraph.errors import OptionError
from dgraph.options import AUTO, is_default
from dgraph.phrases import format_option

CACHE = 64 << 20  # bytes of vertices that a daemon keeps, a partition
IN_PROCESS, OWN_PROCESS = "in process", "own process"


class DaemonKind(ABC):
    """A kind of daemon: a small value that travels to workers and starts a daemon there. Equal kinds share one."""

    device: str = CPU  # whose kernels it runs

    @abstractmethod
    def start(self, threads: int) -> Daemon:
        """A new daemon, on a worker."""


@dataclass(frozen=True)
class InProcess(DaemonKind):
    """A device in the worker's own process, on blocks; the CPU too, to work beside others on one queue."""

    device: str = CPU

    def start(self, threads: int) -> Daemon:
        if self.device == CPU:
            return CpuDaemon(threads)
        require_cuda()
        return CudaDaemon()


@dataclass(frozen=True)
class OwnProcess(DaemonKind):
    """A device in a process of its own. `patience`: seconds without a sign of life, after which it counts as hung."""

    patience: float = PATIENCE
    device: str = CPU

    def start(self, threads: int) -> Daemon:
        return ProcessDaemon(threads, self.patience)


KINDS: dict[str, DaemonKind] = {
    IN_PROCESS: InProcess(),
    OWN_PROCESS: OwnProcess(),
    CUDA: InProcess(CUDA),
    f"{CUDA} {OWN_PROCESS}": OwnProcess(device=CUDA),
}
BESIDE = KINDS[IN_PROCESS], KINDS[CUDA]  # a GPU and the CPU, on one queue


@dataclass(frozen=True)
class DaemonSettings:
    """`daemons`: kinds for all workers, or for each by its number; none: kernels run over the tables themselves."""

    daemons: tuple[DaemonKind, ...] | Mapping[int, tuple[DaemonKind, ...]] = ()
    pipeline_block: int | str | None = AUTO  # edges; None: no pipeline, all edges are one block
    vertex_cache: int = CACHE  # bytes; 0: none
    memory_budget: int | None = None  # bytes of a GPU; edges that do not fit pass through it in blocks

    @property
    def direct(self) -> bool:
        return not self.daemons

    def of(self, worker: int) -> tuple[DaemonKind, ...]:
        """The kinds of one worker's daemons."""
        return self.daemons.get(worker, ()) if isinstance(self.daemons, Mapping) else self.daemons

    @property
    def others(self) -> tuple[str, ...]:
        """The devices of daemons that are not CPUs."""
        every = self.daemons.values() if isinstance(self.daemons, Mapping) else [self.daemons]
        return tuple({kind.device for kinds in every for kind in kinds} - {CPU})

    def options(self) -> dict[str, Any]:
        """What the report says."""
        if self.direct:
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
    """Check what a user asked for; with `workers`, also that there are no more of them than that."""
    if not _is_one(pipeline_block, AUTO, None) and not _whole(pipeline_block, 1):
        raise OptionError(
            f'{format_option("pipeline_block", pipeline_block)} must be a number of edges, "auto", or None: no pipeline'
        )
    if not is_default(vertex_cache, AUTO) and not _whole(vertex_cache, 0):
        raise OptionError(
            f'{format_option("vertex_cache", vertex_cache)} must be a number of bytes, 0 for none, or "auto"'
        )
    kinds: Any = _kinds_of_each(daemons, workers) if isinstance(daemons, Mapping) else _kinds(daemons)
    if memory_budget is not None and not _whole(memory_budget, 1):
        raise OptionError(
            f"{format_option('memory_budget', memory_budget)} must be a number of bytes, or None: what the GPU has"
        )
    if memory_budget is not None and kinds:
        raise OptionError(f"memory_budget={memory_budget!r} is for a GPU that holds tables, not for {daemons=}")
    if not kinds:
        for name, value, usual in (
            ("pipeline_block", pipeline_block if memory_budget is None else AUTO, AUTO),
            ("vertex_cache", vertex_cache, AUTO),
        ):
            if not is_default(value, usual):
                raise OptionError(
                    f"{name}={value!r} is for daemons that take blocks, not for daemons={daemons!r}: choose "
                    f'daemons="{OWN_PROCESS}" or daemons=["{IN_PROCESS}"]'
                )
    block = pipeline_block if pipeline_block in (AUTO, None) else int(pipeline_block)
    return DaemonSettings(kinds, block, CACHE if vertex_cache == AUTO else int(vertex_cache), memory_budget)


def _kinds_of_each(daemons: Mapping[Any, Any], workers: int | None) -> dict[int, tuple[DaemonKind, ...]]:
    for worker in daemons:
        if not _whole(worker, 0) or (workers is not None and worker >= workers):
            those = "from 0 on" if workers is None else f"from 0 to {workers - 1}: a graph has no more than partitions"
            raise OptionError(f"daemons= names {worker!r}, which is no worker; they are numbered {those}")
    return {int(worker): _kinds(asked) for worker, asked in daemons.items()}


def _kinds(asked: Any) -> tuple[DaemonKind, ...]:
    if _is_one(asked, AUTO, IN_PROCESS, None):
        return ()  # alone in its process, the CPU needs no blocks
    several = list(asked) if isinstance(asked, Sequence) and not isinstance(asked, str) else [asked]
    found: list[Any] = [KINDS.get(one) if isinstance(one, str) else one for one in several]
    if not found or not all(isinstance(one, DaemonKind) for one in found):
        raise OptionError(
            f"{format_option('daemons', asked)} is not known; the kinds are {', '.join(map(repr, KINDS))}: "
            "choose one, or a list of them, which take blocks from one queue"
        )
    return tuple(found)


def _is_one(value: Any, *words: str | None) -> bool:
    return any(is_default(value, one) for one in words)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def title_of(kind: DaemonKind) -> str:
    """What the report calls a kind of daemon."""
    return next((name for name, known in KINDS.items() if known == kind), type(kind).__name__)
