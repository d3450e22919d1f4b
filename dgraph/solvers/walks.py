"""Random walks by node2vec (Grover and Leskovec, KDD 2016), by rejection sampling as in KnightKing (Yang et al., SOSP
2019).

Of a walk that came from t, the edges back to t lie together in a sorted row, so their weight is known. The other edges
have one of two weights: candidates are drawn as if all had the larger one, and accepted with the chance that theirs is
of that. Most are accepted before anybody looks whether they are neighbours of t.

A random number depends on the seed, the walk, the step and its purpose. Each thread takes a batch of walks at a time,
step by step, and fetches the rows of all of them before it reads the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.ascending import contains
from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, prefetch, team
from dgraph.programs.random_draws import uint64 as word_of
from dgraph.solvers.choice_rows import ChoiceRows, entry_at, entry_elsewhere, split_row, weight_before
from dgraph.solvers.compiled_draws import mix

NOBODY = np.uint32(0xFFFF_FFFF)  # where a walk has ended, and what is before its start
MOST_BATCH = 64  # walks that a thread advances together
RESTART, CHOICE = uint64(0), uint64(1)  # the purposes of draws; each candidate has two more
MOST_TRIES = 64  # candidates; then all are weighed
LOOKS = 8  # about how many times as long a step takes as reading an edge
ENDS, RESTARTS, ASKS = -1, -2, -3  # in place of a vertex or an entry


class WalkRule(NamedTuple):
    """The chance of a restart; and the weights of edges that lead back, to a neighbour of the vertex before, and
    elsewhere, as shares of the larger of the last two."""

    restart: float
    back: float
    near: float
    far: float

    @classmethod
    def of(cls, p: float, q: float, restart: float) -> WalkRule:
        largest = max(1.0, 1.0 / q)
        return cls(float(restart), 1.0 / p / largest, 1.0 / largest, 1.0 / q / largest)

    @property
    def remembers(self) -> bool:
        """Whether a step depends on the vertex before."""
        return not self.back == self.near == self.far


def walks(
    rows: ChoiceRows, starts: np.ndarray, length: int, rule: WalkRule, random_seed: int, threads: int
) -> np.ndarray:
    """The vertices of a walk from each start, in a row of its own, filled up with `NOBODY`."""
    steps = np.empty((len(starts), length + 1), np.uint32)
    batch = max(1, min(MOST_BATCH, len(starts) // threads))
    how = np.uint64(word_of(random_seed)), rule, batch
    team(_remembering if rule.remembers else _forgetful, threads, np.zeros(1, np.int64), rows, starts, *how, steps)
    return steps


@inlined
def word_of_walk(random_seed, walk):
    return mix(mix(random_seed) ^ uint64(walk))


@inlined
def word_of_step(word, step):
    return mix(word ^ uint64(step))


@inlined
def chance(word, purpose):
    """A random float in [0, 1) for one purpose within a step."""
    return (mix(word ^ purpose) >> uint64(11)) * 2.0**-53


@kernel
def _forgetful(rank, size, signals, cursor, rows, starts, random_seed, rule, batch, steps):
    """Walks whose steps do not depend on where they came from."""
    words, entries = np.empty(batch, np.uint64), np.empty(batch, np.int64)
    while True:
        first = atomic_add(cursor, 0, batch)
        if first >= starts.size:
            break
        many = min(batch, starts.size - first)
        _begin(first, many, rows, starts, random_seed, words, steps)
        for step in range(1, steps.shape[1]):
            if atomic_load(signals, STOP) != 0:
                return
            for i in range(uint64(many)):
                v, word = uint64(steps[uint64(first) + i, step - 1]), word_of_step(words[i], step)
                entries[i] = _entry(rows, v, word, rule)
                if entries[i] >= 0:
                    prefetch(rows.neighbours, entries[i])
            for i in range(uint64(many)):
                walk = uint64(first) + i
                x = NOBODY
                if entries[i] >= 0:
                    x = rows.neighbours[uint64(entries[i])]
                elif entries[i] == RESTARTS:
                    x = starts[walk]
                steps[walk, step] = x
                if x != NOBODY:
                    prefetch(rows.indptr, x)


@inlined
def _begin(first, many, rows, starts, random_seed, words, steps):
    for i in range(uint64(many)):
        walk = uint64(first) + i
        words[i], steps[walk, 0] = word_of_walk(random_seed, walk), starts[walk]
        prefetch(rows.indptr, starts[walk])


@inlined
def _entry(rows, v, word, rule):
    """The entry of the edge that is followed, ENDS or RESTARTS."""
    if v == uint64(NOBODY):
        return np.int64(ENDS)
    if rule.restart > 0 and chance(word, RESTART) < rule.restart:
        return np.int64(RESTARTS)
    begin, end = uint64(rows.indptr[v]), uint64(rows.indptr[v + ONE])
    total = weight_before(rows, begin, end)
    return np.int64(entry_at(rows, begin, begin, end, chance(word, CHOICE) * total)) if total > 0 else np.int64(ENDS)


@kernel
def _remembering(rank, size, signals, cursor, rows, starts, random_seed, rule, batch, steps):
    """Walks whose steps depend on where they came from."""
    words, before = np.empty(batch, np.uint64), np.empty(batch, np.uint32)
    while True:
        first = atomic_add(cursor, 0, batch)
        if first >= starts.size:
            break
        many = min(batch, starts.size - first)
        _begin(first, many, rows, starts, random_seed, words, steps)
        before[:] = NOBODY
        for step in range(1, steps.shape[1]):
            if atomic_load(signals, STOP) != 0:
                return
            for i in range(uint64(many)):
                v = steps[uint64(first) + i, step - 1]
                if v != NOBODY:
                    begin, end = rows.indptr[uint64(v)], rows.indptr[uint64(v) + ONE]
                    if begin < end:
                        prefetch(rows.neighbours, begin)
                        prefetch(rows.neighbours, (begin + end) >> 1)
            for i in range(uint64(many)):
                walk = uint64(first) + i
                v, x = steps[walk, step - 1], NOBODY
                if v != NOBODY:
                    word = word_of_step(words[i], step)
                    if rule.restart > 0 and chance(word, RESTART) < rule.restart:
                        x, before[i] = starts[walk], NOBODY
                    else:
                        x = _next(rows, uint64(v), before[i], word, rule)
                        before[i] = v
                    if x != NOBODY:
                        prefetch(rows.indptr, x)
                steps[walk, step] = x


@scalar_part
def _next(rows, v, t, word, rule):
    """The vertex after v, of a walk that came from t."""
    row = split_row(rows, uint64(rows.indptr[v]), uint64(rows.indptr[v + ONE]), uint64(t))
    found = certain(rows, row, t, word)
    if found != ASKS:
        return NOBODY if found == ENDS else np.uint32(found)
    first, last = uint64(rows.indptr[uint64(t)]), uint64(rows.indptr[uint64(t) + ONE])
    for attempt in range(MOST_TRIES):
        x = candidate(rows, row, t, word, attempt, rule)
        if is_sure(x, t, word, attempt, rule) or is_kept(rows.neighbours, first, last, x, rule):
            return np.uint32(x)
    return np.uint32(weighed(rows, row, rows.neighbours, first, last, word, rule))


@inlined
def certain(rows, row, t, word):
    """The next vertex, if only one is possible, or if the walk has just begun; otherwise ENDS or ASKS."""
    if row.total <= 0:
        return np.int64(ENDS)
    if t == NOBODY:
        entry = entry_at(rows, row.begin, row.begin, row.end, chance(word, CHOICE) * row.total)
        return np.int64(rows.neighbours[entry])
    return np.int64(ASKS) if row.before + (row.total - row.through) > 0 else np.int64(t)


@inlined
def candidate(rows, row, t, word, attempt, rule):
    """A vertex, drawn as if all edges that do not lead back to t had the larger weight."""
    back = (row.through - row.before) * rule.back
    elsewhere = row.before + (row.total - row.through)
    target = chance(word, CHOICE + ONE + (uint64(attempt) << ONE)) * (back + elsewhere) - back
    return uint64(t) if target < 0 else uint64(rows.neighbours[entry_elsewhere(rows, row, target)])


@inlined
def is_sure(x, t, word, attempt, rule):
    """Whether a candidate is accepted whatever its weight is."""
    drawn = chance(word, CHOICE + uint64(2) + (uint64(attempt) << ONE))
    return x == uint64(t) or drawn < min(rule.near, rule.far)


@inlined
def is_kept(neighbours, first, last, x, rule):
    """Whether a candidate that is not sure is accepted, `neighbours` being those of the vertex before."""
    return contains(neighbours, first, last, x) == (rule.near > rule.far)


@scalar_part
def weighed(rows, row, neighbours, first, last, word, rule):
    """The next vertex, if the weights of all edges are added up."""
    total = 0.0
    for e in range(row.begin, row.end):
        total += _weight(rows, row, e, neighbours, first, last, rule)
    left, found = chance(word, CHOICE) * total, uint64(NOBODY)
    for e in range(row.begin, row.end):
        weight = _weight(rows, row, e, neighbours, first, last, rule)
        if weight > 0:
            found = uint64(rows.neighbours[e])
            left -= weight
            if left < 0:
                break
    return found


@inlined
def _weight(rows, row, e, neighbours, first, last, rule):
    own = weight_before(rows, row.begin, e + ONE) - weight_before(rows, row.begin, e)
    if row.low <= e < row.high:
        return own * rule.back
    return own * (rule.near if contains(neighbours, first, last, uint64(rows.neighbours[e])) else rule.far)
