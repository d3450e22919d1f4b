"""Weakly connected components."""

from __future__ import annotations

from typing import Any

from dgraph.engines.local_methods.contraction import ContractionMethod
from dgraph.graph import Graph
from dgraph.programs.monoid import MIN, UNREACHED
from dgraph.programs.program import Result, State, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.components import components, local_components


class Components(VertexProgram):
    """Every vertex sends on the smallest vertex that it has received."""

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
    """Weakly connected components: vertices joined by a path if directions are ignored.

    Parameters
    ----------
    graph : Graph
        The graph.
    **options
        Options of `dgraph.run`, such as `engine` and `device`.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``component``, which is the smallest vertex of the component.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "c", "d"], "dst": ["b", "b", "e"]})
    >>> dg.wcc(G).compute()
      vertex component
    0      a         a
    1      b         a
    2      c         a
    3      d         d
    4      e         d
    """
    return run(graph, Components(), **options)
