"""PageRank by residuals (as in Gluon-Async and GraphABCD): a vertex passes on what it has gained since it last did,
once that is enough to matter. No rounds are needed, so partitions need not wait for each other.

What all vertices have gained fades slowly where it is of one sign: a look at the edges leaves `alpha` of it. So the
search goes on, with a smaller threshold, from a multiple of what was found, chosen such that all gains sum to nothing:
this takes a fraction of the looks. Where partitions look at all edges at a time, such a continuation is a stage of the
same run; elsewhere it is a run of its own, which small graphs do not repay.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from math import log
from typing import Any

import numpy as np
from numpy import float64, int64

from dgraph.checkpoint.checkpoint import for_part
from dgraph.graph import Graph
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Delta, Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.runs.choice import local_method_for
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult, lasting
from dgraph.runs.run_keywords import RunKeywords
from dgraph.solvers.solver import DiffusionMethod

HELD = 0.4  # the share of what vertices may hold back, if all did: measured, so that few runs must be made again
LESS = 0.25  # as much may be held back in a run that goes on because it was too much
FIRST = 2.0  # the tolerance of the first run: most vertices pass on once what they are given at the start
FALLS = 100.0  # times less is tolerated in each of the runs that follow ...
LARGE = 1 << 21  # ... on graphs of so many edges; on others one run follows
FIRST_STAGE, STAGE_FALLS = 4.0, 50.0  # the same of stages; one for a guess comes before all
MOST = 20.0  # times as much as was found


class Residuals(VertexProgram):
    """A surfer is lost where no edge leads on. If one jumps from there instead, ranks are larger by one factor: so it
    is enough to make them sum to 1 in the end (or, if `kept` is 0, not to)."""

    rank = State(float64)
    held = State(float64)  # gained, and not passed on yet
    gain = Delta(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    kept = Parameter(float64, 1.0)
    least = Parameter(float64)  # that is passed on, for each edge: what it costs
    known = VertexColumn(float64, missing=0)  # of an earlier run: its rank,
    left = VertexColumn(float64, missing=0)  # what it held,
    times = Parameter(float64, 0.0)  # and how many times that is the start of this one
    stages, falls = (
        Parameter(int64, 1),
        Parameter(float64, 1.0),
    )  # where partitions look at all edges: see `DiffusionMethod`
    diffuse = DiffusionMethod(
        *("alpha", "rank", "held", "strength", "least", "falls", "stages", "given", "surplus", "mass"), most=MOST
    )

    def start(known, left, times):
        return times * known, times * left

    def seed(alpha, vertices, times):
        return (1 - times) * (1 - alpha) / vertices

    def send(gain, degree, alpha):
        return alpha * gain / degree

    def apply(rank, held, message, degree, least):
        gained = held + message
        if degree > 0 and abs(gained) > least * degree:
            return rank + gained, 0.0, gained
        return rank, gained, 0.0

    @Global(float64, SUM)
    def mass(rank, held):
        return rank + held

    @Global(float64, SUM)
    def owed(held, degree):
        return abs(held) if degree > 0 else 0.0

    @Global(float64, SUM)
    def surplus(held, degree):
        return held if degree > 0 else 0.0

    @Global(float64, SUM)
    def given(alpha, vertices, degree):
        return (1 - alpha) / vertices if degree > 0 else 0.0

    @Result(float64)
    def pagerank(rank, held, mass, kept):
        return max(rank + held, 0.0) / (mass if kept > 0 else 1.0)


class PersonalResiduals(Residuals):
    """Jumps lead to a vertex with the probability `restart`."""

    restart = VertexColumn(float64)

    def seed(alpha, restart, times):
        return (1 - times) * (1 - alpha) * restart

    @Global(float64, SUM)
    def given(alpha, restart, degree):
        return (1 - alpha) * restart if degree > 0 else 0.0


class WeightedResiduals(Residuals):
    """Edges are followed in proportion to their weights; `strength` is the sum of those that lead on."""

    strength = VertexColumn(float64)

    def send(gain, strength, weight, alpha):
        return alpha * gain * (weight / strength) if strength > 0 else 0.0

    @Global(float64, SUM)
    def owed(held, strength):
        return abs(held) if strength > 0 else 0.0

    @Global(float64, SUM)
    def surplus(held, strength):
        return held if strength > 0 else 0.0

    @Global(float64, SUM)
    def given(alpha, vertices, strength):
        return (1 - alpha) / vertices if strength > 0 else 0.0


class WeightedPersonalResiduals(WeightedResiduals, PersonalResiduals):
    """Both."""

    @Global(float64, SUM)
    def given(alpha, restart, strength):
        return (1 - alpha) * restart if strength > 0 else 0.0


def found(rank):
    return rank


def unsaid(held):
    return held


def _to_go_on(program: type[Residuals]) -> type[Residuals]:
    """The same program, with the columns that another run can go on from."""
    return type(
        f"{program.__name__}ToGoOn", (program,), {"found": Result(float64)(found), "unsaid": Result(float64)(unsaid)}
    )


PROGRAMS: dict[tuple[bool, bool], type[Residuals]] = {  # weighted, personal
    (False, False): _to_go_on(Residuals),
    (False, True): _to_go_on(PersonalResiduals),
    (True, False): _to_go_on(WeightedResiduals),
    (True, True): _to_go_on(WeightedPersonalResiduals),
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

    def within(tol: float, values: dict[str, float], columns: dict[str, Any], options: dict[str, Any]) -> RunResult:
        search = partial(_within, tol, program=program, values=values, columns=columns, options=options)
        return lasting(graph, search, columns)

    if not kept or spread is restart:
        return within(tol, values, columns, options)
    jumped = within(tol / 4, {**values, "kept": 0.0}, columns, for_part(options, 0))
    lost = within(tol / 2, values, {**columns, "restart": spread}, for_part(options, 1))
    return jumped.map(partial(_made_up, share=1 - float(jumped.totals["mass"])), lost)


def _made_up(numbers: np.ndarray, jumped: dict[str, Any], lost: dict[str, Any], share: float) -> Any:
    """The ranks of two runs as one: what the first lacks to a sum of 1 comes from the second."""
    return numbers, {"pagerank": jumped["pagerank"] + share * lost["pagerank"]}


def _within(
    tol: float,
    graph: Graph,
    program: type[Residuals],
    values: dict[str, float],
    columns: dict[str, Any],
    options: dict[str, Any],
) -> RunResult:
    """Run until ranks are within `tol`. What is owed in the end becomes alpha / (1 - alpha) times as much, and twice
    that once ranks are divided by their sum. Each vertex may hold back a little; if the sum of that is too much,
    another run allows less: always in the same steps, so that a run that was stopped is recognised."""
    arcs, alpha = graph.num_edges * (1 if graph.directed else 2), values["alpha"]
    each = HELD * (1 - alpha) / max(alpha * arcs, 1e-300)
    in_stages = isinstance(
        local_method_for(graph, program(**values, least=each), RunKeywords(**options)), DiffusionMethod
    )
    goes_on = options.get("checkpoint") is None  # what is gone on from would differ in a run made again
    steps = (max(1, round(log(FIRST / tol, FALLS))) if arcs >= LARGE else 1) if goes_on and not in_stages else 0
    later = max(1, round(log(FIRST_STAGE / tol, STAGE_FALLS)))
    stages, falls = 2 + later if in_stages else 1, (FIRST_STAGE / tol) ** (1 / later)
    times, earlier = 0.0, None
    known: dict[str, Any] = {}
    for step in count():
        tolerated = FIRST * (tol / FIRST) ** (step / steps) if step < steps else tol * LESS ** (step - steps)
        tried = program(**values, least=each * tolerated, times=times, stages=1 if step else stages, falls=falls)
        result = run(graph, tried, columns={**columns, **known}, **for_part(options, step)).following(earlier)
        mass, surplus, given = (result.totals[name] for name in ("mass", "surplus", "given"))
        off = result.totals["owed"] * alpha / (1 - alpha)
        if off and values["kept"]:
            off *= 2 / max(mass - off, 1e-300)
        if off <= tol:
            break
        if goes_on:
            times, earlier = given / max(given - surplus, given / MOST), result
            known = {"known": result.column("found"), "left": result.column("unsaid")}
    return result.map(_ranks_alone)


def _ranks_alone(numbers: np.ndarray, values: dict[str, Any]) -> Any:
    """The ranks, without the columns that a run goes on from."""
    return numbers, {"pagerank": values["pagerank"]}
