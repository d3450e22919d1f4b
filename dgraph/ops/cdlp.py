"""Community detection by label propagation, as LDBC Graphalytics defines it (Raghavan, Albert, Kumara, 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import int64

from dgraph.graph import Graph
from dgraph.options import check_integer
from dgraph.programs.monoid import MOST_FREQUENT, NONE
from dgraph.programs.program import Parameter, State, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.label_propagation import spread
from dgraph.solvers.solver import Problem, Solution, Solver


def _solve(problem: Problem) -> Solution:
    labels = np.arange(problem.vertices, dtype=np.uint32)
    rounds, _, edges = spread(problem, labels)
    return Solution({"label": labels.astype(np.int64)}, rounds, edges)


class CommunityDetection(VertexProgram):
    """In each round every vertex takes its neighbours' most frequent label, of several the smallest."""

    operation = "cdlp"
    kind = "synchronous"
    label = State(vertex)
    merge = MOST_FREQUENT
    along = "both"
    max_iter = Parameter(int64, 10)
    solver = Solver(_solve, orders=("out", "incoming"), looks=8)

    def start(id):
        return id

    def send(label):
        return label

    def apply(label, message):
        return label if message == NONE else message

    def stop(round, max_iter):
        return round >= max_iter


@operation
def cdlp(graph: Graph, *, max_iter: int = 10, **options: Any) -> RunResult:
    """Communities as LDBC Graphalytics has them: the column `label` after `max_iter` rounds, in each of which all
    vertices change at once. Labels are vertices, and vertices with the same label are a community.

    In- and out-neighbours both vote, once for each edge: so does label propagation in GraphX and in GX-Plug, which
    leave ties open. Vertices may swap labels for ever; `label_propagation` comes to an end.

    max_iter: iterations at most; all of them are made, a round each.
    Other options are those of `dgraph.run`.
    """
    return run(graph, CommunityDetection(max_iter=check_integer("max_iter", max_iter)), **options)
