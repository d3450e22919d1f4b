"""PageRank (Brin and Page, 1998) by power iteration; every listed edge counts, and weights do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy import float64, int64

from dgraph.errors import OptionError
from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.monoid import SUM
from dgraph.program import Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.result import RunResult


class PageRank(VertexProgram):
    """A surfer follows an edge with probability `alpha`, else jumps anywhere; where no edge leads on, always."""

    kind = "synchronous"
    rank = State(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    tol = Parameter(float64, 1e-6)
    max_iter = Parameter(int64, 100)

    def start(vertices):
        return 1 / vertices

    def send(rank, degree):
        return rank / degree

    def apply(message, dangling, alpha, vertices):
        return (1 - alpha + alpha * dangling) / vertices + alpha * message

    @Global(float64, SUM)
    def dangling(rank, degree):
        return rank if degree == 0 else 0.0

    @Global(float64, SUM)
    def change(rank, rank_before):
        return abs(rank - rank_before)

    def stop(change, tol, round, max_iter, vertices):
        return change < tol * vertices or round >= max_iter

    @Result(float64)
    def pagerank(rank):
        return rank


class PersonalPageRank(PageRank):
    """The surfer jumps to a vertex with the probability in the vertex column `restart`."""

    restart = VertexColumn(float64)

    def start(restart):
        return restart

    def apply(message, dangling, alpha, restart):
        return (1 - alpha + alpha * dangling) * restart + alpha * message


def pagerank(
    graph: Graph,
    *,
    alpha: float = 0.85,
    max_iter: int = 100,
    tol: float = 1e-6,
    personalization: Mapping[Any, float] | None = None,
    **options: Any,
) -> RunResult:
    """The column `pagerank`, which sums to 1.

    Rounds end after `max_iter`, or when the ranks change by less than `tol` a vertex on average. `personalization` says
    where to jump, as {vertex: weight}; by default everywhere alike. Other options are those of `dgraph.run`.
    """
    if not 0 <= alpha <= 1:
        raise OptionError(f"alpha={alpha!r} is a probability: from 0 to 1")
    if max_iter < 1:
        raise OptionError(f"max_iter={max_iter!r} must be a whole number above zero")
    values = {"alpha": alpha, "max_iter": max_iter, "tol": tol}
    if personalization is None:
        return run(graph, PageRank(**values), **options)
    total = sum(personalization.values())
    if not 0 < total < float("inf") or min(personalization.values()) < 0:
        raise OptionError(f"personalization={dict(personalization)!r}: weights are not negative, and one is above zero")
    restart = {vertex: weight / total for vertex, weight in personalization.items()}
    return run(graph, PersonalPageRank(**values), columns={"restart": restart}, **options)
