"""PageRank by residuals (as in Gluon-Async and GraphABCD): a vertex passes on what it has gained since it last did,
once that is enough to matter. No rounds are asked for, so partitions need not wait for each other."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy import float64

from dgraph.checkpoint.option import for_part
from dgraph.graph import Graph
from dgraph.monoid import SUM
from dgraph.program import Delta, Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult

HELD = 0.4  # the share of what vertices may hold back, if all did: measured, so that few runs must be made again
LESS = 0.25  # as much may be held back in a run that is made again


class Residuals(VertexProgram):
    """The surfer who is lost where no edge leads on. One who jumps from there comes everywhere as often, in proportion:
    so all that is left to do is to make ranks sum to 1 (or, if `kept` is 0, nothing)."""

    rank = State(float64)
    held = State(float64)  # gained, and not passed on yet
    gain = Delta(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    kept = Parameter(float64, 1.0)
    least = Parameter(float64)  # that is passed on, for each edge: what it costs

    def seed(alpha, vertices):
        return (1 - alpha) / vertices

    def send(gain, degree, alpha):
        return alpha * gain / degree

    def apply(rank, held, message, degree, least):
        gained = held + message
        if degree > 0 and gained > least * degree:
            return rank + gained, 0.0, gained
        return rank, gained, 0.0

    @Global(float64, SUM)
    def mass(rank, held):
        return rank + held

    @Global(float64, SUM)
    def owed(held, degree):
        return held if degree > 0 else 0.0

    @Result(float64)
    def pagerank(rank, held, mass, kept):
        return (rank + held) / mass if kept > 0 else rank + held


class PersonalResiduals(Residuals):
    """Jumps lead to a vertex with the probability `restart`."""

    restart = VertexColumn(float64)

    def seed(alpha, restart):
        return (1 - alpha) * restart


class WeightedResiduals(Residuals):
    """Edges are followed in proportion to their weights; `strength` is the sum of those that lead on."""

    strength = VertexColumn(float64)

    def send(gain, strength, weight, alpha):
        return alpha * gain * (weight / strength) if strength > 0 else 0.0

    @Global(float64, SUM)
    def owed(held, strength):
        return held if strength > 0 else 0.0


class WeightedPersonalResiduals(WeightedResiduals, PersonalResiduals):
    """Both."""


PROGRAMS: dict[tuple[bool, bool], type[Residuals]] = {  # weighted, personal
    (False, False): Residuals,
    (False, True): PersonalResiduals,
    (True, False): WeightedResiduals,
    (True, True): WeightedPersonalResiduals,
}


def ranks(
    graph: Graph,
    program: type[Residuals],
    columns: dict[str, Any],
    *,
    alpha: float,
    kept: float,
    tol: float,
    **options: Any,
) -> RunResult:
    """Ranks whose distance from the fixed point is at most `tol`, summed over all vertices; `alpha` is below 1. Where
    those who come to an end do not go where jumps lead, the ranks of a second run, whose jumps lead there, make up what
    those of the first lack to 1."""
    columns = dict(columns)
    restart, spread = columns.get("restart"), columns.pop("spread", None)
    values = {"alpha": alpha, "kept": kept}
    if not kept or spread is restart:
        return _within(tol, graph, program, values, columns, options)
    jumped = _within(tol / 4, graph, program, {**values, "kept": 0.0}, columns, for_part(options, 0))
    lost = _within(tol / 2, graph, program, values, {**columns, "restart": spread}, for_part(options, 1))
    return jumped.map(partial(_made_up, share=1 - float(jumped.totals["mass"])), lost)


def _made_up(numbers: np.ndarray, jumped: dict[str, Any], lost: dict[str, Any], share: float) -> Any:
    """Ranks of two runs as one."""
    return numbers, {"pagerank": jumped["pagerank"] + share * lost["pagerank"]}


def _within(
    tol: float,
    graph: Graph,
    program: type[Residuals],
    values: dict[str, float],
    columns: dict[str, Any],
    options: dict[str, Any],
) -> RunResult:
    """What is owed in the end would become alpha / (1 - alpha) times as much, and twice that once ranks are divided by
    their sum. Vertices hold back a part of what they may; where it is too much in sum, they may less: always in the
    same steps, by which a run that was stopped is known again."""
    arcs = graph.num_edges * (1 if graph.directed else 2)
    least = HELD * tol * (1 - values["alpha"]) / max(values["alpha"] * arcs, 1e-300)
    for again in count():
        tried = program(**values, least=least * LESS**again)
        result = run(graph, tried, columns=columns, **for_part(options, again))
        off = result.totals["owed"] * values["alpha"] / (1 - values["alpha"])
        if off and values["kept"]:
            off *= 2 / (result.totals["mass"] + off)
        if off <= tol:
            break
    return result
