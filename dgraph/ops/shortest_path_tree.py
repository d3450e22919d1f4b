"""Predecessors on shortest paths, once distances are known."""

from __future__ import annotations

from typing import Any

from numpy import float64, inf, int64

from dgraph.execution import run
from dgraph.graph import Graph
from dgraph.monoid import MIN, NONE, UNREACHED
from dgraph.program import Message, Parameter, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.result import RunResult
from dgraph.solvers.shortest_paths import shortest_path_tree
from dgraph.solvers.solver import Solver


class Tree(VertexProgram):
    """Predecessors, once distances are known: the smallest of those from which a path comes in strictly nearer.

    Where edges of length 0 lead in circles, a predecessor must be a step nearer to where the distance was reached, or
    paths would never end. So a message is step * vertices + sender, and steps count edges of length 0.
    """

    operation = "sssp"
    kind = "synchronous"
    dist = State(float64)
    step = State(int64, start=UNREACHED)
    parent = State(int64, start=NONE)
    message = Message(int64, MIN)
    known = VertexColumn(float64)
    source = VertexColumn(bool)
    solver = Solver(shortest_path_tree)  # which finds distances, too, and is not told any

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

    @Result(float64)
    def distance(dist):
        return dist

    @Result(vertex)
    def predecessor(parent):
        return parent


class TreeUpTo(Tree):
    """Of vertices that are not farther than `target`: for the solver, which finds the distances, too."""

    target = Parameter(vertex)


def tree_after(
    paths: RunResult, graph: Graph, tree: VertexProgram, columns: dict, options: dict[str, Any]
) -> RunResult:
    """Predecessors, with the report of the run that found the distances."""
    return run(graph, tree, columns=columns, **in_rounds(options)).after(paths)


def in_rounds(options: dict[str, Any]) -> dict[str, Any]:
    """For a synchronous program that has no end set by the user, and no use for a solver."""
    options = {name: value for name, value in options.items() if name not in ("max_rounds", "local_rounds")}
    return {**options, "engine": "bsp" if options.get("engine") == "bsp" else "gas"}


def is_local(graph: Graph, options: dict[str, Any]) -> bool:
    """Whether `run` would take the solver."""
    engine = options.get("engine", "auto")
    plain = options.keys() <= {"engine", "device", "random_seed"}
    return graph.num_parts == 1 and (engine == "local" or (engine == "auto" and plain))
