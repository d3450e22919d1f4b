"""Matching in turns: the solver of `matching`. Only right vertices look at edges: each computes the lot that a left
neighbour would draw for it, and writes it down there if it is the lowest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64

from dgraph.machine_code import inlined
from dgraph.monoid import NONE
from dgraph.solvers.randomness import mix, random_word, unmix
from dgraph.solvers.solver import Problem
from dgraph.solvers.team import atomic_add, atomic_min, barrier, kernel, team

GRAIN = 256  # vertices that a thread takes at once, fewer of a small graph
FIRST, SECOND, ASKED, EDGES, WITHOUT = 0, 8, 16, 32, 40  # the tally's places, on cache lines of their own

_one, _never = uint64(1), uint64(0xFFFF_FFFF_FFFF_FFFF)


def match(problem: Problem, left: np.ndarray, random_seed: int) -> tuple[np.ndarray, int, int]:
    """The mate of every vertex, how many turns that took, and the number of edges looked at."""
    first, *more = problem.edges.senders("both")
    tables: list[Any] = [(side.indptr, side.neighbours) for side in (first, *more)]
    tables += [(np.zeros(1, np.int64), np.zeros(0, np.uint32))] * (2 - len(tables))
    n = len(left)
    mate, tally = np.full(n, NONE), np.zeros(48, np.int64)
    tally[WITHOUT] = np.count_nonzero(left)
    arrays = *tables[0], *tables[1], left.copy(), ~left, mate.view(np.uint64), tally
    turns = team(_match, problem.threads, *arrays, max(1, min(GRAIN, n // 64)), random_seed)
    return mate, turns, int(tally[EDGES])


@kernel
def _match(
    rank, size, signals,
    indptr, neighbours, more_indptr, more_neighbours, free, open, mate, tally,
    size_of_grain, random_seed,
):  # fmt: skip
    """`free`: left vertices without a mate; `open`: right ones that may find one. In `mate`, a left vertex without one
    has the best lot for it, which tells whose it is: who is chosen by anybody finds a mate in that turn, so its lot
    need never be taken back. (NONE, no mate, is also the worst lot.)"""
    n, per_grain, both = uint64(free.size), uint64(size_of_grain), more_indptr.size > 1
    turn, seen = 0, int64(0)
    while True:
        turn += 1
        asked, mated = int64(0), int64(0)
        while tally[WITHOUT] > 0:
            begin = uint64(atomic_add(tally, FIRST, 1)) * per_grain
            if begin >= n:
                break
            for v in range(begin, min(begin + per_grain, n)):
                if open[v]:
                    here = indptr[v + _one] - indptr[v]
                    there = more_indptr[v + _one] - more_indptr[v] if both else 0
                    if here + there == 1:  # nothing to draw
                        u = uint64(neighbours[uint64(indptr[v])] if here else more_neighbours[uint64(more_indptr[v])])
                        chosen = u if free[u] else _never
                    else:
                        word = random_word(random_seed, 3 * turn - 2, v)
                        lowest, chosen = _choose(v, indptr, neighbours, free, word, _never, _never)
                        if both:
                            lowest, chosen = _choose(v, more_indptr, more_neighbours, free, word, lowest, chosen)
                    seen += here + there
                    open[v] = chosen != _never
                    if open[v]:
                        asked += 1
                        lot = mix(random_word(random_seed, 3 * turn - 1, chosen) ^ v)
                        if lot < mate[chosen]:  # else the lines of who is asked by many pass from core to core
                            atomic_min(mate, chosen, lot)
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
            for u in range(begin, min(begin + per_grain, n)):
                if free[u] and mate[u] != _never:
                    v = unmix(mate[u]) ^ random_word(random_seed, 3 * turn - 1, u)
                    mate[u], mate[v] = v, u
                    free[u] = open[v] = False
                    mated += 1
        atomic_add(tally, WITHOUT, -mated)
        if rank == 0:
            tally[FIRST] = tally[ASKED + 8 * (1 - turn % 2)] = 0
        barrier(size, signals)
    atomic_add(tally, EDGES, seen)
    return turn


@inlined
def _choose(v, indptr, neighbours, free, word, lowest, chosen):
    """The free neighbour with the lowest lot, as CHOOSE has it."""
    for e in range(uint64(indptr[v]), uint64(indptr[v + _one])):
        u = uint64(neighbours[e])
        if free[u]:
            lot = mix(word ^ u)
            if lot <= lowest:
                lowest, chosen = lot, u
    return lowest, chosen
