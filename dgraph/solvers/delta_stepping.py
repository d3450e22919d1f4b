"""Shortest paths by delta-stepping (Meyer and Sanders 2003): vertices wait in slots of `delta` by their distance, and
leave from the nearest slot on.

A slot that has little in it is worked off by one thread, which goes on to the next without asking the others (bucket
fusion: Zhang and others, CGO 2020): thousands of tiny frontiers cost no more than their edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.monoid import NONE, UNREACHED
from dgraph.solvers.errand import STOP
from dgraph.solvers.slots import (
    DROPPED,
    FEW,
    LISTS,
    NOWHERE,
    ROOM,
    SLOTS,
    USED,
    Lists,
    Waiting,
    any_long,
    before,
    first_of,
    free,
    list_of,
    move,
    move_all,
    nearest,
    next_of,
    number_of,
    push,
)
from dgraph.solvers.team import (
    atomic_add,
    atomic_load,
    atomic_min,
    atomic_or,
    barrier,
    compare_and_swap,
    kernel,
    part,
    prefetch,
    share,
    stopped,
    team,
)

SAMPLE = 4096  # edges by which the width of slots is chosen
ALL = 1 << 62  # edges
LEAST, LARGEST = 1e-300, 1e300  # width of a slot: it and its inverse are finite
AHEAD = 8  # vertices whose rows are asked for before their turn
LOCKED = np.int64(-(2**63))  # the sign bit of a parent

# places in `shared`, after those of `slots.py`; LISTED and what follows are there for even and for odd turns
LOOKED, FLAT, LISTED, TAKEN, NEXT, WINDOW, TURN = 16, 17, 24, 32, 40, 48, 32


class Relaxed(NamedTuple):
    """At how many edges it was looked, and whether some distance was reached by an edge that adds nothing: then parents
    may be missing."""

    looked: int
    flat: bool


class Rows(NamedTuple):
    """The edges of a partition's vertices, and what is known of these."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    dist: np.ndarray
    parent: np.ndarray  # the smallest strictly nearer one on a shortest path; empty if nobody asks
    improved: np.ndarray
    numbers: np.ndarray  # by which parents are named and compared; empty if these are the rows
    tied: np.ndarray  # who has got another parent at the same distance; empty if nobody asks


def rows_of(indptr, neighbours, weights, dist, *, tree: bool = False) -> Rows:
    """Rows without any news; with a `tree`, predecessors are found, too."""
    parent = np.full(len(dist) if tree else 0, UNREACHED)
    improved = np.zeros(len(dist), np.bool_)
    return Rows(indptr, neighbours, weights, dist, parent, improved, parent[:0], improved[:0])


def relax(
    rows: Rows,
    frontier: np.ndarray,
    *,
    delta: float | None = None,
    target: int = NONE,
    threads: int = 1,
    room: int | None = None,
    limit: int = ALL,
    waiting: Waiting | None = None,
) -> Relaxed:
    """Lower rows.dist until dist[v] <= dist[u] + weight(u, v) for all edges here.

    Rows are those of one partition, of owned vertices and proxies alike; weights are not negative. Before, only edges
    of the `frontier`, and of who is `waiting`, may break that rule: different vertices whose distance is new. What was
    lowered is marked in rows.improved, which is all False before, and holds the frontier, too, afterwards. With a
    `target`, distances above that of this vertex need not be final; nor those that lead on from who is still waiting
    afterwards, because no slot is begun after so many edges as `limit` says. `delta` is the width of a slot, the same
    as long as some are waiting; `room` how many vertices can wait at once: at least the frontier.
    """
    scale, looked, flat = 1.0 / max(delta or width(rows), LEAST), 0, False
    senders = int(np.searchsorted(rows.indptr, rows.indptr[-1]))  # rows from there on are empty
    waiting = waiting if waiting is not None else Waiting(len(rows.dist), threads, room)
    while len(frontier) or waiting.some:
        rows.improved[frontier] = True
        added = waiting.begin(rows.dist, frontier, scale)
        lists = waiting.tails, waiting.spare, waiting.pool, waiting.chained, waiting.work, waiting.shared
        where = team(_relax, threads, rows, added, senders, waiting.window, waiting.slot, scale, target, limit, *lists)
        waiting.window, waiting.slot = where
        looked, flat = looked + int(waiting.shared[LOOKED]), flat or bool(waiting.shared[FLAT])
        if not waiting.shared[DROPPED]:
            break
        # There was no room to remember who had been lowered: all whom a path reaches go once more.
        frontier, waiting.slot = np.flatnonzero(rows.dist < np.inf).astype(np.uint32), LISTS
    return Relaxed(looked, flat)


def width(rows: Rows) -> float:
    """Of a slot: such a weight that of the edges that lead on from an edge, one is no heavier; from a sample. Then a
    vertex hardly lowers another of its own slot, and few slots are empty, whatever the distribution of weights."""
    step = max(1, len(rows.neighbours) // SAMPLE)
    weights, ends = rows.weights[::step].astype(np.float64), rows.neighbours[::step].astype(np.int64)
    weights = weights[(weights > 0) & (weights < np.inf)]
    if not len(weights):
        return 1.0
    leads_on = (rows.indptr[ends + 1] - rows.indptr[ends]).mean()
    lighter = int((len(weights) - 1) / max(leads_on, 1.0))
    return min(float(np.partition(weights, lighter)[lighter]), LARGEST)


@part
def _relax_chunk(place, slot, alone, rows, senders, window, scale, lists):
    """Relax the edges of a chunk's vertices, and give back the chunk; the number of edges.

    Who sets the sign bit of a parent has that vertex for itself. `push` is written out here, because a call would count
    references to all arrays, for every edge: that costs a fifth.
    """
    indptr, neighbours, weights, dist, parent, improved, numbers, tied = rows
    tails, spare, pool, chained, shared = lists
    tree, named, tells_ties = parent.size > 0, numbers.size > 0, tied.size > 0
    chunk = (place - 1) // ROOM
    begin, end, looked = uint64(chunk * ROOM), uint64(place), uint64(0)
    for i in range(begin, end):
        if i + uint64(AHEAD) < end:
            x = uint64(pool[i + uint64(AHEAD)])
            prefetch(indptr, x)
            prefetch(dist, x)
        if i + uint64(AHEAD // 2) < end:
            row = indptr[uint64(pool[i + uint64(AHEAD // 2)])]
            prefetch(neighbours, row)
            prefetch(weights, row)
            prefetch(neighbours, row + 16)
        u = uint64(pool[i])
        d = dist[u]
        if list_of(number_of(d, scale), window) != slot:
            continue  # it has been taken from a nearer slot
        number = np.int64(numbers[u]) if named else np.int64(u)  # with unsigned numbers, signed ones become floats
        first, last = uint64(indptr[u]), uint64(indptr[u + uint64(1)])
        looked += last - first
        for e in range(first, last):
            v = uint64(neighbours[e])
            new, old = d + weights[e], dist[v]
            tie = tree and new == old and d < new < np.inf and not 0 <= atomic_load(parent, v) <= number
            if not (new < old or tie):
                continue
            if not d < new:
                shared[FLAT] = 1
            if tie and tells_ties:
                tied[v] = True
            by = number if d < new else UNREACHED
            if alone:
                dist[v] = new
                if tree:
                    parent[v] = by if new < old else min(parent[v], by)
            elif not tree:
                old = atomic_min(dist, v, new)
            else:
                held = atomic_or(parent, v, LOCKED)
                while held < 0:
                    held = atomic_or(parent, v, LOCKED)
                old, after = dist[v], held
                if new < old:
                    dist[v], after = new, by
                elif new == old:
                    after = min(held, by)
                compare_and_swap(parent, v, held | LOCKED, after)
            if old <= new:
                continue
            there = list_of(number_of(new, scale), window)
            if there != slot and improved[v] and list_of(number_of(old, scale), window) == there:
                continue  # it waits there already
            improved[v] = True
            if v >= senders:
                continue  # nothing leads on
            place = tails[there]
            if place % ROOM == 0:
                fresh = spare[0]
                if fresh >= 0:
                    spare[0] = chained[uint64(fresh)]
                else:
                    fresh = atomic_add(shared, USED, 1)
                    if fresh >= chained.size:
                        shared[DROPPED] = 1
                        continue
                chained[uint64(fresh)] = place // ROOM - 1
                place = fresh * ROOM
            pool[uint64(place)] = v
            tails[there] = place + 1
    free(chunk, lists)
    return looked


@kernel
def _relax(
    rank, size, signals, rows, frontier, senders, window, slot, scale, target, limit,
    tails, spare, pool, chained, work, shared,
):  # fmt: skip
    """Each thread has lists of its own; the chunks of the nearest slot are shared out. Where these are few, rank 0
    works off the lists of all, and moves the window, while the others wait. Returns where to go on."""
    dist, lists = rows.dist, Lists(tails[rank], spare[rank], pool, chained, shared)
    first, last = share(rank, size, frontier.size)
    for i in range(first, last):
        push(list_of(number_of(dist[frontier[i]], scale), window), frontier[i], lists)
    if rank == 0:
        shared[NEXT], shared[WINDOW] = LISTS, NOWHERE
    barrier(rank, size, signals)
    turn, looked = 0, np.int64(0)
    while slot < LISTS and looked < limit and _matters(slot, window, target, dist, scale) and not stopped(signals):
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
        barrier(rank, size, signals)
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
                seen += _relax_chunk(work[k], slot, alone, rows, senders, window, scale, lists)
                k = atomic_add(shared, now + TAKEN, 1)
            # What little has come to the same slot; and if nobody else is at work, to those after it.
            here, bound = slot, LISTS if alone else slot + 1
            while here < bound and looked + seen < limit and _matters(here, window, target, dist, scale):
                if atomic_load(signals, STOP) != 0 or (size > 1 and any_long(here, tails, low, high, lists)):
                    break
                if here >= SLOTS:
                    window = move_all(here, window, dist, scale, tails, spare, lists)
                    here = window & (SLOTS - 1)
                    continue
                for r in range(low, high):
                    place, tails[r, here] = tails[r, here], 0
                    while place > 0:
                        earlier = before(place, lists)
                        seen += _relax_chunk(place, here, alone, rows, senders, window, scale, lists)
                        place = earlier
                here = next_of(here, tails, low, high)
            atomic_add(shared, LOOKED, seen)
            if rank == 0:
                slot, shared[now + WINDOW] = here, window
        if rank == 0 or not alone:
            atomic_min(shared, now + NEXT, next_of(slot, tails, low, high))
        barrier(rank, size, signals)
        slot, looked = shared[now + NEXT], shared[LOOKED]
        if within:
            window = shared[now + WINDOW]
    return window, slot


@part
def _matters(slot, window, target, dist, scale):
    """Whether a path to the target may lead on from there."""
    return target < 0 or first_of(slot, window) <= number_of(dist[target], scale)
