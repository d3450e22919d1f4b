"""Steps of walks whose edges are on several partitions (KnightKing's queries).

Whether a candidate is accepted may depend on the neighbours of the vertex before, which another partition has. Of the
candidates, the first that is sure ends the list: so a single question settles a step. If none of the first is sure, the
whole row goes with it. The random numbers are those of `walks.py`, and so are the walks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel, share, team
from dgraph.solvers.choice_rows import ChoiceRows, split_row
from dgraph.solvers.walks import (
    ASKS,
    ENDS,
    MOST_TRIES,
    NOBODY,
    RESTART,
    WalkRule,
    candidate,
    certain,
    chance,
    is_kept,
    is_sure,
    weighed,
    word_of_step,
    word_of_walk,
)


class Walkers(NamedTuple):
    """Walks on their way, by number: where each is, where it came from, and where it began."""

    walks: np.ndarray
    starts: np.ndarray
    before: np.ndarray
    vertices: np.ndarray

    def chosen(self, some: np.ndarray) -> Walkers:
        return Walkers(*(column[some] for column in self))


class WalkQuestions(NamedTuple):
    """What has to be known of some walkers: their candidates, and the rows of those that have no sure one."""

    walkers: Walkers
    candidates: ChoiceRows  # in the order of the tries
    rows: ChoiceRows


def moved(
    rows: ChoiceRows, places: np.ndarray, walkers: Walkers, step: int, rule: WalkRule, seed: np.uint64, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """The next vertex of each walker, whose row is in `places`, and the number of its candidates: 0 if the vertex is
    known, MOST_TRIES + 1 if none of the candidates is sure."""
    found, counts = np.empty(len(places), np.uint32), np.zeros(len(places), np.int64)
    team(_move, threads, rows, places, walkers, step, rule, rule.remembers, seed, found, counts)
    return found, counts


def questions(
    rows: ChoiceRows,
    places: np.ndarray,
    walkers: Walkers,
    counts: np.ndarray,
    step: int,
    rule: WalkRule,
    seed: np.uint64,
) -> WalkQuestions:
    """The questions of walkers with candidates."""
    lists, lengths = np.zeros(len(places) + 1, np.int64), np.zeros(len(places) + 1, np.int64)
    np.cumsum(np.minimum(counts, MOST_TRIES), out=lists[1:])
    np.cumsum(np.where(counts > MOST_TRIES, np.diff(rows.indptr)[places], 0), out=lengths[1:])
    sums = np.empty(lengths[-1] if len(rows.sums) else 0)
    asked = WalkQuestions(
        walkers,
        ChoiceRows(lists, np.empty(lists[-1], np.uint32), np.empty(0)),
        ChoiceRows(lengths, np.empty(lengths[-1], np.uint32), sums),
    )
    team(_ask, 1, rows, places, asked, step, rule, seed)
    return asked


def answers(
    rows: ChoiceRows, places: np.ndarray, asked: WalkQuestions, step: int, rule: WalkRule, seed: np.uint64
) -> np.ndarray:
    """The next vertices, by the rows of the vertices before."""
    found = np.empty(len(places), np.uint32)
    team(_answer, 1, rows, places, asked, step, rule, seed, found)
    return found


@kernel
def _move(rank, size, signals, rows, places, walkers, step, rule, remembers, seed, found, counts):
    first, last = share(rank, size, places.size)
    for i in range(uint64(first), uint64(last)):
        word = word_of_step(word_of_walk(seed, walkers.walks[i]), step)
        if rule.restart > 0 and chance(word, RESTART) < rule.restart:
            found[i], walkers.before[i] = walkers.starts[i], NOBODY
            continue
        r, t = uint64(places[i]), walkers.before[i] if remembers else NOBODY
        row = split_row(rows, uint64(rows.indptr[r]), uint64(rows.indptr[r + ONE]), uint64(t))
        next_one = certain(rows, row, t, word)
        if next_one == ENDS:
            found[i] = NOBODY
        elif next_one == ASKS:
            attempt, x = 0, candidate(rows, row, t, word, 0, rule)
            while attempt < MOST_TRIES and not is_sure(x, t, word, attempt, rule):
                attempt += 1
                x = candidate(rows, row, t, word, attempt, rule)
            found[i], counts[i] = x, attempt + 1 if attempt > 0 else 0
        else:
            found[i] = next_one
        if counts[i] == 0:
            walkers.before[i] = walkers.vertices[i]


@kernel
def _ask(rank, size, signals, rows, places, asked, step, rule, seed):
    walkers, lists, copies = asked
    for i in range(uint64(places.size)):
        word = word_of_step(word_of_walk(seed, walkers.walks[i]), step)
        r, place = uint64(places[i]), uint64(copies.indptr[i])
        begin, end = uint64(rows.indptr[r]), uint64(rows.indptr[r + ONE])
        row = split_row(rows, begin, end, uint64(walkers.before[i]))
        for k in range(uint64(lists.indptr[i]), uint64(lists.indptr[i + ONE])):
            lists.neighbours[k] = candidate(rows, row, walkers.before[i], word, k - uint64(lists.indptr[i]), rule)
        if copies.indptr[i + ONE] > copies.indptr[i]:
            for e in range(begin, end):
                copies.neighbours[place + e - begin] = rows.neighbours[e]
                if rows.sums.size:
                    copies.sums[place + e - begin] = rows.sums[e]


@kernel
def _answer(rank, size, signals, rows, places, asked, step, rule, seed, found):
    walkers, lists, copies = asked
    for i in range(uint64(places.size)):
        r = uint64(places[i])
        first, last = uint64(rows.indptr[r]), uint64(rows.indptr[r + ONE])
        begin, end = uint64(copies.indptr[i]), uint64(copies.indptr[i + ONE])
        found[i] = NOBODY
        for k in range(uint64(lists.indptr[i]), uint64(lists.indptr[i + ONE])):
            x = uint64(lists.neighbours[k])
            is_last = k + ONE == uint64(lists.indptr[i + ONE]) and begin == end
            if is_last or is_kept(rows.neighbours, first, last, x, rule):
                found[i] = x
                break
        if found[i] == NOBODY:
            word = word_of_step(word_of_walk(seed, walkers.walks[i]), step)
            row = split_row(copies, begin, end, uint64(walkers.before[i]))
            found[i] = weighed(copies, row, rows.neighbours, first, last, word, rule)
