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
from dgraph.solvers.slots import DROPPED, FEW, ROOM, SLOTS, USED, Lists, before, free, is_long, next_slot, push, slot_of
from dgraph.solvers.team import (
    atomic_add,
    atomic_load,
    atomic_min,
    atomic_or,
    barrier,
    compare_and_swap,
    kernel,
    prefetch,
    share,
    team,
)

SAMPLE = 4096  # edges by which the width of slots is chosen
LEAST = 1e-300  # width of a slot, so that its inverse is finite
AHEAD = 8  # vertices whose rows are asked for before their turn
LOCKED = np.int64(-(2**63))  # the sign bit of a parent

# places in `shared`, after those of `slots.py`; LISTED and what follows are there for even and for odd turns
LOOKED, FLAT, LISTED, TAKEN, NEXT, LIMIT, TURN = 16, 17, 24, 32, 40, 48, 32


class Rows(NamedTuple):
    """The edges of a partition's vertices, and what is known of these."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    dist: np.ndarray
    parent: np.ndarray  # the smallest strictly nearer one on a shortest path; empty if nobody asks
    improved: np.ndarray


def rows_of(indptr, neighbours, weights, dist, *, tree: bool = False) -> Rows:
    """Rows without any news; with a `tree`, predecessors are found, too."""
    parent = np.full(len(dist) if tree else 0, UNREACHED)
    return Rows(indptr, neighbours, weights, dist, parent, np.zeros(len(dist), np.bool_))


def relax(
    rows: Rows,
    frontier: np.ndarray,
    *,
    delta: float | None = None,
    target: int = NONE,
    threads: int = 1,
    room: int | None = None,
) -> tuple[int, bool]:
    """Lower rows.dist until dist[v] <= dist[u] + weight(u, v) for all edges here. Returns how many were looked
    at, and whether some distance was reached by an edge that adds nothing: then parents may be missing.

    Rows are those of one partition, of owned vertices and proxies alike; weights are not negative. Before, only edges
    of the `frontier` may break that rule: different vertices whose distance is new. What was lowered is marked in
    rows.improved, which is all False before, and holds the frontier, too, afterwards. With a `target`, distances above
    that of this vertex need not be final. `delta` is the width of a slot, `room` how many vertices can wait at once:
    at least the frontier.
    """
    size, looked, flat = len(rows.dist), 0, False
    delta = max(delta or width(rows), LEAST)
    chunks = (4 * size if room is None else room) // ROOM + threads * (SLOTS + 2)
    pool, chained, work = np.empty(chunks * ROOM, np.uint32), np.empty(chunks, np.int64), np.empty(chunks, np.int64)
    while len(frontier):
        base = rows.dist[frontier].min()
        rows.improved[frontier] = True
        shared, far = np.zeros(128, np.int64), np.full(2, np.inf)
        team(_relax, threads, rows, frontier, base, 1.0 / delta, target, pool, chained, work, shared, far)
        looked, flat = looked + int(shared[LOOKED]), flat or bool(shared[FLAT])
        # Where there was no room to remember who had been lowered, all whom a path reaches go once more.
        frontier = np.flatnonzero(rows.dist < np.inf).astype(np.uint32) if shared[DROPPED] else frontier[:0]
    return looked, flat


def width(rows: Rows) -> float:
    """Of a slot: twice the median weight, by the number of edges that lead on from an edge; both from a sample. Then a
    vertex hardly lowers another of its own slot, and few slots are empty."""
    step = max(1, len(rows.neighbours) // SAMPLE)
    weights, ends = rows.weights[::step].astype(np.float64), rows.neighbours[::step].astype(np.int64)
    weights = weights[(weights > 0) & (weights < np.inf)]
    if not len(weights):
        return 1.0
    leads_on = (rows.indptr[ends + 1] - rows.indptr[ends]).mean()
    return max(2 * np.median(weights) / max(leads_on, 1.0), weights.min())


@kernel
def _relax_chunk(place, slot, alone, rows, base, scale, lists):
    """Relax the edges of a chunk's vertices, and give back the chunk; the number of edges.

    Who sets the sign bit of a parent has that vertex for itself. `push` is written out here, because a call would count
    references to all arrays, for every edge: that costs a fifth.
    """
    indptr, neighbours, weights, dist, parent, improved = rows
    tails, spare, nearest, pool, chained, shared = lists
    tree = parent.size > 0
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
        if slot_of(d, base, scale) != slot:
            continue  # it has been taken from a nearer slot
        number = np.int64(u)  # with unsigned numbers, signed ones become floats
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
            there = slot_of(new, base, scale)
            if there not in (slot, SLOTS) and improved[v] and slot_of(old, base, scale) == there:
                continue  # it waits there already
            improved[v] = True
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
            if there == SLOTS:
                nearest[0] = min(nearest[0], new)
    free(chunk, lists)
    return looked


@kernel
def _relax(rank, size, signals, rows, frontier, base, scale, target, pool, chained, work, shared, far):
    """Each thread has lists of its own; the chunks of the nearest slot are shared out."""
    dist = rows.dist
    lists = Lists(np.zeros(SLOTS + 2, np.int64), np.full(1, -1), np.full(1, np.inf), pool, chained, shared)
    begin, end = share(rank, size, frontier.size)
    for i in range(begin, end):
        u = frontier[i]
        push(slot_of(dist[u], base, scale), u, dist[u], lists)
    if rank == 0:
        shared[NEXT], shared[LIMIT] = SLOTS + 1, SLOTS + 1
    barrier(rank, size, signals)
    slot, turn, looked = 0, 0, uint64(0)
    while slot <= SLOTS and (target < 0 or slot <= slot_of(dist[target], base, scale)):
        now, other, turn = TURN * turn, TURN - TURN * turn, 1 - turn
        # Every thread lists its chunks of this slot, and says where it would go on.
        place = lists.tails[slot]
        lists.tails[slot] = 0
        while place > 0:
            work[atomic_add(shared, now + LISTED, 1)] = place
            place = before(place, lists)
        if rank > 0:
            atomic_min(shared, now + LIMIT, next_slot(slot, lists.tails))
        barrier(rank, size, signals)
        listed, limit = shared[now + LISTED], shared[now + LIMIT]
        alone = size == 1 or listed <= FEW
        if rank == 0:
            shared[other + LISTED], shared[other + TAKEN] = 0, 0
            shared[other + NEXT], shared[other + LIMIT] = SLOTS + 1, SLOTS + 1
        if rank == 0 or not alone:
            k = atomic_add(shared, now + TAKEN, 1)
            while k < listed:
                looked += _relax_chunk(work[k], slot, alone, rows, base, scale, lists)
                k = atomic_add(shared, now + TAKEN, 1)
            # What little has come to the same slot; and if nobody else is at work, to those after it.
            here, limit = slot, (min(limit, SLOTS) if alone else slot + 1)
            while here < limit and (target < 0 or here <= slot_of(dist[target], base, scale)):
                place = lists.tails[here]
                if place == 0:
                    here += 1
                    continue
                if size > 1 and is_long(place, lists):
                    break
                lists.tails[here] = 0
                while place > 0:
                    earlier = before(place, lists)
                    looked += _relax_chunk(place, here, alone, rows, base, scale, lists)
                    place = earlier
        atomic_min(shared, now + NEXT, next_slot(slot, lists.tails))
        atomic_min(far, turn, lists.nearest[0])
        barrier(rank, size, signals)
        slot = shared[now + NEXT]
        if slot == SLOTS:
            place, outside, base = lists.tails[SLOTS], base, far[turn]
            lists.tails[SLOTS], lists.nearest[0], slot = 0, np.inf, 0
            while place > 0:
                chunk, earlier = (place - 1) // ROOM, before(place, lists)
                for i in range(uint64(chunk * ROOM), uint64(place)):
                    u = pool[i]
                    if slot_of(dist[u], outside, scale) == SLOTS:
                        push(slot_of(dist[u], base, scale), u, dist[u], lists)
                free(chunk, lists)
                place = earlier
        if rank == 0:
            far[1 - turn] = np.inf
    atomic_add(shared, LOOKED, np.int64(looked))
