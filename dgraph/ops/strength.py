"""The strength of a vertex, the sum of the weights of its out-edges, among which weighted PageRank divides its rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy import float64, inf

from dgraph.errors import WeightError
from dgraph.graph import Graph
from dgraph.options import Bsp, Gas
from dgraph.programs.monoid import MAX, MIN, SUM
from dgraph.programs.program import Global, Message, Result, State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.plan import WITHOUT_COMMON_ROUNDS
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.ranks.pagerank import strengths
from dgraph.solvers.solver import Solver


class Strength(VertexProgram):
    """Sum of the weights of a vertex's out-edges."""

    operation = "pagerank"
    kind = "synchronous"
    along = "in"
    added = State(float64)
    least = State(float64, start=inf)
    weights = Message(float64, SUM)
    weight_of_all = Message(float64, MIN)
    solver = Solver(strengths, orders=("incoming",))

    def send(weight):
        return weight, weight

    def apply(weights, weight_of_all):
        return weights, weight_of_all

    def stop(round):
        return round >= 1

    @Global(float64, MIN)
    def lowest(least):
        return least

    @Global(float64, MAX)
    def highest(added):
        return added

    @Result(float64)
    def strength(added):
        return added


def strength_of(graph: Graph, options: RunOptions) -> Any:
    """The vertex column `strength`, which stays on the workers that computed it."""
    once = options.afterwards() if options.engine_name in WITHOUT_COMMON_ROUNDS else options  # a sum is no fixed point
    if isinstance(once.engine, Gas | Bsp):
        rounds = once.engine
        engine = type(rounds)(deterministic=rounds.deterministic, optimizations=rounds.optimizations)
        once = replace(once, engine=engine)
    result = execute(graph, Strength(), replace(once, daemons=None, checkpoint=None, progress=None))
    if not (result.totals["lowest"] >= 0 and result.totals["highest"] < inf):
        worst = result.totals["lowest"] if result.totals["lowest"] < 0 else result.totals["highest"]
        raise WeightError(
            f"column {graph.weight!r} holds weights, or sums of a vertex's weights, of {worst:g}: weighted PageRank "
            "needs finite weights >= 0"
        )
    return result.column("strength")
