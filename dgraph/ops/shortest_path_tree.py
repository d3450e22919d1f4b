"""Predecessors on shortest paths, once distances are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import float64, inf, int64

from dgraph.graph import Graph
from dgraph.monoid import MIN, NONE, SUM, UNREACHED
from dgraph.program import Global, Message, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult

# options of `run` about many rounds, or about an engine that finds distances in its own way
OF_MANY_ROUNDS = ("max_rounds", "local_rounds", "checkpoint", "block_size", "order", "mode", "operator")


class Tree(VertexProgram):
    """Predecessors, once distances are known: the smallest of those from which a path comes in strictly nearer.

    Where edges of length 0 lead in circles, a predecessor must be a step nearer to where the distance was reached, or
    paths would never end. So a message is step * vertices + sender, and steps count edges of length 0. What a vertex is
    told first is final: most often all is known after one round.
    """

    operation = "sssp"
    kind = "synchronous"
    dist = State(float64)
    step = State(int64, start=UNREACHED)
    parent = State(int64, start=NONE)
    message = Message(int64, MIN)
    known = VertexColumn(float64)
    source = VertexColumn(bool)

    def start(known, source):
        return known, (0 if source and known == 0 else UNREACHED), NONE

    def send(dist, step, target_dist, weight, id, vertices):
        if dist == inf or target_dist == inf or dist + weight != target_dist:
            return UNREACHED
        if dist < target_dist:
            return id
        return UNREACHED if step == UNREACHED else (step + 1) * vertices + id

    def apply(dist, step, parent, message, vertices):
        if message == UNREACHED or (step == 0 and parent == NONE):
            return dist, step, parent
        return dist, message // vertices, message % vertices

    @Global(int64, SUM)
    def unresolved(dist, step):
        return 1 if dist < inf and step == UNREACHED else 0

    def stop(unresolved, round, vertices):
        return unresolved == 0 or round > vertices

    @Result(float64)
    def distance(dist):
        return dist

    @Result(vertex)
    def predecessor(parent):
        return parent


class Nearer(VertexProgram):
    """The same in one round, for all that need no edge of length 0; `unresolved` is how many do."""

    operation = "sssp"
    kind = "synchronous"
    dist = State(float64)
    parent = State(int64, start=NONE)
    message = Message(int64, MIN)
    known = VertexColumn(float64)
    source = VertexColumn(bool)

    def start(known):
        return known, NONE

    def send(dist, target_dist, weight, id):
        return id if dist < target_dist and target_dist < inf and dist + weight == target_dist else UNREACHED

    def apply(dist, message):
        return dist, (NONE if message == UNREACHED else message)

    def stop(round):
        return round >= 1

    @Global(int64, SUM)
    def unresolved(dist, parent, source):
        return 1 if dist < inf and parent == NONE and not (source and dist == 0) else 0

    @Result(float64)
    def distance(dist):
        return dist

    @Result(vertex)
    def predecessor(parent):
        return parent


def tree_after(
    paths: RunResult, graph: Graph, trees: Sequence[VertexProgram], columns: dict, options: dict[str, Any]
) -> RunResult:
    """Predecessors, by the first program that resolves all, with the report of the run that found the distances."""
    for tree in trees:
        found = run(graph, tree, columns=columns, **in_rounds(options))
        if not found.totals["unresolved"]:
            break
    found = found.after(paths)
    found.report.options["predecessors"] = "by a synchronous program in BSP order"
    return found


def in_rounds(options: dict[str, Any]) -> dict[str, Any]:
    """For a synchronous program of a round or two, which obeys nothing that was asked of the run before: in BSP order,
    which learns of the end before it looks at all edges once more."""
    options = {name: value for name, value in options.items() if name not in OF_MANY_ROUNDS}
    return {**options, "engine": "bsp"}
