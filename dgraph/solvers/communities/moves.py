"""Local moves: each vertex joins the neighbouring community that raises the quality most, until none does.

All threads read the newest labels of each other's vertices. After a move, only the neighbours outside the new community
have another turn (Ozaki, Tezuka, Inaba 2016; Sahu: GVE-Louvain, 2023).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, barrier, kernel, stopped, team
from dgraph.solvers.communities.ties import NEXT, READ, Level, NullModel, VisitingOrder, WeightTable, add_ties, first_of

MOVED, FREE, LIMIT = 8, 16, 32  # in `tally`: moves of a pass, and of the next one; the next unused label, and their end
RELATIVE = 1e-10  # a move has to gain this share of what staying is worth, or rounding could go on for ever
NONE = np.zeros(0, np.bool_)


class Communities(NamedTuple):
    """The community of each vertex, and for each community the sums of its vertices' strengths."""

    labels: np.ndarray
    totals: np.ndarray
    totals_into: np.ndarray


class Spare(NamedTuple):
    """Labels that no community has."""

    first: int
    end: int

    @classmethod
    def beside(cls, labels: np.ndarray) -> Spare:
        return cls(int(labels.max()) + 1 if len(labels) else 0, len(labels))


class Passes(NamedTuple):
    """What passes over the vertices have done."""

    passes: int
    read: int  # edges
    gain: float  # of the last pass
    spare: Spare


def move_vertices(
    level: Level,
    communities: Communities,
    order: VisitingOrder,
    tolerance: float,
    most: int,
    pending: np.ndarray | None = None,
    waiting: np.ndarray = NONE,
    spare: Spare | None = None,
) -> Passes:
    """Move the vertices of a level in place, in at most `most` passes, until a pass gains no more than `tolerance`
    (a share of the weight of all edges). Only those that are `pending` and not `waiting` have a turn, by default all;
    afterwards, those that have to try again are pending."""
    pending = np.ones(level.vertices, np.bool_) if pending is None else pending
    first, end = spare or Spare.beside(communities.labels)
    tally, gains = np.zeros(64, np.int64), np.zeros(16)
    tally[FREE], tally[LIMIT] = first, end
    how = most, tolerance * level.weight
    scratch = level.tables()
    passes = team(
        _move, level.threads, *level.ties, level.null, communities, pending, waiting, *scratch, order, how, tally, gains
    )
    gain = float(gains[8 * ((passes - 1) % 2)]) if passes else 0.0
    return Passes(passes, int(tally[READ]), gain, Spare(min(int(tally[FREE]), end), end))


def sums_of(null: NullModel, labels: np.ndarray) -> Communities:
    """The communities of these labels, which change with them."""
    into = np.bincount(labels, null.into, len(labels)) if len(null.into) else null.into
    return Communities(labels, np.bincount(labels, null.strengths, len(labels)), into)


@inlined
def expected(u, null, total, total_into):
    """The weight that chance would give to the edges between u and a community of these totals."""
    if null.into.size:
        return null.factor * (null.strengths[u] * total_into + null.into[u] * total)
    return null.factor * null.strengths[u] * total


@kernel
def _move(
    rank, size, signals, first, second, null, communities, pending, waiting, sums, touched, order, how, tally, gains
):
    table = WeightTable(sums[rank], touched[rank])
    most, tolerance = how
    grain, grains = uint64(order.grain), uint64(order.grains)
    passes, read, n = 0, uint64(0), uint64(pending.size)
    while passes < most and not stopped(signals):
        turn = passes % 2
        passes += 1
        gain, moved = 0.0, uint64(0)
        number = uint64(atomic_add(tally, NEXT, 1))
        while number < grains:
            begin = first_of(order, number)
            some, more, seen = _move_grain(
                begin, min(begin + grain, n), first, second, null, communities, pending, waiting, table, tally
            )
            moved, gain, read = moved + some, gain + more, read + seen
            number = uint64(atomic_add(tally, NEXT, 1))
        atomic_add(tally, MOVED + turn, moved)
        atomic_add(gains, 8 * turn, gain)
        barrier(size, signals)
        if tally[MOVED + turn] == 0 or gains[8 * turn] <= tolerance:
            break
        if rank == 0:
            tally[NEXT] = tally[MOVED + 1 - turn] = 0
            gains[8 * (1 - turn)] = 0.0
        barrier(size, signals)
    atomic_add(tally, READ, read)
    return passes


@scalar_part
def _move_grain(begin, end, first, second, null, communities, pending, waiting, table, tally):
    """Try the pending vertices of a grain. Returns the number of moves, what they gained, and the edges read."""
    moved, gain, read = uint64(0), 0.0, uint64(0)
    for u in range(begin, end):
        waits = waiting.size > 0 and waiting[u]
        if pending[u] and not waits and has_ties(u, first, second):  # others may be those of another worker
            pending[u] = False
            count = add_ties(u, first, communities.labels, table, uint64(0))
            read += uint64(first.ends[u] - first.begins[u])
            if second.begins.size:
                count = add_ties(u, second, communities.labels, table, count)
                read += uint64(second.ends[u] - second.begins[u])
            if count:
                more = _move_one(u, count, first, second, null, communities, pending, table, tally)
                if more > 0.0:
                    moved, gain = moved + ONE, gain + more
    return moved, gain, read


@inlined
def _move_one(u, count, first, second, null, communities, pending, table, tally):
    """Move u to its best community, and clear the table. Returns the gain; 0 if it stays."""
    labels, totals, totals_into = communities
    own, strength, directed = uint64(labels[u]), null.strengths[u], null.into.size > 0
    into = null.into[u] if directed else 0.0
    stay = table.sums[own] - expected(u, null, totals[own] - strength, totals_into[own] - into if directed else 0.0)
    best, most = own, stay + RELATIVE * abs(stay)
    for i in range(count):
        label = uint64(table.touched[i])
        if label != own:
            found = table.sums[label] - expected(u, null, totals[label], totals_into[label] if directed else 0.0)
            if found > most or (found == most and label < best):
                best, most = label, found
        table.sums[label] = 0.0
    if most < 0.0 and tally[FREE] < tally[LIMIT]:  # better alone
        free = atomic_add(tally, FREE, 1)
        if free < tally[LIMIT]:
            best, most = uint64(free), 0.0
    if best == own:
        return 0.0
    atomic_add(totals, own, -strength)
    atomic_add(totals, best, strength)
    if directed:
        atomic_add(totals_into, own, -into)
        atomic_add(totals_into, best, into)
    labels[u] = best
    _wake(u, best, first, labels, pending)
    if second.begins.size:
        _wake(u, best, second, labels, pending)
    return most - stay


@inlined
def has_ties(u, first, second):
    return first.ends[u] > first.begins[u] or (second.begins.size > 0 and second.ends[u] > second.begins[u])


@inlined
def _wake(u, label, ties, labels, pending):
    for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
        v = uint64(ties.neighbours[e])
        if labels[v] != label:
            pending[v] = True
