"""Community detection by label propagation, as LDBC Graphalytics defines it (Raghavan, Albert, Kumara, 2007)."""

from __future__ import annotations

from typing import Any

from numpy import int64

from dgraph.errors import OptionError
from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.monoid import MOST_FREQUENT, NONE
from dgraph.program import Parameter, State, VertexProgram, vertex
from dgraph.result import RunResult


class CommunityDetection(VertexProgram):
    """In each round every vertex takes its neighbours' most frequent label, of several the smallest."""

    kind = "synchronous"
    label = State(vertex)
    merge = MOST_FREQUENT
    along = "both"
    max_iter = Parameter(int64, 10)

    def start(id):
        return id

    def send(label):
        return label

    def apply(label, message):
        return label if message == NONE else message

    def stop(round, max_iter):
        return round >= max_iter


def cdlp(graph: Graph, *, max_iter: int = 10, **options: Any) -> RunResult:
    """The column `label` after `max_iter` rounds; labels are vertices. In- and out-neighbours both vote, once for each
    edge. Other options are those of `dgraph.run`."""
    if max_iter < 1:
        raise OptionError(f"max_iter={max_iter!r} must be a whole number above zero")
    return run(graph, CommunityDetection(max_iter=max_iter), **options)
