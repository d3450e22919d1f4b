"""Topological generations: the length of the longest path that ends at each vertex of a graph without cycles (Kahn,
1962), and what tells whether there are cycles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import int64

from dgraph.errors import InputError
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.degrees import degrees
from dgraph.phrases.phrases import format_count
from dgraph.programs.monoid import MAX, MIN, NONE, SUM, UNREACHED
from dgraph.programs.program import Global, Message, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.generations import UNPLACED, place
from dgraph.solvers.paths.bellman_ford import cycle_of
from dgraph.solvers.solver import Solver

NOTHING = -(2**63)  # no message, under MAX
SHOWN = 20  # the maximum number of vertices of a cycle that an error lists


class TopologicalGenerations(VertexProgram):
    """A vertex has its place once it has heard along all its in-edges, and then tells those that it leads to. Vertices
    on cycles, and all behind them, never have one."""

    operation = "topological_generations"
    in_degree = VertexColumn(int64)
    heard = State(int64)
    longest = State(int64, start=UNPLACED)
    placed = State(bool)
    count = Message(int64, SUM)
    length = Message(int64, MAX)
    solver = Solver(place)

    def seed():  # type: ignore[misc]  # reads nothing
        return 0, 0

    def send(longest, placed):
        return (1 if placed else 0), (longest + 1 if placed else NOTHING)

    def apply(heard, longest, count, length, in_degree):
        now, best = heard + count, max(longest, length)
        return now, best, now == in_degree and best != UNPLACED

    @Global(int64, SUM)
    def unplaced(placed):
        return 0 if placed else 1

    @Result(int64)
    def generation(longest, placed):
        return longest if placed else UNPLACED


class InnerNeighbours(VertexProgram):
    """The smallest and the largest in-neighbour among the vertices that are `inside`."""

    operation = "topological_generations"
    kind = "synchronous"
    smallest = State(vertex, start=NONE)
    largest = State(vertex, start=NONE)
    low = Message(vertex, MIN)
    high = Message(vertex, MAX)
    inside = VertexColumn(bool)

    def send(id, inside):
        return (id if inside else UNREACHED), (id if inside else NOTHING)

    def apply(low, high, inside):
        return (low if inside and low != UNREACHED else NONE), (high if inside and high != NOTHING else NONE)

    def stop(round):
        return round >= 1


@operation
def topological_generations(
    graph: Graph,
    *,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Topological generations of a graph without cycles: every edge leads to a later one.

    The generation of a vertex is the number of edges on the longest path that ends there. Repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        A directed graph without cycles.
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
        One row per vertex: ``vertex``, ``generation``: 0, 1, 2, ... Sorted by generation, the vertices are in a
        topological order.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    InputError
        If the graph is undirected or has a cycle; the error lists the vertices of one.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    See Also
    --------
    is_dag : Whether a graph is directed and has no cycle.
    find_cycle : The vertices of a cycle.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["plan", "plan", "buy"], "dst": ["buy", "build", "build"]})
    >>> dg.topological_generations(G).compute().sort_values("generation")
      vertex  generation
    2   plan           0
    1    buy           1
    0  build           2
    """
    if not graph.directed:
        raise InputError(
            "topological_generations needs a directed graph, because an undirected edge leads both ways: make it with "
            "directed=True"
        )
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    result = generations_of(graph, options)
    if unplaced := result.totals["unplaced"]:
        cycle = cycle_behind(graph, result)
        closed = np.append(cycle, cycle[0])
        shown = " -> ".join([*map(repr, ids_of(graph, closed[:SHOWN])), *(["..."] if len(closed) > SHOWN else [])])
        raise InputError(
            f"the graph has a cycle, {shown}, which leaves {format_count(unplaced, 'vertex')} without a generation. "
            'Remove an edge of each cycle: loops="drop" removes loops, and scc finds the components that have others'
        )
    result.totals = {name: value for name, value in result.totals.items() if name != "unplaced"}
    return result


def generations_of(graph: Graph, options: RunOptions) -> RunResult:
    """The generations; vertices on cycles and behind them have none, and ``totals["unplaced"]`` is their number."""
    return execute(graph, TopologicalGenerations(), options, {"in_degree": degrees(graph).column("in_degree")})


def cycle_behind(graph: Graph, result: RunResult) -> np.ndarray:
    """The numbers of the vertices of a cycle, in the order of its edges, from the vertices without a generation. Each
    has an in-neighbour among them, so whoever goes back along these edges runs into a cycle."""
    return cycle_of(inner_neighbours(graph, result.by_number("generation") == UNPLACED)["smallest"])


def inner_neighbours(graph: Graph, inside: np.ndarray) -> dict[str, np.ndarray]:
    """The smallest and the largest in-neighbour of each vertex inside, among those that are; NONE outside."""
    found = execute(graph, InnerNeighbours(), RunOptions(), {"inside": inside})
    return {name: found.by_number(name) for name in ("smallest", "largest")}


def ids_of(graph: Graph, numbers: np.ndarray) -> list[Any]:
    """The ids of vertices."""
    return np.asarray(graph.numbering.restored(numbers)).tolist()
