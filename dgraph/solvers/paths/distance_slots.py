"""Waiting vertices, ordered by distance: a list for each slot of a window of distances, in chunks of a pool that all
threads share.

The *number* of a distance is the distance in units of a slot's width; from 2**53 on it is the position among all
float64, so that even very large distances differ. The window contains all numbers that differ from its own only in
their last bits. Vertices beyond it wait in *bins*, by the highest bit in which their number differs. When the window
moves to the nearest vertex of the first bin, all vertices of that bin move into the window or to earlier bins (a radix
heap: Ahuja, Mehlhorn, Orlin, Tarjan, J. ACM 1990). So weights may differ by any factor, and no vertex moves more often
than there are bins.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, atomic_load, compare_and_swap, kernel, part

SLOT_BITS, NUMBER_BITS = 12, 62  # the number of bits of a slot's number, and of any number
SLOTS = 1 << SLOT_BITS  # slots in the window
LISTS = SLOTS + NUMBER_BITS - SLOT_BITS  # the bins come after the slots
NO_NUMBER = 1 << NUMBER_BITS  # larger than any number
# From 2**MANTISSA_BITS on, all float64 are integers, 2**(MANTISSA_BITS - 1) for each power of two.
MANTISSA_BITS = 53
LARGEST_DISTANCE = sys.float_info.max
CHUNK_SIZE = 64  # vertices in a chunk
FEW_CHUNKS = 4  # chunks that are not worth sharing
HOARDED_CHUNKS = 64  # free chunks that a thread keeps for itself; it releases further ones to all threads
USED, OVER, DROPPED = 0, 1, 8  # in `shared`: chunks used so far; the first one free for all; whether none were left
HALF, LOW = np.int64(32), np.int64((1 << 32) - 1)  # the word at OVER has a counter of changes, and the chunk + 1

WORDS = (LISTS + 63) // 64  # words of marks, with a bit for each list
LAST = uint64(63)

_zeros: Any = leading_zeros
_first: Any = trailing_zeros  # the position of a word's lowest bit


class SlotLists(NamedTuple):
    """A thread's waiting vertices by slot. tails[slot] is one past the last position of its list in the pool, or 0 if
    the list is empty; chained[chunk] is the previous chunk of its list. All threads share the pool; each chunk has one
    owner. In the lists of all threads together, `tails`, `marks` and `spare` have a row for each thread."""

    tails: np.ndarray
    marks: np.ndarray  # a bit for each list: if it is not set, the list is empty
    spare: np.ndarray  # the first free chunk, and the number of free chunks
    pool: np.ndarray
    chained: np.ndarray
    shared: np.ndarray


@part
def of_thread(rank, lists):
    """The lists of one thread."""
    return SlotLists(lists.tails[rank], lists.marks[rank], lists.spare[rank], lists.pool, lists.chained, lists.shared)


@kernel
def number_of(distance, scale):
    """The number of a distance, which must not be negative."""
    x = distance * scale
    return np.int64(x) if x < 1 << MANTISSA_BITS else _position(min(x, LARGEST_DISTANCE))


@scalar_part
def _position(x):
    """The number of a large distance: its position among all float64, counted so that the number of 2**MANTISSA_BITS is
    2**MANTISSA_BITS."""
    mantissa, power = math.frexp(x)
    start = np.int64(power - MANTISSA_BITS) * np.int64(1 << (MANTISSA_BITS - 1))
    return start + np.int64(mantissa * (1 << MANTISSA_BITS))


@kernel
def list_of(number, window):
    """The list of a number: a slot of the window that contains `window`, or a bin beyond it."""
    x = number ^ window
    return number & (SLOTS - 1) if x < SLOTS else SLOTS + 63 - SLOT_BITS - np.int64(_zeros(x))


@inlined
def push(slot, u, lists):
    """Add a vertex to a slot's list."""
    place = lists.tails[slot]
    if place % CHUNK_SIZE == 0:  # the list is empty, or its last chunk is full
        chunk = take_free_chunk(lists)
        if chunk < 0:
            return
        lists.chained[uint64(chunk)] = place // CHUNK_SIZE - 1
        place = chunk * CHUNK_SIZE
        lists.marks[slot >> 6] |= ONE << (uint64(slot) & LAST)
    lists.pool[uint64(place)] = u
    lists.tails[slot] = place + 1


@scalar_part
def take_free_chunk(lists):
    """A free chunk: one that was freed, or an unused one of the pool; -1 if there is none."""
    spare, chained, shared = lists.spare, lists.chained, lists.shared
    chunk = spare[0]
    if chunk >= 0:
        spare[0], spare[1] = chained[uint64(chunk)], spare[1] - 1
        return chunk
    held = atomic_load(shared, OVER)
    while held & LOW:
        chunk = (held & LOW) - 1
        if compare_and_swap(shared, OVER, held, ((held >> HALF) + 1) << HALF | (chained[uint64(chunk)] + 1)):
            return chunk
        held = atomic_load(shared, OVER)
    chunk = atomic_add(shared, USED, 1)
    if chunk >= chained.size:
        shared[DROPPED] = 1
        return np.int64(-1)
    return chunk


@scalar_part
def free_chunk(chunk, lists):
    """Free a chunk."""
    spare, chained, shared = lists.spare, lists.chained, lists.shared
    if spare[1] < HOARDED_CHUNKS:
        chained[uint64(chunk)] = spare[0]
        spare[0], spare[1] = chunk, spare[1] + 1
        return
    while True:
        held = atomic_load(shared, OVER)
        chained[uint64(chunk)] = (held & LOW) - 1
        if compare_and_swap(shared, OVER, held, ((held >> HALF) + 1) << HALF | (chunk + 1)):
            return


@scalar_part
def previous_end(place, lists):
    """The end of the previous chunk of a list, given the end of a chunk; 0 if there is none."""
    return (lists.chained[uint64((place - 1) // CHUNK_SIZE)] + 1) * CHUNK_SIZE


@inlined
def next_of(slot, lists, low, high):
    """The first slot or bin from `slot` on in which a thread from `low` to below `high` has vertices; LISTS if there is
    none. Most lists are empty, so it searches the marks, and clears those of empty lists. `lists` are those of all
    threads."""
    tails, marks = lists.tails, lists.marks
    word, before_it = slot >> 6, ONE << (uint64(slot) & LAST)
    while word < WORDS:
        found = uint64(0)
        for rank in range(low, high):
            found |= marks[rank, word]
        found &= ~(before_it - ONE)
        while found:
            slot = word << 6 | np.int64(_first(found))
            for rank in range(low, high):
                if tails[rank, slot] > 0:
                    return slot
            found &= found - ONE
            for rank in range(low, high):
                marks[rank, word] &= ~(ONE << (uint64(slot) & LAST))
        word, before_it = word + 1, ONE
    return LISTS


@scalar_part
def any_long(slot, lists, low, high):
    """Whether one of the threads from `low` to below `high` has a list at this slot that is long enough to share."""
    for rank in range(low, high):
        place = lists.tails[rank, slot]
        for _ in range(FEW_CHUNKS):
            place = previous_end(place, lists) if place > 0 else place
        if place > 0:
            return True
    return False


@kernel
def first_of(slot, window):
    """The smallest number that belongs to a list."""
    if slot < SLOTS:
        return (window & -SLOTS) | slot
    bit = slot - SLOTS + SLOT_BITS
    return ((window >> bit) | 1) << bit


@scalar_part
def nearest(place, slot, window, dist, scale, lists):
    """The smallest number among the vertices of a bin; NO_NUMBER if all have moved to nearer lists."""
    found = np.int64(NO_NUMBER)
    while place > 0:
        for i in range(uint64((place - 1) // CHUNK_SIZE * CHUNK_SIZE), uint64(place)):
            number = number_of(dist[lists.pool[i]], scale)
            if number < found and list_of(number, window) == slot:
                found = number
        place = previous_end(place, lists)
    return found


@scalar_part
def move(slot, window, to, dist, scale, lists):
    """Move the window to number `to`, the nearest of a bin, and the vertices of that bin to their new lists."""
    place, lists.tails[slot] = lists.tails[slot], 0
    while place > 0:
        chunk, earlier = (place - 1) // CHUNK_SIZE, previous_end(place, lists)
        for i in range(uint64(chunk * CHUNK_SIZE), uint64(place)):
            u = lists.pool[i]
            number = number_of(dist[u], scale)
            if list_of(number, window) == slot:
                push(list_of(number, to), u, lists)
        free_chunk(chunk, lists)
        place = earlier
    return window if to == NO_NUMBER else to


@scalar_part
def move_all(slot, window, dist, scale, lists):
    """Move the window to the nearest number of a bin for all threads at once; returns the new window."""
    to, there = np.int64(NO_NUMBER), window
    for rank in range(len(lists.tails)):
        to = min(to, nearest(lists.tails[rank, slot], slot, window, dist, scale, lists))
    for rank in range(len(lists.tails)):
        there = move(slot, window, to, dist, scale, of_thread(rank, lists))
    return there


@kernel
def _not_below(number, distances, scale):
    """Which distances have this number or a larger one."""
    return np.array([number_of(distance, scale) >= number for distance in distances])


class WaitList:
    """The waiting vertices, kept from one call of `relax` to the next if a call ends early."""

    def __init__(self, size: int, threads: int, room: int | None = None):
        chunks = (4 * size if room is None else room) // CHUNK_SIZE + threads * (LISTS + HOARDED_CHUNKS + 1)
        self.tails, self.marks = np.zeros((threads, LISTS), np.int64), np.zeros((threads, WORDS), np.uint64)
        self.spare = np.tile([-1, 0], (threads, 1))
        self.pool, self.chained = np.empty(chunks * CHUNK_SIZE, np.uint32), np.empty(chunks, np.int64)
        self.work, self.shared = np.empty(chunks, np.int64), np.zeros(128, np.int64)
        self.window, self.slot = 0, LISTS  # where to continue; LISTS means that nothing waits
        self.far = NO_NUMBER  # vertices with larger numbers do not matter

    @property
    def lists(self) -> SlotLists:
        """The lists of all threads."""
        return SlotLists(self.tails, self.marks, self.spare, self.pool, self.chained, self.shared)

    @property
    def empty(self) -> bool:
        return self.slot >= LISTS

    def any_waiting(self) -> np.ndarray:
        """One of the waiting vertices that matter, as an array; an empty array if there is none."""
        if self.empty or first_of(self.slot, self.window) > self.far:
            return self.pool[:0]
        place = self.tails[:, self.slot].max()
        return self.pool[place - 1 : place].copy()

    def begin(self, dist: np.ndarray, frontier: np.ndarray, scale: float, bound: float) -> np.ndarray:
        """Move the window so that it is not beyond the frontier. Returns the vertices to be added to the lists."""
        self.far = number_of(bound, scale)
        first = number_of(dist[frontier].min(), scale) if len(frontier) else NO_NUMBER
        if not self.empty and first >= first_of(0, self.window):
            self.slot = min(self.slot, list_of(first, self.window)) if len(frontier) else self.slot
        else:
            if not self.empty:
                members = np.concatenate(list(self._members()))
                left = members[
                    _not_below(first_of(0, self.window), dist[members], scale)
                ]  # the other vertices were processed already
                frontier = np.unique(np.concatenate([frontier, left]))
            self.tails[:], self.marks[:], self.spare[:], self.shared[: OVER + 1] = 0, 0, (-1, 0), 0
            self.window, self.slot = first, first & (SLOTS - 1)
        self.shared[OVER + 1 :] = 0
        return frontier

    def _members(self) -> Iterator[np.ndarray]:
        """The chunks of all lists."""
        for place in self.tails[self.tails > 0].tolist():
            while place > 0:
                chunk = (place - 1) // CHUNK_SIZE
                yield self.pool[chunk * CHUNK_SIZE : place]
                place = (int(self.chained[chunk]) + 1) * CHUNK_SIZE
