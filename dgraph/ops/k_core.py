"""The k-core, the largest subgraph in which every vertex has at least k neighbours (Seidman, 1983); and core numbers,
by peeling, or in rounds by h-indices (Lü, Zhou, Zhang, Stanley, 2016)."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy import int64

from dgraph.arguments import check_flag, check_integer
from dgraph.building.input_edges import EdgeRules
from dgraph.engines.local_methods.peeling import PeelingMethod
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import H_INDEX, MAX, SUM
from dgraph.programs.program import Global, Message, Parameter, Result, State, VertexProgram
from dgraph.runs.continuation import go_on
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.plan import uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.cores import core_numbers, core_of, main_core

_simple: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()


class CoreNumber(VertexProgram):
    """On a simple graph: repeat taking the largest h such that at least h neighbours have a value of at least h."""

    operation = "core_number"
    kind = "synchronous"
    solver = Solver(core_numbers, ("out", "incoming"), PeelingMethod(), reads_per_edge=2)
    core = State(int64)
    merge = H_INDEX
    along = "both"

    def start(degree):
        return degree

    def send(core):
        return core

    def apply(core, message):
        return min(core, max(message, 0))


@operation
def core_number(
    graph: Graph,
    *,
    previous: RunResult | None = None,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Core numbers: the largest k for which each vertex belongs to the k-core.

    In the k-core, every vertex has at least k neighbours. Directions, self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.
    previous : RunResult, optional
        An earlier result of ``core_number`` for a graph that `Graph.updated` has made this one from. The answer is the
        same; only what changed is computed, if it is known. The report says so, or why the whole was computed.
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
        One row per vertex: ``vertex``, ``core``.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, the engine cannot run this operation, or `previous` is a result of
        another operation or for another graph.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]})
    >>> dg.core_number(G).compute()
       vertex  core
    0       0     2
    1       1     2
    2       2     2
    3       3     1
    """
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    program, call = CoreNumber(), OperationCall.of(graph, "core_number", {})
    done, why = go_on(graph, call, previous, program, options)
    return done or call.answered_by(execute(graph_for_peeling(graph, program, options), program, options), why)


def graph_for_peeling(graph: Graph, program: VertexProgram, options: RunOptions) -> Graph:
    """The graph to run on. Solvers skip self loops and repeated edges, but programs need a graph without them."""
    return graph if uses_solver(graph, program, options) else simple_graph(graph)


def simple_graph(graph: Graph) -> Graph:
    """The graph without directions, self loops and repeated edges. It is cached as long as the graph lives."""
    rules = EdgeRules(directed=False, loops="drop", repeats="first")
    if graph.input_edges.rules == rules:
        return graph
    if graph not in _simple:
        _simple[graph] = Graph.of(graph.input_edges.anew(rules), graph.asked._replace(parts=graph.num_parts))
        _simple[graph].joins = graph.joins
    return _simple[graph]


class KCore(VertexProgram):
    """A vertex with fewer than k remaining neighbours is removed and tells its neighbours, which count messages."""

    operation = "k_core"
    solver = Solver(core_of, orders=("out", "incoming"))
    removed = State(int64)
    stays = State(bool, start=True)
    message = Message(int64, SUM)
    along = "both"
    k = Parameter(int64)

    def seed(degree, k):
        return k if degree < k else 0

    def send(stays):
        return 0 if stays else 1

    def apply(removed, message, degree, k):
        return removed + message, degree - removed - message >= k

    @Result(bool)
    def in_core(stays):
        return stays


class MainCore(CoreNumber):
    """Which vertices belong to the core of the highest core number."""

    operation = "k_core"
    solver = Solver(main_core, ("out", "incoming"), PeelingMethod(), reads_per_edge=2)

    @Global(int64, MAX)
    def highest(core):
        return core

    @Result(bool)
    def in_core(core, highest):
        return core >= highest


@operation
def k_core(
    graph: Graph,
    k: int | None = None,
    *,
    remove: bool = False,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """The k-core: the largest subgraph in which every vertex has at least k neighbours.

    Directions, self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.
    k : int, optional
        Minimum number of neighbours within the core. By default, the largest k whose core is not empty.
    remove : bool, default False
        List only the vertices in the core.
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
        One row per vertex: ``vertex``, ``in_core``.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]})
    >>> dg.k_core(G, 2).compute()
       vertex  in_core
    0       0     True
    1       1     True
    2       2     True
    3       3    False
    """
    k = check_integer("k", k, 0, or_none=True)
    program = MainCore() if k is None else KCore(k=k)
    remove = check_flag("remove", remove)
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    result = execute(graph_for_peeling(graph, program, options), program, options)
    return result.map(_staying, whole=False) if remove else result


def _staying(numbers: np.ndarray, values: dict[str, np.ndarray]) -> Any:
    """Keep only the vertices in the core."""
    stays = values["in_core"]
    return numbers[stays], {"in_core": stays[stays]}
