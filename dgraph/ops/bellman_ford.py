"""Shortest paths whatever the weights (Bellman 1958, Ford 1956), and the negative cycles that leave none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.checkpoint.checkpoint import for_part
from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.ops.shortest_path_tree import Tree, options_for_next_run, tree_after
from dgraph.ops.weights import lone_cycles
from dgraph.plan import LOCAL, UNCOUNTED, refuse_uncounted
from dgraph.programs.monoid import MIN, NONE, UNREACHED
from dgraph.programs.program import Message, Parameter, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult
from dgraph.runs.run_keywords import RunKeywords
from dgraph.solvers.paths.bellman_ford import cycle_of

FIRST_ROUNDS = 16  # after which it is first looked for a negative cycle
SHOWN = 20  # vertices of a cycle that are named


class BellmanFord(VertexProgram):
    """Distances whatever the weights, and `since` which round each vertex has its own; it never ends where a negative
    cycle is reached."""

    operation = "sssp"
    kind = "synchronous"
    dist = State(float64)
    since = State(int64)
    message = Message(float64, MIN)
    known = VertexColumn(float64)
    since_known = VertexColumn(int64)
    before = Parameter(int64, 0)  # rounds that led to what is known

    def start(known, since_known):
        return known, since_known

    def send(dist, weight):
        return dist + weight

    def apply(dist, since, message, round, before):
        return (message, before + round) if message < dist else (dist, since)


class Lowered(VertexProgram):
    """`by`: the neighbour that lowered a vertex last, or that could lower it now. If these lead in a circle, it is a
    negative cycle.

    Around a circle no weight is more than the step from distance to distance, and these steps sum to 0; where a vertex
    can still be lowered, one weight is less. If there is a negative cycle there is such a circle, because every other
    vertex was lowered later than its `by`.
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


def bellman_ford_paths(graph: Graph, given: dict[str, Any], options: dict[str, Any]) -> RunResult:
    """Distances and predecessors by Bellman and Ford's method: some rounds, then a look for a negative cycle, then more
    rounds. After as many rounds as there are vertices, any such cycle has been found."""
    engine = options.get("engine", "auto")
    if engine in UNCOUNTED:
        refuse_uncounted(engine, "the method for weights below zero counts rounds")
    if options.get("max_rounds") is not None:
        raise OptionError(
            f"max_rounds={options['max_rounds']!r} cannot be had with weights below zero, whose rounds end when there "
            "is no negative cycle: leave it out"
        )
    if engine == LOCAL or RunKeywords(**options).uses_solver(graph, Tree()):
        found = run(graph, Tree(), columns={"known": {}, "before": {}, **given}, **{**options, "engine": LOCAL})
        _refuse(graph, found.totals["cycle"])
        return _without_lone_cycles(graph, found)
    asked, options = {**options, "engine": "bsp" if engine == "auto" else engine}, options_for_next_run(options)
    known, since = np.full(graph.num_vertices, inf), np.zeros(graph.num_vertices, np.int64)
    known[[graph.numbering.find(one) for one in given["source"]]] = 0
    before, rounds = 0, FIRST_ROUNDS
    while True:
        columns = {"known": known, "since_known": since}
        how = for_part({**asked, "max_rounds": rounds}, before)
        paths = run(graph, BellmanFord(before=before), columns=columns, **how)
        known, since = paths.by_number("dist"), paths.by_number("since")
        if paths.rounds < rounds:
            found = tree_after(paths, graph, {"known": known, **given}, options)
            return _without_lone_cycles(graph, found)
        columns = {"known": known, "since_known": since}
        _refuse(graph, cycle_of(run(graph, Lowered(), columns=columns, max_rounds=1, **options).by_number("by")))
        before, rounds = before + rounds, 2 * rounds


def _without_lone_cycles(graph: Graph, found: RunResult) -> RunResult:
    """The distances, unless an edge was reached that is a negative cycle by itself: its weight may be so small, or the
    distance so large, that their sum is the distance, which looks like a fixed point."""
    edges = lone_cycles(graph)
    if len(edges):
        reached = edges[found.by_number("distance")[edges[:, 0]] != inf]
        _refuse(graph, np.unique(reached[:1]))
    return found


def _refuse(graph: Graph, cycle: np.ndarray) -> None:
    """Raise an error that names the cycle, if there is one."""
    if len(cycle):
        ids = graph.numbering.id_type.restore(graph.numbering.take(cycle[:SHOWN]))
        shown = " -> ".join(map(repr, [*np.asarray(ids).tolist(), *(["..."] if len(cycle) > SHOWN else [])]))
        raise WeightError(
            f"the weights in column {graph.weight!r} along the cycle {shown} add up to less than zero, so that paths "
            "have no shortest length: take out one of its edges, or make weights zero or more"
            + ("" if graph.directed else " (an undirected edge below zero is a cycle by itself)")
        )
