"""Samples of the edges of some vertices, and local numbers for the vertices that they lead to.

Without replacement, entries of a row are drawn by Floyd's algorithm (Bentley and Floyd, CACM 1987). Weighted ones are
drawn one after the other from the sums of blocks of weights; in short rows, and where a few weights are nearly the
whole sum, by exponential keys (Efraimidis and Spirakis, 2006), which take a logarithm for each entry. A random number
depends on the seed, the hop, the vertex and its number among the draws for that vertex.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.free_memory import refuse_beyond_memory
from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, STOP, atomic_load, atomic_max, kernel, share, team
from dgraph.solvers.choice_rows import BELOW, BLOCK, ChoiceRows, entry_at, entry_in_blocks, first_block, weight_before
from dgraph.solvers.compiled_draws import mix
from dgraph.solvers.walks import chance

ALL = -1  # in place of a number of edges
FREE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # in a table, a slot without a vertex
FEWEST_SLOTS = 1 << 10
KEY, DRAW = 16, 64  # about how long a key takes, and a draw, relative to passing an entry that is chosen already
LITTLE = 1e-6  # of the sum of a row
EDGE = 12  # bytes of a sampled edge: its entry and its other end
SMALL = 1 << 24  # bytes; to ask whether as few are free would take as long as a small sample


class SampledRows(NamedTuple):
    """The sampled neighbours of each of some vertices, one after the other, and how many each has."""

    counts: np.ndarray
    neighbours: np.ndarray


def sampled(
    rows: ChoiceRows, places: np.ndarray, vertices: np.ndarray, fanout: int, replace: bool, word: int, threads: int
) -> SampledRows:
    """For each vertex, whose row is in `places`, the other ends of up to `fanout` of its edges. `word` is that of the
    seed and the hop. Weights are sums if `replace`, which `ALL` excludes, and otherwise not."""
    counts, bounds = np.empty(len(places), np.int64), np.zeros(len(places) + 1, np.int64)
    whole, longest = np.empty(len(places), np.bool_), np.zeros(1, np.int64)
    team(_count, threads, rows, places, fanout, replace, counts, whole, longest)
    np.cumsum(counts, out=bounds[1:])
    aside = 0 if replace else threads * int(longest[0]) if len(rows.weights) == 0 else threads * 8 * max(fanout, 0)
    if (need := EDGE * int(bounds[-1]) + aside) > SMALL:
        refuse_beyond_memory(f"samples of {bounds[-1]:,} edges", need)
    room, found = np.empty(bounds[-1], np.uint64), np.empty(bounds[-1], np.uint32)
    where = rows, places, vertices, bounds, whole
    team(_sample, threads, where, longest[0], max(fanout, 0), replace, np.uint64(word), room, found)
    return SampledRows(counts, found)


@kernel
def _count(rank, size, signals, rows, places, fanout, replace, counts, whole, longest):
    """How many edges are taken of each row, whether these are all that can be, and the length of the longest row of
    which they are not."""
    first, last = share(rank, size, places.size)
    most = np.int64(0)
    for i in range(uint64(first), uint64(last)):
        if atomic_load(signals, STOP) != 0:
            return
        begin, end = uint64(rows.indptr[places[i]]), uint64(rows.indptr[uint64(places[i]) + ONE])
        length = np.int64(end - begin)
        possible = length
        if rows.weights.size > 0 and length > 0:
            possible = np.int64(rows.weights[end - ONE] > 0) if replace else _count_possible(rows, begin, end, fanout)
        whole[i] = fanout == ALL or possible == 0 or (possible <= fanout and not replace)
        counts[i] = possible if whole[i] else fanout
        if not whole[i]:
            most = length if length > most else most
    atomic_max(longest, 0, most)


@inlined
def _count_possible(rows, begin, end, fanout):
    """How many entries have a weight > 0, at most one more than the fan-out."""
    count = np.int64(0)
    for e in range(begin, end):
        count += rows.weights[e] > 0
        if fanout != ALL and count > fanout:
            break
    return count


@kernel
def _sample(rank, size, signals, where, longest, fanout, replace, word, entries, found):
    rows, places, vertices, bounds, whole = where
    first, last = share(rank, size, places.size)
    weighted = rows.weights.size > 0
    marks = np.zeros(0 if weighted or replace else longest, np.bool_)
    keys = np.empty(fanout if weighted and not replace and longest > 0 else 0)
    for i in range(uint64(first), uint64(last)):
        if atomic_load(signals, STOP) != 0:
            break
        row = uint64(places[i])
        begin, end = uint64(rows.indptr[row]), uint64(rows.indptr[row + ONE])
        chosen = entries[uint64(bounds[i]) : uint64(bounds[i + ONE])]
        own = mix(word ^ uint64(vertices[i]))
        if whole[i]:
            _take_all(rows, begin, end, chosen)
        elif replace:
            total = weight_before(rows, begin, end)
            for k in range(uint64(chosen.size)):
                chosen[k] = entry_at(rows, begin, begin, end, chance(own, k) * total)
        elif weighted:
            count, taken = uint64(chosen.size), uint64(0)
            if count * (count + uint64(DRAW)) < uint64(KEY) * (end - begin):
                taken = _take_in_turn(rows, first_block(begin, row), begin, end, own, keys, chosen)
            if taken < count:
                _take_by_keys(rows, begin, end, mix(own), keys, chosen[:taken], chosen[taken:])
        else:
            _take_distinct(begin, end, own, marks, chosen)
        for k in range(uint64(chosen.size)):
            found[uint64(bounds[i]) + k] = rows.neighbours[chosen[k]]


@inlined
def _take_all(rows, begin, end, chosen):
    count = uint64(0)
    for e in range(begin, end):
        if rows.weights.size == 0 or rows.weights[e] > 0:
            chosen[count] = e
            count += ONE


@inlined
def _take_distinct(begin, end, own, marks, chosen):
    """Floyd's algorithm: each of the last places is taken, unless the place drawn up to it is free."""
    count = uint64(chosen.size)
    for k in range(count):
        place = end - begin - count + k
        drawn = uint64(chance(own, k) * float(place + ONE))
        if marks[drawn]:
            drawn = place
        marks[drawn] = True
        chosen[k] = begin + drawn
    for k in range(count):
        marks[chosen[k] - begin] = False


@inlined
def _take_in_turn(rows, first, begin, end, own, starts, chosen):
    """Choose entries one after the other, each by a point in what the others leave of the sum, until there are enough,
    or until too little is left to be exact. They are sorted, with the sums before them in `starts`. Returns their
    number."""
    total = rows.blocks[first + ((end - begin - ONE) >> uint64(BLOCK))]
    count, left = uint64(0), total
    while count < uint64(chosen.size) and left > LITTLE * total:
        target, place = chance(own, count) * left, uint64(0)
        while place < count and target >= starts[place]:
            target += rows.weights[chosen[place]]
            place += ONE
        e, before = entry_in_blocks(rows, first, begin, end, min(target, total * BELOW))
        place = count
        while place > uint64(0) and chosen[place - ONE] > e:
            place -= ONE
        if place > uint64(0) and chosen[place - ONE] == e:  # sums were rounded
            break
        for k in range(count - place):  # from the last on
            after = count - k
            chosen[after], starts[after] = chosen[after - ONE], starts[after - ONE]
        chosen[place], starts[place] = e, before
        count += ONE
        left -= rows.weights[e]
    return count


@scalar_part
def _take_by_keys(rows, begin, end, own, keys, taken, chosen):
    """The entries with the smallest keys, of those not taken before, which are sorted: each key is exponential, with
    the weight as its rate. They are held as a heap, with the largest first."""
    count, most, known = uint64(0), uint64(chosen.size), uint64(0)
    for e in range(begin, end):
        weight = rows.weights[e]
        if known < uint64(taken.size) and taken[known] == e:
            known += ONE
        elif weight > 0:
            key = -np.log(1 - chance(own, e - begin)) / weight
            if count < most:
                place = count
                count += ONE
                while place > uint64(0) and keys[(place - ONE) >> ONE] < key:  # upwards
                    above = (place - ONE) >> ONE
                    keys[place], chosen[place] = keys[above], chosen[above]
                    place = above
                keys[place], chosen[place] = key, e
            elif key < keys[0]:
                place, below = uint64(0), ONE
                while below < most:
                    if below + ONE < most and keys[below + ONE] > keys[below]:
                        below += ONE
                    if keys[below] <= key:
                        break
                    keys[place], chosen[place] = keys[below], chosen[below]
                    place, below = below, (below << ONE) + ONE
                keys[place], chosen[place] = key, e


# -- local numbers -----------------------------------------------------------------------------------------------------


class LocalNumbers:
    """Numbers 0, 1, 2 ... for vertices in order of their first appearance, by a hash table with open addressing."""

    def __init__(self) -> None:
        self.vertices, self._slots = np.empty(0, np.uint32), np.full(FEWEST_SLOTS, FREE)

    def of(self, vertices: np.ndarray) -> np.ndarray:
        """The numbers of some vertices; new ones get the next numbers."""
        known, most = len(self.vertices), len(self.vertices) + len(vertices)
        if 2 * most > len(self._slots):
            self._slots = np.full(1 << (2 * most).bit_length(), FREE)
            team(_number, 1, self._slots, self.vertices, 0, np.empty(known, np.int64), self.vertices)
        found, new = np.empty(len(vertices), np.int64), np.empty(len(vertices), np.uint32)
        count = team(_number, 1, self._slots, vertices, known, found, new)
        self.vertices = np.concatenate([self.vertices, new[: count - known]])
        return found


@kernel
def _number(rank, size, signals, slots, vertices, known, found, new):
    """Look up or add vertices. A slot has a vertex and its number."""
    count, mask = uint64(known), uint64(slots.size) - ONE
    for i in range(uint64(vertices.size)):
        v = uint64(vertices[i])
        place = mix(v) & mask
        while slots[place] != FREE and slots[place] >> uint64(32) != v:
            place = (place + ONE) & mask
        if slots[place] == FREE:
            slots[place] = (v << uint64(32)) | count
            new[count - uint64(known)] = v
            count += ONE
        found[i] = slots[place] & uint64(0xFFFF_FFFF)
    return np.int64(count)
