"""Rows of neighbours from which walks and samples choose, in an order that does not depend on partitions."""

from __future__ import annotations

from math import frexp, ldexp
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.ascending import first_from
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, atomic_max, kernel, team

GRAIN = 64  # rows that a thread takes at a time
BELOW = 1 - 2.0**-53  # times a sum, the largest number below it
# Weights are scaled by a power of two of their row, so that the largest has the first of these exponents, and none that
# is > 0 falls below the other: then no sum, product with what p= and q= may be, or quotient leaves the range of floats.
LARGEST, LEAST = 600, 2.0**-1000
BLOCK = 4  # bits of the entries of a block


class ChoiceRows(NamedTuple):
    """`neighbours[indptr[r]:indptr[r + 1]]` are the other ends of the edges of row r, ascending; `weights` are those of
    the edges, scaled within the row, or their sums up to each edge. Without weights it is empty, and all edges are
    equally likely. With weights that are not sums, `blocks` has the sums of each row up to the ends of its blocks, from
    `first_block` on."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray = np.empty(0)

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self)


class SplitRow(NamedTuple):
    """A row from `begin` to `end`, in which the entries from `low` to `high` lead to the vertex that a walk came from,
    with the sums of weights before each."""

    begin: int
    low: int
    high: int
    end: int
    before: float
    through: float
    total: float


def choice_rows(
    indptr: np.ndarray, neighbours: np.ndarray, weights: np.ndarray | None, summed: bool, threads: int
) -> ChoiceRows:
    """The rows, sorted; equal neighbours are sorted by weight. What is so already is not copied. `summed` tells whether
    weights are added up entry by entry, to draw from a row at once: weights below 1e-16 of the sum are lost in it."""
    unlike = np.zeros(2, np.int64)
    if weights is None:
        team(_find_descent, threads, unlike, indptr, neighbours)
        if not unlike[1]:
            return ChoiceRows(indptr, neighbours, np.empty(0))
    weighed = 0 if weights is None else len(neighbours)
    blocks = 0 if weights is None or summed else (weighed >> BLOCK) + len(indptr)
    rows = ChoiceRows(indptr, np.empty(len(neighbours), np.uint32), np.empty(weighed), np.empty(blocks))
    team(_sort, threads, np.zeros(1, np.int64), neighbours, weights, summed, *rows)
    return rows


@kernel
def _find_descent(rank, size, signals, tally, indptr, neighbours):
    """Set tally[1] if a row does not ascend."""
    rows = indptr.size - 1
    while atomic_load(tally, 1) == 0:
        begin = atomic_add(tally, 0, GRAIN)
        if begin >= rows:
            break
        for r in range(uint64(begin), uint64(min(begin + GRAIN, rows))):
            for e in range(uint64(indptr[r]) + ONE, uint64(indptr[r + ONE])):
                if neighbours[e] < neighbours[e - ONE]:
                    atomic_max(tally, 1, 1)


@kernel
def _sort(rank, size, signals, cursor, given, weights, summed, indptr, neighbours, out, blocks):
    rows = indptr.size - 1
    while True:
        begin = atomic_add(cursor, 0, GRAIN)
        if begin >= rows or atomic_load(signals, STOP) != 0:
            break
        for r in range(uint64(begin), uint64(min(begin + GRAIN, rows))):
            first, last = uint64(indptr[r]), uint64(indptr[r + ONE])
            if weights is None:
                neighbours[first:last] = given[first:last]
                neighbours[first:last].sort()
            else:
                order = np.argsort(given[first:last])
                neighbours[first:last] = given[first:last][order]
                out[first:last] = weights[first:last][order]
                start = first
                for e in range(first, last):
                    if e + ONE == last or neighbours[e + ONE] != neighbours[e]:
                        out[start : e + ONE].sort()
                        start = e + ONE
                _scale(out[first:last], summed)
                if not summed:
                    _sum_blocks(out[first:last], blocks[first_block(first, r) :])


@inlined
def _scale(weights, summed):
    """Scale the weights of a row, and add them up if that is wanted."""
    largest, total = 0.0, 0.0
    for weight in weights:
        largest = max(largest, weight)
    by = LARGEST - frexp(largest)[1]
    for i in range(uint64(weights.size)):
        if weights[i] > 0:
            weights[i] = max(ldexp(weights[i], by), LEAST)
        if summed:
            total += weights[i]
            weights[i] = total


@inlined
def first_block(begin, row):
    """The place of the first block of a row that begins at an entry. Some places between rows are not used."""
    return (begin >> uint64(BLOCK)) + row


@inlined
def _sum_blocks(weights, blocks):
    total = 0.0
    for i in range(uint64(weights.size)):
        total += weights[i]
        blocks[i >> uint64(BLOCK)] = total


@inlined
def entry_in_blocks(rows, first, begin, end, target):
    """The entry of a row with weights, and its blocks from `first` on, at which the weights, added up, exceed `target`,
    which is less than their sum; and the sum before it."""
    block = first_above(rows.blocks, first, first + ((end - begin - ONE) >> uint64(BLOCK)), target)
    through = rows.blocks[block - ONE] if block > first else 0.0
    start = begin + ((block - first) << uint64(BLOCK))
    found, before = start, through
    for e in range(start, min(start + (ONE << uint64(BLOCK)), end)):
        if rows.weights[e] > 0:
            found, before = e, through
            through += rows.weights[e]
            if target < through:
                break
    return found, before


@inlined
def weight_before(rows, begin, entry):
    """The weight of the entries of a row of sums before one of them; without weights, their number."""
    if rows.weights.size == 0:
        return float(entry - begin)
    return rows.weights[entry - ONE] if entry > begin else 0.0


@inlined
def entry_at(rows, begin, first, last, target):
    """The entry from `first` to `last` of a row at which the weights, added up from `begin`, exceed `target`."""
    if rows.weights.size == 0:
        return min(begin + uint64(target), last - ONE)
    target = min(target, rows.weights[last - ONE] * BELOW)
    return first_above(rows.weights, first, last - ONE, target)


@inlined
def first_above(sums, first, last, target):
    """The first place from `first` on with more than `target`; `last` if there is none before."""
    count = last - first
    while count > ONE:
        half = count >> ONE
        first += half * uint64(sums[first + half - ONE] <= target)  # which way is chance, so there is no branch
        count -= half
    return first + uint64(count == ONE and sums[first] <= target)


@inlined
def split_row(rows, begin, end, vertex):
    """A row with the place of the edges that lead to a vertex."""
    low = first_from(rows.neighbours, begin, end, vertex)
    high = low
    if low < end and uint64(rows.neighbours[low]) == vertex:
        high = first_from(rows.neighbours, low, end, vertex + ONE)
    before, through = weight_before(rows, begin, low), weight_before(rows, begin, high)
    return SplitRow(begin, low, high, end, before, through, weight_before(rows, begin, end))


@inlined
def entry_elsewhere(rows, row, target):
    """The entry at which the weights of those that do not lead back, added up, exceed `target`."""
    if target < row.before or row.total <= row.through:
        return entry_at(rows, row.begin, row.begin, row.low, target)
    return entry_at(rows, row.begin, row.high, row.end, row.through + (target - row.before))
