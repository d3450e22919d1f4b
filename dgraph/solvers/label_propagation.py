"""Label propagation: the solver of `cdlp` and `label_propagation`.

A vertex counts its neighbours' labels again only once so many of them have changed that another label could win. Each
round first determines the label that each vertex wants, and then assigns it, so no vertex reads a label that was
assigned in the same round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, barrier, kernel, part, stopped, team
from dgraph.solvers.compiled_draws import uniform, word_of_round
from dgraph.solvers.solver import Problem

# Taking turns: after PATIENT_ROUNDS, a random eighth of the vertices waits in each round.
PATIENT_ROUNDS, WAITING_SHARE = 16, 0.125
SPARSE_SHARE = 16  # if the vertices that change have more than 1/16 of the edges, all vertices count again
GRAIN = 256  # vertices that a thread takes at a time, fewer in a small graph; idle grains are skipped
FEW_LABELS = 3  # up to this many labels are compared with each other, which is faster than counting them
FIRST, SECOND, MOVING, RESTLESS, EDGES = 0, 8, 16, 32, 48  # positions in `tally`, on separate cache lines


class VoteEdges(NamedTuple):
    """The edges of one direction. Each is one vote or, with weights, as many votes as its weight is worth."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray  # empty if not used


class SharedLabels(NamedTuple):
    """The state of vertices, and of grains of vertices, shared by all threads."""

    labels: np.ndarray
    wanted: np.ndarray  # the label that the vertex wants, which may be its own
    slack: np.ndarray  # how many votes may change before the vertex must count again; below 0, it must count now
    busy: np.ndarray  # grains in which some vertex must count again
    wanting: np.ndarray  # grains in which some vertex wants another label


class VoteCounter(NamedTuple):
    """Scratch in which a thread counts the votes for one vertex. Counts start at `base`, which is above the counts of
    all previous vertices, so they need not be cleared."""

    slots: np.ndarray  # the labels of neighbours
    loads: np.ndarray  # their votes; empty without weights
    counts: np.ndarray  # the sum of votes for each label
    base: np.ndarray  # an array of length 1


class TurnOptions(NamedTuple):
    """The size of a grain, and the options of a run."""

    grain: int
    max_iter: int
    takes: bool
    random_seed: int


def spread(
    problem: Problem, labels: np.ndarray, *, takes_turns: bool = False, random_seed: int = 0
) -> tuple[int, int, int]:
    """Propagate `labels` in place. Returns the number of rounds, the number of vertices that still want another label,
    and the number of edges read. With `takes_turns`, which `label_propagation` uses, a vertex also keeps its label if
    no other is more frequent."""
    unit, threads = problem.values.get("unit"), problem.threads
    weighted, n = unit is not None, len(labels)
    tables = [
        VoteEdges(side.indptr, side.neighbours, problem.edges.column(side, "weight") if weighted else np.zeros(0))
        for side in problem.edges.senders("both")
    ]
    first, second = (*tables, VoteEdges(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0)))[:2]
    turns = TurnOptions(max(1, min(GRAIN, n // 64)), problem.values["max_iter"], takes_turns, random_seed)
    grains = -(-n // turns.grain)
    widest = int(sum((np.diff(votes.indptr) for votes in tables), np.zeros(n, np.int64)).max(initial=0))
    counters = VoteCounter(
        np.empty((threads, widest + 1), np.uint32),
        np.empty((threads, widest + 1 if weighted else 0), np.uint64),
        np.zeros((threads, n), np.uint64 if weighted else np.uint32),
        np.zeros((threads, 8), np.uint64),
    )
    slack = np.full(n, -1, np.int64 if weighted else np.int32)
    shared = SharedLabels(labels, labels.copy(), slack, np.ones(grains, np.bool_), np.zeros(grains, np.bool_))
    tally = np.zeros(64, np.int64)
    rounds = team(_spread, threads, first, second, unit, shared, counters, turns, tally)
    return rounds, int(tally[RESTLESS + rounds % 2]), int(tally[EDGES])


@kernel
def _spread(rank, size, signals, first, second, unit, shared, counters, turns, tally):
    """Run rounds until no vertex wants another label."""
    counter = VoteCounter(counters.slots[rank], counters.loads[rank], counters.counts[rank], counters.base[rank])
    edges, grains = first.neighbours.size + second.neighbours.size, shared.busy.size
    seen, number = uint64(0), 0
    while number < turns.max_iter and not stopped(signals):
        number += 1
        turn = number % 2
        moving = restless = uint64(0)
        grain = atomic_add(tally, FIRST, 1)
        while grain < grains:
            if shared.busy[grain] or shared.wanting[grain]:
                some, leaving, read = _choose(grain, number, first, second, unit, shared, counter, turns)
                restless, moving, seen = restless + some, moving + leaving, seen + read
            grain = atomic_add(tally, FIRST, 1)
        atomic_add(tally, MOVING + 8 * turn, moving)
        atomic_add(tally, RESTLESS + turn, restless)
        if rank == 0:
            tally[SECOND] = 0
        barrier(size, signals)

        if tally[RESTLESS + turn] == 0:
            break
        everywhere = tally[MOVING + 8 * turn] * SPARSE_SHARE > edges
        grain = atomic_add(tally, SECOND, 1)
        while grain < grains:
            _assign_labels(grain, number, everywhere, first, second, unit, shared, turns)
            grain = atomic_add(tally, SECOND, 1)
        if rank == 0:
            tally[FIRST] = tally[MOVING + 8 * (1 - turn)] = tally[RESTLESS + 1 - turn] = 0
        barrier(size, signals)
    atomic_add(tally, EDGES, seen)
    return number


@scalar_part
def _choose(grain, number, first, second, unit, shared, counter, turns):
    """Find which labels the vertices of a grain want. Returns how many want another one, the number of edges of those
    that get it in this round, and the number of edges read."""
    labels, wanted, slack, busy, wanting = shared
    busy[grain] = wanting[grain] = False
    restless = moving = seen = uint64(0)
    begin, end = _ends_of(grain, shared, turns)
    for u in range(begin, end):
        label = labels[u]
        if slack[u] < 0:
            wanted[u], slack[u] = _count(u, label, first, second, unit, labels, counter, turns.takes)
            seen += _degree(u, first, second)
        if wanted[u] != label:
            wanting[grain] = True
            restless += ONE
            if _has_turn(u, number, label, wanted[u], turns):
                moving += _degree(u, first, second)
    return restless, moving, seen


@scalar_part
def _assign_labels(grain, number, everywhere, first, second, unit, shared, turns):
    """Give the vertices of a grain the labels that they want. Afterwards their neighbours count again or, if
    `everywhere`, all vertices do."""
    labels, wanted, slack, busy, wanting = shared
    begin, end = _ends_of(grain, shared, turns)
    if everywhere:
        busy[grain] = True
        for u in range(begin, end):
            slack[u] = -1
    if wanting[grain]:
        for u in range(begin, end):
            if wanted[u] != labels[u] and _has_turn(u, number, labels[u], wanted[u], turns):
                labels[u] = wanted[u]
                if not everywhere:
                    _lower_slack(u, first, unit, slack, busy, turns.grain)
                    if second.indptr.size > 1:
                        _lower_slack(u, second, unit, slack, busy, turns.grain)


@inlined
def _ends_of(grain, shared, turns):
    """The bounds of a grain."""
    begin = uint64(grain) * uint64(turns.grain)
    return begin, min(begin + uint64(turns.grain), uint64(shared.labels.size))


@inlined
def _degree(u, first, second):
    degree = uint64(first.indptr[u + ONE] - first.indptr[u])
    return degree + uint64(second.indptr[u + ONE] - second.indptr[u]) if second.indptr.size > 1 else degree


@inlined
def _count(u, label, first, second, unit, labels, counter, keeps):
    """The label that u wants, and its slack, from the labels of all its neighbours."""
    votes = uint64(0), uint64(0), uint64(0)
    votes = _gather(u, first, unit, counter, votes, labels, label)
    if second.indptr.size > 1:
        votes = _gather(u, second, unit, counter, votes, labels, label)
    others, own, theirs = votes
    if unit is None:
        own, theirs = _degree(u, first, second) - others, others
    if theirs > uint64(np.iinfo(counter.counts.dtype).max) - counter.base[0]:
        counter.counts[:] = 0
        counter.base[0] = 0
    wish = _most_frequent(others, own, theirs, label, unit, counter, keeps)
    counter.base[0] += theirs
    return wish


@inlined
def _gather(u, edges, unit, counter, votes, labels, label):
    """Append the neighbours' labels other than `label` to the slots after the first `others` and, with weights, their
    votes to the loads. Returns the new number of slots, and the votes for `label` and for other labels."""
    slots, loads, (others, own, theirs) = counter.slots, counter.loads, votes
    for e in range(uint64(edges.indptr[u]), uint64(edges.indptr[u + ONE])):
        slots[others] = labels[edges.neighbours[e]]
        if unit is None:
            others += uint64(slots[others] != label)
        else:
            times = uint64(math.ceil(edges.weights[e] * unit))
            loads[others] = times
            if slots[others] == label:
                own += times
            else:
                theirs += times
                others += uint64(times > 0)
    return others, own, theirs


@inlined
def _lower_slack(u, edges, unit, slack, busy, grain):
    """Lower the slack of every neighbour."""
    for e in range(uint64(edges.indptr[u]), uint64(edges.indptr[u + ONE])):
        v, times = uint64(edges.neighbours[e]), 1
        if unit is not None:
            times = int64(math.ceil(edges.weights[e] * unit))
        if atomic_add(slack, v, -times) < times:
            busy[v // uint64(grain)] = True


@part
def _has_turn(u, number, label, wanted, turns):
    """Whether a vertex that wants another label gets it in this round. `LabelPropagation` explains why not all do."""
    down = number % 2 == 1
    return not turns.takes or (
        (wanted < label) == down
        and (number <= PATIENT_ROUNDS or uniform(word_of_round(turns.random_seed, number), u) >= WAITING_SHARE)
    )


@scalar_part
def _most_frequent(others, own, theirs, label, unit, counter, keeps):
    """The label with most votes. Ties go to the smallest label or, with `keeps`, to the vertex's own. Also returns how
    many votes may change before another label could win."""
    slots, loads, counts, base = counter.slots, counter.loads, counter.counts, counter.base[0]
    best, most, few = label, own, unit is None and others <= FEW_LABELS
    if own <= theirs:
        for i in range(others):
            found = slots[i]
            if few:
                times = ONE
                for j in range(i):
                    times += uint64(slots[j] == found)
            else:
                now = max(uint64(counts[found]), base) + (ONE if unit is None else loads[i])
                counts[found] = now
                times = now - base
            if times > most or (times == most and found < best and not (keeps and best == label)):
                best, most = found, times
    return best, max(int64(most + most) - int64(own + theirs) - 1, 0) // 2
