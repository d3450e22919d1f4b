"""Communities by label propagation, until every vertex has one of the most frequent labels among its neighbours.

Raghavan, Albert, Kumara: Near linear time algorithm to detect community structures in large-scale networks, Physical
Review E 76, 2007. There vertices change one after another, since neighbours that change at once may swap labels for
ever. Here all may change at once, but they take turns by what they want: in odd rounds only to a label that comes
earlier in an order drawn at random, in even rounds to a later one. So neighbours never swap, nor do the sides of a
bipartite graph. Longer circles are rare; that some vertices wait, from the 17th round on, opens those.
With weights an edge has as many votes as its weight says, in whole units so small that the votes of all edges of the
heaviest kind just fit into 62 bits: sums of whole numbers come out the same, whoever adds them up in whatever order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import float64, int64

from dgraph.graph import Graph
from dgraph.ops.weights import bounds, check_weights
from dgraph.options import check_flag, check_integer
from dgraph.programs.monoid import HEAVIEST, MOST_FREQUENT, NONE, SUM
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.compiled_draws import draw, sort_drawn
from dgraph.solvers.label_propagation import PATIENT, WAITS, spread
from dgraph.solvers.solver import Problem, Solution, Solver

ORDERS = ("out", "incoming")
VOTES = 62  # bits of all votes together
DRAWN = 1 << 30  # an order of labels: first by a random number below this, then by vertex


def _solve(problem: Problem) -> Solution:
    """Works with places in the random order instead of labels, which takes half the memory."""
    n, seed = problem.vertices, problem.values["random_seed"]
    labels = (draw(seed, 0, np.empty(n)) * DRAWN).astype(np.int64) * n + np.arange(n)
    vertices = sort_drawn(labels, DRAWN * max(n, 1)) % max(n, 1)
    places = np.empty(n, np.uint32)
    places[vertices] = np.arange(n, dtype=np.uint32)
    rounds, restless, edges = spread(problem, places, takes_turns=True, random_seed=seed)
    return Solution({"label": vertices[places]}, rounds, edges, {"restless": restless})


class LabelPropagation(VertexProgram):
    """`held` is a vertex (the label) and its place in the order: place * vertices + vertex. A message is one more, and
    0 if the target holds the same label: so that of several most frequent labels the target's own is the smallest."""

    operation = "label_propagation"
    kind = "synchronous"
    held = State(int64)
    wanted = State(int64)
    merge = MOST_FREQUENT
    along = "both"
    max_iter = Parameter(int64, 100)
    solver = Solver(_solve, orders=ORDERS, looks=8)

    def start(id, random, vertices):
        label = int(random * DRAWN) * vertices + id
        return label, label

    def send(held, target_held):
        return 0 if held == target_held else held + 1

    def apply(held, message, round, random):
        best = held if message < 1 else message - 1
        has_turn = (best < held) == (round % 2 == 1) and (round <= PATIENT or random >= WAITS)
        return (best if has_turn else held), best

    @Global(int64, SUM)
    def restless(held_before, wanted):
        return 1 if wanted != held_before else 0

    def stop(restless, round, max_iter):
        return restless == 0 or round >= max_iter

    @Result(vertex)
    def label(held, vertices):
        return held % vertices


class WeightedLabelPropagation(LabelPropagation):
    """The label whose votes add up to most; an edge of weight 0 has none."""

    message = Message(int64, HEAVIEST)
    votes = Message(int64, HEAVIEST)
    unit = Parameter(float64, 1.0)  # votes of a weight of 1

    def send(held, target_held, weight, unit):
        label = NONE if weight == 0 else 0 if held == target_held else held + 1
        return label, math.ceil(weight * unit)


@operation
def label_propagation(
    graph: Graph, *, max_iter: int = 100, random_seed: int = 0, weighted: bool = False, **options: Any
) -> RunResult:
    """Communities by their labels: the column `label`. Vertices with the same label are a community, and the label is
    the vertex where it began.

    In- and out-neighbours both vote, once for each edge; a vertex whose own label is among the most frequent keeps it.
    max_iter:    iterations at most; labels are those there are then. The `totals["restless"]` of the result is how many
                 vertices wanted another in the last round: 0 if they all have a most frequent one.
    random_seed: decides what is drawn: the order of labels, which decides ties.
    weighted:    weights count: an edge has as many votes as its weight says, instead of one.
    Other options are those of `dgraph.run`. Synchronous rounds, as GraphX has them, are `cdlp`.
    """
    values: dict[str, Any] = {"max_iter": check_integer("max_iter", max_iter)}
    if weighted := check_flag("weighted", weighted):
        check_weights(graph, "label_propagation", ORDERS)
        values["unit"] = _unit(graph)
    program = WeightedLabelPropagation if weighted else LabelPropagation
    return run(graph, program(**values), random_seed=random_seed, **options)


def _unit(graph: Graph) -> float:
    """Votes of a weight of 1: a power of two, the largest for which sums fit. An arc votes at both of its ends."""
    bits = math.frexp(bounds(graph, ORDERS)[1])[1] + (4 * graph.num_edges).bit_length()
    return 2.0 ** min(VOTES - bits, 1000)
