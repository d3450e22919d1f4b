"""Shortest paths by delta-stepping (Meyer and Sanders 2003): vertices wait in slots of width `delta` by their distance,
and slots are processed from the nearest on.

One thread processes slots with few vertices, and goes on to the next ones without synchronising with the others (bucket
fusion: Zhang and others, CGO 2020). So thousands of tiny frontiers cost no more than their edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.native.machine_code import inlined
from dgraph.native.team import STOP, atomic_add, atomic_load, atomic_min, barrier, kernel, share, stopped, team
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.solvers.paths.distance_slots import (
    DROPPED,
    FEW_CHUNKS,
    LISTS,
    NO_NUMBER,
    SLOTS,
    WaitList,
    any_long,
    first_of,
    list_of,
    move,
    move_all,
    nearest,
    next_of,
    number_of,
    of_thread,
    previous_end,
    push,
)
from dgraph.solvers.paths.edge_relaxation import BEYOND, EDGES, FLAT, UNSET_HALF, PathTables, PathWords, relax_chunk
from dgraph.solvers.paths.vertex_numbers import VertexNumbers

SAMPLE_EDGES = 4096  # edges that are sampled to choose the width of slots
ALL = 1 << 62  # edges: no limit
NARROWEST, WIDEST = 1e-300, 1e300  # bounds of the width of a slot: it and its inverse must be finite

# Positions in `shared`, after those of `edge_relaxation.py`. Each exists twice, for even and for odd turns.
LISTED, TAKEN, NEXT, WINDOW, TURN = 24, 32, 40, 48, 32


class RelaxResult(NamedTuple):
    edges: int  # read
    flat: bool  # whether some shortest path ends with an edge of length 0, so that predecessors may be missing
    beyond: bool  # whether some distance is too large for its word, so that not all are known


class StopLimits(NamedTuple):
    """Where a call may stop: beyond the distance of the vertex `target` or, if that is NONE, beyond slot number `far`;
    and after `limit` edges."""

    target: int
    far: int
    limit: int


def rows_of(indptr, neighbours, weights, dist, *, tree: bool = False) -> PathTables:
    """PathTables in which nothing has improved yet. With `tree`, predecessors are computed as well."""
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
    waiting: WaitList | None = None,
    words: PathWords | None = None,
) -> RelaxResult:
    """Lower rows.dist until dist[v] <= dist[u] + weight(u, v) for all edges of the rows.

    The rows are those of one partition, of owned vertices and proxies alike; weights must not be negative. Before the
    call, only edges of the `frontier` (distinct vertices with new distances) and of `waiting` vertices may violate this
    condition. rows.improved must be all False; it is set for the frontier and for every vertex whose distance was
    lowered.

    The result may be incomplete for distances above the `bound` or above that of the `target`, and for paths through
    of a slot, and must not change while vertices wait. With `words`, distances are kept in the words.
    """
    scale, edges, flat, beyond = 1.0 / max(delta or slot_width(*rows[:3]), NARROWEST), 0, False, False
    senders = int(np.searchsorted(rows.indptr, rows.indptr[-1]))  # rows from here on are empty
    waiting = waiting if waiting is not None else WaitList(len(rows.dist), threads)
    while len(frontier) or not waiting.empty:
        if len(rows.improved):
            rows.improved[frontier] = True
        added = waiting.begin(rows.dist, frontier, scale, bound)
        where, limits, lists = (waiting.window, waiting.slot), StopLimits(target, waiting.far, limit), waiting.lists
        waiting.window, waiting.slot = team(
            _relax, threads, rows, words, added, senders, *where, scale, limits, lists, waiting.work
        )
        edges, flat = edges + int(waiting.shared[EDGES]), flat or bool(waiting.shared[FLAT])
        beyond = beyond or bool(waiting.shared[BEYOND])
        if not waiting.shared[DROPPED]:
            break
        # The pool was too small for all lowered vertices: start again from every reached vertex.
        frontier, waiting.slot = (
            np.flatnonzero(rows.dist < (np.inf if words is None else UNSET_HALF)).astype(np.uint32),
            LISTS,
        )
    return RelaxResult(edges, flat, beyond)


def slot_width(indptr: np.ndarray, neighbours: np.ndarray, weights: np.ndarray) -> float:
    """A width of slots, from a sample of edges, such that the vertex at the end of an edge has, on average, one edge
    that is at most that heavy. Then a vertex rarely lowers another of its own slot, and few slots are empty, for any
    distribution of weights."""
    step = max(1, len(neighbours) // SAMPLE_EDGES)
    sample, ends = weights[::step].astype(np.float64), neighbours[::step].astype(np.int64)
    sample = sample[(sample > 0) & (sample < np.inf)]
    if not len(sample):
        return 1.0
    degree = (indptr[ends + 1] - indptr[ends]).mean()
    lighter = int((len(sample) - 1) / max(degree, 1.0))
    return min(float(np.partition(sample, lighter)[lighter]), WIDEST)


@kernel
def _relax(rank, size, signals, rows, words, frontier, senders, window, slot, scale, limits, lists_of_all, work):
    """Relax edges until the limits are reached or nothing waits. Each thread has separate lists; all threads share the
    chunks of the nearest slot. If these are few, rank 0 processes the lists of all threads, and moves the window, while
    the others wait. Returns the window and the slot to continue from."""
    dist, lists, tails, shared = rows.dist, of_thread(rank, lists_of_all), lists_of_all.tails, lists_of_all.shared
    first, last = share(rank, size, frontier.size)
    for i in range(first, last):
        push(list_of(number_of(dist[frontier[i]], scale), window), frontier[i], lists)
    if rank == 0:
        shared[NEXT], shared[WINDOW] = LISTS, NO_NUMBER
    barrier(size, signals)
    turn, edges = 0, np.int64(0)
    while (
        slot < LISTS and edges < limits.limit and _matters(slot, window, limits, dist, scale) and not stopped(signals)
    ):
        now, other, turn = TURN * turn, TURN - TURN * turn, 1 - turn
        within = slot < SLOTS
        # Every thread lists its chunks of this slot, or proposes where to move the window.
        place = lists.tails[slot]
        if within:
            lists.tails[slot] = 0
            while place > 0:
                work[atomic_add(shared, now + LISTED, 1)] = place
                place = previous_end(place, lists)
        else:
            atomic_min(shared, now + WINDOW, nearest(place, slot, window, dist, scale, lists))
        barrier(size, signals)
        listed = shared[now + LISTED]
        alone = within and (size == 1 or listed <= FEW_CHUNKS)
        low, high = (0, size) if alone else (rank, rank + 1)
        if rank == 0:
            shared[other + LISTED], shared[other + TAKEN] = 0, 0
            shared[other + NEXT], shared[other + WINDOW] = LISTS, NO_NUMBER
        if not within:
            window = move(slot, window, shared[now + WINDOW], dist, scale, lists)
            slot = window & (SLOTS - 1)
        elif rank == 0 or not alone:
            seen = np.int64(0)
            k = atomic_add(shared, now + TAKEN, 1)
            while k < listed:
                seen += relax_chunk(work[k], slot, alone, rows, words, senders, window, scale, lists)
                k = atomic_add(shared, now + TAKEN, 1)
            # This slot may have received a few more vertices by now, and later slots too if the other threads wait.
            here, bound = slot, LISTS if alone else slot + 1
            while here < bound and edges + seen < limits.limit and _matters(here, window, limits, dist, scale):
                if atomic_load(signals, STOP) != 0 or (size > 1 and any_long(here, lists_of_all, low, high)):
                    break
                if here >= SLOTS:
                    window = move_all(here, window, dist, scale, lists_of_all)
                    here = window & (SLOTS - 1)
                    continue
                for r in range(low, high):
                    place, tails[r, here] = tails[r, here], 0
                    while place > 0:
                        earlier = previous_end(place, lists)
                        seen += relax_chunk(place, here, alone, rows, words, senders, window, scale, lists)
                        place = earlier
                here = next_of(here, lists_of_all, low, high)
            atomic_add(shared, EDGES, seen)
            if rank == 0:
                slot, shared[now + WINDOW] = here, window
        if rank == 0 or not alone:
            atomic_min(shared, now + NEXT, next_of(slot, lists_of_all, low, high))
        barrier(size, signals)
        slot, edges = shared[now + NEXT], shared[EDGES]
        if within:
            window = shared[now + WINDOW]
    return window, slot


@inlined
def _matters(slot, window, limits, dist, scale):
    """Whether vertices in this slot may be on a path that is short enough to matter."""
    return first_of(slot, window) <= (limits.far if limits.target < 0 else number_of(dist[limits.target], scale))
