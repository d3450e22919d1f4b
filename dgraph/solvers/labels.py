"""Labels that spread to neighbours: the solver of `cdlp` and `label_propagation`.

A vertex counts its neighbours' labels again only when so many of them have changed that another label could have won.
Each round first finds which label each vertex wants, and then gives it: nobody reads a label of the same round.
"""

from __future__ import annotations

import math

import numpy as np
from numba import int64, njit, uint64

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
    """Let `labels` spread in place. Returns how many rounds that took, how many vertices still want another label, and
    how many edges were looked at. `takes_turns` is for `label_propagation`, which also keeps a label that is as
    frequent as any. Each edge has one vote; where weights are read, as many as its weight says."""
    unit, threads = problem.values.get("unit"), problem.threads
    weighted = unit is not None
    sides = problem.edges.senders("both")
    tables = [(side.indptr, side.neighbours, problem.edges.column(side, "weight")) for side in sides]
    none = np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0) if weighted else None
    first, second = (*tables, none)[:2]
    grain = max(1, min(GRAIN, len(labels) // 64))
    grains = -(-len(labels) // grain)
    widest = int(sum((np.diff(ends) for ends, *_ in tables), np.zeros(len(labels), np.int64)).max(initial=0))
    room = (
        np.empty((threads, widest + 1), np.uint32),
        np.empty((threads, widest + 1 if weighted else 0), np.uint64),
        np.zeros((threads, len(labels)), np.uint64 if weighted else np.uint32),
    )
    slack = np.full(len(labels), -1, np.int64 if weighted else np.int32)
    busy, wanting = np.ones(grains, np.bool_), np.zeros(grains, np.bool_)
    tally = np.zeros(64, np.int64)
    arrays = *first, *second, unit, labels, labels.copy(), slack, busy, wanting, *room, tally
    options = grain, problem.values["max_iter"], takes_turns, random_seed
    rounds = team(_spread, threads, *arrays, *options)
    return rounds, int(tally[RESTLESS + rounds % 2]), int(tally[EDGES])


@kernel
def _spread(
    rank, size, signals,
    indptr, neighbours, weights, more_indptr, more_neighbours, more_weights, unit,
    labels, wanted, slack, busy, wanting, slots_of, loads_of, counts_of, tally,
    size_of_grain, max_iter, takes_turns, random_seed,
):  # fmt: skip
    """Take rounds until no vertex wants another label. `slack`: how many votes may change before a vertex must count
    again, which it must below 0. `busy`: grains of vertices in which some must. `wanting`: grains in which some wants
    another label."""
    n, grains, per_grain = uint64(labels.size), busy.size, uint64(size_of_grain)
    both = more_indptr.size > 1
    slots, loads, counts = slots_of[rank], loads_of[rank], counts_of[rank]
    base, limit = uint64(0), uint64(np.iinfo(counts.dtype).max)
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
                    found = uint64(0), uint64(0), uint64(0)
                    found = _gather(u, indptr, neighbours, weights, unit, slots, loads, found, labels, label)
                    if both:
                        found = _gather(
                            u, more_indptr, more_neighbours, more_weights, unit, slots, loads, found, labels, label
                        )
                    others, own, theirs = found
                    degree = _degree(u, indptr, more_indptr, both)
                    if weights is None:
                        own, theirs = degree - others, others
                    if theirs > limit - base:
                        counts[:] = 0
                        base = uint64(0)
                    wanted[u], slack[u] = _most_frequent(
                        slots, weights, loads, others, own, theirs, label, takes_turns, counts, base
                    )
                    base += theirs
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
        barrier(size, signals)

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
                        _tell(u, indptr, neighbours, weights, unit, slack, busy, per_grain)
                        if both:
                            _tell(u, more_indptr, more_neighbours, more_weights, unit, slack, busy, per_grain)
        if rank == 0:
            tally[FIRST] = tally[MOVING + 8 * (1 - turn)] = tally[RESTLESS + 1 - turn] = 0
        barrier(size, signals)
    atomic_add(tally, EDGES, seen)
    return number


@inlined
def _degree(u, indptr, more_indptr, both):
    degree = uint64(indptr[u + one] - indptr[u])
    return degree + uint64(more_indptr[u + one] - more_indptr[u]) if both else degree


@inlined
def _gather(u, indptr, neighbours, weights, unit, slots, loads, found, labels, label):
    """Add the neighbours' labels other than `label` behind the first `others` of the slots; with weights, their votes
    to the loads. Returns how many labels there are, and the votes for `label` and for others."""
    others, own, theirs = found
    for e in range(uint64(indptr[u]), uint64(indptr[u + one])):
        slots[others] = labels[neighbours[e]]
        if weights is None:
            others += uint64(slots[others] != label)
        else:
            votes = uint64(math.ceil(weights[e] * unit))
            loads[others] = votes
            if slots[others] == label:
                own += votes
            else:
                theirs += votes
                others += uint64(votes > 0)
    return others, own, theirs


@inlined
def _tell(u, indptr, neighbours, weights, unit, slack, busy, per_grain):
    """Lower the slack of every neighbour."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + one])):
        v, votes = uint64(neighbours[e]), 1
        if weights is not None:
            votes = int64(math.ceil(weights[e] * unit))
        if atomic_add(slack, v, -votes) < votes:
            busy[v // per_grain] = True


@part
def _has_turn(u, number, label, wanted, random_seed):
    """Whether a vertex that wants another label gets it in this round; `LabelPropagation` says why not all do."""
    down = number % 2 == 1
    return (wanted < label) == down and (number <= PATIENT or uniform(random_seed, number, u) >= WAITS)


@part
def _most_frequent(slots, weights, loads, others, own, theirs, label, keeps, counts, base):
    """The label with most votes, of several the smallest; with `keeps` the vertex's own, if it is one of them. And how
    many votes may change before another label could win.

    Counts of a vertex begin at `base`, which is above all that vertices before have left there, so nothing need be
    cleared.
    """
    best, most = label, own
    if own <= theirs:
        for i in range(others):
            found = slots[i]
            now = max(uint64(counts[found]), base) + (one if weights is None else loads[i])
            counts[found] = now
            times = now - base
            if times > most or (times == most and found < best and not (keeps and best == label)):
                best, most = found, times
    return best, max(int64(most + most) - int64(own + theirs) - 1, 0) // 2
