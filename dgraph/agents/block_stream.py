"""A connection that has daemons run the edge kernels in blocks. It chooses the blocks and measures their cost."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dgraph.agents.daemon import is_pull, is_push
from dgraph.agents.daemon_settings import DaemonSettings
from dgraph.agents.lane import Counters, DaemonHandle, Lane
from dgraph.agents.triplets import BlockRequest, Inboxes, PullRequest, PushRequest
from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu
from dgraph.devices.probe import CPU
from dgraph.pipeline.block_size import Cost, size_for
from dgraph.pipeline.blocks import Block, cut_blocks
from dgraph.pipeline.stages import run_concurrently, run_sequentially, timed
from dgraph.programs.kernel_names import phase_name
from dgraph.tables.vertex_arrays import IN_PROCESS


class StreamingConnection:
    """The connection of one partition. Kernels over vertices run in this process, since moving a vertex would cost
    more."""

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
