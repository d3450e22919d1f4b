"""A random maximal matching of a bipartite graph, in turns of three phases: request, grant, accept.

Anderson, Owicki, Saxe, Thacker: High-speed switch scheduling for local-area networks, ACM TOCS 11, 1993; as a vertex
program in Malewicz et al.: Pregel, SIGMOD 2010, and in Falcon.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy import int64

from dgraph.arguments import vertex_list
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, InputError
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.partition import placement
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.programs.monoid import CHOOSE, NONE, SUM
from dgraph.programs.program import Global, Phase, Result, State, VertexColumn, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.vertex_columns import vertex_table
from dgraph.solvers.matching import match
from dgraph.solvers.solver import Problem, Solution, Solver

BLOCK = 1 << 20  # the number of edges whose sides are checked together
_sources: WeakKeyDictionary[Graph, np.ndarray] = WeakKeyDictionary()


def _solve(problem: Problem) -> Solution:
    mate, turns, edges = match(problem, problem.columns["left"], problem.values["random_seed"])
    return Solution({"mate": mate}, 3 * turns, edges, {"asked": 0})


class Matching(VertexProgram):
    """In each turn, left vertices without a mate ask all their neighbours; each right vertex without a mate picks one
    vertex that asked, at random; each left vertex accepts one that picked it, at random."""

    operation = "matching"
    kind = "synchronous"
    along = "both"
    merge = CHOOSE
    partner = State(vertex, start=NONE)
    choice = State(vertex, start=NONE)  # among the vertices that ask in this turn
    left = VertexColumn(bool)
    solver = Solver(_solve, orders=("out", "incoming"), reads_per_edge=8)

    class Request(Phase):
        def send(id, partner, left):
            return id if left and partner == NONE else NONE

        def apply(partner, message):
            return partner, message if partner == NONE else NONE

    class Grant(Phase):
        def send(id, choice, target_id):
            return id if choice == target_id else NONE

        def apply(partner, choice, message):
            return (partner if message == NONE else message), choice

    class Accept(Phase):
        def send(id, partner, target_id):
            return id if partner == target_id else NONE

        def apply(partner, choice, message):
            return (partner if message == NONE else message), choice

    @Global(int64, SUM)
    def asked(choice):
        return 0 if choice == NONE else 1

    def stop(asked):
        return asked == 0

    @Result(vertex)
    def mate(partner):
        return partner


@operation
def matching(
    graph: Graph,
    *,
    left: Any = None,
    random_seed: int = 0,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Random maximal matching of a bipartite graph.

    Maximal means that no edge joins two unmatched vertices, so there are at least half as many pairs as in the largest
    matching. Directions and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The bipartite graph: every edge must join a vertex on the left to one on the right.
    left : list of vertices or str, optional
        The vertices on the left, or the name of a vertex column that is true for them. By default, the sources of the
        edges as listed.
    random_seed : int, default 0
        Seed of the random number generator. Choices depend only on this seed, the round and the vertex.
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
        One row per vertex: ``vertex``, ``mate``, which is missing for unmatched vertices.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    InputError
        If an edge joins two vertices on the same side.
    ColumnError
        If `left` names a vertex column that does not exist.
    IdError
        If `left` lists a vertex that is not in the graph.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["ann", "bob"], "dst": ["tea", "milk"]})
    >>> dg.matching(G).compute()
      vertex  mate
    0    ann   tea
    1    bob  milk
    2   milk   bob
    3    tea   ann
    """
    options = RunOptions(
        engine=engine,
        device=device,
        daemons=daemons,
        checkpoint=checkpoint,
        progress=progress,
        random_seed=random_seed,
    )
    return execute(graph, Matching(), options, {"left": _sides(graph, left)})


@retry_on_loss
def _sides(graph: Graph, left: Any) -> np.ndarray:
    """Whether each vertex, by number, is on the left. Without `left`, the result is cached with the graph."""
    if left is None and graph in _sources:
        return _sources[graph]
    workers, skips = graph.workers, graph.input_edges.rules.skip_loops
    chunks = graph.input_edges.by_number()
    if left is None:
        asked: dict[str, Any] = {"out": True, "into": False, "mirror": False, "skip_loops": skips}
        tasks = [workers.call(placement.degrees, chunk, graph.num_vertices, **asked) for chunk in chunks]
        (degrees,) = workers.get([workers.call(placement.sum_degrees, [workers.reduce(placement.sum_degrees, tasks)])])
        is_left = degrees.out > 0
    else:
        is_left = _named(graph, left)
    (shared,) = workers.send([is_left])
    for edge in workers.get([workers.call(_within_a_side, chunk, shared, skips) for chunk in chunks]):
        if edge is not None:
            u, v = np.asarray(graph.numbering.restored(edge)).tolist()
            if left is not None:
                side = "left" if is_left[edge[0]] else "right"
                raise InputError(
                    f"the edge from {u!r} to {v!r} joins two vertices on the {side}: left= must list one side of a "
                    "bipartite graph"
                )
            raise InputError(
                f"vertex {v!r} is the destination of the edge from {u!r} and the source of another: edges do not "
                "lead from one side of a bipartite graph to the other. If it has two sides, list one with left="
            )
    if left is None:
        _sources[graph] = is_left
    return is_left


def _named(graph: Graph, left: str | Iterable[Any]) -> np.ndarray:
    if isinstance(left, str):
        if left not in graph.vertices.columns:
            raise ColumnError(f"left={left!r}: there is no such vertex column; give a column, or a list of ids")
        column = vertex_table(graph, [left])[left]
        known, is_left = column.notna().to_numpy(bool), np.zeros(len(column), bool)
        is_left[known] = column[known].eq(True).to_numpy(bool)
        return is_left
    is_left = np.zeros(graph.num_vertices, bool)
    is_left[np.array([graph.numbering.find(vertex) for vertex in vertex_list("left", left, at_least=0)], np.int64)] = (
        True
    )
    return is_left


def _within_a_side(chunk: NumberedChunk, is_left: np.ndarray, skip_loops: bool) -> np.ndarray | None:
    """The ends of an edge that joins two vertices on the same side, or None."""
    for start in range(0, len(chunk), BLOCK):
        some = chunk[start : start + BLOCK].compact()
        within = is_left[some.sources] == is_left[some.destinations]
        if skip_loops:
            within &= some.sources != some.destinations
        if within.any():
            first = int(within.argmax())
            return np.array([some.sources[first], some.destinations[first]])
    return None
