"""Breadth-first search on one of several partitions: levels in ascending order from what others have told, so that no
vertex goes twice in a round. A round ends before a large level, because what others know may spare it; and after many
small ones, so that others can go on meanwhile. In large levels, vertices not yet reached look for a predecessor
(Beamer, Asanović, Patterson, SC 2012)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel, part, prefetch
from dgraph.programs.monoid import UNREACHED
from dgraph.solvers.paths.row_order import order_of
from dgraph.solvers.paths.vertex_numbers import VertexNumbers, number_of_vertex, numbers_of
from dgraph.solvers.solver import SOON, LocalProblem
from dgraph.tables.edge_tables import cached_on

LARGE = 1 << 17  # edges out of a level, from which on a round of all workers costs less than they do
MANY = 1 << 20  # edges of a round
ALPHA = 30  # to look for predecessors pays from 1/ALPHA of the edges on that have not been pushed along,
SCAN = 8  # unless it is cheaper to push along an edge than to look at so many vertices, of which most are reached
NEAR, FAR = uint64(8), uint64(24)  # whose row, and the place of whose row, is asked for before its turn
SIX, LOW = uint64(6), uint64(63)


class BothOrders(NamedTuple):
    """The edges in both orders. `ascending`: the first neighbour found in a row has the smallest number."""

    indptr: np.ndarray
    neighbours: np.ndarray
    in_indptr: np.ndarray
    in_neighbours: np.ndarray
    ascending: bool
    numbers: VertexNumbers


class TightEdges(NamedTuple):
    """Pushes only along edges u -> v with `known[u]` + weight = `known[v]`."""

    known: np.ndarray
    weights: np.ndarray


class LevelMessages(NamedTuple):
    """A message is a level, with sender + 1 in its last bits."""

    best: np.ndarray
    improved: np.ndarray
    bits: np.int64
    limit: int  # who is on this level sends nothing


class Scratch(NamedTuple):
    """What is kept from one round to the next. Counts: edges looked at in this round, the length of `now`, where in the
    frontier those begin that have not gone, and edges pushed along in all rounds."""

    now: np.ndarray
    next: np.ndarray
    front: np.ndarray  # a bitmap
    counts: np.ndarray


def settle(part: LocalProblem, tight: TightEdges | None = None) -> tuple[int, np.ndarray]:
    """Messages are those of `BreadthFirst`."""
    (out,), size, numbers = part.edges.senders("out"), len(part.best), part.edges.numbers()
    order = order_of(part.edges.partition.incoming or out, out, part.edges.threads)
    if not part.kept:
        now, following = (np.empty(size, np.uint32) for _ in range(2))
        part.kept["room"] = Scratch(now, following, np.zeros(-(-size // 64), np.uint64), np.zeros(4, np.int64))
    room, bits = part.kept["room"], np.int64(part.values["bits"])
    frontier, levels = part.frontier, part.best[part.frontier] >> bits
    if (levels[1:] < levels[:-1]).any():
        by_level = np.argsort(levels, kind="stable")
        frontier, levels = frontier[by_level], levels[by_level]
    ascending = order.ascending and cached_on(out, "by number", lambda: _by_number(out.indptr, numbers))
    sides = out.indptr, out.neighbours, order.rows.indptr, order.rows.neighbours
    rows = BothOrders(*sides, ascending, numbers_of(part.edges))
    limit = min(part.values.get(name, UNREACHED) for name in ("depth_limit", "horizon"))
    reached = LevelMessages(part.best, part.improved, bits, limit)
    many = MANY // SOON if part.unheard else MANY
    pulled = _settle(rows, reached, room, frontier, levels, tight, LARGE, many)
    order.looked += pulled
    looked, length, rest, _ = room.counts.tolist()
    waits = part.best[frontier[rest:]] >> bits == levels[rest:]  # it has gone, or is in the list, if it is lower now
    return looked, np.concatenate([room.now[:length], frontier[rest:][waits]])


def _by_number(indptr: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether the neighbours of each row have ascending numbers."""
    senders = numbers[np.flatnonzero(np.diff(indptr))]
    return bool((senders[1:] > senders[:-1]).all())


@kernel
def _settle(rows, reached, room, frontier, levels, tight, large, many):
    """Leaves the level at hand in room.now. Returns the number of edges looked at in vain, or for a predecessor."""
    indptr, best, bits, now, after = rows.indptr, reached.best, reached.bits, room.now, room.next
    rest, length, level = uint64(0), uint64(0), np.int64(0)
    ahead, looked, pulled, swapped = uint64(0), np.int64(0), np.int64(0), False
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
                ahead += indptr[v + ONE] - indptr[v]
            rest += ONE
        edges = np.int64(ahead)
        if looked and (edges > large or looked > many):
            break
        if level >= reached.limit:
            length = ahead = uint64(0)
            continue
        level += 1
        many_ahead = edges * ALPHA > rows.neighbours.size - room.counts[3] and edges * SCAN > best.size
        if tight is None and many_ahead:
            length, ahead, seen = _pull(rows, reached, level, room.front, now, length, after)
            pulled += seen
            looked += seen
        else:
            length, ahead = _push(rows, reached, level, tight, now, length, after)
            looked += edges
        room.counts[3] += edges
        now, after, swapped = after, now, not swapped
    if swapped:
        room.now[:length] = now[:length]
    room.counts[0], room.counts[1], room.counts[2] = looked, length, rest
    return pulled


@part
def _push(rows, reached, level, tight, now, length, after):
    """Tell the neighbours of `now` of a level; those that had none so low go next. Returns how many these are, and how
    many edges lead on from them."""
    indptr, neighbours, best, improved = rows.indptr, rows.neighbours, reached.best, reached.improved
    count, ahead, above = uint64(0), uint64(0), (level + 1) << reached.bits
    if tight is not None:
        known, weights = tight
    for i in range(length):
        if i + FAR < length:
            prefetch(indptr, uint64(now[i + FAR]))
        if i + NEAR < length:
            prefetch(neighbours, uint64(indptr[uint64(now[i + NEAR])]))
        u = uint64(now[i])
        message = (level << reached.bits) + number_of_vertex(u, rows.numbers) + 1
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            v = uint64(neighbours[e])
            old = best[v]
            if tight is not None and not (known[u] + weights[e] == known[v] < np.inf):
                continue
            if message < old:
                best[v], improved[v] = message, True
                if old >= above:
                    after[count] = v
                    count += ONE
                    ahead += indptr[v + ONE] - indptr[v]
    return count, ahead


@part
def _pull(rows, reached, level, front, now, length, after):
    """The same, by all vertices that are not below that level; returns also the number of edges looked at."""
    indptr, neighbours, best = rows.in_indptr, rows.in_neighbours, reached.best
    front[:] = uint64(0)
    for i in range(length):
        u = uint64(now[i])
        front[u >> SIX] |= ONE << (u & LOW)
    count, ahead, looked = uint64(0), uint64(0), uint64(0)
    below, above = level << reached.bits, (level + 1) << reached.bits
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
                new = min(new, below + number_of_vertex(u, rows.numbers) + 1)
                if rows.ascending:  # no other is smaller
                    break
        looked += e
        if new < old:
            best[v], reached.improved[v] = new, True
            if old >= above:
                after[count] = v
                count += ONE
                ahead += rows.indptr[v + ONE] - rows.indptr[v]
    return count, ahead, np.int64(looked)
