"""Core numbers by peeling (Seidman, 1983): level by level, remove the vertices with at most that many remaining
neighbours, including those that earlier removals bring down to the level. Threads peel in parallel (Kabir and Madduri,
PKC, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import uint64

from dgraph.native.free_memory import has_room
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, atomic_add, atomic_min, barrier, kernel, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.solver import Problem, Solution
from dgraph.solvers.subgraphs.neighbours import OTHERS, distinct, is_simple

MOST_LEVELS = 1 << 31  # more levels than any graph has
NEIGHBOUR, ROW = 4, 32  # bytes of a copied neighbour, and of a row of them
COPIES = 2  # a copy of all edges is made only if there is room for two
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
    sides: tuple[Any, ...] = (rows.indptr[:-1], rows.indptr[1:], rows.neighbours, None, None, None)
    left, marks = np.empty(size, np.int32), None
    if more or not is_simple(rows, threads):
        if has_room(COPIES * (NEIGHBOUR * sum(table.num_edges for table in (rows, *more)) + ROW * size)):
            simple = distinct([rows, *more], size, threads, kept=OTHERS)
            sides = (*np.ascontiguousarray(simple.bounds.T), simple.others, None, None, None)
        else:  # slower, but without a copy of all edges
            marks = np.zeros((threads, size), np.bool_)
            if more:
                sides = (*sides[:3], more[0].indptr[:-1], more[0].indptr[1:], more[0].neighbours)
    team(_count, threads, np.zeros(1, np.int64), *sides, left, marks)
    edges = int(left.sum(dtype=np.int64))
    waiting = np.empty((threads, size // threads + GRAIN), np.uint32)
    going = np.empty((threads, size), np.uint32)
    team(_peel, threads, *sides, left, marks, waiting, going, np.array([0, MOST_LEVELS, MOST_LEVELS]), levels)
    return left.astype(np.int64), edges


def distinct_degrees(tables: Sequence[Adjacency], size: int, threads: int) -> np.ndarray:
    """The number of neighbours of each vertex besides itself, each counted once, from one table, or from one table for
    each direction."""
    rows, *more = tables
    sides: tuple[Any, ...] = (rows.indptr[:-1], rows.indptr[1:], rows.neighbours, None, None, None)
    if more:
        sides = (*sides[:3], more[0].indptr[:-1], more[0].indptr[1:], more[0].neighbours)
    marks = None if not more and is_simple(rows, threads) else np.zeros((threads, size), np.bool_)
    degrees = np.empty(size, np.int32)
    team(_count, threads, np.zeros(1, np.int64), *sides, degrees, marks)
    return degrees


@kernel
def _count(rank, size, signals, cursor, begins, ends, others, more_begins, more_ends, more_others, left, marks):
    """Set left[u] to the number of u's neighbours besides u. With marks, some may occur several times."""
    n = uint64(left.size)
    while True:
        begin = uint64(atomic_add(cursor, 0, GRAIN))
        if begin >= n:
            break
        for u in range(begin, min(begin + uint64(GRAIN), n)):
            if marks is None:
                left[u] = ends[u] - begins[u]
            else:
                mark = marks[rank]
                found = _mark(u, begins, ends, others, mark)
                if more_others is not None:
                    found += _mark(u, more_begins, more_ends, more_others, mark)
                    _clear(u, more_begins, more_ends, more_others, mark)
                _clear(u, begins, ends, others, mark)
                left[u] = found


@inlined
def _mark(u, begins, ends, others, mark):
    """Mark the neighbours in a row; returns how many of them were not marked yet, without u."""
    found = 0
    for e in range(uint64(begins[u]), uint64(ends[u])):
        v = uint64(others[e])
        found += int(not mark[v] and v != u)
        mark[v] = True
    return found


@inlined
def _clear(u, begins, ends, others, mark):
    for e in range(uint64(begins[u]), uint64(ends[u])):
        mark[others[e]] = False


@kernel
def _peel(
    rank, size, signals,
    begins, ends, others, more_begins, more_ends, more_others, left, marks, waiting, going, shared, levels,
):  # fmt: skip
    """Peel up to `levels`. left[u] counts u's remaining neighbours, and stays at u's core number once u is removed.
    Each thread owns the vertices in its row of `waiting`. It writes to all of `left`, by atomics, and removes the
    vertices that it brings down to the level. `shared` holds the number of removed vertices, and the lowest level of
    any waiting vertex, for even and for odd turns, so that levels without vertices are skipped."""
    own, stack = waiting[rank], going[rank]
    mark = None if marks is None else marks[rank]
    n = uint64(left.size)
    count = uint64(0)
    for begin in range(uint64(rank * GRAIN), n, uint64(size * GRAIN)):
        for u in range(begin, min(begin + uint64(GRAIN), n)):
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
            deep = _remove(u, begins, ends, others, level, left, mark, stack, deep)
            if more_others is not None:
                deep = _remove(u, more_begins, more_ends, more_others, level, left, mark, stack, deep)
                _clear(u, more_begins, more_ends, more_others, mark)
            if mark is not None:
                _clear(u, begins, ends, others, mark)
        if peeled:
            atomic_add(shared, 0, np.int64(peeled))
        level += 1


@inlined
def _remove(u, begins, ends, others, level, left, mark, stack, deep):
    """Remove u from the neighbours in a row that have no mark yet, and push those that are now down to the level."""
    for e in range(uint64(begins[u]), uint64(ends[u])):
        v = others[e]
        if left[v] > level:
            if mark is not None:
                if mark[v]:
                    continue
                mark[v] = True
            before = atomic_add(left, v, -1)
            if before == level + 1:
                stack[deep] = v
                deep += ONE
            elif before <= level:  # another thread was faster
                atomic_add(left, v, 1)
    return deep
