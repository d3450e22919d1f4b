"""Breadth-first search in one of several partitions. It processes the messages from others by ascending level, so no
vertex is visited twice in a round. A round ends before a large level, which messages from other partitions may make
unnecessary, and after many small ones, so that others can continue in the meantime. In large levels, unvisited vertices
look for a predecessor (Beamer, Asanović, Patterson, SC 2012)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel, part, prefetch
from dgraph.programs.monoid import UNREACHED
from dgraph.solvers.paths.breadth_first import LOW, SIX, order_of
from dgraph.solvers.paths.vertex_numbers import VertexNumbers, number_of_vertex, numbers_of
from dgraph.solvers.solver import FIRST_SEND_FACTOR, SettleProblem
from dgraph.tables.edge_tables import cached_on

LARGE_LEVEL = 1 << 17  # a level with more edges costs more than a round of all workers
ROUND_EDGES = 1 << 20  # edges after which a round ends
ALPHA = 30  # pull once a level has 1/ALPHA of the edges that have not been pushed along,
SCAN = 8  # and has at least one edge for every SCAN vertices, because a pull scans them all
NEAR, FAR = uint64(8), uint64(24)  # prefetch distances: of rows, and of the bounds of rows


class BothOrders(NamedTuple):
    """The edges in both orders. If `ascending`, in-neighbours are sorted by number."""

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


class LevelMessage(NamedTuple):
    """Messages are levels, with sender + 1 in their last `bits`."""

    best: np.ndarray
    improved: np.ndarray
    bits: np.int64
    limit: int  # vertices on this level do not send


class Scratch(NamedTuple):
    """Memory that is kept from one round to the next. `counts` are the number of edges read in this round, the length
    of `now`, the first vertex of the frontier that has not been visited, and the number of edges pushed along in all
    rounds."""

    now: np.ndarray
    next: np.ndarray
    front: np.ndarray  # a bitmap
    counts: np.ndarray


def settle(part: SettleProblem, tight: TightEdges | None = None) -> tuple[int, np.ndarray]:
    """`SettlementMethod.take` of `BreadthFirst`, or, with `tight`, of a program with the same messages."""
    (out,), size, numbers = part.edges.senders("out"), len(part.best), part.edges.numbers()
    order = order_of(part.edges.partition.incoming or out, out, part.edges.threads)
    if not part.scratch:
        now, following = (np.empty(size, np.uint32) for _ in range(2))
        part.scratch["scratch"] = Scratch(now, following, np.zeros(-(-size // 64), np.uint64), np.zeros(4, np.int64))
    scratch, bits = part.scratch["scratch"], np.int64(part.values["bits"])
    frontier, levels = part.frontier, part.best[part.frontier] >> bits
    if (levels[1:] < levels[:-1]).any():
        by_level = np.argsort(levels, kind="stable")
        frontier, levels = frontier[by_level], levels[by_level]
    ascending = order.ascending and cached_on(out, "by number", lambda: _by_number(out.indptr, numbers))
    sides = out.indptr, out.neighbours, order.rows.indptr, order.rows.neighbours
    rows = BothOrders(*sides, ascending, numbers_of(part.edges))
    limit = min(part.values.get(name, UNREACHED) for name in ("depth_limit", "horizon"))
    reached = LevelMessage(part.best, part.improved, bits, limit)
    many = ROUND_EDGES // FIRST_SEND_FACTOR if part.has_not_sent else ROUND_EDGES
    pulled = _settle(rows, reached, scratch, frontier, levels, tight, LARGE_LEVEL, many)
    order.edges_read += pulled
    edges_read, length, rest, _ = scratch.counts.tolist()
    waits = part.best[frontier[rest:]] >> bits == levels[rest:]  # false if visited on a lower level, or in `now`
    return edges_read, np.concatenate([scratch.now[:length], frontier[rest:][waits]])


def _by_number(indptr: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether ascending neighbours have ascending numbers."""
    senders = numbers[np.flatnonzero(np.diff(indptr))]
    return bool((senders[1:] > senders[:-1]).all())


@kernel
def _settle(rows, reached, scratch, frontier, levels, tight, large, many):
    """Run the levels of one round. Leaves the unfinished level in scratch.now. Returns the edges read by pulls."""
    indptr, best, bits, now, after = rows.indptr, reached.best, reached.bits, scratch.now, scratch.next
    rest, length, level = uint64(0), uint64(0), np.int64(0)
    ahead, edges_read, pulled, swapped = uint64(0), np.int64(0), np.int64(0), False
    while True:
        if length == 0:
            if rest == frontier.size:
                break
            level = levels[rest]
        while rest < frontier.size and levels[rest] == level:
            v = uint64(frontier[rest])
            if best[v] >> bits == level:  # otherwise it was visited on a lower level in the meantime
                now[length] = v
                length += ONE
                ahead += indptr[v + ONE] - indptr[v]
            rest += ONE
        edges = np.int64(ahead)
        if edges_read and (edges > large or edges_read > many):
            break
        if level >= reached.limit:
            length = ahead = uint64(0)
            continue
        level += 1
        many_ahead = edges * ALPHA > rows.neighbours.size - scratch.counts[3] and edges * SCAN > best.size
        if tight is None and many_ahead:
            length, ahead, seen = _pull(rows, reached, level, scratch.front, now, length, after)
            pulled += seen
            edges_read += seen
        else:
            length, ahead = _push(rows, reached, level, tight, now, length, after)
            edges_read += edges
        scratch.counts[3] += edges
        now, after, swapped = after, now, not swapped
    if swapped:
        scratch.now[:length] = now[:length]
    scratch.counts[0], scratch.counts[1], scratch.counts[2] = edges_read, length, rest
    return pulled


@part
def _push(rows, reached, level, tight, now, length, after):
    """Send the level to the neighbours of `now`; those that are not on it or below yet are written to `after`. Returns
    their number, and the number of edges out of them."""
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
    """Like `_push`, but scans all vertices that are not below that level. Also returns the number of edges read."""
    indptr, neighbours, best = rows.in_indptr, rows.in_neighbours, reached.best
    front[:] = uint64(0)
    for i in range(length):
        u = uint64(now[i])
        front[u >> SIX] |= ONE << (u & LOW)
    count, ahead, edges_read = uint64(0), uint64(0), uint64(0)
    below, above = level << reached.bits, (level + 1) << reached.bits
    for v in range(uint64(best.size)):
        old = best[v]
        if old < below:
            continue
        new, e, end = old, uint64(indptr[v]), uint64(indptr[v + ONE])
        edges_read -= e
        while e < end:
            u = uint64(neighbours[e])
            e += ONE
            if front[u >> SIX] >> (u & LOW) & ONE:
                new = min(new, below + number_of_vertex(u, rows.numbers) + 1)
                if rows.ascending:  # all further neighbours are larger
                    break
        edges_read += e
        if new < old:
            best[v], reached.improved[v] = new, True
            if old >= above:
                after[count] = v
                count += ONE
                ahead += rows.indptr[v + ONE] - rows.indptr[v]
    return count, ahead, np.int64(edges_read)
