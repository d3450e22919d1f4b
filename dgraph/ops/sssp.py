"""Shortest paths from one vertex, from the nearest of several, or from each of them.

Rounds relax frontiers (Bellman 1958, Ford 1956); on one partition, the solver uses delta-stepping
(`solvers/paths/shortest_paths.py`). Predecessors may take runs of their own, after the distances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy import float64, inf, int64

from dgraph.arguments import check_flag, vertex_list
from dgraph.building.weights import bounds, lowest_weight
from dgraph.engines.local_methods.settlement import SettlementMethod
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.keywords import HOW, CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.bfs import bfs
from dgraph.ops.negative_weights import reported, tree_after, with_negative_weights
from dgraph.programs.monoid import MIN, SUM, UNREACHED
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.continuation import go_on, refuse_with
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.plan import WITHOUT_COMMON_ROUNDS, local_method_for, refuse_without_common_rounds, uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import LOCAL, RunOptions
from dgraph.solvers.paths.shortest_paths import (
    from_each,
    settle,
    shortest_path_tree,
    shortest_paths,
)
from dgraph.solvers.solver import Solver


class ShortestPaths(VertexProgram):
    """Distances from the nearest vertex for which `source` is true; weights must be non-negative."""

    operation = "sssp"
    dist = State(float64, start=inf)
    merge = MIN
    source = VertexColumn(bool)
    solver = Solver(shortest_paths, local_method=SettlementMethod(settle))

    def seed(source):
        return 0.0 if source else inf

    def send(dist, weight):
        return dist + weight

    def apply(dist, message):
        return min(dist, message)

    @Result(float64)
    def distance(dist):
        return dist


class WithPredecessors(ShortestPaths):
    """Distances and, from the solver only, predecessors: the smallest on a shortest path that is strictly nearer.
    `unresolved` counts the vertices without one, which are reached only along edges of length 0."""

    parent = State(int64, start=UNREACHED)
    solver = Solver(shortest_path_tree, local_method=SettlementMethod(settle, companion="parent"))

    def apply(dist, parent, message):
        return min(dist, message), parent

    @Global(int64, SUM)
    def unresolved(dist, parent, source):
        return 1 if dist < inf and parent == UNREACHED and not (source and dist == 0) else 0

    @Result(vertex)
    def predecessor(parent):
        return parent


class DistancesUpTo(ShortestPaths):
    """Distances of vertices not farther away than `target`; others are skipped once its distance is known."""

    target = Parameter(vertex)
    solver = Solver(shortest_paths, local_method=SettlementMethod(settle, bound="bound"))

    @Global(float64, MIN)
    def bound(dist, id, target):
        return dist if id == target else inf

    def apply(dist, message, bound):
        return min(dist, message) if message <= bound else dist

    @Result(float64)
    def distance(dist, bound):
        return dist if dist <= bound else inf


class WithPredecessorsUpTo(DistancesUpTo, WithPredecessors):
    """Distances and predecessors of vertices that are not farther away than `target`."""

    solver = Solver(shortest_path_tree, local_method=SettlementMethod(settle, companion="parent", bound="bound"))

    def apply(dist, parent, message, bound):
        return (min(dist, message) if message <= bound else dist), parent

    @Global(int64, SUM)
    def unresolved(dist, parent, source, bound):
        return 1 if dist <= bound and dist < inf and parent == UNREACHED and not (source and dist == 0) else 0

    @Result(vertex)
    def predecessor(dist, parent, bound):
        return parent if dist <= bound else UNREACHED


class Hops(ShortestPaths):
    """The same, with edges of length 1."""

    solver = Solver(shortest_paths, orders=("out", "incoming"), local_method=SettlementMethod(settle))

    def send(dist):
        return dist + 1


class HopsUpTo(DistancesUpTo):
    """The same, with edges of length 1."""

    solver = Solver(shortest_paths, orders=("out", "incoming"), local_method=SettlementMethod(settle, bound="bound"))

    def send(dist):
        return dist + 1


class FromEach(VertexProgram):
    """Distances from each of several sources, as vectors (the multi-source Bellman-Ford of GX-Plug)."""

    operation = "sssp"
    dist = State(float64, start=inf, shape="sources")
    merge = MIN
    sources = Parameter(vertex, shape=...)
    solver = Solver(from_each, reads_per_edge=64)

    def seed(id, sources):
        return 0.0 if id == sources else inf

    send, apply, distance = ShortestPaths.send, ShortestPaths.apply, ShortestPaths.distance


class HopsFromEach(FromEach):
    """The same, with edges of length 1."""

    solver = Solver(from_each, orders=("out", "incoming"), reads_per_edge=64)

    def send(dist):
        return dist + 1


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


@operation
def sssp(
    graph: Graph,
    source: Any,
    *,
    target: Any = None,
    predecessors: bool = True,
    per_source: bool = False,
    previous: RunResult | None = None,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Shortest paths by weight from one vertex, from the nearest of several, or from each of them.

    Parameters
    ----------
    graph : Graph
        The graph to search.
    source : vertex or list of vertices
        Where paths start. With several sources, each vertex gets its distance from the nearest one.
    target : vertex, optional
        Stop once the distance of this vertex is known. Vertices that are not farther away get their usual values; the
        others count as unreached. Not available with negative weights.
    predecessors : bool, default True
        Whether to find predecessors too, which takes time. With negative weights they are always found.
    per_source : bool, default False
        Return the distances from each source as one vector per vertex, without predecessors.
    previous : RunResult, optional
        An earlier result of ``sssp``, with the same arguments, for a graph that `Graph.updated` has made this one from.
        The answer is the same; only what changed is computed, if it is known, and weights are > 0. The report says so,
        or why the whole was computed. Not available with `target`, `per_source` or without predecessors.
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
    WeightError
        If a source reaches a cycle of negative weight.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    Without weights, every edge has length 1; if the graph has other numeric edge columns, a warning names them, unless
    it was made with ``weight=None``. If a weight is negative, the Bellman-Ford method is used, and predecessors are
    those on the shortest paths with the fewest edges; if a source reaches a negative cycle, a `WeightError` is raised.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 2, 2], "km": [2.0, 9.0, 3.0]}, weight="km")
    >>> dg.sssp(G, 0).compute()
       vertex  distance  predecessor
    0       0       0.0         <NA>
    1       1       2.0            0
    2       2       5.0            1
    """
    sources = vertex_list("source", source)
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    predecessors, per_source = check_flag("predecessors", predecessors), check_flag("per_source", per_source)
    weighted = graph.weight is not None
    if not weighted:
        graph.input_edges.edges.warn_without_weight("sssp")
    whole = target is None and predecessors and not per_source
    if not whole:
        option = "target" if target is not None else "per_source" if per_source else "predecessors"
        refuse_with(option, {"target": target, "per_source": True, "predecessors": False}[option], previous)
    elif weighted:
        call = OperationCall.of(graph, "sssp", {"source": frozenset(sources), "weight": graph.weight})
        done, why = go_on(graph, call, previous, WithPredecessors(), options)
        if done is not None:
            return done
        answer = _search(graph, sources, None, True, False, options)
        return replace(call, lowest=lowest_weight(graph)).answered_by(answer, why)
    else:
        how = {name: getattr(options, name) for name in HOW}
        return bfs(graph, sources, previous=previous, **how)
    return _search(graph, sources, target, predecessors, per_source, options)


def _search(
    graph: Graph, sources: list[Any], target: Any, predecessors: bool, per_source: bool, options: RunOptions
) -> RunResult:
    """The whole answer."""
    weighted = graph.weight is not None
    lowest = 1.0 if graph.weight is None else bounds(graph)[0]
    if target is not None and (per_source or lowest < 0):
        why = "per_source=True" if per_source else f"negative weights such as {lowest:g}"
        raise OptionError(f"target={target!r} is not available with {why}: leave it out")
    if target is not None and options.engine_name in WITHOUT_COMMON_ROUNDS:
        refuse_without_common_rounds(
            options.engine_name, f"an engine that does not run in rounds cannot stop at target={target!r}"
        )
    if per_source:
        if lowest < 0:
            raise OptionError(
                f"per_source=True is not available with negative weights such as {lowest:g}: pass one source at a time"
            )
        return execute(graph, (FromEach if weighted else HopsFromEach)(sources=sources), options)
    columns: dict[str, Any] = {"source": dict.fromkeys(sources, True)}
    if lowest < 0:
        return with_negative_weights(graph, columns, options)
    if predecessors and not weighted:
        return bfs(graph, sources, target=target, **{name: getattr(options, name) for name in HOW})
    tree = WithPredecessors() if target is None else WithPredecessorsUpTo(target=target)
    if predecessors and uses_solver(graph, tree, options):
        return execute(graph, tree, replace(options, engine=LOCAL), columns)
    if target is None:
        plain = ShortestPaths() if weighted else Hops()
    else:
        plain = (DistancesUpTo if weighted else HopsUpTo)(target=target)
    with_tree = predecessors and local_method_for(graph, tree, options) is not None
    paths = execute(graph, tree if with_tree else plain, options, columns)
    if not predecessors:
        return paths
    columns = {**columns, "known": paths.column("distance")}  # a copy, because `paths` may repeat with its own columns
    nearer = paths if with_tree else _nearer_after(paths, graph, columns, options)
    if not nearer.totals.pop("unresolved", 0):  # missing if all edges were gathered on one worker, which resolves all
        return nearer
    return tree_after(paths, graph, {"before": nearer.column("predecessor"), **columns}, options)


def _nearer_after(paths: RunResult, graph: Graph, columns: dict[str, Any], options: RunOptions) -> RunResult:
    """Predecessors by `NearerPredecessor` after the run `paths`, with the report of that run and the total
    `unresolved`."""
    result = execute(graph, NearerPredecessor(), options.afterwards(), columns)
    unresolved = result.totals["unresolved"]
    result = reported(result.after(paths))
    result.totals = {**paths.totals, "unresolved": unresolved}
    return result
