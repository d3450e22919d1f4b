"""Matching in turns: the solver of `matching`. Only right vertices read edges. Each computes the lot that its chosen
left neighbour would draw for it, and stores the lot there if it is the lowest so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, atomic_min, barrier, kernel, team
from dgraph.programs.monoid import NONE
from dgraph.solvers.compiled_draws import mix, random_word, unmix, word_of_round
from dgraph.solvers.solver import CsrArrays, Problem

GRAIN = 256  # vertices that a thread takes at a time, fewer in a small graph
FIRST, SECOND, ASKED, EDGES, WITHOUT = 0, 8, 16, 32, 40  # positions in `tally`, each on a separate cache line
NEVER = uint64(0xFFFF_FFFF_FFFF_FFFF)  # the worst lot, which stands for no vertex: NONE as an unsigned integer


class Mates(NamedTuple):
    """For a left vertex without a mate, `mate` has the best lot drawn for it, which also identifies the right vertex.
    Every left vertex that some right vertex chooses gets a mate in the same turn, so lots are never reset."""

    free: np.ndarray  # left vertices without a mate
    open: np.ndarray  # right vertices that may still find a mate
    mate: np.ndarray


def match(problem: Problem, left: np.ndarray, random_seed: int) -> tuple[np.ndarray, int, int]:
    """The mate of every vertex, the number of turns, and the number of edges read."""
    tables = [CsrArrays(side.indptr, side.neighbours) for side in problem.edges.senders("both")]
    first, second = (*tables, CsrArrays(np.zeros(1, np.int64), np.zeros(0, np.uint32)))[:2]
    n = len(left)
    mate, tally = np.full(n, NONE), np.zeros(48, np.int64)
    tally[WITHOUT] = np.count_nonzero(left)
    mates = Mates(left.copy(), ~left, mate.view(np.uint64))
    turns = team(_match, problem.threads, first, second, mates, tally, max(1, min(GRAIN, n // 64)), random_seed)
    return mate, turns, int(tally[EDGES])


@kernel
def _match(rank, size, signals, first, second, mates, tally, size_of_grain, random_seed):
    """Take turns until no vertex asks; returns the number of turns."""
    n, per_grain = uint64(mates.free.size), uint64(size_of_grain)
    turn, seen = 0, int64(0)
    while True:
        turn += 1
        asked, mated = int64(0), int64(0)
        while tally[WITHOUT] > 0:
            begin = uint64(atomic_add(tally, FIRST, 1)) * per_grain
            if begin >= n:
                break
            asking, read = _ask(begin, min(begin + per_grain, n), turn, first, second, mates, random_seed)
            asked, seen = asked + asking, seen + read
        atomic_add(tally, ASKED + 8 * (turn % 2), asked)
        if rank == 0:
            tally[SECOND] = 0
        barrier(size, signals)

        if tally[ASKED + 8 * (turn % 2)] == 0:
            break
        while True:
            begin = uint64(atomic_add(tally, SECOND, 1)) * per_grain
            if begin >= n:
                break
            mated += _accept(begin, min(begin + per_grain, n), turn, mates, random_seed)
        atomic_add(tally, WITHOUT, -mated)
        if rank == 0:
            tally[FIRST] = tally[ASKED + 8 * (1 - turn % 2)] = 0
        barrier(size, signals)
    atomic_add(tally, EDGES, seen)
    return turn


@scalar_part
def _ask(begin, end, turn, first, second, mates, random_seed):
    """Each right vertex of a grain chooses a left one, and stores its lot there. Returns how many right vertices did
    so, and the number of edges read."""
    free, open, mate = mates
    asked, seen, both = int64(0), int64(0), second.indptr.size > 1
    for v in range(begin, end):
        if not open[v]:
            continue
        here = first.indptr[v + ONE] - first.indptr[v]
        there = second.indptr[v + ONE] - second.indptr[v] if both else 0
        if here + there == 1:  # there is no choice
            rows = first if here else second
            u = uint64(rows.neighbours[uint64(rows.indptr[v])])
            chosen = u if free[u] else NEVER
        else:
            word = random_word(word_of_round(random_seed, 3 * turn - 2), v)
            lowest, chosen = _choose(v, first, free, word, NEVER, NEVER)
            if both:
                lowest, chosen = _choose(v, second, free, word, lowest, chosen)
        seen += here + there
        open[v] = chosen != NEVER
        if open[v]:
            asked += 1
            lot = mix(random_word(word_of_round(random_seed, 3 * turn - 1), chosen) ^ v)
            if lot < mate[chosen]:  # this check avoids atomics on cache lines of vertices that many choose
                atomic_min(mate, chosen, lot)
    return asked, seen


@scalar_part
def _accept(begin, end, turn, mates, random_seed):
    """Match the left vertices of a grain that were chosen with the right vertices of the best lots; returns how
    many."""
    free, open, mate = mates
    mated = int64(0)
    for u in range(begin, end):
        if free[u] and mate[u] != NEVER:
            v = unmix(mate[u]) ^ random_word(word_of_round(random_seed, 3 * turn - 1), u)
            mate[u], mate[v] = v, u
            free[u] = open[v] = False
            mated += 1
    return mated


@inlined
def _choose(v, rows, free, word, lowest, chosen):
    """The free neighbour with the lowest lot, as in the phase CHOOSE of the program."""
    for e in range(uint64(rows.indptr[v]), uint64(rows.indptr[v + ONE])):
        u = uint64(rows.neighbours[e])
        if free[u]:
            lot = mix(word ^ u)
            if lot <= lowest:
                lowest, chosen = lot, u
    return lowest, chosen
