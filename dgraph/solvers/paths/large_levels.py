"""Large levels of a breadth-first search: unvisited vertices look for a predecessor; bitmaps replace queues."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64
from numba.cpython.unsafe.numbers import trailing_zeros

from dgraph.native.team import ONE, atomic_add, barrier, part, share
from dgraph.programs.monoid import NONE, UNREACHED

_first: Any = trailing_zeros  # the position of a word's lowest bit

BITS = np.int64(32)  # bits of the predecessor in words of (level, predecessor); smaller words are better
NO_PREDECESSOR = np.int64((1 << 32) - 1)  # the predecessor of a source
SIX, LOW = uint64(6), uint64(63)  # v >> SIX is the word of v in a bitmap, v & LOW its bit
NEXT, FOUND, SEEN = 0, 8, 16  # positions of the counts of a pulled level, on separate cache lines


@part
def is_last_level(level, goal, best):
    """Whether the search ends at this level. The answer is the same if another thread is already a level further."""
    return level >= goal.depth or (goal.target != NONE and best[goal.target] >> BITS <= level)


@part
def pull(rank, size, signals, level, length, incoming, ascending, goal, thresholds, best, bits, counts):
    """Run levels until the frontier is small. Returns the level, its bitmap, and the number of edges read."""
    front, found, unknown = bits[0], bits[1], bits[2]
    _mark(rank, size, level, incoming, best, front, unknown)
    edges = np.int64(0)
    while True:
        count = counts[level % 2]
        if rank == 0:  # other threads may still read the counts of the previous level
            count[NEXT] = count[FOUND] = 0
        barrier(size, signals)
        reached = np.int64(0)
        while True:
            w = atomic_add(count, NEXT, thresholds.taken)
            if w >= front.size:
                break
            end = min(w + thresholds.taken, front.size)
            more, seen = _find_predecessors(w, end, level, incoming, ascending, best, front, found, unknown)
            reached += more
            edges += seen
        atomic_add(count, FOUND, reached)
        barrier(size, signals)
        before, length = length, count[FOUND]
        front, found = found, front
        level += 1
        if (
            (length < before and length * thresholds.beta < best.size)
            or length == 0
            or is_last_level(level, goal, best)
        ):
            return level, front, edges


@part
def _mark(rank, size, level, incoming, best, front, unknown):
    """Set the bits of the frontier, and of the unvisited vertices that have in-edges."""
    first, last = share(rank, size, front.size)
    for w in range(uint64(first), uint64(last)):
        here, rest = uint64(0), uint64(0)
        for v in range(w << SIX, min((w + ONE) << SIX, uint64(best.size))):
            bit = ONE << (v & LOW)
            if best[v] >> BITS == level:
                here |= bit
            elif best[v] == UNREACHED and incoming.indptr[v] < incoming.indptr[v + ONE]:
                rest |= bit
        front[w], unknown[w] = here, rest


@part
def _find_predecessors(first, last, level, incoming, ascending, best, front, found, unknown):
    """Vertices look for a predecessor in the frontier. Returns how many found one, and the number of edges read."""
    reached, edges = np.int64(0), np.int64(0)
    for w in range(uint64(first), uint64(last)):
        rest, new = unknown[w], uint64(0)
        while rest:
            bit = rest & (~rest + ONE)
            rest ^= bit
            v = w << SIX | uint64(_first(bit))
            smallest = NO_PREDECESSOR
            e, end = uint64(incoming.indptr[v]), uint64(incoming.indptr[v + ONE])
            edges -= np.int64(e)
            while e < end:
                u = uint64(incoming.neighbours[e])
                e += ONE
                if front[u >> SIX] >> (u & LOW) & ONE:
                    smallest = min(smallest, np.int64(u))
                    if ascending:  # all further neighbours are larger
                        break
            edges += np.int64(e)
            if smallest != NO_PREDECESSOR:
                best[v] = np.int64(level + 1) << BITS | smallest
                new |= bit
                reached += 1
        found[w] = new
        unknown[w] ^= new
    return reached, edges


@part
def list_bits(rank, size, front, out, queue, at):
    """Write a thread's share of a bitmap to its queue. Returns the end of the queue, and the number of edges out of its
    vertices."""
    first, last = share(rank, size, front.size)
    ahead = np.int64(0)
    for w in range(uint64(first), uint64(last)):
        rest = front[w]
        while rest:
            v = w << SIX | uint64(_first(rest))
            rest &= rest - ONE
            ahead += out.indptr[v + ONE] - out.indptr[v]
            queue[uint64(at)] = v
            at += 1
    return at, ahead
