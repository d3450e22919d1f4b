"""Breadth-first search from one or several sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import float64, inf, int64

from dgraph.arguments import check_integer, vertex_list
from dgraph.engines.local_methods.settlement import SettlementMethod
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import MIN, NONE, UNREACHED
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.continuation import go_on, refuse_with
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.paths.breadth_first import SearchGoal, search
from dgraph.solvers.paths.local_levels import settle
from dgraph.solvers.solver import Problem, Solution, Solver


def _solve(problem: Problem) -> Solution:
    values, target = problem.values, problem.values.get("target", NONE)
    sources = np.array([values["source"]], np.int64)
    if "others" in problem.columns:
        sources = np.union1d(sources, np.flatnonzero(problem.columns["others"]))
    solved = search(problem, sources, SearchGoal(values["depth_limit"], target))
    if target == NONE:
        return solved
    level = solved.values["distance"][target]
    return replace(solved, totals={"horizon": int(level) if level < inf else UNREACHED})


class Levels:
    """The base of programs that search level by level.

    A message holds a level, and sender + 1 in its last `bits` bits, so that the smallest message also names the
    smallest sender.
    """

    level = State(int64, start=UNREACHED)
    parent = State(int64, start=NONE)
    bits = Parameter(int64, 32)  # enough for the number of vertices
    message = Message(int64, MIN)

    def apply(level, parent, message, bits):
        found = message >> bits
        sender = message - (found << bits) - 1
        if message != UNREACHED and (found < level or (found == level and sender < parent)):
            return found, sender
        return level, parent


class BreadthFirst(Levels, VertexProgram):
    """Breadth-first search from the vertex `source`, and from every vertex for which `others` is true."""

    operation = "bfs"
    source = Parameter(vertex)
    others = VertexColumn(bool, missing=False)
    depth_limit = Parameter(int64, UNREACHED)
    solver = Solver(_solve, ("out", "incoming"), SettlementMethod(settle))

    def seed(id, source, others):
        return 0 if id == source or others else UNREACHED

    def send(level, id, depth_limit, bits):
        return ((level + 1) << bits) + id + 1 if level < depth_limit else UNREACHED

    @Result(float64)
    def distance(level):
        return inf if level == UNREACHED else level

    @Result(vertex)
    def predecessor(parent):
        return parent


class LevelsUpTo(BreadthFirst):
    """Breadth-first search that leaves out vertices farther away than `target`, once the target's level is known."""

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


@operation
def bfs(
    graph: Graph,
    source: Any,
    *,
    target: Any = None,
    depth_limit: int | None = None,
    previous: RunResult | None = None,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Breadth-first search: distances in edges from one vertex, or from the nearest of several.

    Parameters
    ----------
    graph : Graph
        The graph to search.
    source : vertex or list of vertices
        Where paths start. With several sources, each vertex gets its distance from the nearest one.
    target : vertex, optional
        Stop once the distance of this vertex is known. Vertices that are not farther away get their usual values; the
        others count as unreached.
    depth_limit : int, optional
        Vertices farther away than this count as unreached.
    previous : RunResult, optional
        An earlier result of ``bfs``, with the same arguments, for a graph that `Graph.updated` has made this one from.
        The answer is the same; only what changed is computed, if it is known. The report says so, or why the whole was
        computed. Not available with `target`.
    engine : str, Gas, Bsp, BulkAsync or BlockDescent, default "auto"
        The order in which vertices fire; see `dgraph.run`.
    device : {"auto", "cpu", "cuda"} or Cuda, default "auto"
        Where kernels run; see `dgraph.run`. GPUs are experimental.
    daemons : str, list, mapping or Daemons, optional
        Devices or processes that compute in place of the worker; see `dgraph.Daemons`.
    checkpoint : path, URL or Checkpoint, optional
        Where to save the run, and where to resume it from; see `dgraph.run`.
    progress : bool or callable, optional
        Whether to show progress, or a function that receives a dict of counts.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``distance`` (infinite if unreached) and ``predecessor`` (the smallest one if
        there are several; missing for sources and unreached vertices).

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, the engine cannot run this operation, or `previous` is a result of
        another operation, with other arguments, or for another graph.
    IdError
        If `source` or `target` names a vertex that is not in the graph.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1, 2, 4], "dst": [1, 2, 3, 3, 0]})
    >>> dg.bfs(G, 0).compute()
       vertex  distance  predecessor
    0       0       0.0         <NA>
    1       1       1.0            0
    2       2       1.0            0
    3       3       2.0            1
    4       4       inf         <NA>
    """
    sources = vertex_list("source", source)
    values = {"source": sources[0], "bits": graph.num_vertices.bit_length()}
    if check_integer("depth_limit", depth_limit, 0, or_none=True) is not None:
        values["depth_limit"] = depth_limit
    program = BreadthFirst(**values) if target is None else LevelsUpTo(target=target, **values)
    columns = {"others": dict.fromkeys(sources[1:], True)} if sources[1:] else None  # an empty column would cost a task
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    if target is not None:
        refuse_with("target", target, previous)
        return execute(graph, program, options, columns)
    call = OperationCall.of(graph, "bfs", {"source": frozenset(sources), "depth_limit": depth_limit})
    done, why = go_on(graph, call, previous, program, options)
    return done or call.answered_by(execute(graph, program, options, columns), why)
