"""The vertices that a daemon still holds from earlier blocks and rounds, so that they need not be brought again. Slots
are bounded; the least useful are given away: each use adds to a slot's weight, and weights age by round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit

AGED = 0.5  # what a round leaves of a weight
SPARE = 8  # one in so many slots is emptied at a time
IN_FLIGHT = 3  # blocks that a pipeline may still be working on: their slots stay

NONE = -1  # no slot; below it, in the last block that used the vertex, its place in that block's area
VERTEX = np.dtype([("slot", np.int32), ("block", np.int32), ("request", np.int32), ("weight", np.float32)])

NOTHING = np.empty(0, np.uint32)

kernel = cached_njit()


class CacheSlots(NamedTuple):
    """Where the vertices of a block are in the daemon."""

    ids: np.ndarray  # in slots, and not looked at in this request: their values may be missing, or old
    slots: np.ndarray
    spilled: np.ndarray  # the vertices that got no slot: they lie in the block's own area, in this order


class VertexCache:
    """For each vertex: its slot, the last block and request that used it, and what its uses weighed then. A cache
    without slots still gives each vertex of a block one place in the block's area; in a cache with a slot for every
    vertex, vertex i has slot i.

    Only the agent writes here. A slot is never given away while a block that uses it may be in the pipeline.
    """

    def __init__(self, slots: int, vertices: int):
        self.slots = slots
        self.known = np.zeros(vertices, VERTEX)
        self.known["slot"] = NONE
        self.owner = np.zeros(slots, np.uint32)
        self.free = np.arange(slots - 1, -1, -1, dtype=np.uint32)
        self.empty, self.block, self.request = slots, 0, 0
        self.seen: list[np.ndarray] = []  # the slots that this request has looked at
        self.everybody, self.fresh = NOTHING, False  # who has a slot, if all have; whether all were looked at
        if 0 < slots == vertices:
            self.everybody = self.owner = np.arange(slots, dtype=np.uint32)
            self.known["slot"], self.empty = self.everybody, 0

    def begin_request(self) -> None:
        """A new request begins: values may have changed since the one before."""
        self.request += 1
        self.seen = []
        self.fresh = False

    def look_at_all(self) -> np.ndarray:
        """The vertices that a request may bring up to date at once, rather than block by block: all, if each has a
        slot."""
        self.fresh = len(self.everybody) > 0
        return self.everybody

    def find(self, ids: np.ndarray, area: int, out: np.ndarray) -> CacheSlots:
        """Write the place of each id to `out`: a slot, or a place in the block's area, which begins at `area`."""
        self.block += 1
        if self.fresh:
            out[: len(ids)] = ids
            return CacheSlots(NOTHING, NOTHING, NOTHING)
        looked, slots, spilled = (np.empty(len(ids), np.uint32) for _ in range(3))
        tables, numbers = (self.known, self.owner, self.free), (self.empty, self.block, self.request)
        self.empty, fresh, others = _find(ids, *tables, *numbers, area, out, looked, slots, spilled)
        self.seen.append(slots[:fresh].copy())
        return CacheSlots(looked[:fresh], slots[:fresh], spilled[:others])

    def victims(self) -> np.ndarray:
        """The slots to give away now: the least useful that no block in flight uses; none while enough are empty."""
        wanted = self.slots // SPARE
        if not wanted or self.empty >= wanted or len(self.everybody):
            return NOTHING
        taken = np.ones(self.slots, bool)
        taken[self.free[: self.empty]] = False
        slots = np.flatnonzero(taken).astype(np.uint32)
        known = self.known[self.owner[slots]]
        idle = known["block"] < self.block - IN_FLIGHT
        slots, known = slots[idle], known[idle]
        if len(slots) > wanted:
            weight = known["weight"] * AGED ** (self.request - known["request"])
            slots = slots[np.argpartition(weight, wanted)[:wanted]]
        return slots

    def give_away(self, slots: np.ndarray) -> None:
        self.known["slot"][self.owner[slots]] = NONE
        self.free[self.empty : self.empty + len(slots)] = slots
        self.empty += len(slots)

    def of_this_request(self) -> np.ndarray:
        """The slots that this request has used."""
        used = np.zeros(self.slots, bool)
        for slots in self.seen:
            used[slots] = True
        return np.flatnonzero(used).astype(np.uint32)


@kernel
def _find(ids, known, owner, free, empty, block, request, area, out, looked, slots, spilled):
    fresh, others = 0, 0
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
                    vertex.weight *= AGED ** (request - vertex.request)
                    vertex.request = request
                    looked[fresh], slots[fresh] = u, vertex.slot
                    fresh += 1
                vertex.weight += 1
            else:
                vertex.slot = NONE - 1 - others
                spilled[others] = u
                others += 1
        out[e] = vertex.slot if vertex.slot >= 0 else area + (NONE - 1 - vertex.slot)
    return empty, fresh, others
