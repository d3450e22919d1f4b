"""PageRank from earlier ranks of a graph of which little has changed.

Jumps lead to known sums of ranks: without jumps from vertices without out-edges, which scale all ranks by one factor,
what differs from the earlier ranks is mostly near the changes. Rounds in which each row gathers the newest ranks of
others settle most of it soon. Two things would take many of them, where edges have no direction: what a change moves
between two vertices that have few other edges, and the sum of the ranks of a large component. So vertices near the
changes are brought up to date one by one between the rounds, and ranks are scaled. At least one round follows as in a
run from the start, which tells how near the fixed point is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import uint64

from dgraph.native.ascending import first_from
from dgraph.native.team import ONE, kernel, part
from dgraph.solvers.ranks.gather import Layout, RowEdges, gather
from dgraph.solvers.ranks.pagerank import Walk, fixed_point, walk_on
from dgraph.solvers.solver import Problem, Solution

PASSES = 2  # rounds between two times that ranks may be scaled
SLOW = 0.5  # rounds that leave more than this share of the change are slow
SHORT = 16  # edges of a row that is brought up to date by itself
LEAST = 1 / 16  # of the tolerance: by how much all of these together may still differ
SHARE = 8  # for this, at most 1 / SHARE of all edges are read at a time


def ranks_from(
    layout: Layout,
    problem: Problem,
    dtype: Any,
    known: np.ndarray,
    stuck: float | None,
    changed: np.ndarray,
    *,
    both_ways: bool,
) -> Solution:
    """PageRank from known ranks of each vertex. `stuck` is the sum of those without out-edges then, if it is known. The
    rows of the vertices in `changed` have changed, or what they send. `both_ways` says that each row tells where its
    vertex sends, too."""
    walk = walk_on(layout, problem, dtype)
    scores, most, rounds, read = known[layout.rows].astype(dtype), problem.values["max_iter"], 0, 0
    alpha, jumps, again = walk.factors
    if again == 0 or walk.restart is walk.spread:
        if stuck is None:
            stuck = float(scores[walk.strength == 0].sum())
        lost = walk._replace(factors=(alpha, jumps + again * stuck, 0.0))
        steps = (_TwoWaySteps if both_ways else _RankSteps)(lost, scores, changed)
        before = change = np.inf
        while rounds < most - 1 and not change < walk.tolerance:
            steps.take(helped=not change > SLOW * before)
            before = change
            _, some = fixed_point(problem, lost, scores, min(PASSES, most - 1 - rounds), in_place=True)
            rounds, read, change = rounds + some.rounds, read + some.edges, some.totals["change"]
        read += steps.read
        if again > 0:
            scores /= scores.sum()
    found, last = fixed_point(problem, walk, scores, most - rounds)
    return replace(last, values={"pagerank": found}, rounds=rounds + last.rounds, edges=read + last.edges)


class _RankSteps:
    """What happens between rounds: ranks are scaled to the sum that jumps lead to, until that does not help. Where no
    edges lead back, it would disturb ranks that are right. `read` counts the edges that this reads."""

    def __init__(self, walk: Walk, scores: np.ndarray, changed: np.ndarray):
        self._walk, self._scores, self.read, self._helps = walk, scores, 0, True
        self._sends = walk.strength != 0
        self._restart = float(len(scores) if walk.restart is None else walk.restart.sum())

    def take(self, *, helped: bool) -> None:
        """Do this after rounds that were quick, if it `helped`."""
        self._helps &= helped
        if self._helps:
            sent = float(self._scores[self._sends].sum())
            self._scores *= self._factor(self._restart, float(self._scores.sum()) - self._walk.factors[0] * sent)

    def _factor(self, restart: float, total: float) -> float:
        return self._walk.factors[1] * restart / total if total > 0 else 1.0


class _TwoWaySteps(_RankSteps):
    """The same where edges have no direction: what passes along them stays in a component, so it always helps, and
    small components are left as they are. And vertices near the changes are brought up to date."""

    def __init__(self, walk: Walk, scores: np.ndarray, changed: np.ndarray):
        super().__init__(walk, scores, changed)
        self._changed = walk.layout.places[changed]
        self._restart = float(self._sends.sum() if walk.restart is None else walk.restart[self._sends].sum())
        self._waiting, self._queue = np.zeros(len(scores), np.bool_), np.empty(len(scores), np.uint32)
        self._large = np.empty(len(scores), np.bool_)  # which rows are in large components, as far as can be seen soon
        edges: RowEdges = walk.layout.edges
        length = max(2, len(edges.senders) // max(1, int(self._sends.sum())))
        self.read = int(_mark_near_long(edges.indptr, edges.senders, np.uint64(length), self._large))

    def take(self, *, helped: bool) -> None:
        self._bring_up_to_date()
        sent = float(self._scores[self._sends].sum())
        self._scores[self._large] *= self._factor(self._restart, (1 - self._walk.factors[0]) * sent)

    def _bring_up_to_date(self) -> None:
        if not len(self._changed):
            return
        walk, scores = self._walk, self._scores
        sent = np.zeros_like(scores)
        np.divide(scores, walk.strength, out=sent, where=self._sends, casting="same_kind")
        edges, factors = walk.layout.edges, (float(walk.factors[0]), float(walk.factors[1]))
        how = edges, edges.terms, walk.restart, walk.strength, factors
        limits = walk.tolerance * LEAST / len(self._changed), len(edges.senders) // SHARE
        queues = self._changed, self._waiting, self._queue
        self.read += int(_bring_up_to_date(*how, *limits, *queues, np.empty(1, scores.dtype), scores, sent))


@kernel
def _mark_near_long(indptr, senders, length, marks):
    """Mark rows of at least so many edges, and their neighbours. Returns the number of edges read."""
    read = 0
    for i in range(uint64(marks.size)):
        e, last = uint64(indptr[i]), uint64(indptr[i + ONE])
        marks[i] = last - e >= length
        while e != last and not marks[i]:
            j = uint64(senders[e])
            marks[i] = uint64(indptr[j + ONE]) - uint64(indptr[j]) >= length
            e += ONE
            read += 1
    return read


@kernel
def _bring_up_to_date(
    edges, terms, restart, strength, factors, least, most, changed, waiting, queue, came, scores, sent
):
    """Compute rows anew that have changed or that such changes reach, until none changes by more than `least`. Returns
    the number of edges read, which are about `most` at most."""
    indptr, senders, kind = edges.indptr, edges.senders, scores.dtype.type
    head, count, read = uint64(0), uint64(0), uint64(0)
    alpha, jumps = kind(factors[0]), kind(factors[1])
    for k in range(changed.size):
        count = _wait(changed[k], waiting, queue, head, count)
    while count > uint64(0):
        i = uint64(queue[head])
        head = (head + ONE) % uint64(queue.size)
        count -= ONE
        waiting[i] = False
        first, last = uint64(indptr[i]), uint64(indptr[i + ONE])
        if last - first > uint64(SHORT) or read >= uint64(most):
            continue
        gather(edges, sent, np.int64(i), np.int64(i) + 1, came)
        read += last - first
        score = alpha * came[0]
        if restart is None:
            score += jumps
        else:
            score += jumps * restart[i]
        if abs(score - scores[i]) <= least:
            continue
        scores[i] = score
        if strength[i] != 0:
            sent[i] = score / strength[i]
        for e in range(first, last):
            count = _wait(senders[e], waiting, queue, head, count)
        if terms is not None:
            k = first_from(terms.rows, uint64(0), uint64(terms.rows.size), i)
            while k < uint64(terms.rows.size) and uint64(terms.rows[k]) == i:
                count = _wait(terms.senders[k], waiting, queue, head, count)
                k += ONE
    return read


@part
def _wait(i, waiting, queue, head, count):
    """Put a row at the end of the queue, unless it is there. Returns the number of rows in the queue."""
    if waiting[i]:
        return count
    waiting[i] = True
    queue[(head + count) % uint64(queue.size)] = i
    return count + ONE
