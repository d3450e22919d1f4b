"""Labels that spread to neighbours: the solver of `cdlp` and `label_propagation`.

A vertex counts its neighbours' labels again only when so many of them have changed that another could have won. Each
round first finds what the vertices want, and then lets them have it: nobody reads a label of the round itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, njit, uint32, uint64

from dgraph.solvers.randomness import uniform
from dgraph.solvers.solver import Problem
from dgraph.solvers.team import atomic_add, barrier, kernel, part, stopped, team

inlined = njit(nogil=True, inline="always")

PATIENT, WAITS = 16, 0.125  # taking turns: after so many rounds, this share of the vertices waits, drawn anew each time
SPARSE = 16  # vertices that change tell their neighbours, unless they have more than one in so many of the edges
GRAIN = 256  # vertices that a thread takes at once, fewer of a small graph; where nothing happens it passes them over
FIRST, SECOND, MOVING, RESTLESS, EDGES = 0, 8, 16, 32, 48  # the tally's places, on cache lines of their own

one = uint64(1)


def spread(
    problem: Problem, labels: np.ndarray, *, takes_turns: bool = False, random_seed: int = 0
) -> tuple[int, int, int]:
    """Let `labels` spread in place: how many rounds that took, how many vertices want another, how many edges were
    looked at. `takes_turns` is for `label_propagation`, which also keeps a label that is as frequent as any."""
    first, *more = problem.edges.senders("both")
    tables: list[Any] = [(side.indptr, side.neighbours) for side in (first, *more)]
    tables += [(np.zeros(1, np.int64), np.zeros(0, np.uint32))] * (2 - len(tables))
    grain = max(1, min(GRAIN, len(labels) // 64))
    grains = -(-len(labels) // grain)
    slack, busy, wanting = np.full(len(labels), -1, np.int32), np.ones(grains, np.bool_), np.zeros(grains, np.bool_)
    tally = np.zeros(64, np.int64)
    arrays = *tables[0], *tables[1], labels, labels.copy(), slack, busy, wanting, tally
    options = grain, problem.values["max_iter"], takes_turns, random_seed
    rounds = team(_spread, problem.threads, *arrays, *options)
    return rounds, int(tally[RESTLESS + rounds % 2]), int(tally[EDGES])


@kernel
def _spread(
    rank, size, signals,
    indptr, neighbours, more_indptr, more_neighbours, labels, wanted, slack, busy, wanting, tally,
    size_of_grain, max_iter, takes_turns, random_seed,
):  # fmt: skip
    """Until nobody is restless. `slack`: how many neighbours may change before a vertex must count again, which it must
    below 0; `busy`: grains with such a vertex; `wanting`: grains with one that is restless."""
    n, grains, per_grain = uint64(labels.size), busy.size, uint64(size_of_grain)
    both = more_indptr.size > 1
    widest = uint64(0)
    for u in range(n):
        widest = max(widest, _degree(u, indptr, more_indptr, both))
    slots, counts, base = np.empty(widest + one, np.uint32), np.zeros(n, np.uint32), uint32(0)
    edges, seen, number = neighbours.size + more_neighbours.size, uint64(0), 0
    while number < max_iter and not stopped(signals):
        number += 1
        turn = number % 2
        moving = restless = uint64(0)
        while True:
            grain = atomic_add(tally, FIRST, 1)
            if grain >= grains:
                break
            if not (busy[grain] or wanting[grain]):
                continue
            busy[grain] = wanting[grain] = False
            begin = uint64(grain) * per_grain
            for u in range(begin, min(begin + per_grain, n)):
                label = labels[u]
                if slack[u] < 0:
                    others = _gather(u, indptr, neighbours, slots, uint64(0), labels, label)
                    if both:
                        others = _gather(u, more_indptr, more_neighbours, slots, others, labels, label)
                    degree = _degree(u, indptr, more_indptr, both)
                    if base + others > uint64(0xFFFF_FFFF):
                        counts[:] = 0
                        base = uint32(0)
                    wanted[u], slack[u] = _most_frequent(slots, others, degree, label, takes_turns, counts, base)
                    base = uint32(base + others)
                    seen += degree
                if wanted[u] != label:
                    wanting[grain] = True
                    restless += one
                    if not takes_turns or _has_turn(u, number, label, wanted[u], random_seed):
                        moving += _degree(u, indptr, more_indptr, both)
        atomic_add(tally, MOVING + 8 * turn, moving)
        atomic_add(tally, RESTLESS + turn, restless)
        if rank == 0:
            tally[SECOND] = 0
        barrier(rank, size, signals)

        if tally[RESTLESS + turn] == 0:
            break
        everywhere = tally[MOVING + 8 * turn] * SPARSE > edges
        while True:
            grain = atomic_add(tally, SECOND, 1)
            if grain >= grains:
                break
            begin = uint64(grain) * per_grain
            end = min(begin + per_grain, n)
            if everywhere:
                busy[grain] = True
                slack[begin:end] = -1
            if not wanting[grain]:
                continue
            for u in range(begin, end):
                label = labels[u]
                if wanted[u] != label and (not takes_turns or _has_turn(u, number, label, wanted[u], random_seed)):
                    labels[u] = wanted[u]
                    if not everywhere:
                        _tell(u, indptr, neighbours, slack, busy, per_grain)
                        if both:
                            _tell(u, more_indptr, more_neighbours, slack, busy, per_grain)
        if rank == 0:
            tally[FIRST] = tally[MOVING + 8 * (1 - turn)] = tally[RESTLESS + 1 - turn] = 0
        barrier(rank, size, signals)
    atomic_add(tally, EDGES, seen)
    return number


@inlined
def _degree(u, indptr, more_indptr, both):
    degree = uint64(indptr[u + one] - indptr[u])
    return degree + uint64(more_indptr[u + one] - more_indptr[u]) if both else degree


@inlined
def _gather(u, indptr, neighbours, slots, others, labels, label):
    """Neighbours' labels other than `label`, behind those `others` that are there."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + one])):
        slots[others] = labels[neighbours[e]]
        others += uint64(slots[others] != label)
    return others


@inlined
def _tell(u, indptr, neighbours, slack, busy, per_grain):
    """Every neighbour has less slack."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + one])):
        v = uint64(neighbours[e])
        if atomic_add(slack, v, -1) <= 0:
            busy[v // per_grain] = True


@part
def _has_turn(u, number, label, wanted, random_seed):
    """Whether a restless vertex gets another label in this round; `LabelPropagation` says why."""
    down = number % 2 == 1
    return (wanted < label) == down and (number <= PATIENT or uniform(random_seed, number, u) >= WAITS)


@part
def _most_frequent(slots, others, degree, label, keeps, counts, base):
    """The label that occurs most often, of several the smallest; with `keeps` the vertex's own, if it is one of them.
    And how many neighbours may change before another could win.

    Counts of a vertex begin at the base, which is above all that vertices before have left.
    """
    best, most = label, degree - others
    if most <= others:
        for i in range(others):
            found = slots[i]
            now = max(counts[found], base) + one
            counts[found] = now
            times = uint64(now - base)
            if times > most or (times == most and found < best and not (keeps and best == label)):
                best, most = found, times
    return best, int32(max(int64(uint64(2) * most) - int64(degree) - 1, 0) // 2)
