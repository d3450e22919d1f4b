"""Blocks of triplets (an edge and the vertices at its ends) between a partition's tables and one daemon's buffers.

Kernels run on a block as they would on the tables, but for ids: a vertex is called by its place in the daemon's arrays,
which is a slot of the cache, or lies in the area of the block's buffer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dgraph.agents.daemon import LOST, BlockCall
from dgraph.agents.lane import Lane
from dgraph.agents.vertex_cache import CacheSlots, VertexCache
from dgraph.devices.cpu import Cpu
from dgraph.pipeline.blocks import Block, any_active, gather, gather_edges, refresh
from dgraph.pipeline.stages import Stages
from dgraph.programs.kernel_names import incoming


@dataclass
class BlockInFlight:
    """A block in a buffer: what its stages hand on."""

    block: Block
    call: BlockCall
    found: CacheSlots
    answer: Any = None  # the kernel's


class BlockRequest(Stages):
    """The three stages of one request: the blocks of a kernel on their way through a lane. `cached` names the arrays of
    vertices that stay in the daemon."""

    def __init__(
        self,
        lane: Lane,
        kernel: str,
        values: Mapping[str, Any],
        cache: VertexCache,
        cached: Iterable[str],
    ):
        self.lane, self.kernel, self.values, self.cache, self.cached = lane, kernel, values, cache, tuple(cached)
        self.roles = lane.roles[kernel]
        self.scalars = {name: values[name] for name in self.roles.scalars}
        self.unsure = False  # whether a daemon was lost, and slots may hold news that nobody has noted
        cache.begin_request()

    def refresh(self, ids: np.ndarray, slots: np.ndarray) -> None:
        """Bring vertices to slots of the cache, if they have changed since they were brought last."""
        for name in self.cached:
            self.lane.moved(refresh(self.values[name], ids, self.lane.arrays[name], slots))

    def compute(self, work: BlockInFlight) -> None:
        while (answer := self.lane.daemon.compute(self.lane.table, work.call)) is LOST:
            self.lane.tally.add("restarts", 1)
            self.unsure = True
            again = self.download(work.block, work.call.buffer)  # who died may have written to it
            work.call, work.found = again.call, again.found
        work.answer = answer

    def measure(self, work: BlockInFlight, seconds: list[float]) -> None:
        self.lane.tally.add("blocks", 1)
        self.lane.costs[self.kernel].add(work.block.edges, *seconds)

    def bring(self, slots: np.ndarray) -> None:
        """Upload the news that some slots of the cache hold, if a subclass keeps any there."""

    def make_way(self) -> None:
        """Give some slots of the cache away before there are none."""
        slots = self.cache.victims()
        if len(slots):
            self.bring(slots)
            self.cache.give_away(slots)

    def finish(self) -> None:
        """Called when all blocks have been uploaded."""


class PullRequest(BlockRequest):
    """Rows gather from their in-edges. A block brings its rows; what they gather from comes by way of the cache. With
    `lazy`, only inboxes that hold anything are brought, and only rows that have a message are taken back."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], edges: int, lazy: bool):
        super().__init__(lane, kernel, values, lane.cache, lane.roles[kernel].sources)
        self.synchronous = lane.recipe.analysis.synchronous
        self.lazy = lazy and not self.synchronous
        if edges > len(self.cache.known):
            everybody = self.cache.look_at_all()
            self.refresh(everybody, everybody)

    def download(self, block: Block, buffer: int) -> BlockInFlight | None:
        lane, values, rows = self.lane, self.values, slice(block.first, block.last)
        edges = slice(*(int(values["indptr"][row]) for row in (block.first, block.last)))
        neighbours = values["neighbours"][edges]
        if not self.synchronous and not any_active(neighbours, values["sending"]):
            lane.tally.add("skipped_blocks", 1)
            return None
        with lane.lock:
            base, count = lane.base(buffer), block.last - block.first
            here = slice(base, base + count)
            ends = lane.arrays["indptr"][base : base + count + 1]
            np.subtract(values["indptr"][block.first : block.last + 1], edges.start, out=ends)
            for name in self.roles.edges:
                lane.arrays[name][buffer, : block.edges] = values[name][edges]
            self.bring_rows(rows, here)
            self.make_way()
            spill = base + count
            found = self.cache.find(neighbours, spill, lane.arrays["neighbours"][buffer])
            self.refresh(found.ids, found.slots)
            for name in self.roles.sources:
                lane.moved(gather(values[name], found.spilled, lane.arrays[name][spill:]))
            places = base, spill + len(found.spilled)
            call = BlockCall(self.kernel, base, base + count, buffer, block.edges, self.scalars, places)
        lane.daemon.download(lane.table, call)
        return BlockInFlight(block, call, found)

    def bring_rows(self, rows: slice, here: slice) -> None:
        """Copy rows to the block's area; with `lazy`, only those inboxes that hold anything."""
        for name in self.roles.rows:
            if self.synchronous and name in self.roles.written:  # which it writes without a look
                continue
            values, there = self.values[name][rows], self.lane.arrays[name][here]
            if self.lazy and name in self.roles.identities:
                there[:] = self.roles.identities[name]
                full = np.flatnonzero((values != there).reshape(len(values), -1).any(axis=1))
                there[full] = values[full]
                self.lane.moved(values[full].nbytes + which(len(full), len(values)))
            else:
                there[:] = values
                self.lane.moved(values.nbytes)

    def upload(self, work: BlockInFlight) -> None:
        lane, (first, last, _) = self.lane, work.block
        lane.daemon.upload(lane.table, work.call)
        found = {name: lane.arrays[name][work.call.lo : work.call.hi] for name in self.roles.written}
        some: Any = slice(None)
        if self.lazy:
            some = np.flatnonzero(found["arrived"])
            lane.moved(which(len(some), last - first))
        for name, values in found.items():
            news = values[some]
            self.values[name][first:last][some] = news
            lane.moved(news.nbytes)


def which(some: int, of: int) -> int:
    """Bytes that it would take to say which `some` of a block's rows are meant: by number, or by a bit each."""
    return min(4 * some, (of + 7) // 8)


class MessageReceiver(Protocol):
    """Whoever takes the messages that a daemon has merged for the targets of a block; returns the bytes that were
    moved."""

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int: ...


class Inboxes:
    """The inboxes in the tables, as a MessageReceiver; one daemon at a time."""

    def __init__(self, cpu: Cpu, kernel: str, values: Mapping[str, Any]):
        self.cpu, self.kernel, self.values = cpu, kernel, values
        self.queued, self.lock = int(values["queued"]), threading.Lock()

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int:
        """The bytes that were moved."""
        if not len(ids):
            return 0
        news = {incoming(name): array for name, array in messages.items()}
        with self.lock:
            values = {**self.values, **news, "ids": ids, "queued": self.queued}
            self.queued = int(self.cpu.once(self.kernel, len(ids), values))
        return ids.nbytes + sum(array.nbytes for array in messages.values())


class PushRequest(BlockRequest):
    """Senders send along their out-edges. Targets start with empty inboxes in the block's area; what these hold in the
    end is merged into the tables as mail is. With `lazy`, and where merges are idempotent (so that a block may be
    computed twice), targets stay in the cache, and are uploaded when all blocks are done or their slot is needed."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], inboxes: MessageReceiver, lazy: bool):
        roles = lane.roles[kernel]
        cache = lane.cache if lazy and roles.phase.idempotent else lane.plain
        self.fixed = [name for name in roles.rows if name not in roles.written]
        super().__init__(lane, kernel, values, cache, [*roles.identities, *self.fixed])
        self.scalars["queued"] = 0
        self.inboxes = inboxes

    def download(self, block: Block, buffer: int) -> BlockInFlight:
        lane, values, arrays = self.lane, self.values, self.lane.arrays
        senders, indptr = values["senders"][block.first : block.last], values["indptr"]
        with lane.lock:
            base, count = lane.base(buffer), len(senders)
            arrays["senders"][buffer, :count] = np.arange(base, base + count)
            ends = arrays["indptr"][base : base + count + 1]
            ends[0] = 0
            np.cumsum(indptr[senders.astype(np.int64) + 1] - indptr[senders], out=ends[1:])
            for name in self.roles.edges:
                gather_edges(indptr, senders, values[name], arrays[name][buffer])
            for name in self.roles.sources:
                lane.moved(gather(values[name], senders, arrays[name][base:]))
            targets = np.empty(block.edges, np.uint32)
            gather_edges(indptr, senders, values["neighbours"], targets)
            self.make_way()
            spill = base + count
            found = self.cache.find(targets, spill, arrays["neighbours"][buffer])
            here = slice(spill, spill + len(found.spilled))
            self.refresh(found.ids, found.slots)
            for name, identity in self.roles.identities.items():
                arrays[name][here] = identity
            for name in self.fixed:
                lane.moved(gather(values[name], found.spilled, arrays[name][spill:]))
            arrays["arrived"][here] = False
            call = BlockCall(self.kernel, 0, count, buffer, block.edges, self.scalars, (base, here.stop))
        lane.daemon.download(lane.table, call)
        return BlockInFlight(block, call, found)

    def upload(self, work: BlockInFlight) -> None:
        lane, spill = self.lane, self.lane.base(work.call.buffer) + work.call.hi
        lane.daemon.upload(lane.table, work.call)
        news = lane.arrays["queue"][work.call.buffer, : int(work.answer)]
        in_area = news[news >= spill]
        lane.moved(self.inboxes.receive(work.found.spilled[in_area - spill], self.messages(in_area)))

    def bring(self, slots: np.ndarray) -> None:
        if not self.unsure:
            slots = slots[self.lane.arrays["arrived"][slots]]
        self.lane.moved(self.inboxes.receive(self.cache.owner[slots], self.messages(slots)))
        self.lane.arrays["arrived"][slots] = False

    def messages(self, places: np.ndarray) -> dict[str, np.ndarray]:
        return {name: self.lane.arrays[name][places] for name in self.roles.identities}

    def finish(self) -> None:
        self.bring(self.cache.of_this_request())
