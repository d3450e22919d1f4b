"""PageRank by residuals (as in Gluon-Async and GraphABCD): a vertex sends what it has gained since it last sent, once
that is large enough to matter. No rounds are needed, so partitions need not wait for each other.

Gains of one sign fade slowly, because each pass over the edges leaves `alpha` of them. The computation therefore
continues with a smaller threshold from a multiple of the ranks so far, chosen such that all gains sum to 0, which takes
a fraction of the passes. Where partitions pass over all edges at a time, such a continuation is a stage of the same
run; elsewhere it is a separate run, which does not pay off on small graphs.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from math import log
from typing import Any

import numpy as np
from numpy import float64, int64

from dgraph.engines.local_methods.diffusion import DiffusionMethod
from dgraph.graph import Graph
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Delta, Global, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.runs.execution import execute, recoverable_result
from dgraph.runs.plan import local_method_for
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions

HELD_BACK_SHARE = 0.4  # share of the tolerance that all vertices together may hold back; tuned so that few runs repeat
RETRY_FACTOR = 0.25  # multiplies what may be held back in a run that repeats because too much was held back
FIRST_TOLERANCE = 2.0  # tolerance of the first run, in which most vertices send their initial gain once
TOLERANCE_FALLS = 100.0  # factor by which the tolerance falls with each subsequent run ...
LARGE_GRAPH = 1 << 21  # ... on graphs with at least this many edges; on smaller graphs, only one run follows
FIRST_STAGE, STAGE_FALLS = 4.0, 50.0  # the same for stages, which begin with an extra stage for a guess
MOST = 20.0  # largest multiple of the ranks so far from which a run continues


class Residuals(VertexProgram):
    """A surfer is lost at a vertex without out-edges. Jumps from there would scale all ranks by one factor, so
    it is enough to divide by their sum in the end (unless `kept` is 0)."""

    operation = "pagerank"
    rank = State(float64)
    held = State(float64)  # gained, and not sent yet
    gain = Delta(float64)
    merge = SUM
    alpha = Parameter(float64, 0.85)
    kept = Parameter(float64, 1.0)
    least = Parameter(float64)  # smallest gain that is sent, per out-edge
    known = VertexColumn(float64, missing=0)  # ranks of an earlier run
    left = VertexColumn(float64, missing=0)  # gains that the earlier run did not send
    times = Parameter(float64, 0.0)  # this run starts from the earlier ranks and gains times this factor
    restart = VertexColumn(float64, missing=0)  # the probability that a jump leads to a vertex
    restarts_evenly = Parameter(float64, 1.0)  # 1 instead of that column if all vertices are equally likely
    stages, falls = Parameter(int64, 1), Parameter(float64, 1.0)  # see `DiffusionMethod`
    diffuse = DiffusionMethod(MOST)

    def start(known, left, times):
        return times * known, times * left

    def seed(alpha, vertices, times, restart, restarts_evenly):
        return (1 - times) * (1 - alpha) * (restart + restarts_evenly / vertices)

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
    def given(alpha, vertices, degree, restart, restarts_evenly):
        return (1 - alpha) * (restart + restarts_evenly / vertices) if degree > 0 else 0.0

    @Result(float64)
    def pagerank(rank, held, mass, kept):
        return max(rank + held, 0.0) / (mass if kept > 0 else 1.0)

    @Result(float64)
    def passed_on(rank):  # another run can go on from this column and the next
        return rank

    @Result(float64)
    def held_back(held):
        return held


class WeightedResiduals(Residuals):
    """The surfer follows edges in proportion to their weights; `strength` is the sum of a vertex's out-weights."""

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
    def given(alpha, vertices, strength, restart, restarts_evenly):
        return (1 - alpha) * (restart + restarts_evenly / vertices) if strength > 0 else 0.0


BY_RESIDUALS = {False: Residuals, True: WeightedResiduals}  # keyed by `weighted`


def ranks(
    graph: Graph,
    program: type[Residuals],
    columns: dict[str, Any],
    tol: float,
    options: RunOptions,
    **values: float,
) -> RunResult:
    """Ranks within the L1 distance `tol` of the fixed point; `alpha` must be less than 1.

    If jumps from vertices without out-edges (`spread`) have other destinations than jumps from other vertices, a second
    run with those jumps supplies what the ranks of the first run lack to a sum of 1.
    """
    others = {name: column for name, column in columns.items() if name not in ("restart", "spread")}
    jumps, spreads = ({"restart": columns[name]} if name in columns else {} for name in ("restart", "spread"))
    spreads_evenly = values.pop("spreads_evenly")

    def within(tol: float, values: dict[str, float], columns: dict[str, Any], options: RunOptions) -> RunResult:
        search = partial(_within, tol, program=program, values=values, columns=columns, options=options)
        return recoverable_result(graph, search, columns)

    if not values["kept"] or spreads.get("restart") is jumps.get("restart"):
        return within(tol, values, others | jumps, options)
    jumped = within(tol / 4, {**values, "kept": 0.0}, others | jumps, options.for_part(0))
    lost = within(tol / 2, {**values, "restarts_evenly": spreads_evenly}, others | spreads, options.for_part(1))
    return jumped.map(partial(_made_up, share=1 - float(jumped.totals["mass"])), lost)


def _made_up(numbers: np.ndarray, jumped: dict[str, Any], lost: dict[str, Any], share: float) -> Any:
    """Add the share of the second run's ranks that the first run's ranks lack to a sum of 1."""
    return numbers, {"pagerank": jumped["pagerank"] + share * lost["pagerank"]}


def _within(
    tol: float,
    graph: Graph,
    program: type[Residuals],
    values: dict[str, float],
    columns: dict[str, Any],
    options: RunOptions,
) -> RunResult:
    """Run until the ranks are within `tol`.

    An unsent gain causes an error of alpha / (1 - alpha) times as much, or twice that if ranks are divided by their
    sum. Each vertex may hold back a little; if the sum is too large, another run allows less. The steps are always the
    same, so that a stopped run can be recognised and resumed.
    """
    arcs, alpha = graph.num_edges * (1 if graph.directed else 2), values["alpha"]
    each = HELD_BACK_SHARE * (1 - alpha) / max(alpha * arcs, 1e-300)
    in_stages = isinstance(local_method_for(graph, program(**values, least=each), options), DiffusionMethod)
    goes_on = options.checkpoint is None  # a repeated run would not continue from the same ranks
    steps = (
        (max(1, round(log(FIRST_TOLERANCE / tol, TOLERANCE_FALLS))) if arcs >= LARGE_GRAPH else 1)
        if goes_on and not in_stages
        else 0
    )
    later = max(1, round(log(FIRST_STAGE / tol, STAGE_FALLS)))
    stages, falls = 2 + later if in_stages else 1, (FIRST_STAGE / tol) ** (1 / later)
    times, earlier = 0.0, None
    known: dict[str, Any] = {}
    for step in count():
        tolerated = (
            FIRST_TOLERANCE * (tol / FIRST_TOLERANCE) ** (step / steps)
            if step < steps
            else tol * RETRY_FACTOR ** (step - steps)
        )
        tried = program(**values, least=each * tolerated, times=times, stages=1 if step else stages, falls=falls)
        result = execute(graph, tried, options.for_part(step), {**columns, **known}).with_rounds_before(earlier)
        mass, surplus, given = (result.totals[name] for name in ("mass", "surplus", "given"))
        off = result.totals["owed"] * alpha / (1 - alpha)
        if off and values["kept"]:
            off *= 2 / max(mass - off, 1e-300)
        if off <= tol:
            break
        if goes_on:
            times, earlier = given / max(given - surplus, given / MOST), result
            known = {"known": result.column("passed_on"), "left": result.column("held_back")}
    return result.map(_ranks_alone)


def _ranks_alone(numbers: np.ndarray, values: dict[str, Any]) -> Any:
    """Only the ranks, without the columns from which another run could continue."""
    return numbers, {"pagerank": values["pagerank"]}
