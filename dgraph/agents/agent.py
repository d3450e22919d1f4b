"""An agent: one for each worker, as long as the worker lives. It keeps the worker's daemons, and connects States to
them.

In GX-Plug's words: *connect* is `Agent.connect`. A *request* is a kernel by its name; it gens (push, pull, emit),
merges (receive, and on the way push and pull) or applies (fire). The *updates* before and after a request are the first
and last stage of the pipeline (`triplets.py`). *Disconnect* is that of a Connection.
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
from dgraph.agents.daemon_settings import DaemonKind, DaemonSettings
from dgraph.agents.lane import Costs, DaemonHandle, Lane
from dgraph.codegen.cuda.cuda_kernels import folded
from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu
from dgraph.devices.cuda import Cuda
from dgraph.devices.probe import require_cuda
from dgraph.pipeline.block_size import BlockTimings
from dgraph.tables.vertex_arrays import VertexArrays

MOST_COSTS = 1024  # programs and daemons whose costs are known: classes may be made in a loop


class Connection(Protocol):
    """What an agent gives to a PartitionState: kernels over arrays, which are found by name. The agent sees the same
    arrays, so it need not be told when they change."""

    arrays: VertexArrays  # where kernels run, and what else is done to them there
    one_thread: bool  # whether the tables are those of a single thread

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Run a kernel over rows 0 to `count` in one call, for kernels that want one thread a partition."""

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Run a kernel over ranges of the rows `first` to `count`, in any order, each of `block` rows if that is given.
        Returns where each range begins and what the kernel returned for it."""

    def counted(self) -> dict[str, Any]:
        """Columns of the report, since this was last called."""

    def disconnect(self) -> None:
        """Have the daemons let go of what they hold for this connection; they live on."""


class DirectConnection:
    """No blocks: kernels of the worker's own device run over the tables themselves."""

    lanes: Sequence[Lane] = ()

    def __init__(self, device: Cpu | Cuda):
        self.device, self.once, self.rows, self.arrays = device, device.once, device.rows, device.arrays
        self.one_thread = isinstance(device, Cpu) and device.num_threads == 1

    def counted(self) -> dict[str, Any]:
        return {"device": self.device.name, **self.device.counted()}

    def disconnect(self) -> None:
        self.device.close()


DaemonKey = tuple[DaemonKind, int, int]  # a kind of daemon, how many such are before it, and its threads


def places(kinds: Sequence[DaemonKind], threads: int) -> list[DaemonKey]:
    """The daemons of some kinds: two of one kind are two daemons."""
    return [(kind, kinds[:i].count(kind), threads) for i, kind in enumerate(kinds)]


class Agent:
    """One worker's daemons."""

    def __init__(self) -> None:
        self.daemons: dict[DaemonKey, Daemon] = {}
        self.costs: defaultdict[tuple[DaemonKey, str], Costs] = defaultdict(lambda: defaultdict(BlockTimings))
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
        `lazy`, what daemons find comes back when it is needed, not after each block."""
        kinds = settings.of(worker)
        if device == "cuda":
            require_cuda()
            return DirectConnection(
                Cuda(recipe.source, folded(recipe.analysis), settings.memory_budget, settings.pipeline_block)
            )
        if not kinds:
            return DirectConnection(Cpu(recipe.kernels, threads))
        with self.lock:
            while len(self.costs) > MOST_COSTS:
                self.costs.pop(next(iter(self.costs)))
            plugs = [
                DaemonHandle(self.started(place), place[0], self.costs[place, recipe.source.digest])
                for place in places(kinds, threads)
            ]
        return StreamingConnection(recipe, vertices, settings, plugs, threads, lazy)

    def started(self, place: DaemonKey) -> Daemon:
        """A daemon, started if it does not run. Call it under the lock."""
        if place not in self.daemons:
            kind, _, threads = place
            self.daemons[place] = kind.start(threads)
        return self.daemons[place]

    def close(self) -> None:
        with self.lock:
            for daemon in self.daemons.values():
                daemon.close()
            self.daemons.clear()
            self.costs.clear()


_agents: dict[tuple[int, str], Agent] = {}
_lock = threading.Lock()


def agent_of(worker: str) -> Agent:
    """The agent of a worker in this process, by the worker's name. A forked process has agents of its own."""
    with _lock:
        return _agents.setdefault((os.getpid(), worker), Agent())


def close_agent(worker: str) -> None:
    """Called when a worker ends: its daemons end too."""
    with _lock:
        agent = _agents.pop((os.getpid(), worker), None)
    if agent is not None:
        agent.close()


@atexit.register
def _close_all() -> None:
    for process, worker in list(_agents):
        if process == os.getpid():
            close_agent(worker)
