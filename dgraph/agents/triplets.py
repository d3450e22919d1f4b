"""Moves blocks of triplets (an edge and the vertices at its ends) between a partition's tables and a daemon's buffers.

Kernels run on a block as they do on the tables, except for ids: a vertex is identified by its place in the daemon's
arrays, which is either a slot of the cache or in the area of the block's buffer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dgraph.agents.daemon import LOST, BlockCall
from dgraph.agents.lane import Lane
from dgraph.agents.vertex_cache import BlockPlaces, VertexCache
from dgraph.codegen.message_sums import EXCESS
from dgraph.devices.cpu import Cpu
from dgraph.pipeline.blocks import Block, any_active, gather, gather_edges, refresh
from dgraph.pipeline.stages import Stages
from dgraph.programs.kernel_names import incoming_name


@dataclass
class BlockInFlight:
    """A block in a buffer, as the stages pass it on."""

    block: Block
    call: BlockCall
    places: BlockPlaces
    answer: Any = None  # what the kernel returned


class BlockRequest(Stages):
    """The three stages of one request: a kernel whose blocks pass through a lane. `cached` names the arrays of vertices
    that stay in the daemon."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], cache: VertexCache, cached: Iterable[str]):
        self.lane, self.kernel, self.values, self.cache, self.cached = lane, kernel, values, cache, tuple(cached)
        self.roles = lane.roles[kernel]
        self.scalars = {name: values[name] for name in self.roles.scalars}
        self.lost_daemon = False  # whether a daemon was lost, so that slots may hold changes that are not flagged
        cache.begin_request()

    def bring(self, names: Iterable[str], ids: np.ndarray, place: int) -> None:
        """Copy vertices to the block's area, from a place on."""
        for name in names:
            self.lane.count_moved(gather(self.values[name], ids, self.lane.arrays[name][place:]))

    def refresh(self, ids: np.ndarray, slots: np.ndarray) -> None:
        """Copy vertices to slots of the cache if they have changed since they were last copied."""
        for name in self.cached:
            self.lane.count_moved(refresh(self.values[name], ids, self.lane.arrays[name], slots))

    def compute(self, work: BlockInFlight) -> None:
        while (answer := self.lane.daemon.compute(self.lane.table, work.call)) is LOST:
            self.lane.tally.add("restarts", 1)
            self.lost_daemon = True
            again = self.download(work.block, work.call.buffer)  # the lost process may have written to the buffer
            work.call, work.places = again.call, again.places
        work.answer = answer

    def measure(self, work: BlockInFlight, seconds: list[float]) -> None:
        self.lane.tally.add("blocks", 1)
        self.lane.costs[self.kernel].add(work.block.edges, *seconds)

    def write_back(self, slots: np.ndarray) -> None:
        """Upload the changes in some slots of the cache. Only a `PushRequest` keeps changes there."""

    def find(self, ids: np.ndarray, spill: int, buffer: int) -> BlockPlaces:
        """Write the places of a block's neighbours to its buffer, after freeing some slots of the cache before it is
        full. Neighbours without a slot are in the block's area, from `spill` on."""
        slots = self.cache.victims()
        if len(slots):
            self.write_back(slots)
            self.cache.free_slots(slots)
        places = self.cache.find(ids, spill, self.lane.arrays["neighbours"][buffer])
        self.refresh(places.ids, places.slots)
        return places

    def check_sums(self, first: int, owners: range | np.ndarray) -> None:
        """Report a sum in the daemon that exceeds its type (see `message_sums.py`). The places from `first` on hold the
        vertices `owners`."""
        if EXCESS in self.lane.arrays:
            place = int(self.lane.arrays[EXCESS][0]) - 1 - first
            if 0 <= place < len(owners):
                self.values[EXCESS][0] = int(owners[place]) + 1

    def finish(self) -> None:
        """Complete the request after all blocks have been uploaded."""


class PullRequest(BlockRequest):
    """Rows gather from their in-edges. A block brings its rows; their neighbours are in the cache. With `lazy`, only
    inboxes that are not empty are copied to the daemon, and only rows that have a message are copied back."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], edges: int, lazy: bool):
        super().__init__(lane, kernel, values, lane.cache, lane.roles[kernel].sources)
        self.synchronous = lane.recipe.analysis.synchronous
        self.lazy = lazy and not self.synchronous
        if edges > len(self.cache.known):
            ids = self.cache.all_vertices()
            self.refresh(ids, ids)

    def download(self, block: Block, buffer: int) -> BlockInFlight | None:
        lane, values, rows = self.lane, self.values, slice(block.first, block.last)
        edges = slice(*(int(values["indptr"][row]) for row in (block.first, block.last)))
        neighbours = values["neighbours"][edges]
        if not self.synchronous and not any_active(neighbours, values["sending"]):
            lane.tally.add("skipped_blocks", 1)
            return None
        with lane.lock:
            base, count = lane.base(buffer), block.last - block.first
            ends = lane.arrays["indptr"][base : base + count + 1]
            np.subtract(values["indptr"][block.first : block.last + 1], edges.start, out=ends)
            for name in self.roles.edges:
                lane.arrays[name][buffer, : block.edges] = values[name][edges]
            self.bring_rows(rows, slice(base, base + count))
            spill = base + count
            places = self.find(neighbours, spill, buffer)
            self.bring(self.roles.sources, places.spilled, spill)
            used = base, spill + len(places.spilled)
            call = BlockCall(self.kernel, base, base + count, buffer, block.edges, self.scalars, used)
        lane.daemon.download(lane.table, call)
        return BlockInFlight(block, call, places)

    def bring_rows(self, rows: slice, area: slice) -> None:
        """Copy rows to the block's area; with `lazy`, only those inboxes that are not empty."""
        for name in self.roles.rows:
            if self.synchronous and name in self.roles.written:  # the kernel writes it without reading it
                continue
            values, copy = self.values[name][rows], self.lane.arrays[name][area]
            if self.lazy and name in self.roles.identities:
                copy[:] = self.roles.identities[name]
                full = np.flatnonzero((values != copy).reshape(len(values), -1).any(axis=1))
                copy[full] = values[full]
                self.lane.count_moved(values[full].nbytes + index_bytes(len(full), len(values)))
            else:
                copy[:] = values
                self.lane.count_moved(values.nbytes)

    def upload(self, work: BlockInFlight) -> None:
        lane, (first, last, _) = self.lane, work.block
        lane.daemon.upload(lane.table, work.call)
        self.check_sums(work.call.lo, range(first, last))
        written = {name: lane.arrays[name][work.call.lo : work.call.hi] for name in self.roles.written}
        rows: Any = slice(None)
        if self.lazy:
            rows = np.flatnonzero(written["arrived"])
            lane.count_moved(index_bytes(len(rows), last - first))
        for name, values in written.items():
            changed = values[rows]
            self.values[name][first:last][rows] = changed
            lane.count_moved(changed.nbytes)


def index_bytes(count: int, rows: int) -> int:
    """Bytes that it takes to identify `count` of a block's rows: by number, or by one bit per row."""
    return min(4 * count, (rows + 7) // 8)


class MessageReceiver(Protocol):
    """Takes the messages that a daemon has merged for the targets of a block."""

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int:
        """Merge the messages for some vertices; returns the number of bytes moved."""


class Inboxes:
    """The inboxes in the tables, as a MessageReceiver that serves one daemon at a time."""

    def __init__(self, cpu: Cpu, kernel: str, values: Mapping[str, Any]):
        self.cpu, self.kernel, self.values = cpu, kernel, values
        self.queued, self.lock = int(values["queued"]), threading.Lock()

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int:
        if not len(ids):
            return 0
        arrays = {incoming_name(name): array for name, array in messages.items()}
        with self.lock:
            values = {**self.values, **arrays, "ids": ids, "queued": self.queued}
            self.queued = int(self.cpu.once(self.kernel, len(ids), values))
        return ids.nbytes + sum(array.nbytes for array in messages.values())


class PushRequest(BlockRequest):
    """Senders send along their out-edges. Targets start with empty inboxes in the block's area, and what these hold at
    the end is merged into the tables like mail. With `lazy`, and if merges are idempotent (so that a block may be
    computed twice), targets stay in the cache, and are uploaded when all blocks are done or their slot is needed."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], inboxes: MessageReceiver, lazy: bool):
        roles = lane.roles[kernel]
        cache = lane.cache if lazy and roles.phase.idempotent else lane.uncached
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
            self.bring(self.roles.sources, senders, base)
            targets = np.empty(block.edges, np.uint32)
            gather_edges(indptr, senders, values["neighbours"], targets)
            spill = base + count
            places = self.find(targets, spill, buffer)
            spilled = slice(spill, spill + len(places.spilled))
            for name, identity in self.roles.identities.items():
                arrays[name][spilled] = identity
            self.bring(self.fixed, places.spilled, spill)
            arrays["arrived"][spilled] = False
            call = BlockCall(self.kernel, 0, count, buffer, block.edges, self.scalars, (base, spilled.stop))
        lane.daemon.download(lane.table, call)
        return BlockInFlight(block, call, places)

    def upload(self, work: BlockInFlight) -> None:
        lane, spill = self.lane, self.lane.base(work.call.buffer) + work.call.hi
        lane.daemon.upload(lane.table, work.call)
        self.check_sums(spill, work.places.spilled)
        self.check_sums(0, self.cache.owner)
        queue = lane.arrays["queue"][work.call.buffer, : int(work.answer)]
        in_area = queue[queue >= spill]
        lane.count_moved(self.inboxes.receive(work.places.spilled[in_area - spill], self.messages(in_area)))

    def write_back(self, slots: np.ndarray) -> None:
        if not self.lost_daemon:
            slots = slots[self.lane.arrays["arrived"][slots]]
        self.lane.count_moved(self.inboxes.receive(self.cache.owner[slots], self.messages(slots)))
        self.lane.arrays["arrived"][slots] = False

    def messages(self, places: np.ndarray) -> dict[str, np.ndarray]:
        return {name: self.lane.arrays[name][places] for name in self.roles.identities}

    def finish(self) -> None:
        self.write_back(self.cache.used_slots())
