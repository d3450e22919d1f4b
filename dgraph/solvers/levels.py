"""Breadth-first search on one partition of several: levels in ascending order from what others have told, so that no
vertex goes twice in a round. Before a large level the round ends, because what others know may spare it. Large levels
are found by those who are not reached yet (Beamer, Asanović, Patterson, SC 2012)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.agents.edge_tables import kept
from dgraph.solvers.ascending import order_of
from dgraph.solvers.solver import Unsettled
from dgraph.solvers.team import kernel, part, prefetch

LARGE = 1 << 17  # edges out of a level, from which on a round of all workers costs less than they do
ALPHA = 30  # to look for predecessors pays from 1/ALPHA of the edges on that have not been pushed along,
SCAN = 8  # unless it is cheaper to push along an edge than to look at so many vertices, of which most are reached
AHEAD = uint64(8)  # vertices whose row is asked for before its turn
ONE, SIX, LOW = uint64(1), uint64(6), uint64(63)


class Rows(NamedTuple):
    """The edges by either end; `ascending` says that the first neighbour found has the smallest number."""

    indptr: np.ndarray
    neighbours: np.ndarray
    in_indptr: np.ndarray
    in_neighbours: np.ndarray
    ascending: bool
    numbers: np.ndarray


class Reached(NamedTuple):
    """A message is a level, and in its last bits sender + 1."""

    best: np.ndarray
    improved: np.ndarray
    bits: np.int64
    limit: int  # who is on this level sends nothing


class Room(NamedTuple):
    """What is kept from one round to the next; counts: edges looked at in this round, the length of `now`, from where
    on those of the frontier have not gone, and edges pushed along in all rounds."""

    now: np.ndarray
    next: np.ndarray
    front: np.ndarray  # a bitmap
    counts: np.ndarray


def settle(part: Unsettled) -> tuple[int, np.ndarray]:
    """Messages are those of `BreadthFirst`."""
    (out,), size, numbers = part.edges.senders("out"), len(part.best), part.edges.numbers()
    order = order_of(part.edges.partition.incoming or out, out, part.edges.threads)
    if not part.kept:
        now, following = (np.empty(size, np.uint32) for _ in range(2))
        part.kept["room"] = Room(now, following, np.zeros(-(-size // 64), np.uint64), np.zeros(4, np.int64))
    room, bits = part.kept["room"], np.int64(part.values["bits"])
    frontier, levels = part.frontier, _levels(part.best, part.frontier, bits)
    if (levels[1:] < levels[:-1]).any():
        by_level = np.argsort(levels, kind="stable")
        frontier, levels = frontier[by_level], levels[by_level]
    ascending = order.ascending and kept(out, "by number", lambda: _by_number(out.indptr, numbers))
    rows = Rows(out.indptr, out.neighbours, order.rows.indptr, order.rows.neighbours, ascending, numbers)
    reached = Reached(part.best, part.improved, bits, part.values["depth_limit"])
    pulled = _settle(rows, reached, room, frontier, levels, LARGE)
    order.looked += pulled
    looked, length, rest, _ = room.counts.tolist()
    waits = part.best[frontier[rest:]] >> bits == levels[rest:]  # it has gone, or is in the list, if it is lower now
    return looked, np.concatenate([room.now[:length], frontier[rest:][waits]])


def _by_number(indptr: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether those who send have ascending numbers."""
    senders = numbers[np.flatnonzero(np.diff(indptr))]
    return bool((senders[1:] > senders[:-1]).all())


@kernel
def _levels(best, frontier, bits):
    levels = np.empty(frontier.size, np.int64)
    for i in range(uint64(frontier.size)):
        levels[i] = best[frontier[i]] >> bits
    return levels


@kernel
def _settle(rows, reached, room, frontier, levels, large):
    """Leaves in room.now what is in hand. Returns at how many edges it was looked in vain, or for a predecessor."""
    best, bits, now = reached.best, reached.bits, room.now
    rest, length, level, looked, pulled = uint64(0), uint64(0), np.int64(0), np.int64(0), np.int64(0)
    while True:
        if length == 0:
            if rest == frontier.size:
                break
            level = levels[rest]
        while rest < frontier.size and levels[rest] == level:
            v = uint64(frontier[rest])
            if best[v] >> bits == level:  # else a lower one has been found meanwhile, and it has gone
                now[length] = v
                length += ONE
            rest += ONE
        ahead = np.int64(0)
        for i in range(length):
            ahead += rows.indptr[uint64(now[i]) + ONE] - rows.indptr[uint64(now[i])]
        if looked and ahead > large:
            break
        if level >= reached.limit:
            length = uint64(0)
            continue
        level += 1
        if ahead * ALPHA > rows.neighbours.size - room.counts[3] and ahead * SCAN > best.size:
            length, seen = _pull(rows, reached, level, room, length)
            pulled += seen
            looked += seen
        else:
            length = _push(rows, reached, level, room, length)
            looked += ahead
        room.counts[3] += ahead
        now[:length] = room.next[:length]
    room.counts[0], room.counts[1], room.counts[2] = looked, length, rest
    return pulled


@part
def _push(rows, reached, level, room, length):
    """Those in room.now tell their neighbours of a level; who had none so low goes next. Returns how many these are."""
    indptr, neighbours, best, improved, now = rows.indptr, rows.neighbours, reached.best, reached.improved, room.now
    count, above = uint64(0), (level + 1) << reached.bits
    for i in range(length):
        if i + AHEAD < length:
            prefetch(indptr, uint64(now[i + AHEAD]))
        u = uint64(now[i])
        message = (level << reached.bits) + rows.numbers[u] + 1
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            v = uint64(neighbours[e])
            old = best[v]
            if message < old:
                best[v], improved[v] = message, True
                if old >= above:
                    room.next[count] = v
                    count += ONE
    return count


@part
def _pull(rows, reached, level, room, length):
    """The same, by all who are not below that level; and at how many edges it was looked."""
    indptr, neighbours, best, front = rows.in_indptr, rows.in_neighbours, reached.best, room.front
    front[:] = uint64(0)
    for i in range(length):
        u = uint64(room.now[i])
        front[u >> SIX] |= ONE << (u & LOW)
    count, looked, below, above = uint64(0), uint64(0), level << reached.bits, (level + 1) << reached.bits
    for v in range(uint64(best.size)):
        old = best[v]
        if old < below:
            continue
        new, e, end = old, uint64(indptr[v]), uint64(indptr[v + ONE])
        looked -= e
        while e < end:
            u = uint64(neighbours[e])
            e += ONE
            if front[u >> SIX] >> (u & LOW) & ONE:
                new = min(new, below + rows.numbers[u] + 1)
                if rows.ascending:  # no other is smaller
                    break
        looked += e
        if new < old:
            best[v], reached.improved[v] = new, True
            if old >= above:
                room.next[count] = v
                count += ONE
    return count, np.int64(looked)
