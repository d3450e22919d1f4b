"""Labels that spread to neighbours: the solver of `cdlp` and `label_propagation`.

A vertex counts its neighbours' labels again only when so many of them have changed that another label could have won.
Each round first finds which label each vertex wants, and then gives it: nobody reads a label of the same round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, barrier, kernel, part, stopped, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.compiled_draws import uniform
from dgraph.solvers.solver import Problem

PATIENT, WAITS = 16, 0.125  # taking turns: after so many rounds, this share of the vertices waits, drawn anew each time
SPARSE = 16  # vertices that change tell their neighbours, unless they have more than one in so many of the edges
GRAIN = 256  # vertices that a thread takes at once, fewer of a small graph; where nothing happens it passes them over
FEW = 3  # labels that are compared with each other, which is quicker than to count them
FIRST, SECOND, MOVING, RESTLESS, EDGES = 0, 8, 16, 32, 48  # the tally's places, on cache lines of their own


class VoteEdges(NamedTuple):
    """The edges of one direction, each a vote; where weights are read, as many as its weight says."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray  # empty if they are not read


class LabelArrays(NamedTuple):
    """What all threads know of vertices, and of grains of them."""

    labels: np.ndarray
    wanted: np.ndarray  # another label, or the same
    slack: np.ndarray  # how many votes may change before a vertex must count again, which it must below 0
    busy: np.ndarray  # grains in which some must
    wanting: np.ndarray  # grains in which some wants another label


class VoteCounter(NamedTuple):
    """Where a thread counts the votes of one vertex: the labels of its neighbours, their votes, and the sum of these
    for each label. Counts begin at `base`, which is above all that vertices before have left, so nothing need be
    cleared."""

    slots: np.ndarray
    loads: np.ndarray  # empty without weights
    counts: np.ndarray
    base: np.ndarray  # of one number


class TurnOptions(NamedTuple):
    """The options: how many vertices are a grain, how many rounds there may be, and whether vertices take turns."""

    grain: int
    max_iter: int
    takes: bool
    random_seed: int


def spread(
    problem: Problem, labels: np.ndarray, *, takes_turns: bool = False, random_seed: int = 0
) -> tuple[int, int, int]:
    """Let `labels` spread in place. Returns how many rounds that took, how many vertices still want another label, and
    how many edges were looked at. `takes_turns` is for `label_propagation`, which also keeps a label that is as
    frequent as any. Each edge has one vote; where weights are read, as many as its weight says."""
    unit, threads = problem.values.get("unit"), problem.threads
    weighted, n = unit is not None, len(labels)
    tables = [_votes(problem, side, weighted) for side in problem.edges.senders("both")]
    first, second = (*tables, VoteEdges(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0)))[:2]
    turns = TurnOptions(max(1, min(GRAIN, n // 64)), problem.values["max_iter"], takes_turns, random_seed)
    grains = -(-n // turns.grain)
    widest = int(sum((np.diff(votes.indptr) for votes in tables), np.zeros(n, np.int64)).max(initial=0))
    rooms = VoteCounter(
        np.empty((threads, widest + 1), np.uint32),
        np.empty((threads, widest + 1 if weighted else 0), np.uint64),
        np.zeros((threads, n), np.uint64 if weighted else np.uint32),
        np.zeros((threads, 8), np.uint64),
    )
    slack = np.full(n, -1, np.int64 if weighted else np.int32)
    wishes = LabelArrays(labels, labels.copy(), slack, np.ones(grains, np.bool_), np.zeros(grains, np.bool_))
    tally = np.zeros(64, np.int64)
    rounds = team(_spread, threads, first, second, unit, wishes, rooms, turns, tally)
    return rounds, int(tally[RESTLESS + rounds % 2]), int(tally[EDGES])


def _votes(problem: Problem, side: Adjacency, weighted: bool) -> VoteEdges:
    return VoteEdges(side.indptr, side.neighbours, problem.edges.column(side, "weight") if weighted else np.zeros(0))


@kernel
def _spread(rank, size, signals, first, second, unit, wishes, rooms, turns, tally):
    """Take rounds until no vertex wants another label."""
    room = VoteCounter(rooms.slots[rank], rooms.loads[rank], rooms.counts[rank], rooms.base[rank])
    edges, grains = first.neighbours.size + second.neighbours.size, wishes.busy.size
    seen, number = uint64(0), 0
    while number < turns.max_iter and not stopped(signals):
        number += 1
        turn = number % 2
        moving = restless = uint64(0)
        grain = atomic_add(tally, FIRST, 1)
        while grain < grains:
            if wishes.busy[grain] or wishes.wanting[grain]:
                some, leaving, looked = _choose(grain, number, first, second, unit, wishes, room, turns)
                restless, moving, seen = restless + some, moving + leaving, seen + looked
            grain = atomic_add(tally, FIRST, 1)
        atomic_add(tally, MOVING + 8 * turn, moving)
        atomic_add(tally, RESTLESS + turn, restless)
        if rank == 0:
            tally[SECOND] = 0
        barrier(size, signals)

        if tally[RESTLESS + turn] == 0:
            break
        everywhere = tally[MOVING + 8 * turn] * SPARSE > edges
        grain = atomic_add(tally, SECOND, 1)
        while grain < grains:
            _give(grain, number, everywhere, first, second, unit, wishes, turns)
            grain = atomic_add(tally, SECOND, 1)
        if rank == 0:
            tally[FIRST] = tally[MOVING + 8 * (1 - turn)] = tally[RESTLESS + 1 - turn] = 0
        barrier(size, signals)
    atomic_add(tally, EDGES, seen)
    return number


@scalar_part
def _choose(grain, number, first, second, unit, wishes, room, turns):
    """Find which labels the vertices of a grain want. Returns how many want another one, how many edges those have who
    get it in this round, and how many edges were looked at."""
    labels, wanted, slack, busy, wanting = wishes
    busy[grain] = wanting[grain] = False
    restless = moving = seen = uint64(0)
    begin, end = _ends_of(grain, wishes, turns)
    for u in range(begin, end):
        label = labels[u]
        if slack[u] < 0:
            wanted[u], slack[u] = _count(u, label, first, second, unit, labels, room, turns.takes)
            seen += _degree(u, first, second)
        if wanted[u] != label:
            wanting[grain] = True
            restless += ONE
            if _has_turn(u, number, label, wanted[u], turns):
                moving += _degree(u, first, second)
    return restless, moving, seen


@scalar_part
def _give(grain, number, everywhere, first, second, unit, wishes, turns):
    """Give the vertices of a grain the labels that they want, and have their neighbours count again; or all vertices,
    `everywhere`."""
    labels, wanted, slack, busy, wanting = wishes
    begin, end = _ends_of(grain, wishes, turns)
    if everywhere:
        busy[grain] = True
        for u in range(begin, end):
            slack[u] = -1
    if wanting[grain]:
        for u in range(begin, end):
            if wanted[u] != labels[u] and _has_turn(u, number, labels[u], wanted[u], turns):
                labels[u] = wanted[u]
                if not everywhere:
                    _tell(u, first, unit, slack, busy, turns.grain)
                    if second.indptr.size > 1:
                        _tell(u, second, unit, slack, busy, turns.grain)


@inlined
def _ends_of(grain, wishes, turns):
    """The first vertex of a grain, and one past the last."""
    begin = uint64(grain) * uint64(turns.grain)
    return begin, min(begin + uint64(turns.grain), uint64(wishes.labels.size))


@inlined
def _degree(u, first, second):
    degree = uint64(first.indptr[u + ONE] - first.indptr[u])
    return degree + uint64(second.indptr[u + ONE] - second.indptr[u]) if second.indptr.size > 1 else degree


@inlined
def _count(u, label, first, second, unit, labels, room, keeps):
    """The label that u wants, and its slack, from the labels of all its neighbours."""
    found = uint64(0), uint64(0), uint64(0)
    found = _gather(u, first, unit, room, found, labels, label)
    if second.indptr.size > 1:
        found = _gather(u, second, unit, room, found, labels, label)
    others, own, theirs = found
    if unit is None:
        own, theirs = _degree(u, first, second) - others, others
    if theirs > uint64(np.iinfo(room.counts.dtype).max) - room.base[0]:
        room.counts[:] = 0
        room.base[0] = 0
    wish = _most_frequent(others, own, theirs, label, unit, room, keeps)
    room.base[0] += theirs
    return wish


@inlined
def _gather(u, votes, unit, room, found, labels, label):
    """Add the neighbours' labels other than `label` behind the first `others` of the slots; with weights, their votes
    to the loads. Returns how many labels there are, and the votes for `label` and for others."""
    slots, loads, (others, own, theirs) = room.slots, room.loads, found
    for e in range(uint64(votes.indptr[u]), uint64(votes.indptr[u + ONE])):
        slots[others] = labels[votes.neighbours[e]]
        if unit is None:
            others += uint64(slots[others] != label)
        else:
            times = uint64(math.ceil(votes.weights[e] * unit))
            loads[others] = times
            if slots[others] == label:
                own += times
            else:
                theirs += times
                others += uint64(times > 0)
    return others, own, theirs


@inlined
def _tell(u, votes, unit, slack, busy, grain):
    """Lower the slack of every neighbour."""
    for e in range(uint64(votes.indptr[u]), uint64(votes.indptr[u + ONE])):
        v, times = uint64(votes.neighbours[e]), 1
        if unit is not None:
            times = int64(math.ceil(votes.weights[e] * unit))
        if atomic_add(slack, v, -times) < times:
            busy[v // uint64(grain)] = True


@part
def _has_turn(u, number, label, wanted, turns):
    """Whether a vertex that wants another label gets it in this round; `LabelPropagation` says why not all do."""
    down = number % 2 == 1
    return not turns.takes or (
        (wanted < label) == down and (number <= PATIENT or uniform(turns.random_seed, number, u) >= WAITS)
    )


@scalar_part
def _most_frequent(others, own, theirs, label, unit, room, keeps):
    """The label with most votes, of several the smallest; with `keeps` the vertex's own, if it is one of them. And how
    many votes may change before another label could win."""
    slots, loads, counts, base = room.slots, room.loads, room.counts, room.base[0]
    best, most, few = label, own, unit is None and others <= FEW
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
