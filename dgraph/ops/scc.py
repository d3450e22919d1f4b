"""Strongly connected components: vertices between which there is a path in each direction."""

from __future__ import annotations

from typing import Any

from numpy import int64

from dgraph.graph import Graph
from dgraph.ops.wcc import wcc
from dgraph.programs.monoid import MIN, NONE, SUM, UNREACHED
from dgraph.programs.program import Global, Phase, Result, State, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.strong_components import strong_components


class StrongComponents(VertexProgram):
    """Vertices are in parts, at first in one. In a part each vertex finds the smallest from which a path leads to it,
    and the smallest to which one leads from it. Two vertices of a component find the same; and if both are one vertex,
    all who find it are its component. All others make smaller parts, of those who found the same two."""

    operation = "scc"
    kind = "synchronous"
    merge = MIN
    ancestor = State(vertex)
    descendant = State(vertex)
    above = State(vertex)  # the ancestor and the descendant that tell its part from others
    below = State(vertex)
    moved = State(bool)  # whether this turn has found something
    solver = Solver(strong_components, ("out", "incoming"), looks=4)

    def start(id):
        return id, id, NONE, NONE, True

    class Forward(Phase):
        along = "out"

        def send(ancestor, above, below, target_above, target_below):
            return ancestor if above == target_above and below == target_below else UNREACHED

        def apply(id, ancestor, descendant, above, below, message, news):
            if news > 0:
                return min(ancestor, message), descendant, above, below, message < ancestor
            if ancestor == descendant:
                return ancestor, descendant, ancestor, descendant, False
            return id, id, ancestor, descendant, True

    class Backward(Phase):
        along = "in"

        def send(descendant, above, below, target_above, target_below):
            return descendant if above == target_above and below == target_below else UNREACHED

        def apply(ancestor, descendant, above, below, moved, message):
            return ancestor, min(descendant, message), above, below, moved or message < descendant

    @Global(int64, SUM)
    def news(moved):
        return 1 if moved else 0

    @Global(int64, SUM)
    def unsure(ancestor, descendant):
        return 0 if ancestor == descendant else 1

    def stop(news, unsure):
        return news == 0 and unsure == 0

    @Result(vertex)
    def component(ancestor):
        return ancestor


@operation
def scc(graph: Graph, **options: Any) -> RunResult:
    """Strongly connected components: the column `component` is the smallest vertex to and from which a path leads. Of a
    graph without directions they are those of `wcc`. Options are those of `dgraph.run`."""
    return run(graph, StrongComponents(), **options) if graph.directed else wcc(graph, **options)
