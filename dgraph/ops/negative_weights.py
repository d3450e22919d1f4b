"""Shortest paths if weights may be negative, by the Bellman-Ford method, which also looks for negative cycles; and the
predecessors that depend on more than distances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.arguments import AUTO
from dgraph.building.weights import lone_cycles
from dgraph.engines.local_methods.settlement import SettlementMethod
from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.ops.bfs import Levels
from dgraph.programs.monoid import MIN, NONE, UNREACHED
from dgraph.programs.program import Message, Parameter, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.plan import WITHOUT_COMMON_ROUNDS, refuse_without_common_rounds, uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import LOCAL, RunOptions
from dgraph.solvers.paths.bellman_ford import cycle_of
from dgraph.solvers.paths.shortest_paths import bellman_ford_tree, settle_tree
from dgraph.solvers.solver import Solver

FIRST_ROUNDS = 16  # rounds before the first search for a negative cycle
SHOWN = 20  # the maximum number of vertices of a cycle that an error lists


class Tree(Levels, VertexProgram):
    """Predecessors, for any weights, of vertices that have none `before` and are not sources.

    A breadth-first search starts where a path is known and follows only edges that end some shortest path; of several
    predecessors at the same level, the smallest is taken. The levels make sure that paths end, even if edges of length
    0 form cycles. With one partition, the solver finds the distances too.
    """

    operation = "sssp"
    known = VertexColumn(float64)
    before = VertexColumn(int64, missing=UNREACHED)
    source = VertexColumn(bool)
    solver = Solver(bellman_ford_tree, local_method=SettlementMethod(settle_tree), reads_per_edge=1024)

    def seed(known, source, before):
        return 0 if before != UNREACHED or (source and known == 0) else UNREACHED

    def send(level, id, bits, known, target_known, weight):
        ends_a_path = target_known < inf and known + weight == target_known
        return ((level + 1) << bits) + id + 1 if ends_a_path else UNREACHED

    @Result(float64)
    def distance(known):
        return known

    @Result(vertex)
    def predecessor(parent, before):
        return before if parent == NONE else parent


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


def tree_after(paths: RunResult, graph: Graph, columns: dict[str, Any], options: RunOptions) -> RunResult:
    """All predecessors by `Tree` after the run `paths`, with the report of that run."""
    tree = Tree(bits=graph.num_vertices.bit_length())
    return reported(execute(graph, tree, options.afterwards(), {"before": {}, **columns}).after(paths))


def reported(result: RunResult) -> RunResult:
    result.report.options["predecessors"] = "by a separate run"
    return result


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
        ids = graph.numbering.restored(cycle[:SHOWN])
        shown = " -> ".join(map(repr, [*np.asarray(ids).tolist(), *(["..."] if len(cycle) > SHOWN else [])]))
        raise WeightError(
            f"the weights in column {graph.weight!r} along the cycle {shown} sum to less than 0, so there are no "
            "shortest paths: remove one of its edges, or make its weights >= 0"
            + ("" if graph.directed else " (an undirected edge of negative weight is a cycle by itself)")
        )
