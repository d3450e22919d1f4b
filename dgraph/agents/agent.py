"""An agent: one a worker, as long as the worker lives. It keeps the worker's daemons, and runs kernels over the tables
of a partition for whoever is connected: what crosses edges in blocks on daemons, what touches vertices in place."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from dgraph.agents.block_size import Cost, block_size
from dgraph.agents.blocks import Block, cut
from dgraph.agents.daemon import Daemon, is_pull, is_push
from dgraph.agents.pipeline import in_turn, side_by_side, timed
from dgraph.agents.roles import roles_of
from dgraph.agents.settings import AUTO, CPU, Kind, Settings, device_of
from dgraph.agents.triplets import Lane, Mail, Pull, Push
from dgraph.agents.vertex_arrays import IN_PROCESS, VertexArrays
from dgraph.codegen.cuda import folded
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import name_in
from dgraph.devices.cpu import Cpu
from dgraph.devices.cuda import Cuda
from dgraph.devices.probe import need_cuda

FIRST = 1 << 16  # edges of a block before enough has been measured
FEWEST, MOST = 1 << 10, 1 << 24  # edges of a block that the model may choose
COUNTED = ("blocks", "skipped_blocks", "block_size", "moved", "restarts", "pipeline", "predicted")


class Connection(Protocol):
    """What an agent gives to a State: kernels over arrays that are found by name. What State writes to its arrays
    between two requests, the agent sees; nothing needs to be told."""

    arrays: VertexArrays  # where kernels run, and what else is done to them there
    one_thread: bool  # whether the tables are those of a single thread

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Over rows 0 to count at once, for kernels that want one thread a partition."""

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Over ranges of the rows first to count, in any order, of `block` rows each if that is given; (begin, what the
        kernel returned) of each."""

    def counted(self) -> dict[str, Any]:
        """Columns of the report, since this was last asked."""

    def disconnect(self) -> None:
        """Daemons let go of what they hold for this connection, and live on."""


class Direct:
    """The daemon in the worker's own process: kernels of a device run over the tables themselves."""

    def __init__(self, device: Cpu | Cuda):
        self.device, self.once, self.rows, self.arrays = device, device.once, device.rows, device.arrays
        self.one_thread = isinstance(device, Cpu) and device.num_threads == 1

    def counted(self) -> dict[str, Any]:
        return {"device": self.device.name, **self.device.counted()}

    def disconnect(self) -> None:
        self.device.close()


class Agent:
    """One worker's daemons."""

    def __init__(self) -> None:
        self.daemons: dict[tuple[Kind, int, int], Daemon] = {}
        self.lock = threading.Lock()

    def connect(
        self,
        recipe: Recipe,
        vertices: int,
        settings: Settings,
        *,
        device: str = "cpu",
        worker: int = 0,
        threads: int = 1,
    ) -> Connection:
        """For one partition with so many local vertices, and kernels that were generated for the device."""
        kinds = settings.of(worker)
        if device == "cuda":
            need_cuda()
            return Direct(Cuda(recipe.source, folded(recipe.analysis), settings.memory_budget, settings.pipeline_block))
        if not kinds:
            return Direct(Cpu(recipe.kernels, threads))
        daemons = zip(self.started(kinds, threads), map(device_of, kinds), strict=True)
        return Requests(recipe, vertices, settings, list(daemons), threads)

    def started(self, kinds: Sequence[Kind], threads: int) -> list[Daemon]:
        """A daemon of each kind; those that run already are taken."""
        found = []
        with self.lock:
            for i, kind in enumerate(kinds):
                key = kind, kinds[:i].count(kind), threads
                if key not in self.daemons:
                    self.daemons[key] = kind.start(threads)
                found.append(self.daemons[key])
        return found

    def close(self) -> None:
        with self.lock:
            for daemon in self.daemons.values():
                daemon.close()
            self.daemons.clear()


_agents: dict[tuple[int, str], Agent] = {}
_lock = threading.Lock()
_numbers = itertools.count()


def agent_of(worker: str) -> Agent:
    """The agent of a worker in this process, by the worker's name. A forked process has agents of its own."""
    with _lock:
        return _agents.setdefault((os.getpid(), worker), Agent())


def close_agent(worker: str) -> None:
    """The worker ends, and its daemons with it."""
    with _lock:
        agent = _agents.pop((os.getpid(), worker), None)
    if agent is not None:
        agent.close()


@atexit.register
def _close_all() -> None:
    for process, worker in list(_agents):
        if process == os.getpid():
            close_agent(worker)


class Requests:
    """A connection whose kernels over edges are run by daemons, in blocks."""

    arrays, one_thread = IN_PROCESS, False

    def __init__(
        self, recipe: Recipe, vertices: int, settings: Settings, daemons: Sequence[tuple[Daemon, str]], threads: int
    ):
        self.recipe, self.settings, self.cpu = recipe, settings, Cpu(recipe.kernels, threads)
        roles, phases = roles_of(recipe), recipe.analysis.phases
        self.receives = {name_in(phase, "push"): name_in(phase, "receive") for phase in phases}
        table = f"{os.getpid()}-{next(_numbers)}"
        caches = {CPU: settings.vertex_cache}  # other devices get all that a block needs
        self.lanes = [
            Lane(daemon, device, table, recipe, roles, vertices, caches.get(device, 0)) for daemon, device in daemons
        ]
        self.devices = " and ".join(sorted({device for _, device in daemons}))
        self.tally: dict[str, Any] = {}
        self._let_go = weakref.finalize(self, _close_lanes, self.lanes)

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        if not is_push(name):
            return self.cpu.once(name, count, values)
        senders, indptr = values["senders"][:count].astype(np.int64), values["indptr"]
        ends = np.zeros(count + 1, np.int64)
        np.cumsum(indptr[senders + 1] - indptr[senders], out=ends[1:])
        mail = Mail(self.cpu, self.receives[name], values)
        if ends[-1]:
            lazy = self.settings.lazy_upload
            self._stream(name, ends, 0, int(indptr[-1]), lambda lane: Push(lane, name, values, mail, lazy))
        return mail.queued

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        if not is_pull(name):
            return self.cpu.rows(name, count, values, first, block)
        how, ends = (self.recipe.analysis.synchronous, self.settings.lazy_upload), values["indptr"][first : count + 1]
        self._stream(name, ends, first, int(ends[-1] - ends[0]), lambda lane: Pull(lane, name, values, *how))
        return []

    def counted(self) -> dict[str, Any]:
        tally, self.tally = self.tally, {}
        fitted = tally.pop("fitted", None)
        costs = {field.name: getattr(fitted, field.name, None) for field in fields(Cost)}
        return {"device": self.devices, **dict.fromkeys(COUNTED, 0), **tally, **costs}

    def disconnect(self) -> None:
        self._let_go()

    def _stream(self, name: str, ends: np.ndarray, first: int, every: int, request: Callable[[Lane], Any]) -> None:
        """Blocks through the pipelines of all daemons. Row i of the request is row `first` + i of its table, which has
        `every` edge; the request may have only those of active sources."""
        costs = [lane.measured[name].fit() for lane in self.lanes]
        edges, size = int(ends[-1] - ends[0]), self._size(int(ends[-1] - ends[0]), costs)
        blocks = [Block(a + first, b + first, e) for a, b, e in cut(ends, size, taper=self._auto)]
        longest = max(block.edges for block in blocks)
        area = max(block.edges + block.last - block.first for block in blocks) + 1
        for lane in self.lanes:
            lane.make_room(longest, area)
        before = [(lane.moved, lane.blocks, lane.skipped, lane.restarts) for lane in self.lanes]
        streams = [request(lane) for lane in self.lanes]
        pipelined = len(blocks) > 1 or len(streams) > 1
        _, seconds = timed(side_by_side, streams, blocks) if pipelined else timed(in_turn, streams[0], blocks)
        for stream in streams:
            stream.finish()
        after = [(lane.moved, lane.blocks, lane.skipped, lane.restarts) for lane in self.lanes]
        moved, run, skipped, restarts = (np.array(after) - np.array(before)).sum(axis=0).tolist()
        predicted = [cost.time(edges, len(blocks)) for cost in costs if cost is not None]
        news = {
            "blocks": run,
            "skipped_blocks": skipped + max(0, -(-every // size) - len(blocks)),
            "moved": moved,
            "restarts": restarts,
            "pipeline": seconds,
            "predicted": _together(predicted) if len(predicted) == len(costs) else np.nan,
        }
        self.tally = {what: self.tally.get(what, 0) + count for what, count in news.items()}
        self.tally |= {"block_size": size, "fitted": self.lanes[0].measured[name].fit()}

    @property
    def _auto(self) -> bool:
        return self.settings.pipeline_block == AUTO

    def _size(self, edges: int, costs: Sequence[Cost | None]) -> int:
        """Edges a block."""
        if self.settings.pipeline_block is None:
            return max(1, edges)
        if isinstance(self.settings.pipeline_block, int):
            return self.settings.pipeline_block
        known = [block_size(cost, -(-edges // len(costs))) for cost in costs if cost is not None]
        return min(max(min(known), FEWEST), MOST) if known else FIRST


def _together(times: Sequence[float]) -> float:
    """What daemons take that share what each would do alone in its time."""
    return 1 / sum(1 / time for time in times) if min(times) > 0 else 0.0


def _close_lanes(lanes: Sequence[Lane]) -> None:
    for lane in lanes:
        lane.close()
