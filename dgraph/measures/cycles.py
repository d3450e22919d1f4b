"""Cycles: whether a graph has any, and the vertices of one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dgraph.arguments import known_options
from dgraph.graph import Graph
from dgraph.ops.k_core import KCore
from dgraph.ops.topological_generations import cycle_behind, generations_of, ids_of, inner_neighbours
from dgraph.programs.monoid import OR
from dgraph.programs.program import State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.run_options import RunOptions


@known_options(runs=True)
def is_dag(graph: Graph) -> bool:
    """Whether the graph is directed and has no cycle.

    A self loop is a cycle. The answer for an undirected graph is False, as in NetworkX.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    bool

    Raises
    ------
    RoomError
        If there is not enough memory, on the workers or in this process.

    See Also
    --------
    topological_generations : An order of the vertices of such a graph.

    Notes
    -----
    It runs where the edges are, as `topological_generations` does.

    Examples
    --------
    >>> dg.is_dag(dg.Graph.from_edges({"src": ["a", "a", "b"], "dst": ["b", "c", "c"]}))
    True
    """
    return graph.directed and not generations_of(graph, RunOptions()).totals["unplaced"]


@known_options(runs=True)
def find_cycle(graph: Graph) -> list[Any]:
    """Find the vertices of a cycle, in the order of its edges.

    Each vertex of the list has an edge to the next one, and the last one to the first. Edges are followed in their
    direction; in an undirected graph, a cycle uses no edge twice.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    list
        Ids of vertices: one if the cycle is a self loop, two if it goes there and back. Empty if there is no cycle.

    Raises
    ------
    RoomError
        If there is not enough memory, on the workers or in this process.

    See Also
    --------
    scc : Finds all vertices on cycles of a directed graph.

    Notes
    -----
    Vertices without edges to go on by are removed where the edges are, in rounds, of which a long path needs many. The
    cycle is then followed in this process, which fetches up to four numbers for each vertex of the graph. The same
    graph always gives the same cycle, which need not be the shortest one.

    Examples
    --------
    >>> dg.find_cycle(dg.Graph.from_edges({"src": ["a", "b", "c", "c"], "dst": ["b", "c", "a", "d"]}))
    ['a', 'b', 'c']
    """
    if graph.directed:
        result = generations_of(graph, RunOptions())
        return ids_of(graph, cycle_behind(graph, result)) if result.totals["unplaced"] else []
    return ids_of(graph, _undirected_cycle(graph))


class LoopSearch(VertexProgram):
    """Whether each vertex has a self loop."""

    kind = "synchronous"
    has_loop = State(bool)
    merge = OR

    def send(id, target_id):
        return id == target_id

    def apply(message):
        return message

    def stop(round):
        return round >= 1


class CoreOfRepeats(KCore):
    """The vertices that remain if those with fewer than k edges are removed, again and again; repeated edges count."""

    solver: ClassVar[Any] = None  # that of cores ignores repeated edges


def _undirected_cycle(graph: Graph) -> np.ndarray:
    """The numbers of the vertices of a cycle: a loop, or the first that a walk runs into which never leaves a vertex by
    the edge by which it came. It stays among the vertices that pruning leaves, which have another edge."""
    loops = np.flatnonzero(execute(graph, LoopSearch(), RunOptions()).by_number("has_loop"))
    if len(loops):
        return loops[:1]
    left = execute(graph, CoreOfRepeats(k=2), RunOptions()).by_number("in_core")
    if not left.any():
        return loops
    neighbours = inner_neighbours(graph, left)
    smallest, largest = neighbours["smallest"], neighbours["largest"]
    before, at = -1, int(left.argmax())
    path: list[int] = []
    places: dict[int, int] = {}
    while at not in places:
        places[at] = len(path)
        path.append(at)
        other = smallest[at] if smallest[at] != before else largest[at]
        before, at = at, int(other)
    return np.array(path[places[at] :])
