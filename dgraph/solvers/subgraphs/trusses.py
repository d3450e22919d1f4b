"""Trusses: subgraphs in which every edge is in many triangles (Cohen, 2008).

The support of an edge is the number of triangles that it is in. Edges of little support are removed, which lowers the
support of others, until all that are left have enough. While many go at once, all supports are counted again; then the
neighbours of each removed edge are looked up (Kabir and Madduri: PKT, 2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, atomic_load, atomic_min, barrier, kernel, stopped, team
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.solvers.communities.ties import Ties
from dgraph.solvers.subgraphs.neighbours import Neighbours

GRAIN = 256  # rows or edges that a thread takes at a time
MANY = 0.1  # supports are counted again while this share of the edges goes at once
STAYS, GOES, GONE = 0, 1, 2  # states of an edge
NEXT, LENGTH, LATER, LEAST, LEFT = 0, 16, 32, 48, 64  # in `tally`, each on a cache line of its own
EDGE_ID = "edge"


class Trusses(NamedTuple):
    """Edges of the simple graph, each with its higher end first, and the truss number of each."""

    high: np.ndarray
    low: np.ndarray
    numbers: np.ndarray


def truss_numbers(rows: Neighbours, threads: int) -> Trusses:
    """The largest k of a truss that each edge is in. A row lists the neighbours before it."""
    found = _listed(rows, _supports(rows, threads))
    _peel_edges(found, len(rows), threads, first=1, last=1 << 30)
    return found._replace(numbers=found.numbers + 2)


def truss(rows: Neighbours, threads: int, k: int) -> Trusses:
    """The edges of the k-truss, for `rows` that may be changed."""
    least, left, gone = k - 2, rows.num_edges, 0
    while least > 0 and left:
        gone = left - int(_keep(rows.bounds, rows.others, _supports(rows, threads), least))
        left -= gone
        if gone < MANY * left:
            break
    if not (gone and left):
        return _listed(rows, rows.others)._replace(numbers=np.full(left, k, np.int32))
    found = _listed(rows, _supports(rows, threads))
    stay = _peel_edges(found, len(rows), threads, first=least - 1, last=least - 1)
    return Trusses(found.high[stay], found.low[stay], np.full(np.count_nonzero(stay), k, np.int32))


def _supports(rows: Neighbours, threads: int) -> np.ndarray:
    """The number of triangles of each edge, at its place among `rows.others`."""
    support, longest = np.zeros(len(rows.others), np.int32), int((rows.bounds[:, 1] - rows.bounds[:, 0]).max(initial=0))
    marks, own = np.zeros((threads, len(rows)), np.uint32), np.zeros((threads, longest), np.int32)
    team(_count_supports, threads, np.zeros(1, np.int64), rows.bounds, rows.others, support, marks, own)
    return support


def _listed(rows: Neighbours, values: np.ndarray) -> Trusses:
    """The edges, each with its value."""
    return Trusses(*Ties(rows.bounds[:, 0], rows.bounds[:, 1], rows.others, values).listed())


def _peel_edges(edges: Trusses, size: int, threads: int, first: int, last: int) -> np.ndarray:
    """Remove edges, those of least support first, and lower the supports of others, which are the `numbers`. Those of a
    support from `first` to `last` go, and with them those of less. Returns whether each edge stays."""
    (high, low, support), count = edges, len(edges.high)
    number = np.arange(count, dtype=np.uint32 if count < 2**32 else np.int64)
    sides = EdgeSlice(high, low, {EDGE_ID: number}), EdgeSlice(low, high, {EDGE_ID: number})
    rows = build(sides, size, workers=threads).transposed(threads)  # which sorts each row
    state = np.where(support > 0, np.uint8(STAYS), np.uint8(GONE))  # an edge without triangles lowers no support
    queues, tally = np.empty((2, count), number.dtype), np.zeros(80, np.int64)
    tally[LEFT] = np.count_nonzero(state == STAYS)
    sorted_rows = rows.indptr, rows.neighbours, rows.columns[EDGE_ID]
    team(_peel, threads, *sorted_rows, high, low, support, state, queues, tally, first, last)
    return state == STAYS


@kernel
def _count_supports(rank, size, signals, cursor, bounds, others, support, marks, own):
    """Each triangle is found from its highest vertex u. While a thread counts those of u, `marks[rank]` has the place
    of each edge of u, plus 1, and `own[rank]` their triangles."""
    mark, mine = marks[rank], own[rank]
    n = bounds.shape[0]
    while True:
        first = atomic_add(cursor, 0, GRAIN)
        if first >= n:
            break
        for u in range(uint64(first), uint64(min(first + GRAIN, n))):
            begin, end = uint64(bounds[u, 0]), uint64(bounds[u, 1])
            if end - begin >= uint64(2):
                _count_row(begin, end, bounds, others, support, mark, mine)
    barrier(size, signals)
    return 0


@scalar_part
def _count_row(begin, end, bounds, others, support, mark, mine):
    for i in range(begin, end):
        mark[others[i]] = i - begin + ONE
        mine[i - begin] = 0
    for i in range(begin, end):
        v = uint64(others[i])
        found = 0
        for k in range(uint64(bounds[v, 0]), uint64(bounds[v, 1])):
            place = uint64(mark[others[k]])
            if place:
                mine[place - ONE] += 1
                atomic_add(support, k, 1)
                found += 1
        mine[i - begin] += found
    for i in range(begin, end):
        mark[others[i]] = 0
        if mine[i - begin]:
            atomic_add(support, i, mine[i - begin])


@kernel
def _keep(bounds, others, support, least):
    """Leave out the edges of less support than `least`. Returns how many are left."""
    left = 0
    for u in range(uint64(bounds.shape[0])):
        to = uint64(bounds[u, 0])
        for i in range(uint64(bounds[u, 0]), uint64(bounds[u, 1])):
            if support[i] >= least:
                others[to] = others[i]
                to += ONE
        bounds[u, 1] = to
        left += to - bounds[u, 0]
    return left


@kernel
def _peel(
    rank, size, signals, indptr, neighbours, ids, high, low, support, state, queues, tally, first, last
):  # fmt: skip
    edges, level, turn = uint64(support.size), first, 0
    begin, end = edges * uint64(rank) // uint64(size), edges * uint64(rank + 1) // uint64(size)
    while tally[LEFT] > 0 and level <= last and not stopped(signals):
        for e in range(begin, end):
            if state[e] == STAYS and support[e] <= level:
                state[e] = GOES
                queues[turn, atomic_add(tally, LENGTH, 1)] = e
        barrier(size, signals)
        length = tally[LENGTH]
        while length > 0 and not stopped(signals):
            following = queues[1 - turn]
            at = atomic_add(tally, NEXT, GRAIN)
            while at < length:
                for place in range(at, min(at + GRAIN, length)):
                    e = uint64(queues[turn, place])
                    _remove(e, indptr, neighbours, ids, high, low, support, state, following, tally, level)
                at = atomic_add(tally, NEXT, GRAIN)
            barrier(size, signals)
            later = tally[LATER]
            for place in range(length * rank // size, length * (rank + 1) // size):
                state[queues[turn, place]] = GONE
            for place in range(later * rank // size, later * (rank + 1) // size):
                state[following[place]] = GOES
            barrier(size, signals)
            if rank == 0:
                tally[LEFT] -= length
                tally[NEXT] = tally[LATER] = 0
                tally[LENGTH] = later
                tally[LEAST] = np.int64(1) << 40
            turn, length = 1 - turn, later
            barrier(size, signals)
        least = np.int64(1) << 40
        for e in range(begin, end):
            if state[e] == STAYS:
                least = min(least, np.int64(support[e]))
        atomic_min(tally, LEAST, least)
        barrier(size, signals)
        level = max(level + 1, tally[LEAST])
        barrier(size, signals)
        if rank == 0:
            tally[LENGTH] = 0
            tally[LEAST] = np.int64(1) << 40
        barrier(size, signals)
    return 0


@scalar_part
def _remove(e, indptr, neighbours, ids, high, low, support, state, later, tally, level):
    """Lower the supports of the other two edges of each triangle of e. Of two edges of a triangle that go at the same
    time, the first lowers that of the third."""
    u, v = uint64(high[e]), uint64(low[e])
    if indptr[u + ONE] - indptr[u] > indptr[v + ONE] - indptr[v]:
        u, v = v, u
    begin, end = uint64(indptr[v]), uint64(indptr[v + ONE])
    for i in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
        first = uint64(ids[i])
        if state[first] == GONE or first == e:
            continue
        w = neighbours[i]
        begin = _find(neighbours, begin, end, w)
        if begin >= end:
            break
        if neighbours[begin] != w:
            continue
        second = uint64(ids[begin])
        if state[second] == GONE:
            continue
        first_goes, second_goes = state[first] == GOES, state[second] == GOES
        if not first_goes and not (second_goes and second < e):
            _lower(first, support, later, tally, level)
        if not second_goes and not (first_goes and first < e):
            _lower(second, support, later, tally, level)


@inlined
def _find(values, begin, end, value):
    """The first position from `begin` on, in an ascending row, whose value is not smaller; in steps that double."""
    step = ONE
    while begin + step < end and values[begin + step] < value:
        begin += step
        step += step
    last = min(begin + step, end)
    while begin < last:
        middle = (begin + last) // uint64(2)
        if values[middle] < value:
            begin = middle + ONE
        else:
            last = middle
    return begin


@inlined
def _lower(e, support, later, tally, level):
    if atomic_load(support, e) > level:
        before = atomic_add(support, e, -1)
        if before == level + 1:
            later[atomic_add(tally, LATER, 1)] = e
        elif before <= level:
            atomic_add(support, e, 1)
