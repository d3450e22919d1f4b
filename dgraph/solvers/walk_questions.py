"""Steps of walks whose edges are on several partitions (KnightKing's queries).

Whether a candidate is accepted may depend on the neighbours of the vertex before, which another partition has. Of the
candidates, the first that is sure ends the list: so a single question settles most steps. If all were rejected, the
neighbours of the vertex before come to the partition where the walk is, which weighs its edges. The random numbers are
those of `walks.py`, and so are the walks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.free_memory import refuse_beyond_memory
from dgraph.native.team import ONE, STOP, atomic_load, kernel, share, team
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
    """What has to be known of some walkers: which of their candidates is accepted, in the order of the tries."""

    walkers: Walkers
    candidates: ChoiceRows


class WalkNeighbours(NamedTuple):
    """Walkers of whose candidates none was accepted; the neighbours of the vertices before, each listed once; and the
    row of each walker in that list."""

    walkers: Walkers
    rows: np.ndarray
    neighbours: ChoiceRows


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
    lists = np.zeros(len(places) + 1, np.int64)
    np.cumsum(np.minimum(counts, MOST_TRIES), out=lists[1:])
    refuse_beyond_memory(f"the candidates of {len(places):,} walks", 4 * int(lists[-1]))
    asked = WalkQuestions(walkers, ChoiceRows(lists, np.empty(lists[-1], np.uint32), np.empty(0)))
    team(_ask, 1, rows, places, asked, step, rule, seed)
    return asked


def answers(
    rows: ChoiceRows, places: np.ndarray, asked: WalkQuestions, step: int, rule: WalkRule, seed: np.uint64
) -> np.ndarray:
    """The next vertices, by the rows of the vertices before; NOBODY if all candidates are rejected."""
    found = np.empty(len(places), np.uint32)
    team(_answer, 1, rows, places, asked, step, rule, seed, found)
    return found


def told(rows: ChoiceRows, places: np.ndarray, walkers: Walkers) -> WalkNeighbours:
    """The neighbours of the vertices before, whose rows are in `places`."""
    distinct, which = np.unique(places, return_inverse=True)
    lengths = np.diff(rows.indptr)[distinct]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    refuse_beyond_memory(f"the neighbours of {len(distinct):,} vertices", 20 * int(bounds[-1]))
    entries = np.arange(bounds[-1]) + np.repeat(rows.indptr[distinct] - bounds[:-1], lengths)
    return WalkNeighbours(walkers, which, ChoiceRows(bounds, rows.neighbours[entries], np.empty(0)))


def weighed_all(
    rows: ChoiceRows,
    places: np.ndarray,
    known: WalkNeighbours,
    step: int,
    rule: WalkRule,
    seed: np.uint64,
    threads: int,
) -> np.ndarray:
    """The next vertices, if the weights of all edges are added up."""
    found = np.empty(len(places), np.uint32)
    team(_weigh, threads, rows, places, known, step, rule, seed, found)
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
    walkers, lists = asked
    for i in range(uint64(places.size)):
        word = word_of_step(word_of_walk(seed, walkers.walks[i]), step)
        begin, end = uint64(rows.indptr[places[i]]), uint64(rows.indptr[uint64(places[i]) + ONE])
        row = split_row(rows, begin, end, uint64(walkers.before[i]))
        for k in range(uint64(lists.indptr[i]), uint64(lists.indptr[i + ONE])):
            lists.neighbours[k] = candidate(rows, row, walkers.before[i], word, k - uint64(lists.indptr[i]), rule)


@kernel
def _answer(rank, size, signals, rows, places, asked, step, rule, seed, found):
    walkers, lists = asked
    for i in range(uint64(places.size)):
        begin, end = uint64(rows.indptr[places[i]]), uint64(rows.indptr[uint64(places[i]) + ONE])
        word = word_of_step(word_of_walk(seed, walkers.walks[i]), step)
        first, last = uint64(lists.indptr[i]), uint64(lists.indptr[i + ONE])
        found[i] = NOBODY
        for k in range(first, last):
            x = uint64(lists.neighbours[k])
            sure = is_sure(x, walkers.before[i], word, k - first, rule)
            if sure or is_kept(rows.neighbours, begin, end, x, rule):
                found[i] = x
                break


@kernel
def _weigh(rank, size, signals, rows, places, known, step, rule, seed, found):
    walkers, which, lists = known
    mine, others = share(rank, size, places.size)
    for i in range(uint64(mine), uint64(others)):
        if atomic_load(signals, STOP) != 0:
            break
        begin, end = uint64(rows.indptr[places[i]]), uint64(rows.indptr[uint64(places[i]) + ONE])
        first, last = uint64(lists.indptr[which[i]]), uint64(lists.indptr[uint64(which[i]) + ONE])
        word = word_of_step(word_of_walk(seed, walkers.walks[i]), step)
        row = split_row(rows, begin, end, uint64(walkers.before[i]))
        found[i] = weighed(rows, row, lists.neighbours, first, last, word, rule)
