"""Cores: the largest part of a graph in which every vertex has at least k neighbours (Seidman, 1983).

Directions, self loops and repeated edges do not count.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from numpy import int64

from dgraph.errors import OptionError
from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.listed import Rules
from dgraph.monoid import SUM
from dgraph.program import Message, Parameter, Result, State, VertexProgram
from dgraph.result import RunResult

_simple: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()


class KCore(VertexProgram):
    """Who has fewer than k neighbours left is removed, and tells the others; messages count removed neighbours."""

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


def k_core(graph: Graph, k: int, **options: Any) -> RunResult:
    """The column `in_core`: whether a vertex is in the k-core. Other options are those of `dgraph.run`."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise OptionError(f"k={k!r} must be a whole number, zero or more")
    return run(simple(graph), KCore(k=k), **options)


def simple(graph: Graph) -> Graph:
    """The same edges without directions, self loops and repeats; kept as long as the graph is."""
    rules = Rules(directed=False, loops="drop", repeats="first")
    if graph.listed.rules == rules:
        return graph
    if graph not in _simple:
        listed = graph.listed
        policy, _, capacities = graph._asked
        chosen: dict[str, Any] = {"policy": policy, "parts": graph.num_parts, "capacities": capacities}
        _simple[graph] = Graph(listed.edges, listed.vertices, rules, workers=graph.workers, **chosen)
    return _simple[graph]
