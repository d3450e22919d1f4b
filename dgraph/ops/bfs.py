"""Breadth-first search: the fewest edges on a path from a vertex, or from the nearest of several, to all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.graph import Graph
from dgraph.options import check_integer, refuse_columns, vertex_list
from dgraph.programs.monoid import MIN, NONE, UNREACHED
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.solvers.paths.breadth_first import Goal, search
from dgraph.solvers.paths.local_levels import settle
from dgraph.solvers.solver import Problem, SettlementMethod, Solution, Solver


def _solve(problem: Problem) -> Solution:
    values, target = problem.values, problem.values.get("target", NONE)
    sources = np.array([values["source"]], np.int64)
    if "others" in problem.columns:
        sources = np.union1d(sources, np.flatnonzero(problem.columns["others"]))
    solved = search(problem, sources, Goal(values["depth_limit"], target))
    if target == NONE:
        return solved
    level = solved.values["distance"][target]
    return replace(solved, totals={"horizon": int(level) if level < inf else UNREACHED})


class Levels:
    """What programs that search by levels have in common. A message is a level, with sender + 1 in its last `bits`: so
    the smallest message also names the smallest sender."""

    level = State(int64, start=UNREACHED)
    parent = State(int64, start=NONE)
    bits = Parameter(int64, 32)  # at least as many as the number of vertices has
    message = Message(int64, MIN)

    def apply(level, parent, message, bits):
        found = message >> bits
        sender = message - (found << bits) - 1
        if message != UNREACHED and (found < level or (found == level and sender < parent)):
            return found, sender
        return level, parent


class BreadthFirst(Levels, VertexProgram):
    """From `source` along all edges."""

    operation = "bfs"
    source = Parameter(vertex)
    depth_limit = Parameter(int64, UNREACHED)
    solver = Solver(_solve, ("out", "incoming"), SettlementMethod(settle))

    def seed(id, source):
        return 0 if id == source else UNREACHED

    def send(level, id, depth_limit, bits):
        return ((level + 1) << bits) + id + 1 if level < depth_limit else UNREACHED

    @Result(float64)
    def distance(level):
        return inf if level == UNREACHED else level

    @Result(vertex)
    def predecessor(parent):
        return parent


class FromSeveral(BreadthFirst):
    """From `source` and `others`."""

    others = VertexColumn(bool)

    def seed(id, source, others):
        return 0 if id == source or others else UNREACHED


class LevelsUpTo(BreadthFirst):
    """Vertices farther than `target` are not reached, and need not be looked at once the target's level is known."""

    target = Parameter(vertex)
    solver = Solver(_solve, ("out", "incoming"), SettlementMethod(settle, bound="horizon"))

    @Global(int64, MIN)
    def horizon(level, id, target):
        return level if id == target else UNREACHED

    def apply(level, parent, message, bits, horizon):
        found = message >> bits
        sender = message - (found << bits) - 1
        if message != UNREACHED and found <= horizon and (found < level or (found == level and sender < parent)):
            return found, sender
        return level, parent

    @Result(float64)
    def distance(level, horizon):
        return inf if level == UNREACHED or level > horizon else level

    @Result(vertex)
    def predecessor(level, parent, horizon):
        return NONE if level > horizon else parent


class FromSeveralUpTo(LevelsUpTo, FromSeveral):
    """From several sources, up to `target`."""


@operation
def bfs(graph: Graph, source: Any, *, target: Any = None, depth_limit: int | None = None, **options: Any) -> RunResult:
    """Paths of the fewest edges: the columns `distance` (inf where there is no path) and `predecessor` (of several, the
    smallest; missing for sources and for vertices without a path).

    source:       a vertex, or a list of vertices: then paths begin at the nearest.
    target:       the search ends once the distance of this vertex is known. All vertices that are not farther are
                  answered as ever; the others count as not reached.
    depth_limit:  vertices that are farther count as not reached.

    Other options are those of `dgraph.run`.
    """
    sources = vertex_list("source", source)
    refuse_columns(options, "name the vertices where paths begin as the source")
    values = {"source": sources[0], "bits": graph.num_vertices.bit_length()}
    if check_integer("depth_limit", depth_limit, 0, or_none=True) is not None:
        values["depth_limit"] = depth_limit
    if target is not None:
        values["target"] = target
    if len(sources) == 1:
        return run(graph, (BreadthFirst if target is None else LevelsUpTo)(**values), **options)
    program = (FromSeveral if target is None else FromSeveralUpTo)(**values)
    return run(graph, program, columns={"others": dict.fromkeys(sources[1:], True)}, **options)
