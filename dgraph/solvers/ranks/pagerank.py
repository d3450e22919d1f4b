"""The fixed point of scores that pass along edges: PageRank and Katz centrality, all rounds in one compiled call.

Each vertex divides its score once per round, so an edge costs one load and one addition. One thread sums up a row, and
totals over vertices are summed block by block, so results are bitwise the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import LINE, atomic_add, barrier, kernel, share, stopped, summed, team
from dgraph.solvers.ranks.gather import Layout, gather, layout_of, table_of, total
from dgraph.solvers.solver import Problem, Solution
from dgraph.tables.edge_tables import weight_sums


def page_rank(problem: Problem, dtype: Any = np.float64) -> Solution:
    """Solver of PageRank."""
    walk = walk_on(layout_of(problem), problem, dtype)
    scores, solved = fixed_point(problem, walk, walk.start, problem.values["max_iter"])
    return replace(solved, values={"pagerank": scores})


def walk_on(layout: Layout, problem: Problem, dtype: Any) -> Walk:
    """What a surfer does on a layout, which need not be that of the problem's edges."""
    values, columns, n = problem.values, problem.columns, len(layout.rows)
    layout, strength = dividing(layout, columns, dtype)
    jumps, again = 1 - values["alpha"], values["alpha"] * values["kept"]
    if "restart" not in columns and "spread" not in columns:
        share = 1 / max(n, 1)
        factors = values["alpha"], jumps * share, again * share
        return Walk(layout, strength, np.full(n, share, dtype), factors, values["tol"])
    evenly = np.full(n, 1 / max(n, 1))
    restart, spread = (columns.get(name, evenly)[layout.rows].astype(dtype) for name in ("restart", "spread"))
    if np.array_equal(restart, spread):
        spread = restart
    return Walk(layout, strength, restart.copy(), (values["alpha"], jumps, again), values["tol"], restart, spread)


def dividing(layout: Layout, columns: dict[str, np.ndarray], dtype: Any) -> tuple[Layout, np.ndarray]:
    """A layout, and the divisor of the score of each row. The layout has other weights if the sum of weights is not
    usable as a divisor."""
    if "strength" not in columns:
        return layout, layout.degree
    strength = columns["strength"][layout.rows]
    return (layout, strength) if _can_divide(strength, dtype) else _in_proportion(layout, strength)


def _can_divide(strength: np.ndarray, dtype: Any) -> bool:
    """Whether 1 / strength is finite and keeps its precision."""
    limits, positive = np.finfo(dtype), strength[strength > 0]
    low, high = positive.min(initial=1.0), positive.max(initial=1.0)
    return bool(1 / float(limits.max) <= low and high <= 1 / float(limits.tiny))


def _in_proportion(layout: Layout, strength: np.ndarray) -> tuple[Layout, np.ndarray]:
    """Weights as shares of their vertex's sum, for weights that are too small or too large to divide by that sum."""
    edges, sends = layout.edges, strength > 0
    assert edges.weights is not None
    divisors, terms = np.where(sends, strength, 1), edges.terms
    if terms is not None:
        terms = terms._replace(factors=terms.factors / divisors[terms.senders])
    shares = edges.weights / divisors[edges.senders]
    return replace(layout, edges=edges._replace(weights=shares, terms=terms)), sends.astype(float)


def katz(problem: Problem) -> Solution:
    """Solver of `katz`."""
    values, n = problem.values, problem.vertices
    layout = layout_of(problem)
    walk = Walk(layout, np.ones(n, np.uint32), np.zeros(n), (values["alpha"], values["beta"], 0.0), values["tol"] * n)
    scores, solved = fixed_point(problem, walk, walk.start, values["max_iter"])
    with np.errstate(over="ignore", invalid="ignore"):  # where alpha is too large for the graph
        squares = float(np.einsum("i,i", scores, scores))  # `@` would start BLAS threads
        if values["normalized"] and squares > 0:
            scores /= np.sqrt(squares)
    totals = {"change": solved.totals["change"], "squares": squares, "largest": int(layout.degree.max(initial=0))}
    return replace(solved, values={"katz": scores}, totals=totals)


def strengths(problem: Problem) -> Solution:
    """Solver of `Strength` of `ops/pagerank.py`."""
    table = table_of(problem, "out")
    weights, n = problem.edges.column(table, "weight"), problem.vertices
    strength = weight_sums(table.neighbours, n, weights)
    totals = {"lowest": float(weights.min(initial=np.inf)), "highest": float(strength.max(initial=0))}
    return Solution({"strength": strength}, 1, len(weights), totals)


class Walk(NamedTuple):
    """How scores pass along edges: score = factors[0] * gathered + factors[1] * restart + factors[2] * dangling *
    spread, until the sum of changes is less than `tolerance`. Arrays are in the order of rows; `restart` and `spread`
    default to 1 everywhere."""

    layout: Layout
    strength: np.ndarray  # the divisor of the score; 0 without out-edges
    start: np.ndarray
    factors: tuple[float, float, float]
    tolerance: float
    restart: np.ndarray | None = None
    spread: np.ndarray | None = None


def fixed_point(
    problem: Problem, walk: Walk, scores: np.ndarray, most: int, *, in_place: bool = False
) -> tuple[np.ndarray, Solution]:
    """Scores by vertex, after at most so many rounds from `scores`, which have those by row then. With `in_place`, a
    row gathers what others send at that moment, so fewer rounds are needed, and results depend on the threads."""
    layout = walk.layout
    sent = np.empty_like(scores)
    sends = sent if in_place else np.empty_like(scores)
    widest = int(np.diff(layout.edges.cuts).max(initial=0))
    came = np.empty((problem.threads, widest), scores.dtype)
    found, sums = np.zeros(3), np.zeros((2, len(layout.edges.cuts) - 1, 2))
    arrays = Scores(layout.rows, walk.strength, scores, sent, sends)
    turns, limits = np.zeros(2 * LINE, np.int64), (tuple(map(float, walk.factors)), walk.tolerance, most)
    what = layout.edges, arrays, walk.restart, walk.spread
    turn = team(_fixed_point, problem.threads, turns, *what, *limits, sums, came, found)
    rounds, change, dangling = int(found[0]), float(found[1]), float(found[2])
    edges = rounds * len(layout.edges.senders)
    return (sent, sends)[turn], Solution({}, rounds, edges, {"change": change, "dangling": dangling})


class Scores(NamedTuple):
    """Arrays by row."""

    vertices: np.ndarray
    strength: np.ndarray  # the divisor of the score; 0 without out-edges
    scores: np.ndarray
    sent: np.ndarray  # a round gathers from this array
    sends: np.ndarray  # and writes this one, for the next round


@kernel
def _fixed_point(
    rank, size, signals, turns, edges, arrays, restart, spread, factors, tolerance, max_iter, sums, came, found
):
    """Run all rounds. `sums` has, by block, for even and for odd rounds: the change, and the scores of rows without
    out-edges. The thread that takes a block writes its sums. Returns 0 if `sent` has the scores by vertex in the end, 1
    if `sends`."""
    (vertices, strength, scores, sent, sends), cuts, (alpha, jumps, again) = arrays, edges.cuts, factors
    kind, blocks = scores.dtype.type, cuts.size - 1
    first, last = share(rank, size, blocks)
    for b in range(first, last):
        sums[0, b, 1] = _send(cuts[b], cuts[b + 1], scores, strength, sent)
    rounds = 0
    while True:
        barrier(size, signals)
        now, then = rounds % 2, (rounds + 1) % 2
        change, dangling = total(sums[now], 0) if rounds > 0 else np.inf, total(sums[now], 1)
        if rank == 0:
            turns[then * LINE] = 0
        if rounds >= max_iter or change < tolerance or not change <= np.inf or stopped(signals):
            break
        while True:
            b = atomic_add(turns, now * LINE, 1)
            if b >= blocks:
                break
            lo, hi = cuts[b], cuts[b + 1]
            gather(edges, sent, lo, hi, came[rank])
            sums[then, b, 0] = _score(
                lo, hi, came[rank], restart, spread, kind(alpha), kind(jumps), kind(again * dangling), scores
            )
            sums[then, b, 1] = _send(lo, hi, scores, strength, sends)
        sent, sends, rounds = sends, sent, rounds + 1
    low, high = share(rank, size, vertices.size)
    for i in range(uint64(low), uint64(high)):
        sends[vertices[i]] = scores[i]
    if rank == 0:
        found[0], found[1], found[2] = rounds, change, dangling
    return 1 - rounds % 2


@summed
def _send(lo, hi, scores, strength, sent):
    """Compute what rows lo:hi send; returns the sum of the scores of rows without out-edges."""
    kind, stuck = scores.dtype.type, 0.0
    for i in range(uint64(lo), uint64(hi)):
        none = strength[i] == 0
        sent[i] = kind(0) if none else scores[i] / strength[i]
        stuck += scores[i] if none else 0
    return stuck


@summed
def _score(lo, hi, came, restart, spread, alpha, jumps, again, scores):
    """Compute the new scores of rows lo:hi; returns the sum of their changes."""
    change = 0.0
    for i in range(uint64(lo), uint64(hi)):
        score = alpha * came[i - uint64(lo)]
        if restart is None:
            score += jumps + again
        else:
            score += jumps * restart[i] + again * spread[i]
        change += abs(score - scores[i])
        scores[i] = score
    return change
