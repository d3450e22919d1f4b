"""The k-core: the largest part of a graph in which every vertex has at least k neighbours (Seidman, 1983).

Directions, self loops and repeated edges do not count.
"""

from __future__ import annotations

from typing import Any

from numpy import int64

from dgraph.errors import OptionError
from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.monoid import MAX, SUM
from dgraph.ops.core_number import CoreNumber, peelable
from dgraph.program import Global, Message, Parameter, Result, State, VertexProgram
from dgraph.result import Found, RunResult
from dgraph.solvers.cores import core_of, main_core
from dgraph.solvers.solver import Solver


class KCore(VertexProgram):
    """Who has fewer than k neighbours left is removed, and tells the others; messages count removed neighbours."""

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
    """Who is in the highest core."""

    solver = Solver(main_core, orders=("out", "incoming"))

    @Global(int64, MAX)
    def highest(core):
        return core

    @Result(bool)
    def in_core(core, highest):
        return core >= highest


def k_core(graph: Graph, k: int | None = None, *, remove: bool = False, **options: Any) -> RunResult:
    """The column `in_core`: whether a vertex is in the k-core; without k, in the highest core that is not empty.

    With `remove`, the result lists only the vertices that stay. Other options are those of `dgraph.run`.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 0):
        raise OptionError(f"k={k!r} must be a whole number, zero or more")
    result = run(peelable(graph, options), MainCore() if k is None else KCore(k=k), **options)
    if not remove:
        return result
    workers, report = graph.workers, result.report.options
    found = workers.wait(workers.hold([workers.call(_staying, one) for one in result._found]))
    return RunResult(graph, found, [], report, whole=False)


def _staying(found: Found) -> Found:
    """The same without the vertices that are not in the core."""
    parts = {}
    for part, (numbers, values) in found.parts.items():
        stays = values["in_core"]
        parts[part] = numbers[stays], {"in_core": stays[stays]}
    return Found(parts, found.missing, found.rows, found.rounds, found.totals)
