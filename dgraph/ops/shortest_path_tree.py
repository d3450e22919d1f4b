"""Predecessors on shortest paths, once distances are known."""

from __future__ import annotations

from typing import Any

from numpy import float64, inf, int64

from dgraph.graph import Graph
from dgraph.ops.bfs import Levels
from dgraph.programs.monoid import MIN, NONE, SUM, UNREACHED
from dgraph.programs.program import Global, Message, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult
from dgraph.solvers.paths.shortest_paths import bellman_ford_tree, settle_tree
from dgraph.solvers.solver import SettlementMethod, Solver

# options of `run` about many rounds, or about an engine that finds distances in its own way
OF_MANY_ROUNDS = ("max_rounds", "local_rounds", "checkpoint", "block_size", "order", "mode", "operator")


class Nearer(VertexProgram):
    """Predecessors, once distances are known: the smallest of those from which a path comes in strictly nearer.
    `unresolved` is how many vertices need an edge of length 0, and have none."""

    operation = "sssp"
    kind = "synchronous"
    parent = State(int64, start=UNREACHED)
    message = Message(int64, MIN)
    known = VertexColumn(float64)
    source = VertexColumn(bool)

    def send(known, target_known, weight, id):
        tight = target_known < inf and known + weight == target_known
        return id if tight and known < target_known else UNREACHED

    def apply(message):
        return message

    def stop(round):
        return round >= 1

    @Global(int64, SUM)
    def unresolved(known, parent, source):
        return 1 if known < inf and parent == UNREACHED and not (source and known == 0) else 0

    @Result(float64)
    def distance(known):
        return known

    @Result(vertex)
    def predecessor(parent):
        return parent


class Tree(Levels, VertexProgram):
    """Predecessors for those who have none `before` and are no sources, whatever the weights: the smallest of those
    that are the fewest edges away from where a path is known, along edges that end some shortest path.

    Where edges of length 0 lead in circles, a predecessor must be a step nearer, or paths would never end. The solver
    finds distances, too, where the graph is one partition.
    """

    operation = "sssp"
    known = VertexColumn(float64)
    before = VertexColumn(int64, missing=UNREACHED)
    source = VertexColumn(bool)
    solver = Solver(bellman_ford_tree, local_method=SettlementMethod(settle_tree), looks=1024)

    def seed(known, source, before):
        return 0 if before != UNREACHED or (source and known == 0) else UNREACHED

    def send(level, id, bits, known, target_known, weight):
        ends_a_path = target_known < inf and known + weight == target_known
        return ((level + 1) << bits) + id + 1 if ends_a_path else UNREACHED

    @Result(float64)
    def distance(known):
        return known

    @Result(vertex)
    def predecessor(parent, before):
        return before if parent == NONE else parent


def nearer_after(paths: RunResult, graph: Graph, given: dict[str, Any], options: dict[str, Any]) -> RunResult:
    """Predecessors that are nearer, where a run has found the distances, with the report of that run; and the total
    `unresolved`."""
    found = run(graph, Nearer(), columns=given, **options_for_next_run(options))
    unresolved = found.totals["unresolved"]
    found = _reported(found.after(paths))
    found.totals = {**paths.totals, "unresolved": unresolved}
    return found


def tree_after(paths: RunResult, graph: Graph, given: dict[str, Any], options: dict[str, Any]) -> RunResult:
    """All predecessors, where a run has found the distances, and maybe those `before`; with the report of that run."""
    tree = Tree(bits=graph.num_vertices.bit_length())
    return _reported(run(graph, tree, columns={"before": {}, **given}, **options_for_next_run(options)).after(paths))


def _reported(found: RunResult) -> RunResult:
    found.report.options["predecessors"] = "by a run of their own"
    return found


def options_for_next_run(options: dict[str, Any]) -> dict[str, Any]:
    """For a run after another, which obeys nothing that was asked about the rounds of that one."""
    options = {name: value for name, value in options.items() if name not in OF_MANY_ROUNDS}
    return {**options, "engine": "gas"}
