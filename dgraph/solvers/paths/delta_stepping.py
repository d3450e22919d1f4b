"""Shortest paths by delta-stepping (Meyer and Sanders 2003): vertices wait in slots of `delta` by their distance, and
leave from the nearest slot on.

A slot that has little in it is worked off by one thread, which goes on to the next without asking the others (bucket
fusion: Zhang and others, CGO 2020): thousands of tiny frontiers cost no more than their edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.native.interruptible_calls import STOP
from dgraph.native.machine_code import inlined
from dgraph.native.team import atomic_add, atomic_load, atomic_min, barrier, kernel, share, stopped, team
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.solvers.paths.distance_slots import (
    DROPPED,
    FEW,
    LISTS,
    NOWHERE,
    SLOTS,
    WaitingVertices,
    any_long,
    before,
    first_of,
    list_of,
    move,
    move_all,
    nearest,
    next_of,
    number_of,
    of_thread,
    push,
)
from dgraph.solvers.paths.edge_relaxation import BEYOND, FAR, FLAT, LOOKED, PathTables, Words, relax_chunk
from dgraph.solvers.paths.vertex_numbers import VertexNumbers

SAMPLE = 4096  # edges by which the width of slots is chosen
ALL = 1 << 62  # edges
LEAST, LARGEST = 1e-300, 1e300  # width of a slot: it and its inverse are finite

# places in `shared`, after those of `edge_relaxation.py`: each is there for even and for odd turns
LISTED, TAKEN, NEXT, WINDOW, TURN = 24, 32, 40, 48, 32


class RelaxationResult(NamedTuple):
    """The number of edges looked at; whether some distance was reached by an edge of length 0, so that predecessors may
    be missing; whether some distance is too large for its word, so that not all are known."""

    looked: int
    flat: bool
    beyond: bool


class StopLimits(NamedTuple):
    """Where a call may stop: beyond the distance of a vertex, or if `target` is none beyond slot number `far`; and
    after so many edges."""

    target: int
    far: int
    limit: int


def rows_of(indptr, neighbours, weights, dist, *, tree: bool = False) -> PathTables:
    """PathTables in which nothing has improved yet; with a `tree`, predecessors are found, too."""
    parent = np.full(len(dist) if tree else 0, UNREACHED)
    improved = np.zeros(len(dist), np.bool_)
    numbers = VertexNumbers(0, len(dist), parent[:0])
    return PathTables(indptr, neighbours, weights, dist, parent, improved, numbers, improved[:0])


def relax(
    rows: PathTables,
    frontier: np.ndarray,
    *,
    delta: float | None = None,
    target: int = NONE,
    bound: float = np.inf,
    threads: int = 1,
    limit: int = ALL,
    waiting: WaitingVertices | None = None,
    words: Words | None = None,
) -> RelaxationResult:
    """Lower rows.dist until dist[v] <= dist[u] + weight(u, v) for all edges here.

    The rows are one partition's, of owned vertices and proxies alike; weights are not negative. Before the call, only
    edges of the `frontier` (different vertices whose distance is new) and of vertices that are `waiting` may break that
    rule. Every vertex whose distance was lowered is marked in rows.improved, which is all False before; so is the
    frontier.

    Three things may be left unfinished: distances above the `bound`, or above that of the `target`; and those that lead
    on from vertices still `waiting` afterwards, because no slot is begun after `limit` edges. `delta` is the width of a
    slot, and must stay the same while some wait. With `words`, distances are kept in these.
    """
    scale, looked, flat, beyond = 1.0 / max(delta or width(*rows[:3]), LEAST), 0, False, False
    senders = int(np.searchsorted(rows.indptr, rows.indptr[-1]))  # rows from there on are empty
    waiting = waiting if waiting is not None else WaitingVertices(len(rows.dist), threads)
    while len(frontier) or waiting.any_waiting:
        if len(rows.improved):
            rows.improved[frontier] = True
        added = waiting.begin(rows.dist, frontier, scale, bound)
        where, ends, lists = (waiting.window, waiting.slot), StopLimits(target, waiting.far, limit), waiting.lists
        waiting.window, waiting.slot = team(
            _relax, threads, rows, words, added, senders, *where, scale, ends, lists, waiting.work
        )
        looked, flat = looked + int(waiting.shared[LOOKED]), flat or bool(waiting.shared[FLAT])
        beyond = beyond or bool(waiting.shared[BEYOND])
        if not waiting.shared[DROPPED]:
            break
        # There was no room to remember who had been lowered: all whom a path reaches go once more.
        frontier, waiting.slot = np.flatnonzero(rows.dist < (np.inf if words is None else FAR)).astype(np.uint32), LISTS
    return RelaxationResult(looked, flat, beyond)


def width(indptr: np.ndarray, neighbours: np.ndarray, weights: np.ndarray) -> float:
    """A width of slots such that, of the edges that lead on from an edge, one on average is no heavier; from a sample.
    Then a vertex hardly lowers another of its own slot, and few slots are empty, whatever the distribution of
    weights."""
    step = max(1, len(neighbours) // SAMPLE)
    some, ends = weights[::step].astype(np.float64), neighbours[::step].astype(np.int64)
    some = some[(some > 0) & (some < np.inf)]
    if not len(some):
        return 1.0
    leads_on = (indptr[ends + 1] - indptr[ends]).mean()
    lighter = int((len(some) - 1) / max(leads_on, 1.0))
    return min(float(np.partition(some, lighter)[lighter]), LARGEST)


@kernel
def _relax(rank, size, signals, rows, words, frontier, senders, window, slot, scale, ends, lists_of_all, work):
    """Each thread has lists of its own; the chunks of the nearest slot are shared out. Where these are few, rank 0
    works off the lists of all threads, and moves the window, while the others wait. Returns where to go on."""
    dist, lists, tails, shared = rows.dist, of_thread(rank, lists_of_all), lists_of_all.tails, lists_of_all.shared
    first, last = share(rank, size, frontier.size)
    for i in range(first, last):
        push(list_of(number_of(dist[frontier[i]], scale), window), frontier[i], lists)
    if rank == 0:
        shared[NEXT], shared[WINDOW] = LISTS, NOWHERE
    barrier(size, signals)
    turn, looked = 0, np.int64(0)
    while slot < LISTS and looked < ends.limit and _matters(slot, window, ends, dist, scale) and not stopped(signals):
        now, other, turn = TURN * turn, TURN - TURN * turn, 1 - turn
        within = slot < SLOTS
        # Every thread lists its chunks of this slot, or says where it would go on.
        place = lists.tails[slot]
        if within:
            lists.tails[slot] = 0
            while place > 0:
                work[atomic_add(shared, now + LISTED, 1)] = place
                place = before(place, lists)
        else:
            atomic_min(shared, now + WINDOW, nearest(place, slot, window, dist, scale, lists))
        barrier(size, signals)
        listed = shared[now + LISTED]
        alone = within and (size == 1 or listed <= FEW)
        low, high = (0, size) if alone else (rank, rank + 1)
        if rank == 0:
            shared[other + LISTED], shared[other + TAKEN] = 0, 0
            shared[other + NEXT], shared[other + WINDOW] = LISTS, NOWHERE
        if not within:
            window = move(slot, window, shared[now + WINDOW], dist, scale, lists)
            slot = window & (SLOTS - 1)
        elif rank == 0 or not alone:
            seen = np.int64(0)
            k = atomic_add(shared, now + TAKEN, 1)
            while k < listed:
                seen += relax_chunk(work[k], slot, alone, rows, words, senders, window, scale, lists)
                k = atomic_add(shared, now + TAKEN, 1)
            # What little has come to the same slot; and if nobody else is at work, to those after it.
            here, bound = slot, LISTS if alone else slot + 1
            while here < bound and looked + seen < ends.limit and _matters(here, window, ends, dist, scale):
                if atomic_load(signals, STOP) != 0 or (size > 1 and any_long(here, lists_of_all, low, high)):
                    break
                if here >= SLOTS:
                    window = move_all(here, window, dist, scale, lists_of_all)
                    here = window & (SLOTS - 1)
                    continue
                for r in range(low, high):
                    place, tails[r, here] = tails[r, here], 0
                    while place > 0:
                        earlier = before(place, lists)
                        seen += relax_chunk(place, here, alone, rows, words, senders, window, scale, lists)
                        place = earlier
                here = next_of(here, lists_of_all, low, high)
            atomic_add(shared, LOOKED, seen)
            if rank == 0:
                slot, shared[now + WINDOW] = here, window
        if rank == 0 or not alone:
            atomic_min(shared, now + NEXT, next_of(slot, lists_of_all, low, high))
        barrier(size, signals)
        slot, looked = shared[now + NEXT], shared[LOOKED]
        if within:
            window = shared[now + WINDOW]
    return window, slot


@inlined
def _matters(slot, window, ends, dist, scale):
    """Whether a path that is short enough may lead on from a vertex."""
    return first_of(slot, window) <= (ends.far if ends.target < 0 else number_of(dist[ends.target], scale))
