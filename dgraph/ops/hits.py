"""Hubs and authorities (Kleinberg, 1999): good hubs lead to good authorities, which good hubs lead to."""

from __future__ import annotations

import math
from typing import Any

from numpy import float64, int64

from dgraph.errors import WeightError
from dgraph.graph import Graph
from dgraph.ops.weights import bounds, check_weights
from dgraph.options import check_flag, check_limits
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Global, Message, Parameter, Phase, Result, State, VertexProgram
from dgraph.runs.early_end_warnings import warn_unsettled
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.ranks.hits import hubs_and_authorities
from dgraph.solvers.solver import Solver


class HubsAndAuthorities(VertexProgram):
    """Each phase divides by the sum of what it gathers from, so that scores neither grow nor fade."""

    operation = "hits"
    kind = "synchronous"
    hub_score = State(float64, start=1)
    authority_score = State(float64)
    tol = Parameter(float64, 1e-8)
    max_iter = Parameter(int64, 100)
    solver = Solver(hubs_and_authorities, orders=("incoming", "out"), looks=8)

    class Authorities(Phase):
        message = Message(float64, SUM)

        def send(hub_score):
            return hub_score

        def apply(hub_score, message, hubs):
            return hub_score, (message / hubs if hubs > 0 else 0.0)

    class Hubs(Phase):
        along = "in"
        message = Message(float64, SUM)

        def send(authority_score):
            return authority_score

        def apply(authority_score, message, authorities):
            return (message / authorities if authorities > 0 else 0.0), authority_score

    @Global(float64, SUM)
    def hubs(hub_score):
        return hub_score

    @Global(float64, SUM)
    def authorities(authority_score):
        return authority_score

    @Global(float64, SUM)
    def change(hub_score, hub_score_before):
        return abs(hub_score - hub_score_before)

    def stop(change, hubs, tol, round, max_iter):
        return change < tol * hubs or round >= 2 * max_iter or not hubs > 0 or not hubs < math.inf

    @Result(float64)
    def hub(hub_score, hubs):
        return hub_score / hubs if hubs > 0 else 0.0

    @Result(float64)
    def authority(authority_score, authorities):
        return authority_score / authorities if authorities > 0 else 0.0


class WeightedHubsAndAuthorities(HubsAndAuthorities):
    """An edge counts as often as its weight says."""

    class Authorities(HubsAndAuthorities.Authorities):
        message = Message(float64, SUM)

        def send(hub_score, weight):
            return hub_score * weight

        apply = HubsAndAuthorities.Authorities.apply

    class Hubs(HubsAndAuthorities.Hubs):
        message = Message(float64, SUM)

        def send(authority_score, weight):
            return authority_score * weight

        apply = HubsAndAuthorities.Hubs.apply


@operation
def hits(
    graph: Graph, *, max_iter: int = 100, tol: float | None = 1e-8, weighted: bool = False, **options: Any
) -> RunResult:
    """Hubs and authorities: the columns `hub` and `authority`, each of which sums to 1 (or is 0 if there are no edges).

    A hub's score is in proportion to the sum of the authorities that its edges lead to, an authority's to that of the
    hubs from which edges come.

    max_iter: iterations at most, of two rounds each; scores that have not settled by then are given with a warning.
    tol:      the accuracy at which iterations end: the scores of hubs change by less than this in all; with 0 or None,
              `max_iter` is the number of iterations.
    weighted: weights count: an edge as often as its weight says, instead of once.
    Other options are those of `dgraph.run`.
    """
    check_limits(max_iter, tol)
    weighted = check_flag("weighted", weighted)
    program = WeightedHubsAndAuthorities if weighted else HubsAndAuthorities
    if weighted:
        check_weights(graph, "hits", ("incoming", "out"))
    result = run(graph, program(max_iter=max_iter, tol=tol or 0.0), **options)
    for name in ("hubs", "authorities"):
        if not result.totals[name] < math.inf:
            raise WeightError(
                f"column {graph.weight!r} holds weights of up to {bounds(graph)[1]:g}: the scores of {name} add up to "
                f"{result.totals[name]}, which is no answer. Scores are in proportion, so divide all weights by the "
                "largest"
            )
    if hubs := result.totals["hubs"]:
        warn_unsettled(result, 2 * max_iter, result.totals["change"], (tol or 0.0) * hubs, max_iter, tol)
    return result
