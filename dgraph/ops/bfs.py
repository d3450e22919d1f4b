"""Breadth-first search: edges on a shortest path from a vertex to all others."""

from __future__ import annotations

from typing import Any

from numpy import float64, inf, int64

from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.monoid import MIN, NONE, UNREACHED
from dgraph.program import Message, Parameter, Result, State, VertexProgram, vertex
from dgraph.result import RunResult


class BreadthFirst(VertexProgram):
    """A message is level * (vertices + 1) + sender + 1, so that the smallest names the smallest sender, too."""

    level = State(int64, start=UNREACHED)
    parent = State(int64, start=NONE)
    source = Parameter(vertex)
    message = Message(int64, MIN)

    def seed(id, source):
        return 0 if id == source else UNREACHED

    def send(level, id, vertices):
        return (level + 1) * (vertices + 1) + id + 1

    def apply(level, parent, message, vertices):
        found = message // (vertices + 1)
        sender = message % (vertices + 1) - 1
        if message != UNREACHED and (found < level or (found == level and sender < parent)):
            return found, sender
        return level, parent

    @Result(float64)
    def distance(level):
        return inf if level == UNREACHED else level

    @Result(vertex)
    def predecessor(parent):
        return parent


def bfs(graph: Graph, source: Any, **options: Any) -> RunResult:
    """The columns `distance` (inf where there is no path) and `predecessor` (of several, the smallest; missing for the
    source and for vertices without a path). Other options are those of `dgraph.run`."""
    return run(graph, BreadthFirst(source=source), **options)
