"""The k-core: the largest part of a graph in which every vertex has at least k neighbours (Seidman, 1983).

Directions, self loops and repeated edges do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import int64

from dgraph.graph import Graph
from dgraph.ops.core_number import CoreNumber, graph_for_peeling
from dgraph.options import check_flag, check_integer
from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexProgram
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.solver import PeelingMethod, Solver
from dgraph.solvers.subgraphs.cores import core_of, main_core


class KCore(VertexProgram):
    """A vertex with fewer than k neighbours left is removed, and tells the others; messages count removed
    neighbours."""

    operation = "k_core"
    solver = Solver(core_of, orders=("out", "incoming"))
    removed = State(int64)
    stays = State(bool, start=True)
    message = Message(int64, SUM)
    along = "both"
    k = Parameter(int64)

    def seed(degree, k):
        return k if degree < k else 0

    def send(stays):
        return 0 if stays else 1

    def apply(removed, message, degree, k):
        return removed + message, degree - removed - message >= k

    @Result(bool)
    def in_core(stays):
        return stays


class MainCore(CoreNumber):
    """Which vertices are in the highest core."""

    operation = "k_core"
    solver = Solver(main_core, ("out", "incoming"), PeelingMethod("core"), looks=2)

    @Global(int64, MAX)
    def highest(core):
        return core

    @Result(bool)
    def in_core(core, highest):
        return core >= highest


@operation
def k_core(graph: Graph, k: int | None = None, *, remove: bool = False, **options: Any) -> RunResult:
    """The k-core, the largest part of the graph in which every vertex has k neighbours or more: the column `in_core`
    says who is in it. Without k, the highest that is not empty. Directions, loops and repeats do not count.

    k:      how many neighbours in the core each of its vertices has, or more.
    remove: the result lists only the vertices that stay.
    Other options are those of `dgraph.run`.
    """
    k = check_integer("k", k, 0, or_none=True)
    program = MainCore() if k is None else KCore(k=k)
    remove = check_flag("remove", remove)
    result = run(graph_for_peeling(graph, program, options), program, **options)
    return result.map(_staying, whole=False) if remove else result


def _staying(numbers: np.ndarray, values: dict[str, np.ndarray]) -> Any:
    """Only the vertices that are in the core."""
    stays = values["in_core"]
    return numbers[stays], {"in_core": stays[stays]}
