"""The vertices that a daemon still holds from earlier blocks and rounds: they need not be brought to it again. Slots
are bounded, and the least useful are given away: each use adds to a slot's weight, and weights age by round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint32, uint64

from dgraph.machine_code import kept

AGED = 0.5  # what a round leaves of a weight
SPARE = 8  # one in so many slots is emptied at a time
IN_FLIGHT = 3  # blocks that a pipeline may still be working on: their slots stay

NOTHING = np.empty(0, np.uint32)

kernel = kept()


class Found(NamedTuple):
    """Where a block's vertices are in the daemon."""

    ids: np.ndarray  # in slots, and not looked at in this request: their values may be missing, or old
    slots: np.ndarray
    spilled: np.ndarray  # the vertices that got no slot: they lie in the block's own area, in this order


class VertexCache:
    """`place` of a vertex is its slot, or says that it has none. A cache without slots still gives every vertex of a
    block one place in the block's area; one with a slot for everybody has vertex i in slot i.

    The agent alone writes here; a slot is never given away while a block that uses it may be in the pipeline.
    """

    def __init__(self, slots: int, vertices: int):
        self.slots = slots
        self.place = np.full(vertices, -1, np.int64)  # a slot; or below -1, block and place in its area
        self.owner = np.zeros(slots, np.uint32)
        self.used = np.full(slots, -IN_FLIGHT - 1, np.int64)  # the last block that did
        self.checked = np.zeros(slots, np.int64)  # the last request that looked at the values
        self.weight = np.zeros(slots, np.float32)
        self.free = np.arange(slots - 1, -1, -1, dtype=np.uint32)
        self.empty, self.block, self.request = slots, 0, 0
        self.everybody, self.fresh = NOTHING, False  # who has a slot, if all have; whether all were looked at
        if 0 < slots == vertices:
            self.everybody = self.owner = np.arange(slots, dtype=np.uint32)
            self.place[:], self.empty = self.everybody, 0

    def begin_request(self) -> None:
        """From now on values may be others than before."""
        self.request += 1
        self.weight *= AGED
        self.fresh = False

    def look_at_all(self) -> np.ndarray:
        """The vertices to look at now rather than by blocks, which find them as they are: all, if all have a slot."""
        self.fresh = len(self.everybody) > 0
        return self.everybody

    def find(self, ids: np.ndarray, area: int, out: np.ndarray) -> Found:
        """The place of each id, to `out`: a slot, or in the block's area, which begins at `area`."""
        self.block += 1
        if self.fresh:
            out[: len(ids)] = ids
            return Found(NOTHING, NOTHING, NOTHING)
        looked, slots, spilled = (np.empty(len(ids), np.uint32) for _ in range(3))
        tables = self.place, self.owner, self.used, self.checked, self.weight, self.free
        self.empty, fresh, others = _find(
            ids, *tables, self.empty, self.block, self.request, area, out, looked, slots, spilled
        )
        return Found(looked[:fresh], slots[:fresh], spilled[:others])

    def victims(self) -> np.ndarray:
        """The slots to give away now: the least useful that no block in flight uses; none while enough are empty."""
        wanted = self.slots // SPARE
        if not wanted or self.empty >= wanted or len(self.everybody):
            return NOTHING
        taken = np.ones(self.slots, bool)
        taken[self.free[: self.empty]] = False
        idle = np.flatnonzero(taken & (self.used < self.block - IN_FLIGHT)).astype(np.uint32)
        if len(idle) > wanted:
            idle = idle[np.argpartition(self.weight[idle], wanted)[:wanted]]
        return idle

    def give_away(self, slots: np.ndarray) -> None:
        self.place[self.owner[slots]] = -1
        self.free[self.empty : self.empty + len(slots)] = slots
        self.empty += len(slots)

    def of_this_request(self) -> np.ndarray:
        """The slots that it used."""
        return np.flatnonzero(self.checked == self.request).astype(np.uint32) if self.request else NOTHING


@kernel
def _find(
    ids, place, owner, used, checked, weight, free, empty, block, request, area, out, looked, looked_slots, spilled
):
    fresh, others = 0, 0
    mark = -((block + 1) << 32)
    for e in range(uint64(len(ids))):
        u = ids[e]
        at = place[u]
        if at < 0 and empty > 0:
            empty -= 1
            at = free[empty]
            place[u], owner[at] = at, u
            weight[at], used[at], checked[at] = 0.0, 0, 0
        if at >= 0:
            if used[at] != block:
                used[at] = block
                weight[at] += 1
                if checked[at] != request:
                    checked[at] = request
                    looked[fresh], looked_slots[fresh] = u, at
                    fresh += 1
            out[e] = at
        else:
            if at < mark or at >= mark + (1 << 32):  # not seen in this block yet
                at = mark + others
                place[u] = at
                spilled[others] = u
                others += 1
            out[e] = uint32(area + (at - mark))
    return empty, fresh, others
