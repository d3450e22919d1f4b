"""Katz centrality (Katz, 1953): a score of its own for each vertex, plus alpha times the scores of its
in-neighbours."""

from __future__ import annotations

import math
from typing import Any

from numpy import float64, int64

from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.ops.weights import bounds, check_weights
from dgraph.options import AUTO, check_flag, check_limits, is_number
from dgraph.plan import DESCENT, UNCOUNTED, refuse_uncounted
from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Delta, Global, Parameter, Result, State, VertexProgram
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_keywords import RunKeywords
from dgraph.solvers.ranks.pagerank import katz as solve
from dgraph.solvers.solver import Solver


class Walks:
    """What the programs with rounds and without have in common."""

    alpha = Parameter(float64, 0.1)
    beta = Parameter(float64, 1.0)
    normalized = Parameter(bool, True)
    tol = Parameter(float64, 1e-6)
    max_iter = Parameter(int64, 1000)

    @Global(int64, MAX)
    def largest(degree):
        return degree


class Katz(Walks, VertexProgram):
    """The sum over all walks that end at a vertex, a walk of k edges counting beta * alpha**k."""

    operation = "katz"
    kind = "synchronous"
    score = State(float64)
    merge = SUM
    solver = Solver(solve, orders=("incoming",), looks=8)

    def send(score):
        return score

    def apply(message, alpha, beta):
        return beta + alpha * message

    @Global(float64, SUM)
    def change(score, score_before):
        return abs(score - score_before)

    @Global(float64, SUM)
    def squares(score):
        return score * score

    def stop(change, tol, round, max_iter, vertices):
        return change < tol * vertices or round >= max_iter or not change <= math.inf

    @Result(float64)
    def katz(score, squares, normalized):
        return score / math.sqrt(squares) if normalized and squares > 0 else score


class WeightedKatz(Katz):
    """An edge counts as often as its weight says."""

    def send(score, weight):
        return score * weight


class Gains(Walks, VertexProgram):
    """The same without rounds: a vertex passes on what it has gained since it last did, once that would change others
    by more than `tol` in all. Where scores grow without end it stops after `max_iter` times, and counts as
    `unsettled`."""

    score = State(float64)
    held = State(float64)  # gained, and not passed on yet
    times = State(int64)
    gain = Delta(float64)
    merge = SUM

    def seed(beta):
        return beta

    def send(gain, alpha):
        return alpha * gain

    def apply(score, held, times, message, alpha, degree, tol, max_iter):
        gained = held + message
        if alpha * degree * gained > tol and times < max_iter:
            return score + gained, 0.0, times + 1, gained
        return score, gained, times, 0.0

    @Global(float64, SUM)
    def squares(score, held):
        return (score + held) * (score + held)

    @Global(int64, SUM)
    def unsettled(held, alpha, degree, tol):
        return 1 if not alpha * degree * held <= tol else 0

    @Result(float64)
    def katz(score, held, squares, normalized):
        return (score + held) / math.sqrt(squares) if normalized and squares > 0 else score + held


@operation
def katz(
    graph: Graph,
    *,
    alpha: float = 0.1,
    beta: float = 1.0,
    normalized: bool = True,
    max_iter: int = 1000,
    tol: float | None = 1e-6,
    weighted: bool = False,
    **options: Any,
) -> RunResult:
    """Katz centrality: the column `katz` is beta, and alpha times the sum of it over all edges that come in.

    alpha:      what a step along an edge leaves of a score; below 1 / the largest eigenvalue of the adjacency matrix.
    beta:       what every vertex has of itself.
    normalized: divide by the root of the sum of squares.
    max_iter:   iterations at most; scores that have not settled by then are an error.
    tol:        the accuracy at which iterations end: scores change by less than this a vertex on average; with 0 or
                None, `max_iter` is the number of iterations.
    weighted:   weights count: an edge as often as its weight says, instead of once.
    Other options are those of `dgraph.run`.
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not (is_number(value) and value >= 0 and value < math.inf):
            raise OptionError(f"{name}={value!r} must be a finite number, zero or more")
    check_limits(max_iter, tol)
    weighted, normalized = check_flag("weighted", weighted), check_flag("normalized", normalized)
    values = {"alpha": alpha, "beta": beta, "normalized": normalized, "max_iter": max_iter, "tol": tol or 0.0}
    engine = options.get("engine", AUTO)
    by_block = engine == DESCENT
    freely = RunKeywords(**options).sends_changes(graph) and not (
        weighted and by_block and options.get("operator") != "push"
    )
    if (freely and weighted) or (engine in UNCOUNTED and not tol):
        why = f"tol={tol!r} asks for a number of rounds" if not tol else "weighted=True needs rounds"
        if tol and by_block:
            why = 'operator="push" passes on changes of unweighted scores alone: leave it out'
        refuse_uncounted(engine, why)
    if weighted:
        check_weights(graph, "katz", ("incoming",))
    program = WeightedKatz if weighted else Gains if freely else Katz
    result = run(graph, program(**values), **options)
    largest, bound = result.totals["largest"], "the largest degree"
    if weighted:
        largest, bound = largest * bounds(graph)[1], "the largest degree times the largest weight"
    if freely:
        settled = not result.totals["unsettled"]
    else:
        change, limit = result.totals["change"], (tol or 0.0) * graph.num_vertices
        settled = change < limit if limit else change < math.inf
    if not settled and options.get("max_rounds") is None:
        raise OptionError(
            f"alpha={alpha!r}: Katz centrality has not settled after {result.rounds} rounds. It does if alpha is below "
            f"1 / the largest eigenvalue of the adjacency matrix; always if below 1 / {bound}, "
            f"{1 / (largest or 1):.3g} here. Choose a smaller alpha=; if it is that small, a larger max_iter= or tol="
        )
    squares = result.totals["squares"]
    if normalized and not squares < math.inf:
        wrong = f"alpha={alpha!r} and beta={beta!r}"
        if weighted:
            wrong += f" with weights of up to {bounds(graph)[1]:g} in column {graph.weight!r}"
        raise (WeightError if weighted else OptionError)(
            f"{wrong}: the squares of scores add up to {squares}, which nothing can be divided by; choose smaller "
            "ones, or normalized=False"
        )
    return result
