"""Shortest paths with negative weights (Bellman 1958, Ford 1956), and the detection of negative cycles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.arguments import AUTO
from dgraph.building.weights import lone_cycles
from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.ops.shortest_path_tree import Tree, tree_after
from dgraph.programs.monoid import MIN, NONE, UNREACHED
from dgraph.programs.program import Message, Parameter, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.plan import WITHOUT_COMMON_ROUNDS, refuse_without_common_rounds, uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import LOCAL, RunOptions
from dgraph.solvers.paths.bellman_ford import cycle_of

FIRST_ROUNDS = 16  # rounds before the first search for a negative cycle
SHOWN = 20  # the maximum number of vertices of a cycle that an error lists


class BellmanFord(VertexProgram):
    """Distances for any weights, and the round `since` which each vertex has its distance. It never ends if a negative
    cycle is reachable."""

    operation = "sssp"
    kind = "synchronous"
    dist = State(float64)
    since = State(int64)
    message = Message(float64, MIN)
    known = VertexColumn(float64)
    since_known = VertexColumn(int64)
    before = Parameter(int64, 0)  # rounds that led to the known distances

    def start(known, since_known):
        return known, since_known

    def send(dist, weight):
        return dist + weight

    def apply(dist, since, message, round, before):
        return (message, before + round) if message < dist else (dist, since)


class LoweringNeighbour(VertexProgram):
    """Find `by`, the neighbour that lowered a vertex last, or that could lower it now. A cycle of these is a negative
    cycle.

    Along such a cycle, no weight exceeds the difference between the distances of its ends, and these differences sum to
    0; where a vertex can still be lowered, the weight is less than the difference. Conversely, if there is a negative
    cycle, some vertices `by` form a cycle, because otherwise every vertex was lowered later than its `by`.
    """

    operation = "sssp"
    kind = "synchronous"
    dist = State(float64)
    since = State(int64)
    by = State(vertex, start=NONE)
    message = Message(int64, MIN)
    known = VertexColumn(float64)
    since_known = VertexColumn(int64)

    def start(known, since_known):
        return known, since_known, NONE

    def send(dist, since, target_dist, target_since, weight, id):
        lowers = dist + weight < target_dist
        lowered = dist != inf and dist + weight == target_dist and since < target_since
        return id if lowers or lowered else UNREACHED

    def apply(dist, since, by, message):
        return dist, since, (by if message == UNREACHED else message)


def with_negative_weights(graph: Graph, sources: dict[str, Any], options: RunOptions) -> RunResult:
    """Distances and predecessors by the Bellman-Ford method: some rounds, then a search for a negative cycle, then more
    rounds. The search finds any negative cycle after at most as many rounds as there are vertices."""
    engine = options.engine_name
    if engine in WITHOUT_COMMON_ROUNDS:
        refuse_without_common_rounds(engine, "the method for negative weights counts rounds")
    if options.rounds.max_rounds is not None:
        raise OptionError(
            f"max_rounds={options.rounds.max_rounds!r} is not available with negative weights, because the run must "
            "be long enough to rule out negative cycles: leave it out"
        )
    if engine == LOCAL or uses_solver(graph, Tree(), options):
        result = execute(graph, Tree(), replace(options, engine=LOCAL), {"known": {}, "before": {}, **sources})
        _refuse(graph, result.totals["cycle"])
        return _without_lone_cycles(graph, result)
    once = options.afterwards()
    if engine == AUTO:
        options = replace(options, engine="bsp")
    known, since = np.full(graph.num_vertices, inf), np.zeros(graph.num_vertices, np.int64)
    known[[graph.numbering.find(one) for one in sources["source"]]] = 0
    before, rounds = 0, FIRST_ROUNDS
    while True:
        columns, part = {"known": known, "since_known": since}, options.for_part(before)
        paths = execute(graph, BellmanFord(before=before), part.limited_to(rounds), columns)
        known, since = paths.by_number("dist"), paths.by_number("since")
        if paths.rounds < rounds:
            return _without_lone_cycles(graph, tree_after(paths, graph, {"known": known, **sources}, once))
        columns = {"known": known, "since_known": since}
        lowered = execute(graph, LoweringNeighbour(), once.limited_to(1), columns)
        _refuse(graph, cycle_of(lowered.by_number("by")))
        before, rounds = before + rounds, 2 * rounds


def _without_lone_cycles(graph: Graph, result: RunResult) -> RunResult:
    """Reject a reached edge that is a negative cycle by itself. Its weight may be so small, or the distance so large,
    that adding the weight does not change the distance, which then looks like a fixed point."""
    edges = lone_cycles(graph)
    if len(edges):
        reached = edges[result.by_number("distance")[edges[:, 0]] != inf]
        _refuse(graph, np.unique(reached[:1]))
    return result


def _refuse(graph: Graph, cycle: np.ndarray) -> None:
    """Raise an error that lists the cycle, if there is one."""
    if len(cycle):
        ids = graph.numbering.id_type.restore(graph.numbering.take(cycle[:SHOWN]))
        shown = " -> ".join(map(repr, [*np.asarray(ids).tolist(), *(["..."] if len(cycle) > SHOWN else [])]))
        raise WeightError(
            f"the weights in column {graph.weight!r} along the cycle {shown} sum to less than 0, so there are no "
            "shortest paths: remove one of its edges, or make its weights >= 0"
            + ("" if graph.directed else " (an undirected edge of negative weight is a cycle by itself)")
        )
