"""Core numbers, by peeling, or in rounds by h-indices (Lü, Zhou, Zhang, Stanley, 2016)."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from numpy import int64

from dgraph.building.input_edges import EdgeRules
from dgraph.engines.local_methods.peeling import PeelingMethod
from dgraph.graph import Graph
from dgraph.options import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import H_INDEX
from dgraph.programs.program import State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.plan import uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.cores import core_numbers

_simple: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()


class CoreNumber(VertexProgram):
    """On a simple graph: repeat taking the largest h such that at least h neighbours have a value of at least h."""

    operation = "core_number"
    kind = "synchronous"
    solver = Solver(core_numbers, ("out", "incoming"), PeelingMethod("core"), reads_per_edge=2)
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
        If an option has a value that is not allowed, or the engine cannot run this operation.
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
    program = CoreNumber()
    return execute(graph_for_peeling(graph, program, options), program, options)


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
    return _simple[graph]
