"""Vertices that wait by distance: a list for each slot of a window of distances, in chunks of a pool shared by threads.

Beyond the window all wait in one slot more, until the window moves there: so weights may differ by any factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.solvers.team import atomic_add, kernel

SLOTS = 4096  # in the window; slot SLOTS is the one beyond
ROOM = 64  # vertices in a chunk
FEW = 4  # chunks that are not worth sharing
USED, DROPPED = 0, 8  # places in `shared`: chunks taken from the pool; whether there were none left


class Lists(NamedTuple):
    """A thread's vertices by slot: tails[slot] is one past the last place of its list in the pool, 0 if it is empty.
    chained[chunk] is the chunk before it in its list. The pool belongs to all; of each chunk there is one owner."""

    tails: np.ndarray
    spare: np.ndarray  # the first of the chunks that are free again
    nearest: np.ndarray  # the smallest distance beyond the window
    pool: np.ndarray
    chained: np.ndarray
    shared: np.ndarray


@kernel
def slot_of(distance, base, scale):
    """Where a distance belongs in the window that begins at `base`."""
    x = (distance - base) * scale
    return SLOTS if x >= SLOTS else np.int64(x)


@kernel
def push(slot, u, distance, lists):
    """Add a vertex to a slot's list."""
    place = lists.tails[slot]
    if place % ROOM == 0:  # empty, or its last chunk is full
        chunk = lists.spare[0]
        if chunk >= 0:
            lists.spare[0] = lists.chained[uint64(chunk)]
        else:
            chunk = atomic_add(lists.shared, USED, 1)
            if chunk >= lists.chained.size:
                lists.shared[DROPPED] = 1
                return
        lists.chained[uint64(chunk)] = place // ROOM - 1
        place = chunk * ROOM
    lists.pool[uint64(place)] = u
    lists.tails[slot] = place + 1
    if slot == SLOTS:
        lists.nearest[0] = min(lists.nearest[0], distance)


@kernel
def free(chunk, lists):
    """Give back a chunk."""
    lists.chained[uint64(chunk)] = lists.spare[0]
    lists.spare[0] = chunk


@kernel
def before(place, lists):
    """The end of the chunk before that which ends at `place`; 0 if it was the first."""
    return (lists.chained[uint64((place - 1) // ROOM)] + 1) * ROOM


@kernel
def next_slot(slot, tails):
    """The first slot from `slot` on that is not empty; SLOTS + 1 if there is none."""
    while slot <= SLOTS and tails[slot] == 0:
        slot += 1
    return slot


@kernel
def is_long(place, lists):
    """Whether a list is worth sharing."""
    for _ in range(FEW):
        if place == 0:
            return False
        place = before(place, lists)
    return place > 0
