"""Direction-optimising breadth-first search: small frontiers push along their edges; for large ones, unvisited vertices
look for a predecessor in the frontier (Beamer, Asanović, Patterson, SC 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numba.cpython.unsafe.numbers import trailing_zeros

from dgraph.native.free_memory import has_room
from dgraph.native.team import (
    ONE,
    atomic_add,
    atomic_max,
    atomic_min,
    barrier,
    kernel,
    part,
    prefetch,
    share,
    team,
    worthwhile_threads,
)
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.solvers.solver import CsrArrays, Problem, Solution
from dgraph.tables.edge_tables import cached_on

_first: Any = trailing_zeros  # the position of a word's lowest bit


class SearchThresholds(NamedTuple):
    """Thresholds, which do not affect the result. The paper uses alpha 14, beta 24."""

    alpha: int = 15  # pull once the frontier has 1/alpha of the edges that have not been pushed along,
    beta: int = 18  # and until the frontier has less than 1/beta of the vertices
    alone: int = 1024  # with fewer edges out of a frontier, one thread is faster than several
    taken: int = 128  # vertices of a frontier, or words of a bitmap, that a thread takes at a time


class SearchGoal(NamedTuple):
    """Where the search ends: at a depth, or at the level of a vertex unless `target` is NONE."""

    depth: int
    target: int


BITS = np.int64(32)  # bits of the predecessor in words of (level, predecessor); smaller words are better
NO_PREDECESSOR = np.int64((1 << 32) - 1)  # the predecessor of a source
SIX, LOW = uint64(6), uint64(63)  # v >> SIX is the word of v in a bitmap, v & LOW its bit
NEXT, FOUND, SEEN = 0, 8, 16  # positions of the counts of a pulled level, on separate cache lines
NEAR, FAR = uint64(8), uint64(24)  # prefetch distances in a queue: of rows, and of the bounds of rows

# marks[turn % 2, rank] describes a thread's queue: queues[rank, BEGIN:END] belong to the frontier, with AHEAD edges out
# of them, and other threads may take the vertices after TAKEN. A thread writes its marks of the next turn while all
# read those of this one. Thread 0 adds the LEVEL, and the number of edges PUSHED along so far.
BEGIN, END, TAKEN, AHEAD, LEVEL, PUSHED = range(6)

DEFAULT_THRESHOLDS = SearchThresholds()
READS_BEFORE_SORT = 2  # rows are sorted once all edges have been read this many times on average


def search(problem: Problem, sources: np.ndarray, goal: SearchGoal) -> Solution:
    """Levels from the nearest of several distinct sources, and the smallest predecessors, which are NONE for sources
    and unreached vertices."""
    (out,), n = problem.edges.senders("out"), problem.vertices
    threads = worthwhile_threads(problem.threads, n + out.num_edges)
    order = order_of(problem.edges.partition.incoming or out, out, threads)
    distance, best = np.empty(n), np.empty(n, np.int64)
    queues, bits = np.empty((threads, n), np.uint32), np.empty((3, -(-n // 64)), np.uint64)
    marks, counts = np.zeros((2, threads, 8), np.int64), np.zeros((2, 24), np.int64)
    rows = CsrArrays(out.indptr, out.neighbours), CsrArrays(order.rows.indptr, order.rows.neighbours)
    work = best, distance, queues, marks, bits, counts
    levels, pushed = team(_search, threads, *rows, order.ascending, sources, goal, DEFAULT_THRESHOLDS, *work)
    pulled = int(counts[0, SEEN])
    order.edges_read += pulled
    return Solution({"distance": distance, "predecessor": best}, levels, pushed + pulled)


@kernel
def _search(
    rank, size, signals, out, incoming, ascending, sources, goal, thresholds,
    best, distance, queues, marks, bits, counts,
):  # fmt: skip
    """Write distance[v], and the predecessor to best[v]. All threads of the team take the same turns, because every
    choice depends on values that all of them can read. Returns the number of levels, and of edges pushed along."""
    first, last = share(rank, size, best.size)
    for v in range(uint64(first), uint64(last)):
        best[v] = UNREACHED
    barrier(size, signals)
    if rank == 0:
        _start(sources, out, best, queues[0], marks[0, 0])
    turn, pulled, seen = 0, False, np.int64(0)
    while True:
        barrier(size, signals)
        now, next_ = marks[turn % 2], marks[(turn + 1) % 2]
        level, pushed = now[0, LEVEL], now[0, PUSHED]
        length, ahead = np.int64(0), np.int64(0)
        for owner in range(size):
            length += now[owner, END] - now[owner, BEGIN]
            ahead += now[owner, AHEAD]
        if length == 0 or is_last_level(level, goal, best):
            break
        if not pulled and ahead * thresholds.alpha > out.neighbours.size - pushed:
            begin = now[rank, END]
            how = level, length, incoming, ascending, goal, thresholds
            level, front, edges = pull(rank, size, signals, *how, best, bits, counts)
            seen += edges
            end, ahead = list_bits(rank, size, front, out, queues[rank], begin)
            _hand_over(next_[rank], begin, end, ahead)
            pulled = True
        elif ahead >= thresholds.alone and size > 1:
            _push_together(rank, size, level, out, thresholds, best, queues, now, next_)
            level, pushed, pulled = level + 1, pushed + ahead, False
        else:
            if rank == 0:
                level, edges = _push_alone(size, level, out, goal, thresholds, best, queues, now, next_)
                pushed += edges
            pulled = False
        if rank == 0:
            next_[0, LEVEL], next_[0, PUSHED] = level, pushed
        turn += 1
    atomic_add(counts[0], SEEN, seen)
    for v in range(uint64(first), uint64(last)):
        word = best[v]
        distance[v] = np.inf if word == UNREACHED else np.float64(word >> BITS)
        best[v] = NONE if word & NO_PREDECESSOR == NO_PREDECESSOR else word & NO_PREDECESSOR
    return level + (length > 0), pushed


@part
def _start(sources, out, best, queue, mark):
    """Make the sources the first frontier."""
    for i in range(uint64(sources.size)):
        u = uint64(sources[i])
        best[u] = NO_PREDECESSOR
        queue[i] = u
        mark[AHEAD] += out.indptr[u + ONE] - out.indptr[u]
    mark[END] = sources.size


@part
def _hand_over(mark, begin, end, ahead):
    """Turn the vertices that a thread has reached into its queue of the next level."""
    mark[BEGIN], mark[TAKEN], mark[END], mark[AHEAD] = begin, begin, end, ahead


@part
def _push(frontier, begin, end, level, out, best, queue, at):
    """Visit the neighbours of frontier[begin:end], and append new ones to queue[at:]. Returns the end of the queue, and
    the number of edges out of the new vertices."""
    ahead = np.int64(0)
    word, later = np.int64(level + 1) << BITS, np.int64(level + 2) << BITS
    for i in range(uint64(begin), uint64(end)):
        if i + FAR < uint64(end):
            prefetch(out.indptr, frontier[i + FAR])
        if i + NEAR < uint64(end):
            prefetch(out.neighbours, out.indptr[frontier[i + NEAR]])
        u = frontier[i]
        mine = word | np.int64(u)
        for e in range(uint64(out.indptr[u]), uint64(out.indptr[u + ONE])):
            v = out.neighbours[e]
            if mine < best[v] and atomic_min(best, v, mine) >= later:  # v is new
                ahead += out.indptr[v + ONE] - out.indptr[v]
                queue[uint64(at)] = v
                at += 1
    return at, ahead


@part
def _push_together(rank, size, level, out, thresholds, best, queues, now, next_):
    """Each thread first pushes its own queue, which is still in its cache, then what remains of the others' queues."""
    begin = at = now[rank, END]
    ahead = np.int64(0)
    for k in range(size):
        owner = (rank + k) % size
        end = now[owner, END]
        while True:
            i = atomic_add(now[owner], TAKEN, thresholds.taken)
            if i >= end:
                break
            at, more = _push(queues[owner], i, min(i + thresholds.taken, end), level, out, best, queues[rank], at)
            ahead += more
    _hand_over(next_[rank], begin, at, ahead)


@part
def _push_alone(size, level, out, goal, thresholds, best, queues, now, next_):
    """One thread pushes level after level, while the frontier is small. Returns the level, and the number of edges
    pushed along. A level may have a single edge, so calls are inlined by hand; no atomics are needed."""
    pushed, ahead = np.int64(0), np.int64(0)
    begin = at = now[0, END]
    for owner in range(size):
        pushed += now[owner, AHEAD]
        start, end = now[owner, BEGIN], now[owner, END]
        at, more = _push(queues[owner], start, end, level, out, best, queues[0], at)
        ahead += more
        _hand_over(next_[owner], end, end, np.int64(0))
    level, queue, indptr, neighbours = level + 1, queues[0], out.indptr, out.neighbours
    while at > begin and ahead < thresholds.alone and not is_last_level(level, goal, best):
        pushed, start, begin, ahead = pushed + ahead, begin, at, np.int64(0)
        word, later = np.int64(level + 1) << BITS, np.int64(level + 2) << BITS
        for i in range(uint64(start), uint64(begin)):
            if i + NEAR < uint64(begin):
                prefetch(neighbours, indptr[queue[i + NEAR]])
            u = queue[i]
            mine = word | np.int64(u)
            for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
                v = neighbours[e]
                held = best[v]
                best[v] = min(mine, held)
                if held >= later:  # v is new
                    ahead += indptr[v + ONE] - indptr[v]
                    queue[uint64(at)] = v
                    at += 1
        level += 1
    _hand_over(next_[0], begin, at, ahead)
    return level, pushed


# -- large levels: bitmaps replace queues ------------------------------------------------------------------------------


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
        is_small = length < before and length * thresholds.beta < best.size
        if is_small or length == 0 or is_last_level(level, goal, best):
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


# -- rows with neighbours in ascending order, so that the first match is the smallest ----------------------------------
# Sorting takes longer than a search, so rows are sorted only once searches in unsorted ones have cost enough.


@dataclass
class Order:
    """Rows, and whether they are sorted; `edges_read` counts the edges read while they were unsorted."""

    rows: Adjacency
    ascending: bool
    edges_read: int = 0


def order_of(rows: Adjacency, reverse: Adjacency, threads: int) -> Order:
    """The rows, or a sorted copy of them without columns, made from the edges in the other order (`reverse`). It is
    cached with the rows."""

    def look() -> Order:
        disorder = np.zeros(1, np.int64)
        team(_find_disorder, threads, rows.indptr, rows.neighbours, disorder)
        # This is a new Adjacency, because a value that refers to its weak key would keep the key alive.
        return Order(Adjacency(rows.indptr, rows.neighbours), not disorder[0])

    order = cached_on(rows, "order", look)
    if order.ascending or order.edges_read <= READS_BEFORE_SORT * rows.num_edges:
        return order
    ends = Adjacency(reverse.indptr, reverse.neighbours)
    return cached_on(
        rows, "sorted", lambda: Order(ends.transposed(threads), True) if has_room(2 * ends.nbytes) else order
    )


@kernel
def _find_disorder(rank, size, signals, indptr, neighbours, disorder):
    """Set disorder[0] if the neighbours of some row are not in ascending order."""
    first, last = share(rank, size, indptr.size - 1)
    for u in range(uint64(first), uint64(last)):
        before = np.uint32(0)
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            if neighbours[e] < before:
                atomic_max(disorder, 0, 1)
                return
            before = neighbours[e]
