"""Predecessors on shortest paths, computed after the distances."""

from __future__ import annotations

from typing import Any

from numpy import float64, inf, int64

from dgraph.engines.local_methods.settlement import SettlementMethod
from dgraph.graph import Graph
from dgraph.ops.bfs import Levels
from dgraph.programs.monoid import MIN, NONE, SUM, UNREACHED
from dgraph.programs.program import Global, Message, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.paths.shortest_paths import bellman_ford_tree, settle_tree
from dgraph.solvers.solver import Solver


class NearerPredecessor(VertexProgram):
    """Predecessors from known distances: the smallest vertex on a shortest path that is strictly nearer. `unresolved`
    counts the vertices without one, which are reached only along edges of length 0."""

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
    """Predecessors, for any weights, of vertices that have none `before` and are not sources.

    A breadth-first search starts where a path is known and follows only edges that end some shortest path; of several
    predecessors at the same level, the smallest is taken. The levels make sure that paths end, even if edges of length
    0 form cycles. With one partition, the solver finds the distances too.
    """

    operation = "sssp"
    known = VertexColumn(float64)
    before = VertexColumn(int64, missing=UNREACHED)
    source = VertexColumn(bool)
    solver = Solver(bellman_ford_tree, local_method=SettlementMethod(settle_tree), reads_per_edge=1024)

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


def nearer_after(paths: RunResult, graph: Graph, columns: dict[str, Any], options: RunOptions) -> RunResult:
    """Predecessors by `NearerPredecessor` after the run `paths`, with the report of that run and the total
    `unresolved`."""
    result = execute(graph, NearerPredecessor(), options.afterwards(), columns)
    unresolved = result.totals["unresolved"]
    result = _reported(result.after(paths))
    result.totals = {**paths.totals, "unresolved": unresolved}
    return result


def tree_after(paths: RunResult, graph: Graph, columns: dict[str, Any], options: RunOptions) -> RunResult:
    """All predecessors by `Tree` after the run `paths`, with the report of that run."""
    tree = Tree(bits=graph.num_vertices.bit_length())
    return _reported(execute(graph, tree, options.afterwards(), {"before": {}, **columns}).after(paths))


def _reported(result: RunResult) -> RunResult:
    result.report.options["predecessors"] = "by a separate run"
    return result
