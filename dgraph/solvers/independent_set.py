"""A maximal independent set on threads: a vertex is chosen if none of its earlier neighbours is."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import scalar_part
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, barrier, kernel, team
from dgraph.solvers.random_order import GRAIN, Aside, both_sides, degree_of, draw_lots, neighbour_at
from dgraph.solvers.solver import Problem, Solution

LEFT_OUT, UNDECIDED, CHOSEN = 0, 1, 2
CURSOR, SIZE, EDGES = 0, 16, 32  # positions in `tally`, each on a separate cache line


def choose(problem: Problem) -> Solution:
    """Solver of `maximal_independent_set`."""
    first, second = both_sides(problem)
    n, threads, tally = problem.vertices, problem.threads, np.zeros(48, np.int64)
    lots, status = np.empty(n, np.uint32), np.full(n, UNDECIDED, np.uint8)
    aside = Aside.of(threads, n)
    team(_choose, threads, first, second, lots, status, aside, tally, problem.values["random_seed"])
    return Solution({"in_set": status == CHOSEN}, 1, int(tally[EDGES]), {"size": int(tally[SIZE])})


@kernel
def _choose(rank, size, signals, first, second, lots, status, aside, tally, random_seed):
    draw_lots(rank, size, lots, random_seed)
    barrier(size, signals)
    vertices, places = aside.vertices[rank], aside.places[rank]
    n, seen, chosen = uint64(lots.size), uint64(0), 0
    while atomic_load(signals, STOP) == 0:
        begin = uint64(atomic_add(tally, CURSOR, GRAIN))
        if begin >= n:
            break
        end = min(begin + uint64(GRAIN), n)
        for v in range(begin, end):
            while status[v] == UNDECIDED:
                seen += _decide(v, first, second, lots, status, vertices, places)
        for v in range(begin, end):
            chosen += int(status[v] == CHOSEN)
    atomic_add(tally, SIZE, chosen)
    atomic_add(tally, EDGES, seen)


@scalar_part
def _decide(v, first, second, lots, status, vertices, places):
    """Decide a vertex, and before it the earlier neighbours that this depends on, and theirs. Returns the number of
    edges read."""
    depth, seen = uint64(0), uint64(0)
    vertices[depth], places[depth] = v, 0
    while True:
        u, place = uint64(vertices[depth]), places[depth]
        degree, decision, before = degree_of(u, first, second), CHOSEN, u
        while place < degree:
            x = neighbour_at(place, u, first, second)
            known = status[x]  # read once, because another thread may decide x meanwhile
            if known == CHOSEN and x != u:
                decision = LEFT_OUT
                break
            if known == UNDECIDED and (lots[x] < lots[u] or (lots[x] == lots[u] and x < u)):
                before = x
                break
            place += ONE
        if before == u:
            status[u] = decision
            seen += place
            if depth == uint64(0):
                return seen
            depth -= ONE
        else:
            places[depth] = place
            depth = depth + ONE if depth + ONE < uint64(vertices.size) else uint64(0)
            vertices[depth], places[depth] = before, 0
