"""Shortest paths from one vertex, from the nearest of several, or from each of them: by frontier relaxation in rounds
(Bellman 1958, Ford 1956); where the graph is one partition, by delta-stepping (`solvers/paths/shortest_paths.py`)."""

from __future__ import annotations

from typing import Any

from numpy import float64, inf, int64

from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.ops.bellman_ford import bellman_ford_paths
from dgraph.ops.bfs import bfs
from dgraph.ops.shortest_path_tree import nearer_after, tree_after
from dgraph.ops.weights import bounds
from dgraph.options import AUTO, check_flag, refuse_columns, vertex_list
from dgraph.plan import LOCAL, UNCOUNTED, refuse_uncounted
from dgraph.programs.monoid import MIN, SUM, UNREACHED
from dgraph.programs.program import Global, Parameter, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.choice import local_method_for
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_keywords import RunKeywords
from dgraph.solvers.paths.shortest_paths import from_each, settle, shortest_path_tree, shortest_paths
from dgraph.solvers.solver import SettlementMethod, Solver


class ShortestPaths(VertexProgram):
    """Distances from the nearest vertex that is a `source`; edge weights are not negative."""

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


class WithTree(ShortestPaths):
    """Predecessors, too, which only the solver finds: the smallest of those from which a path comes in strictly nearer.
    `unresolved` is how many vertices need an edge of length 0, and have none."""

    parent = State(int64, start=UNREACHED)
    solver = Solver(shortest_path_tree, local_method=SettlementMethod(settle, beside="parent"))

    def apply(dist, parent, message):
        return min(dist, message), parent

    @Global(int64, SUM)
    def unresolved(dist, parent, source):
        return 1 if dist < inf and parent == UNREACHED and not (source and dist == 0) else 0

    @Result(vertex)
    def predecessor(parent):
        return parent


class DistancesUpTo(ShortestPaths):
    """Vertices farther than `target` are not reached, and need not be looked at once the target's distance is known."""

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


class WithTreeUpTo(DistancesUpTo, WithTree):
    """Predecessors, too, of vertices that are not farther than `target`."""

    solver = Solver(shortest_path_tree, local_method=SettlementMethod(settle, beside="parent", bound="bound"))

    def apply(dist, parent, message, bound):
        return (min(dist, message) if message <= bound else dist), parent

    @Global(int64, SUM)
    def unresolved(dist, parent, source, bound):
        return 1 if dist <= bound and dist < inf and parent == UNREACHED and not (source and dist == 0) else 0

    @Result(vertex)
    def predecessor(dist, parent, bound):
        return parent if dist <= bound else UNREACHED


class Hops(ShortestPaths):
    """Every edge is of length 1."""

    solver = Solver(shortest_paths, orders=("out", "incoming"), local_method=SettlementMethod(settle))

    def send(dist):
        return dist + 1


class HopsUpTo(DistancesUpTo):
    """Every edge is of length 1."""

    solver = Solver(shortest_paths, orders=("out", "incoming"), local_method=SettlementMethod(settle, bound="bound"))

    def send(dist):
        return dist + 1


class FromEach(VertexProgram):
    """Distances from each of several sources (multi-source Bellman-Ford of GX-Plug): the same functions on vectors."""

    operation = "sssp"
    dist = State(float64, start=inf, shape="sources")
    merge = MIN
    sources = Parameter(vertex, shape=...)
    solver = Solver(from_each, looks=64)

    def seed(id, sources):
        return 0.0 if id == sources else inf

    send, apply, distance = ShortestPaths.send, ShortestPaths.apply, ShortestPaths.distance


class HopsFromEach(FromEach):
    """Every edge is of length 1."""

    solver = Solver(from_each, orders=("out", "incoming"), looks=64)

    def send(dist):
        return dist + 1


@operation
def sssp(
    graph: Graph,
    source: Any,
    *,
    target: Any = None,
    predecessors: bool = True,
    per_source: bool = False,
    **options: Any,
) -> RunResult:
    """Shortest paths: the columns `distance` (inf where there is no path) and `predecessor` (of several, the smallest;
    missing for sources and for vertices without a path).

    source:       a vertex, or a list of vertices: then paths begin at the nearest.
    target:       the search ends once the distance of this vertex is known. All vertices that are not farther are
                  answered as ever; the others count as not reached. It is not for negative weights.
    predecessors: False leaves out that column, and the time that it takes; with negative weights it is always there.
    per_source:   True tells the distances from each source, as a vector for each vertex, and no predecessors.

    In a graph without weights every edge is of length 1. Where a weight is negative distances are found by Bellman and
    Ford's method, and predecessors are those on paths of the fewest edges; a negative cycle that can be reached is a
    WeightError. Other options are those of `dgraph.run`.
    """
    sources = vertex_list("source", source)
    refuse_columns(options, "name the vertices where paths begin as the source")
    predecessors, per_source = check_flag("predecessors", predecessors), check_flag("per_source", per_source)
    weighted = graph.weight is not None
    lowest = 1.0 if graph.weight is None else bounds(graph)[0]
    if target is not None and (per_source or lowest < 0):
        why = "per_source=True" if per_source else f"the weight {lowest:g} below zero"
        raise OptionError(f"target={target!r} cannot be had with {why}: leave it out")
    if target is not None and (engine := options.get("engine", AUTO)) in UNCOUNTED:
        refuse_uncounted(engine, f"without common rounds no run ends at target={target!r}")
    if per_source:
        if lowest < 0:
            raise OptionError(f"per_source=True cannot be had with the weight {lowest:g}: ask for one source at a time")
        return run(graph, (FromEach if weighted else HopsFromEach)(sources=sources), **options)
    given: dict[str, Any] = {"source": dict.fromkeys(sources, True)}
    if lowest < 0:
        return bellman_ford_paths(graph, given, options)
    if predecessors and not weighted:
        return bfs(graph, sources, target=target, **options)
    asked, tree = RunKeywords(**options), WithTree() if target is None else WithTreeUpTo(target=target)
    if predecessors and asked.uses_solver(graph, tree):
        return run(graph, tree, columns=given, **{**options, "engine": LOCAL})
    if target is None:
        plain = ShortestPaths() if weighted else Hops()
    else:
        plain = (DistancesUpTo if weighted else HopsUpTo)(target=target)
    with_tree = predecessors and local_method_for(graph, tree, asked) is not None
    paths = run(graph, tree if with_tree else plain, columns=given, **options)
    if not predecessors:
        return paths
    given = {**given, "known": paths.column("distance")}  # the run before may be made again, from what it was given
    nearer = paths if with_tree else nearer_after(paths, graph, given, options)
    if not nearer.totals.pop("unresolved", 0):  # who has gathered all on one worker has resolved all
        return nearer
    return tree_after(paths, graph, {"before": nearer.column("predecessor"), **given}, options)
