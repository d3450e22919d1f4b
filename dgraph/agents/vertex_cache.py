"""The cache of the vertices that a daemon still holds from earlier blocks and rounds. It has a fixed number of slots,
and frees the least useful ones: each use adds to the weight of a slot, and weights decay from round to round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit

DECAY = 0.5  # factor by which a weight shrinks per round
SLOTS_PER_VICTIM = 8  # one in this many slots is freed at a time
BLOCKS_IN_FLIGHT = 3  # blocks that a pipeline may still be working on: their slots are kept

NO_SLOT = -1  # no slot; smaller values encode the vertex's place in the area of the last block that used it
VERTEX_DTYPE = np.dtype([("slot", np.int32), ("block", np.int32), ("request", np.int32), ("weight", np.float32)])

NO_VERTICES = np.empty(0, np.uint32)

kernel = cached_njit()


class BlockPlaces(NamedTuple):
    """Where the vertices of a block are in the daemon."""

    ids: np.ndarray  # vertices with a slot that this request has not refreshed: their values may be missing or old
    slots: np.ndarray
    spilled: np.ndarray  # vertices without a slot: they are in the block's own area, in this order


class VertexCache:
    """For each vertex: its slot, the last block and request that used it, and its weight then. A cache without slots
    still gives each vertex of a block one place in the block's area; in a cache with a slot for every vertex, vertex i
    has slot i.

    Only the agent writes here. A slot is never freed while a block that uses it may be in the pipeline.
    """

    def __init__(self, slots: int, vertices: int):
        self.slots = slots
        self.known = np.zeros(vertices, VERTEX_DTYPE)
        self.known["slot"] = NO_SLOT
        self.owner = np.zeros(slots, np.uint32)
        self.free = np.arange(slots - 1, -1, -1, dtype=np.uint32)
        self.empty, self.block, self.request = slots, 0, 0
        self.seen: list[np.ndarray] = []  # the slots that this request has used
        self.all_ids = NO_VERTICES  # all vertices if each has a slot; otherwise none
        self.fresh = False  # whether this request has refreshed all vertices
        if 0 < slots == vertices:
            self.all_ids = self.owner = np.arange(slots, dtype=np.uint32)
            self.known["slot"], self.empty = self.all_ids, 0

    def begin_request(self) -> None:
        """Begin a request: values may have changed since the previous one."""
        self.request += 1
        self.seen = []
        self.fresh = False

    def all_vertices(self) -> np.ndarray:
        """The vertices that the caller refreshes at once rather than block by block: all, if each has a slot."""
        self.fresh = len(self.all_ids) > 0
        return self.all_ids

    def find(self, ids: np.ndarray, area: int, out: np.ndarray) -> BlockPlaces:
        """Write the place of each id to `out`: a slot, or a place in the block's area, which begins at `area`."""
        self.block += 1
        if self.fresh:
            out[: len(ids)] = ids
            return BlockPlaces(NO_VERTICES, NO_VERTICES, NO_VERTICES)
        stale, slots, spilled = (np.empty(len(ids), np.uint32) for _ in range(3))
        tables, numbers = (self.known, self.owner, self.free), (self.empty, self.block, self.request)
        self.empty, count, others = _find(ids, *tables, *numbers, area, out, stale, slots, spilled)
        self.seen.append(slots[:count].copy())
        return BlockPlaces(stale[:count], slots[:count], spilled[:others])

    def victims(self) -> np.ndarray:
        """The slots to free now: the least useful ones that no block in flight uses; none while enough are empty."""
        count = self.slots // SLOTS_PER_VICTIM
        if not count or self.empty >= count or len(self.all_ids):
            return NO_VERTICES
        taken = np.ones(self.slots, bool)
        taken[self.free[: self.empty]] = False
        slots = np.flatnonzero(taken).astype(np.uint32)
        known = self.known[self.owner[slots]]
        idle = known["block"] < self.block - BLOCKS_IN_FLIGHT
        slots, known = slots[idle], known[idle]
        if len(slots) > count:
            weight = known["weight"] * DECAY ** (self.request - known["request"])
            slots = slots[np.argpartition(weight, count)[:count]]
        return slots

    def free_slots(self, slots: np.ndarray) -> None:
        self.known["slot"][self.owner[slots]] = NO_SLOT
        self.free[self.empty : self.empty + len(slots)] = slots
        self.empty += len(slots)

    def used_slots(self) -> np.ndarray:
        """The slots that this request has used."""
        used = np.zeros(self.slots, bool)
        for slots in self.seen:
            used[slots] = True
        return np.flatnonzero(used).astype(np.uint32)


@kernel
def _find(ids, known, owner, free, empty, block, request, area, out, stale, slots, spilled):
    count, others = 0, 0
    for e in range(uint64(len(ids))):
        u = ids[e]
        vertex = known[u]
        if vertex.block != block:  # not seen in this block yet
            vertex.block = block
            if vertex.slot < 0 and empty > 0:
                empty -= 1
                vertex.slot, vertex.request, vertex.weight = free[empty], 0, 0.0
                owner[vertex.slot] = u
            if vertex.slot >= 0:
                if vertex.request != request:
                    vertex.weight *= DECAY ** (request - vertex.request)
                    vertex.request = request
                    stale[count], slots[count] = u, vertex.slot
                    count += 1
                vertex.weight += 1
            else:
                vertex.slot = NO_SLOT - 1 - others
                spilled[others] = u
                others += 1
        out[e] = vertex.slot if vertex.slot >= 0 else area + (NO_SLOT - 1 - vertex.slot)
    return empty, count, others
