"""Degrees: how many edges lead out of and into each vertex; every listed edge counts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy import int64

from dgraph.graph import Graph
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Phase, Result, State, VertexProgram
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.solver import Problem, Solution, Solver


def _counted(problem: Problem) -> Solution:
    edges = problem.edges
    out = edges.degrees("out")
    into = edges.degrees("in") if edges.directed else out
    return Solution({"in_degree": into, "out_degree": out}, edges=edges.partition.num_edges)


class Degrees(VertexProgram):
    """Every vertex says 1 along each of its edges, first in their direction, then against it."""

    operation = "degrees"
    kind = "synchronous"
    solver = Solver(_counted)
    into = State(int64)
    out = State(int64)

    class Along(Phase):
        merge = SUM

        def send():  # type: ignore[misc]  # reads nothing
            return 1

        def apply(message, out):
            return message, out

    class Back(Phase):
        merge = SUM
        along = "in"

        def send():  # type: ignore[misc]  # reads nothing
            return 1

        def apply(into, message):
            return into, message

    def stop(round):
        return round >= 2

    @Result(int64)
    def in_degree(into):
        return into

    @Result(int64)
    def out_degree(out):
        return out


@operation
def degrees(graph: Graph, **options: Any) -> RunResult:
    """How many edges there are at each vertex: the columns `in_degree`, `out_degree` and `degree`, their sum; in an
    undirected graph all three are the same.

    Repeated edges all count, and a self loop is one arc: 1 into its vertex and 1 out of it, so 2 in the `degree` of a
    directed graph and 1 of an undirected one. Options are those of `dgraph.run`.
    """
    return run(graph, Degrees(), **options).map(partial(_with_degree, directed=graph.directed))


def _with_degree(numbers: np.ndarray, values: dict[str, np.ndarray], directed: bool) -> Any:
    """The values with the third column, which the program cannot declare: `degree` is a name that its functions
    read."""
    both = values["in_degree"] + values["out_degree"] if directed else values["out_degree"]
    return numbers, {**values, "degree": both}
