"""Weakly connected components: vertices between which there is a path if directions are ignored."""

from __future__ import annotations

from typing import Any

from dgraph.graph import Graph
from dgraph.programs.monoid import MIN, UNREACHED
from dgraph.programs.program import Result, State, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.solver import ContractionMethod, Solver
from dgraph.solvers.subgraphs.components import components, local_components


class Components(VertexProgram):
    """Every vertex passes on the smallest vertex that it has heard of."""

    operation = "wcc"
    smallest = State(vertex, start=UNREACHED)
    merge = MIN
    along = "both"
    solver = Solver(components, ("out", "incoming"), ContractionMethod(local_components))

    def seed(id):
        return id

    def send(smallest):
        return smallest

    def apply(smallest, message):
        return min(smallest, message)

    @Result(vertex)
    def component(smallest):
        return smallest


@operation
def wcc(graph: Graph, **options: Any) -> RunResult:
    """Weakly connected components: the column `component` is the smallest vertex that can be reached along edges of
    either direction. Options are those of `dgraph.run`."""
    return run(graph, Components(), **options)
