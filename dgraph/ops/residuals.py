"""PageRank by residuals (as in Gluon-Async and GraphABCD): a vertex passes on what it has gained since it last did,
once that is enough to matter. No rounds are asked for, so partitions need not wait for each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float64

from dgraph.graph import Graph
from dgraph.monoid import SUM
from dgraph.program import Delta, Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult

HELD = 0.4  # the share of what vertices may hold back, if all did: measured, so that few runs must be made again


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
    """Jumps lead to a vertex with the probability `restart`. Where those who come to an end go elsewhere (to `restart`
    of a second run), they make up what the ranks of the first, `jumped`, lack to 1."""

    restart = VertexColumn(float64)
    jumped = VertexColumn(float64)

    def seed(alpha, restart):
        return (1 - alpha) * restart

    @Global(float64, SUM)
    def jumped_mass(jumped):
        return jumped

    @Result(float64)
    def pagerank(rank, held, mass, kept, jumped, jumped_mass):
        return jumped + (1 - jumped_mass) / mass * (rank + held) if kept > 0 else rank + held


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
    """Ranks whose distance from the fixed point is at most `tol`, summed over all vertices; `alpha` is below 1."""
    columns = dict(columns)
    restart, spread = columns.get("restart"), columns.pop("spread", None)
    if restart is not None:
        columns["jumped"] = np.zeros(graph.num_vertices)
    values = {"alpha": alpha, "kept": kept}
    if not kept or spread is restart:
        return _within(tol, graph, program, values, columns, options)
    jumped = _within(tol / 4, graph, program, {**values, "kept": 0.0}, columns, options)
    columns |= {"jumped": jumped.column("pagerank"), "restart": spread}
    return _within(tol / 2, graph, program, values, columns, options).after(jumped)


def _within(
    tol: float,
    graph: Graph,
    program: type[Residuals],
    values: dict[str, float],
    columns: dict[str, Any],
    options: dict[str, Any],
) -> RunResult:
    """What is owed in the end would become alpha / (1 - alpha) times as much, and twice that once ranks are divided by
    their sum. Vertices hold back a part of what they may; where it is too much in sum, they may less."""
    arcs = graph.num_edges * (1 if graph.directed else 2)
    least = HELD * tol * (1 - values["alpha"]) / max(values["alpha"] * arcs, 1e-300)
    while True:
        result = run(graph, program(**values, least=least), columns=columns, **options)
        off = result.totals["owed"] * values["alpha"] / (1 - values["alpha"])
        if off and values["kept"]:
            off *= 2 / (result.totals["mass"] + off)
        if off <= tol:
            return result
        least *= min(0.5, 0.8 * tol / off)
