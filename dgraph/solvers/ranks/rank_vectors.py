"""PageRank for several personalizations at once: one pass over the edges gathers for all of them.

The values that a vertex sends are contiguous, so an edge costs one access to its sender, and four components are summed
at a time. Everything else is as in `pagerank.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import LINE, ONE, atomic_add, barrier, kernel, part, prefetch, share, stopped, team
from dgraph.solvers.ranks.gather import layout_of
from dgraph.solvers.ranks.pagerank import dividing, page_rank
from dgraph.solvers.solver import Problem, Solution
from dgraph.solvers.subgraphs.neighbours import are_skewed

CACHED_BYTES = 1 << 25  # larger vectors do not stay in the cache; twice as many bytes do if degrees are skewed
GROUP_SIZE = 4  # components that are summed at a time; vectors are padded to whole groups
AHEAD = 32  # prefetch distance, in edges
CHANGE, DANGLING = 0, 1


def rank_vectors(problem: Problem, dtype: Any = np.float64) -> Solution:
    """Solver of `PageRanks` of `ops/pagerank.py`."""
    values, columns, n = problem.values, problem.columns, problem.vertices
    layout, several = layout_of(problem), values["several"]
    cached = CACHED_BYTES << are_skewed(layout.degree)
    if several < GROUP_SIZE or n * several * np.dtype(dtype).itemsize > cached:
        return _one_by_one(problem, dtype)
    layout, strength = dividing(layout, columns, dtype)
    width = -(-several // GROUP_SIZE) * GROUP_SIZE
    restart = _in_groups(columns["restart"], layout.rows, width, dtype)
    same = np.array_equal(columns["spread"], columns["restart"])
    spread = restart if same else _in_groups(columns["spread"], layout.rows, width, dtype)
    scores = restart.copy()
    vectors = Vectors(strength, restart, spread, scores, np.empty(n * width, dtype))
    sums, totals = np.zeros((len(layout.edges.cuts) - 1, 2, width)), np.zeros((problem.threads, 2, width))
    totals[:, CHANGE] = np.inf
    own, turns = np.empty((problem.threads, 2, width + LINE)), np.zeros(2 * LINE, np.int64)
    alpha, kept, limits = values["alpha"], values["kept"], (float(values["tol"]), values["max_iter"])
    factors = float(alpha), float(1 - alpha), float(alpha * kept)
    rounds = team(
        _fixed_points, problem.threads, turns, layout.edges, vectors, several, factors, *limits, sums, totals, own
    )
    ranks = np.empty((n, several), dtype)
    ranks[layout.rows] = scores[:, :several]
    last = {"change": totals[0, CHANGE, :several].tolist(), "dangling": totals[0, DANGLING, :several].tolist()}
    return Solution({"pagerank": ranks}, rounds, rounds * len(layout.edges.senders), last)


def _one_by_one(problem: Problem, dtype: Any) -> Solution:
    """One run for each personalization, if they do not fill a group, or if wide vectors would be slower."""
    each = []
    for c in range(problem.values["several"]):
        columns = {name: values[:, c] if values.ndim > 1 else values for name, values in problem.columns.items()}
        each.append(page_rank(replace(problem, columns=columns), dtype))
    ranks = np.stack([one.values["pagerank"] for one in each], axis=1)
    totals = {name: [one.totals[name] for one in each] for name in ("change", "dangling")}
    return Solution({"pagerank": ranks}, max(one.rounds for one in each), sum(one.edges for one in each), totals)


def _in_groups(column: np.ndarray, rows: np.ndarray, width: int, dtype: Any) -> np.ndarray:
    """A column of vectors in the order of rows, padded with zeros to whole groups."""
    padded = np.zeros((len(rows), width), dtype)
    padded[:, : column.shape[1]] = column[rows]
    return padded


class Vectors(NamedTuple):
    """Arrays by row."""

    strength: np.ndarray  # the divisor of the scores; 0 without out-edges
    restart: np.ndarray  # where jumps lead
    spread: np.ndarray  # where the scores of vertices without out-edges go
    scores: np.ndarray
    sent: np.ndarray


@kernel
def _fixed_points(rank, size, signals, turns, edges, vectors, several, factors, tolerance, max_iter, sums, totals, own):
    """Run all rounds; returns their number. `sums` are by block, `totals` by thread: the change of each component, and
    its scores of vertices without out-edges. A component that has converged stays unchanged. `own` is scratch for each
    thread on separate cache lines, because it is written for every row."""
    cuts, mine, rounds = edges.cuts, totals[rank], 0
    blocks = cuts.size - 1
    first, last = share(rank, size, blocks)
    while True:
        for b in range(first, last):
            _send(cuts[b], cuts[b + 1], vectors.scores, vectors.strength, vectors.sent, sums[b, DANGLING])
        if rank == 0:
            turns[(rounds + 1) % 2 * LINE] = 0
        barrier(size, signals)
        _sum_blocks(sums, DANGLING, mine)
        if rounds >= max_iter or not _moving(mine, several, tolerance) or stopped(signals):
            return rounds
        while True:
            b = atomic_add(turns, rounds % 2 * LINE, 1)
            if b >= blocks:
                break
            moving = tolerance, mine, own[rank, 0], own[rank, 1], sums[b, CHANGE]
            _gather(cuts[b], cuts[b + 1], edges, vectors, factors, *moving)
        barrier(size, signals)
        rounds += 1
        _sum_blocks(sums, CHANGE, mine)


@part
def _moving(totals, several, tolerance):
    moving = 0
    for c in range(several):
        moving += totals[CHANGE, c] >= tolerance
    return moving > 0


@part
def _sum_blocks(sums, what, totals):
    totals[what] = 0
    for b in range(sums.shape[0]):
        for c in range(sums.shape[2]):
            totals[what, c] += sums[b, what, c]


@part
def _send(lo, hi, scores, strength, sent, stuck):
    """Compute what rows lo:hi send; `stuck` receives the sum of the scores of rows without out-edges."""
    stuck[:] = 0
    kind, width = scores.dtype.type, uint64(scores.shape[1])
    for i in range(uint64(lo), uint64(hi)):
        sends = strength[i] > 0
        of_each = kind(1 / strength[i] if sends else 0)
        for c in range(width):
            sent[i * width + c] = scores[i, c] * of_each
            if not sends:
                stuck[c] += scores[i, c]


@part
def _gather(lo, hi, edges, vectors, factors, tolerance, totals, came, moved, change):
    """Gather, and compute the new scores of rows lo:hi; `change` receives the sum of their changes."""
    indptr, senders, weights = edges.indptr, edges.senders, edges.weights
    (_, restart, spread, scores, sent), (alpha, jumps, again) = vectors, factors
    kind, width = scores.dtype.type, uint64(scores.shape[1])
    moved[:] = 0
    for i in range(uint64(lo), uint64(hi)):
        first, end, g = uint64(indptr[i]), uint64(indptr[i + ONE]), uint64(0)
        while width - g >= uint64(2 * GROUP_SIZE):
            _two_groups(first, end, senders, weights, sent, width, g, came)
            g += uint64(2 * GROUP_SIZE)
        if g < width:
            _group(first, end, senders, weights, sent, width, g, came)
        for c in range(width):
            if totals[CHANGE, c] >= tolerance:
                score = kind(alpha) * kind(came[c]) + kind(jumps) * restart[i, c]
                score += kind(again * totals[DANGLING, c]) * spread[i, c]
                moved[c] += abs(score - scores[i, c])
                scores[i, c] = score
    for c in range(width):
        change[c] = moved[c]


@part
def _group(first, end, senders, weights, sent, width, g, came):
    """Sum the components g, g + 1, ... of one group over the edges first:end."""
    kind, final = sent.dtype.type, uint64(max(senders.size - 1, 0))
    p, q, r, s = kind(0), kind(0), kind(0), kind(0)
    for e in range(first, end):
        prefetch(sent, senders[min(e + uint64(AHEAD), final)] * width + g)
        u = senders[e] * width + g
        w = kind(1) if weights is None else kind(weights[e])
        p += w * sent[u]
        q += w * sent[u + ONE]
        r += w * sent[u + uint64(2)]
        s += w * sent[u + uint64(3)]
    came[g], came[g + ONE], came[g + uint64(2)], came[g + uint64(3)] = p, q, r, s


@part
def _two_groups(first, end, senders, weights, sent, width, g, came):
    """Like `_group`, for two groups, which fill one cache line."""
    kind, final = sent.dtype.type, uint64(max(senders.size - 1, 0))
    p, q, r, s = kind(0), kind(0), kind(0), kind(0)
    h, i, j, k = kind(0), kind(0), kind(0), kind(0)
    for e in range(first, end):
        prefetch(sent, senders[min(e + uint64(AHEAD), final)] * width + g)
        u = senders[e] * width + g
        w = kind(1) if weights is None else kind(weights[e])
        p += w * sent[u]
        q += w * sent[u + ONE]
        r += w * sent[u + uint64(2)]
        s += w * sent[u + uint64(3)]
        h += w * sent[u + uint64(4)]
        i += w * sent[u + uint64(5)]
        j += w * sent[u + uint64(6)]
        k += w * sent[u + uint64(7)]
    came[g], came[g + ONE], came[g + uint64(2)], came[g + uint64(3)] = p, q, r, s
    came[g + uint64(4)], came[g + uint64(5)], came[g + uint64(6)], came[g + uint64(7)] = h, i, j, k
