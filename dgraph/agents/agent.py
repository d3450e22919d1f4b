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
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from dgraph.agents.daemon import Daemon, is_pull, is_push
from dgraph.agents.daemon_settings import DaemonSettings
from dgraph.agents.lane import Costs, Counters, DaemonHandle, Lane
from dgraph.agents.triplets import BlockRequest, Inboxes, PullRequest, PushRequest
from dgraph.codegen.cuda.cuda_kernels import folded
from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu
from dgraph.devices.cuda import CudaDevice
from dgraph.devices.probe import CPU, require_cuda
from dgraph.options import DaemonKind
from dgraph.pipeline.block_size import Cost, CostFit, size_for
from dgraph.pipeline.blocks import Block, cut_blocks
from dgraph.pipeline.stages import run_concurrently, run_sequentially, timed
from dgraph.programs.kernel_names import phase_name
from dgraph.tables.vertex_arrays import IN_PROCESS, VertexArrays

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


class StreamingConnection:
    """The connection of one partition that has daemons run the edge kernels in blocks; it chooses the blocks, and
    measures their cost. Kernels over vertices run in this process, since moving a vertex would cost more."""

    arrays, one_thread = IN_PROCESS, False

    def __init__(
        self,
        recipe: Recipe,
        vertices: int,
        settings: DaemonSettings,
        handles: Sequence[DaemonHandle],
        threads: int,
        lazy: bool,
    ):
        self.device, self.block, self.lazy = Cpu(recipe.kernels, threads), settings.pipeline_block, lazy
        self.receives = {phase_name(phase, "push"): phase_name(phase, "receive") for phase in recipe.analysis.phases}
        self.tally = Counters()
        self.lanes = [  # other devices get all vertices with each block
            Lane(handle, recipe, vertices, settings.vertex_cache if handle.kind.device == CPU else 0, self.tally)
            for handle in handles
        ]
        self.devices = " and ".join(sorted({handle.kind.device for handle in handles}))
        self.size = 0  # edges per block of the last request
        self.cost: Cost | None = None  # of blocks on the first daemon in that request
        self._finalizer = weakref.finalize(self, _close, self.lanes)

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        if not is_push(name):
            return self.device.once(name, count, values)
        senders, indptr = values["senders"][:count].astype(np.int64), values["indptr"]
        ends = np.zeros(count + 1, np.int64)
        np.cumsum(indptr[senders + 1] - indptr[senders], out=ends[1:])
        inboxes, edges = Inboxes(self.device, self.receives[name], values), int(ends[-1])
        if edges:
            self._stream(name, ends, lambda lane: PushRequest(lane, name, values, inboxes, self.lazy))
            whole = -(-int(indptr[-1]) // self.size)
            self.tally.add("skipped_blocks", max(0, whole - -(-edges // self.size)))
        return inboxes.queued

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        if not is_pull(name):
            return self.device.rows(name, count, values, first, block)
        ends = values["indptr"][first : count + 1]
        edges = int(ends[-1] - ends[0])
        self._stream(name, ends, lambda lane: PullRequest(lane, name, values, edges, self.lazy), first)
        return []

    def counted(self) -> dict[str, Any]:
        costs = {field.name: getattr(self.cost, field.name, None) for field in fields(Cost)}
        return {"device": self.devices, **self.tally.take_counts(), "block_size": self.size, **costs}

    def disconnect(self) -> None:
        self._finalizer()

    def _stream(self, name: str, ends: np.ndarray, request: Callable[[Lane], BlockRequest], first: int = 0) -> None:
        """Send blocks through the pipelines of all daemons. Row i of the request has the edges ends[i]:ends[i + 1] and
        is row `first` + i of its table."""
        edges, costs = int(ends[-1] - ends[0]), [lane.costs[name].fit() for lane in self.lanes]
        self.size = size_for(self.block, edges, costs)
        blocks = [Block(a + first, b + first, e) for a, b, e in cut_blocks(ends, self.size, taper=self.block == "auto")]
        for lane in self.lanes:
            lane.make_room(blocks)
        _, seconds = timed(_run, self.lanes, request, blocks)
        self.cost = self.lanes[0].costs[name].fit()
        self.tally.add("pipeline", seconds)
        known = [cost.time(edges, len(blocks)) for cost in costs if cost is not None]
        self.tally.add("predicted", _combined_time(known) if len(known) == len(costs) else np.nan)


def _run(lanes: Sequence[Lane], request: Callable[[Lane], BlockRequest], blocks: Sequence[Block]) -> None:
    """Run a request to completion. A single block needs no threads."""
    requests = [request(lane) for lane in lanes]
    if len(blocks) == len(requests) == 1:
        run_sequentially(requests[0], blocks)
    else:
        run_concurrently(requests, blocks)
    for one in requests:
        one.finish()


def _combined_time(times: Sequence[float]) -> float:
    """The time that daemons take together, from the time that each would take alone."""
    return 1 / sum(1 / time for time in times) if min(times) > 0 else 0.0


def _close(lanes: Sequence[Lane]) -> None:
    for lane in lanes:
        lane.close()
