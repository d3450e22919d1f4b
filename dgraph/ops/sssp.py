"""Shortest paths from one vertex or from the nearest of several, by frontier relaxation (Bellman 1958, Ford 1956)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.errors import WeightError
from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.monoid import MIN, NONE, UNREACHED
from dgraph.program import Message, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.result import RunResult


class ShortestPaths(VertexProgram):
    """`first` is 0 for the sources; edge weights are not negative."""

    dist = State(float64, start=inf)
    merge = MIN
    first = VertexColumn(float64, missing=inf)

    def seed(first):
        return first

    def send(dist, weight):
        return dist + weight

    def apply(dist, message):
        return min(dist, message)


class Hops(ShortestPaths):
    """Every edge is of length 1."""

    def send(dist):
        return dist + 1


class Tree(VertexProgram):
    """Predecessors, once distances are known: the smallest of those from which a path comes in strictly nearer.

    Where edges of length 0 lead in circles, a predecessor must be a step nearer to where the distance was reached, or
    paths would never end. So a message is step * vertices + sender, and steps count edges of length 0.
    """

    kind = "synchronous"
    dist = State(float64)
    step = State(int64, start=UNREACHED)
    parent = State(int64, start=NONE)
    message = Message(int64, MIN)
    distance_known = VertexColumn(float64)
    first = VertexColumn(float64, missing=inf)

    def start(distance_known, first):
        return distance_known, (0 if first == 0 else UNREACHED), NONE

    def send(dist, step, target_dist, weight, id, vertices):
        if dist == inf or dist + weight != target_dist:
            return UNREACHED
        if dist < target_dist:
            return id
        return UNREACHED if step == UNREACHED else (step + 1) * vertices + id

    def apply(dist, step, parent, message, first, vertices):
        if first == 0 or message == UNREACHED:
            return dist, step, parent
        return dist, message // vertices, message % vertices

    @Result(float64)
    def distance(dist):
        return dist

    @Result(vertex)
    def predecessor(parent):
        return parent


class HopsTree(Tree):
    """Every edge is of length 1."""

    def send(dist, target_dist, id):
        return id if dist != inf and dist + 1 == target_dist else UNREACHED


def sssp(graph: Graph, source: Any, **options: Any) -> RunResult:
    """The columns `distance` (inf where there is no path) and `predecessor` (of several, the smallest; missing for
    sources and for vertices without a path).

    `source` is a vertex, or a list of vertices: then paths begin at the nearest. In a graph without weights every edge
    is of length 1. Negative weights are refused. Other options are those of `dgraph.run`.
    """
    weighted = graph.weight is not None
    if graph.weight is not None:
        _refuse_negative(graph, graph.weight)
    sources = list(source) if isinstance(source, list | tuple | set | np.ndarray) else [source]
    first = dict.fromkeys(sources, 0.0)
    paths = run(graph, ShortestPaths() if weighted else Hops(), columns={"first": first}, **options)
    known = paths.by_number("dist")
    tree = Tree() if weighted else HopsTree()
    options = {name: value for name, value in options.items() if name != "max_rounds"}
    result = run(graph, tree, columns={"distance_known": known, "first": first}, **options)
    return result.after(paths)


def _refuse_negative(graph: Graph, weight: str) -> None:
    partitions = graph.partitioned(("out",), (weight,))
    lowest = graph.workers.get([graph.workers.call(_lowest, one, weight) for one in partitions.held])
    if min(lowest) < 0:
        raise WeightError(
            f"column {weight!r} holds the weight {min(lowest):g}: shortest paths need weights of zero or more"
        )


def _lowest(partition: Any, weight: str) -> float:
    return float((partition.out or partition.incoming).columns[weight].min(initial=0))
