"""Strongly connected components."""

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
    """Divide the vertices into ever smaller parts, beginning with one part.

    In its part, each vertex finds its smallest ancestor (a path leads from it) and its smallest descendant (a path
    leads to it). Vertices of one component find the same two. If the two are the same vertex, all that found it are its
    component; all others form smaller parts, one for each pair of ancestor and descendant.
    """

    operation = "scc"
    kind = "synchronous"
    merge = MIN
    ancestor = State(vertex)
    descendant = State(vertex)
    above = State(vertex)  # above and below: the ancestor and descendant that identify the vertex's part
    below = State(vertex)
    moved = State(bool)  # whether this turn found something new
    solver = Solver(strong_components, ("out", "incoming"), reads_per_edge=4)

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
    """Strongly connected components: vertices joined by paths in both directions.

    In an undirected graph they are the weakly connected components (see `wcc`).

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
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]})
    >>> dg.scc(G).compute()
       vertex  component
    0       0          0
    1       1          0
    2       2          0
    3       3          3
    """
    return run(graph, StrongComponents(), **options) if graph.directed else wcc(graph, **options)
