"""Blocks of triplets (an edge and the vertices at its ends) between a partition's tables and one daemon's buffers.

Kernels run unchanged on a block: its vertices get ids of the daemon's, which are slots of the cache and, beyond, places
in the area of the block's buffer.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.agents.block_size import Measured
from dgraph.agents.blocks import Block, any_active, gather, gather_edges, refresh
from dgraph.agents.daemon import Call, Daemon
from dgraph.agents.roles import Roles, room_for
from dgraph.agents.vertex_cache import Found, VertexCache
from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu


@dataclass
class Work:
    """A block in a buffer."""

    block: Block
    call: Call
    found: Found
    queued: int = 0  # of a push: how many targets have news


class Lane:
    """One daemon, and what it holds of one partition."""

    def __init__(
        self,
        daemon: Daemon,
        device: str,
        table: str,
        recipe: Recipe,
        roles: dict[str, Roles],
        vertices: int,
        cache: int,
    ):
        self.daemon, self.table, self.recipe, self.roles = daemon, table, recipe, roles
        self.device, self.source = device, recipe.source_for(device)
        self.cached = frozenset(name for one in roles.values() for name in (*one.sources, *one.rows))
        self.cache = VertexCache(min(cache // self.bytes_a_vertex, vertices), vertices)
        self.plain = VertexCache(0, vertices) if self.cache.slots else self.cache
        self.measured: defaultdict[str, Measured] = defaultdict(Measured)  # of each kernel
        self.area = self.edges = 0
        self.arrays: dict[str, np.ndarray] = {}
        self.lock, self.counting = threading.Lock(), threading.Lock()  # who writes blocks, who counts
        self.moved = 0  # bytes of vertices, to the daemon and from it
        self.blocks = self.skipped = self.restarts = 0

    def make_room(self, edges: int, area: int) -> None:
        """For blocks of so many edges and vertices: larger when they have grown."""
        if edges <= self.edges and area <= self.area:
            return
        self.edges, self.area = max(edges, self.edges), max(area, self.area)
        room = room_for(self.recipe, self.roles, self.recipe.analysis.width, self.cache.slots, self.area, self.edges)
        room = room._replace(source=self.source, device=self.device)
        before, self.arrays = self.arrays, self.daemon.open(self.table, room)
        for name in self.cached & set(before):
            self.arrays[name][: self.cache.slots] = before[name][: self.cache.slots]

    @property
    def bytes_a_vertex(self) -> int:
        room = room_for(self.recipe, self.roles, self.recipe.analysis.width, 1, 0, 0)
        return sum(int(np.prod(space.shape)) * np.dtype(space.dtype).itemsize for space in room.spaces.values())

    def count(self, moved: int) -> None:
        """Stages count side by side."""
        with self.counting:
            self.moved += moved

    def base(self, buffer: int) -> int:
        """Where a buffer's area begins."""
        return self.cache.slots + buffer * self.area

    def close(self) -> None:
        self.arrays = {}
        self.daemon.shut(self.table)


class Request:
    """Blocks of one request on their way through a lane."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any]):
        self.lane, self.kernel, self.values, self.roles = lane, kernel, values, lane.roles[kernel]
        self.scalars = {name: values[name] for name in self.roles.scalars}

    def measure(self, work: Work, seconds: list[float]) -> None:
        self.lane.blocks += 1
        self.lane.measured[self.kernel].add(work.block.edges, *seconds)


class Pull(Request):
    """Rows gather from their in-edges: the rows come as they are, what they gather from comes by the cache. With `lazy`
    only those rows go back that have a message."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], synchronous: bool, lazy: bool):
        super().__init__(lane, kernel, values)
        self.synchronous, self.lazy = synchronous, lazy and not synchronous
        lane.cache.begin_request()

    def download(self, block: Block, buffer: int) -> Work | None:
        lane, values, rows = self.lane, self.values, slice(block.first, block.last)
        edges = slice(*(int(values["indptr"][row]) for row in (block.first, block.last)))
        neighbours = values["neighbours"][edges]
        if not self.synchronous and not any_active(neighbours, values["sending"]):
            lane.skipped += 1
            return None
        with lane.lock:
            base, count = lane.base(buffer), block.last - block.first
            here = slice(base, base + count)
            ends = lane.arrays["indptr"][base : base + count + 1]
            np.subtract(values["indptr"][block.first : block.last + 1], edges.start, out=ends)
            for name in self.roles.edges:
                lane.arrays[name][buffer, : block.edges] = values[name][edges]
            for name in self.roles.rows:
                if not (self.synchronous and name in self.roles.written):  # which it writes without a look
                    lane.arrays[name][here] = values[name][rows]
                    lane.count(values[name][rows].nbytes)
            make_way(lane, None)
            spill = base + count
            found = lane.cache.find(neighbours, spill, lane.arrays["neighbours"][buffer])
            for name in self.roles.sources:
                lane.count(refresh(values[name], found.ids, lane.arrays[name], found.slots))
                lane.count(gather(values[name], found.spilled, lane.arrays[name][spill:]))
            places = base, spill + len(found.spilled)
            call = Call(self.kernel, base, base + count, buffer, block.edges, self.scalars, places)
        lane.daemon.download(lane.table, call)
        return Work(block, call, found)

    def compute(self, work: Work) -> None:
        while not self.lane.daemon.compute(self.lane.table, work.call)[0]:
            self.lane.restarts += 1
            self.download(work.block, work.call.buffer)  # once more: who died may have written to it

    def upload(self, work: Work) -> None:
        lane, (first, last, _) = self.lane, work.block
        lane.daemon.upload(lane.table, work.call)
        found = {name: lane.arrays[name][work.call.lo : work.call.hi] for name in self.roles.written}
        some: Any = slice(None)
        if self.lazy:
            some = np.flatnonzero(found["arrived"])
            lane.count(min(4 * len(some), (last - first + 7) // 8))  # which they are: by number, or a bit each
        for name, values in found.items():
            news = values[some]
            self.values[name][first:last][some] = news
            lane.count(news.nbytes)

    def finish(self) -> None:
        """All is uploaded."""


class Mail:
    """Messages that daemons have merged, into the inboxes of the tables: one daemon's at a time."""

    def __init__(self, cpu: Cpu, kernel: str, values: Mapping[str, Any]):
        self.cpu, self.kernel, self.values = cpu, kernel, values
        self.queued, self.lock = int(values["queued"]), threading.Lock()

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int:
        """The bytes that were moved."""
        if not len(ids):
            return 0
        incoming = {f"incoming_{name}": array for name, array in messages.items()}
        with self.lock:
            values = {**self.values, **incoming, "ids": ids, "queued": self.queued}
            self.queued = int(self.cpu.once(self.kernel, len(ids), values))
        return ids.nbytes + sum(array.nbytes for array in messages.values())


class Push(Request):
    """Senders send along their out-edges. Targets start with empty inboxes in the block's area, and what they have in
    the end is merged in as mail is. Where merges are idempotent a block can be computed twice without harm: so with
    `lazy` targets stay in the cache, and are uploaded when all blocks are done, or when their slot is needed."""

    def __init__(self, lane: Lane, kernel: str, values: Mapping[str, Any], mail: Mail, lazy: bool):
        super().__init__(lane, kernel, values)
        self.scalars["queued"] = 0
        self.mail, self.unsure = mail, False
        self.inboxes = self.roles.identities
        self.cache = lane.cache if lazy and self.roles.phase.idempotent else lane.plain
        self.cache.begin_request()

    def download(self, block: Block, buffer: int) -> Work:
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
                lane.count(gather(values[name], senders, arrays[name][base:]))
            targets = np.empty(block.edges, np.uint32)
            gather_edges(indptr, senders, values["neighbours"], targets)
            make_way(lane, self)
            spill = base + count
            found = self.cache.find(targets, spill, arrays["neighbours"][buffer])
            here = slice(spill, spill + len(found.spilled))
            for name, identity in self.inboxes.items():
                lane.count(refresh(values[name], found.ids, arrays[name], found.slots))
                arrays[name][here] = identity
            arrays["arrived"][here] = False
            call = Call(self.kernel, 0, count, buffer, block.edges, self.scalars, (base, here.stop))
        lane.daemon.download(lane.table, call)
        return Work(block, call, found)

    def compute(self, work: Work) -> None:
        fine, queued = self.lane.daemon.compute(self.lane.table, work.call)
        while not fine:
            self.lane.restarts += 1
            self.unsure = True  # a slot may hold news that nobody has noted
            work.found = self.download(work.block, work.call.buffer).found
            fine, queued = self.lane.daemon.compute(self.lane.table, work.call)
        work.queued = int(queued)

    def upload(self, work: Work) -> None:
        lane, spill = self.lane, self.lane.base(work.call.buffer) + work.call.hi
        lane.daemon.upload(lane.table, work.call)
        news = lane.arrays["queue"][work.call.buffer, : work.queued]
        in_area = news[news >= spill]
        lane.count(self.mail.receive(work.found.spilled[in_area - spill], self.messages(in_area)))

    def bring(self, slots: np.ndarray) -> None:
        """Upload slots; from then on they are clean."""
        if not self.unsure:
            slots = slots[self.lane.arrays["arrived"][slots]]
        self.lane.count(self.mail.receive(self.cache.owner[slots], self.messages(slots)))
        self.lane.arrays["arrived"][slots] = False

    def messages(self, places: np.ndarray) -> dict[str, np.ndarray]:
        return {name: self.lane.arrays[name][places] for name in self.inboxes}

    def finish(self) -> None:
        """Upload what is still dirty."""
        self.bring(self.cache.of_this_request())


def make_way(lane: Lane, push: Push | None) -> None:
    """Empty some slots before they are needed; who is dirty is uploaded first."""
    slots = lane.cache.victims()
    if len(slots):
        if push is not None and push.cache is lane.cache:
            push.bring(slots)
        lane.cache.give_away(slots)
