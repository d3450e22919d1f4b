"""Weakly connected components."""

from __future__ import annotations

from dgraph.engines.local_methods.contraction import ContractionMethod
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import MIN, UNREACHED
from dgraph.programs.program import Result, State, VertexProgram, vertex
from dgraph.runs.continuation import go_on
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.components import components


class Components(VertexProgram):
    """Every vertex sends on the smallest vertex that it has received."""

    operation = "wcc"
    smallest = State(vertex, start=UNREACHED)
    merge = MIN
    along = "both"
    solver = Solver(components, ("out", "incoming"), ContractionMethod(), enough=("out",))

    def seed(id):
        return id

    def send(smallest):
        return smallest

    def apply(smallest, message):
        return min(smallest, message)

    @Result(vertex)
    def component(smallest):
        return smallest


@operation
def wcc(
    graph: Graph,
    *,
    previous: RunResult | None = None,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Weakly connected components: sets of vertices connected by paths when edge directions are ignored.

    Parameters
    ----------
    graph : Graph
        The graph.
    previous : RunResult, optional
        An earlier result of ``wcc`` for a graph that `Graph.updated` has made this one from. The answer is the same;
        only what changed is computed, if it is known. The report says so, or why the whole was computed.
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
        One row per vertex: ``vertex``, ``component``, which is the smallest vertex of the component.

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
    >>> G = dg.Graph.from_edges({"src": ["a", "c", "d"], "dst": ["b", "b", "e"]})
    >>> dg.wcc(G).compute()
      vertex component
    0      a         a
    1      b         a
    2      c         a
    3      d         d
    4      e         d
    """
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    program, call = Components(), OperationCall.of(graph, "wcc", {})
    done, why = go_on(graph, call, previous, program, options)
    return done or call.answered_by(execute(graph, program, options), why)
