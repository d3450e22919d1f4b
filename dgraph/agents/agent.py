"""Agents: each worker has one for as long as it lives. The agent keeps the worker's daemons and connects partition
states to them.

In the terms of GX-Plug (Zou et al. 2022): *connect* is `Agent.connect`; a *request* is the name of a kernel, which
generates messages (push, pull, emit), merges them (receive, and also push and pull) or applies them (fire); the
*updates* before and after a request are the first and last stage of the pipeline (`triplets.py`); *disconnect* is
`Connection.disconnect`.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dgraph.agents.block_stream import StreamingConnection
from dgraph.agents.daemon import Daemon
from dgraph.agents.daemon_settings import DaemonSettings
from dgraph.agents.lane import Costs, DaemonHandle, Lane
from dgraph.codegen.cuda.cuda_kernels import folded
from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu
from dgraph.devices.cuda import CudaDevice
from dgraph.devices.probe import require_cuda
from dgraph.options import DaemonKind
from dgraph.pipeline.block_size import CostFit
from dgraph.tables.vertex_arrays import VertexArrays

MOST_COSTS = 1024  # the most pairs of a program and a daemon to measure, since classes may be created in a loop


class Connection(Protocol):
    """How a PartitionState runs kernels over arrays, both by name. A device of the worker's own is one, whose kernels
    run over the tables themselves; daemons get blocks of them. The agent sees the same arrays, so it notices when they
    change."""

    @property
    def arrays(self) -> VertexArrays:
        """Operations on arrays where kernels run."""

    @property
    def lanes(self) -> Sequence[Lane]:
        """The daemons."""

    @property
    def one_thread(self) -> bool:
        """Whether kernels run over the tables on a single thread."""

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Run a kernel over rows 0 to `count` in one call, for kernels that need one thread per partition."""

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Run a kernel over ranges of the rows `first` to `count`, in any order; each has `block` rows unless that is
        None. Returns where each range begins and what the kernel returned for it."""

    def counted(self) -> dict[str, Any]:
        """Columns of the report, counted since the last call."""

    def disconnect(self) -> None:
        """Release what the daemons hold for this connection; they keep running."""


DaemonKey = tuple[DaemonKind, int, int]  # the kind, the number of daemons of this kind before it, and its threads


class Agent:
    """One worker's daemons."""

    def __init__(self) -> None:
        self.daemons: dict[DaemonKey, Daemon] = {}
        self.costs: defaultdict[tuple[DaemonKey, str], Costs] = defaultdict(lambda: defaultdict(CostFit))
        self.lock = threading.Lock()

    def connect(
        self,
        recipe: Recipe,
        vertices: int,
        settings: DaemonSettings,
        *,
        device: str = "cpu",
        worker: int = 0,
        threads: int = 1,
        lazy: bool = True,
    ) -> Connection:
        """A connection for one partition of `vertices` local vertices, with kernels generated for `device`. With
        `lazy`, results of daemons come back when they are needed rather than after each block."""
        kinds = settings.kinds_of_worker(worker)
        if device == "cuda":
            require_cuda()
            return CudaDevice(recipe.source, folded(recipe.analysis), settings.memory_budget, settings.pipeline_block)
        if not kinds:
            return Cpu(recipe.kernels, threads)
        with self.lock:
            while len(self.costs) > MOST_COSTS:
                self.costs.pop(next(iter(self.costs)))
            keys = [(kind, kinds[:i].count(kind), threads) for i, kind in enumerate(kinds)]
            handles = [
                DaemonHandle(self.start_daemon(key), key[0], self.costs[key, recipe.source.digest]) for key in keys
            ]
        return StreamingConnection(recipe, vertices, settings, handles, threads, lazy)

    def start_daemon(self, key: DaemonKey) -> Daemon:
        """A daemon, started if it is not running. The caller holds the lock."""
        if key not in self.daemons:
            kind, _, threads = key
            self.daemons[key] = kind.start(threads)
        return self.daemons[key]

    def close(self) -> None:
        with self.lock:
            for daemon in self.daemons.values():
                daemon.close()
            self.daemons.clear()
            self.costs.clear()


_agents: dict[tuple[int, str], Agent] = {}
_lock = threading.Lock()


def agent_of(worker: str) -> Agent:
    """The agent of a worker of this process, by the worker's name. A forked process has its own agents."""
    with _lock:
        return _agents.setdefault((os.getpid(), worker), Agent())


def close_agent(worker: str) -> None:
    """End the daemons of a worker that is shutting down."""
    with _lock:
        agent = _agents.pop((os.getpid(), worker), None)
    if agent is not None:
        agent.close()


@atexit.register
def _close_all() -> None:
    for process, worker in list(_agents):
        if process == os.getpid():
            close_agent(worker)
