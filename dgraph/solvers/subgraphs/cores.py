"""Core numbers by peeling (Seidman, 1983): level by level, remove the vertices with at most that many remaining
neighbours, including those that earlier removals bring down to the level. Threads peel in parallel (Kabir and Madduri,
PKC, 2017)."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, atomic_add, atomic_min, barrier, kernel, team
from dgraph.solvers.solver import Problem, Solution
from dgraph.solvers.subgraphs.neighbours import OTHERS, distinct, is_simple

MOST_LEVELS = 1 << 31  # more levels than any graph has
GRAIN = 64  # consecutive vertices of one thread: vertices with similar numbers often have the same level


def core_numbers(problem: Problem) -> Solution:
    """Solver of `core_number`: the column `core`."""
    core, edges = peel(problem, problem.vertices)
    return Solution({"core": core}, int(core.max(initial=0)) + 1, edges)


def main_core(problem: Problem) -> Solution:
    """Solver of `k_core` without k: the column `in_core` for the highest core."""
    core, edges = peel(problem, problem.vertices)
    highest = int(core.max(initial=0))
    return Solution({"in_core": core >= highest}, highest + 1, edges, {"highest": highest})


def core_of(problem: Problem) -> Solution:
    """Solver of `k_core`: the column `in_core` for the k-core. Peeling stops there."""
    k = problem.values["k"]
    core, edges = peel(problem, min(k, problem.vertices))
    return Solution({"in_core": core >= k}, 1, edges)


def peel(problem: Problem, levels: int) -> tuple[np.ndarray, int]:
    """The core number of each vertex, and the number of edges read. Vertices in the core of `levels` get the number of
    their neighbours in it instead."""
    size, threads = problem.vertices, problem.threads
    rows, *more = problem.edges.senders("both")
    if not more and is_simple(rows, threads):
        begins, ends, others = rows.indptr[:-1], rows.indptr[1:], rows.neighbours
    else:
        simple = distinct([rows, *more], size, threads, kept=OTHERS)
        (begins, ends), others = np.ascontiguousarray(simple.bounds.T), simple.others
    left = np.empty(size, np.int32)
    waiting = np.empty((threads, size // threads + GRAIN), np.uint32)
    going = np.empty((threads, size), np.uint32)
    team(_peel, threads, begins, ends, others, left, waiting, going, np.array([0, MOST_LEVELS, MOST_LEVELS]), levels)
    return left.astype(np.int64), int((ends - begins).sum())


@kernel
def _peel(rank, size, signals, begins, ends, others, left, waiting, going, shared, levels):
    """Peel up to `levels`. left[u] counts u's remaining neighbours, and stays at u's core number once u is removed.
    Each thread owns the vertices in its row of `waiting`. It writes to all of `left`, by atomics, and removes the
    vertices that it brings down to the level. `shared` holds the number of removed vertices, and the lowest level of
    any waiting vertex, for even and for odd turns, so that levels without vertices are skipped."""
    own, stack = waiting[rank], going[rank]
    n = uint64(left.size)
    count = uint64(0)
    for begin in range(uint64(rank * GRAIN), n, uint64(size * GRAIN)):
        for u in range(begin, min(begin + uint64(GRAIN), n)):
            left[u] = ends[u] - begins[u]
            own[count] = u
            count += ONE
    level, turn = 0, 0
    while level < levels:
        barrier(size, signals)  # no thread may lower a vertex that its owner has yet to look at
        if shared[0] == left.size:
            break
        deep = still = uint64(0)
        above = np.int64(MOST_LEVELS)
        for i in range(count):
            u = own[i]
            stack[deep], own[still] = u, u
            deep += uint64(left[u] == level)
            still += uint64(left[u] > level)
            above = min(above, left[u]) if left[u] > level else above
        count, turn = still, 1 - turn
        atomic_min(shared, 1 + turn, level if deep > uint64(0) else above)
        barrier(size, signals)
        lowest = shared[1 + turn]
        if rank == 0:
            shared[2 - turn] = MOST_LEVELS
        if lowest > level:
            level = lowest
            continue
        peeled = uint64(0)
        while deep > uint64(0):
            deep -= ONE
            u = stack[deep]
            peeled += ONE
            for e in range(uint64(begins[u]), uint64(ends[u])):
                v = others[e]
                if left[v] > level:
                    before = atomic_add(left, v, -1)
                    if before == level + 1:
                        stack[deep] = v
                        deep += ONE
                    elif before <= level:  # another thread was faster
                        atomic_add(left, v, 1)
        if peeled:
            atomic_add(shared, 0, np.int64(peeled))
        level += 1
