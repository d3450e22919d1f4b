"""Strongly connected components."""

from __future__ import annotations

from numpy import int64

from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.wcc import Components
from dgraph.programs.monoid import MIN, NONE, SUM, UNREACHED
from dgraph.programs.program import Global, Phase, Result, State, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.solver import Solver
from dgraph.solvers.subgraphs.strong_components import strong_components


class StrongComponents(VertexProgram):
    """Divide the vertices into ever smaller parts, beginning with one part.

    In its part, each vertex finds its smallest ancestor (a path leads from it) and its smallest descendant (a path
    leads to it). Vertices of one component find the same two. If the two are the same vertex, all that found it are its
    component; all others form smaller parts, one for each pair of ancestor and descendant.
    """

    operation = "scc"
    kind = "synchronous"
    merge = MIN
    ancestor = State(vertex)
    descendant = State(vertex)
    above = State(vertex)  # above and below: the ancestor and descendant that identify the vertex's part
    below = State(vertex)
    moved = State(bool)  # whether this turn found something new
    solver = Solver(strong_components, ("out", "incoming"), reads_per_edge=4)

    def start(id):
        return id, id, NONE, NONE, True

    class Forward(Phase):
        along = "out"

        def send(ancestor, above, below, target_above, target_below):
            return ancestor if above == target_above and below == target_below else UNREACHED

        def apply(id, ancestor, descendant, above, below, message, news):
            if news > 0:
                return min(ancestor, message), descendant, above, below, message < ancestor
            if ancestor == descendant:
                return ancestor, descendant, ancestor, descendant, False
            return id, id, ancestor, descendant, True

    class Backward(Phase):
        along = "in"

        def send(descendant, above, below, target_above, target_below):
            return descendant if above == target_above and below == target_below else UNREACHED

        def apply(ancestor, descendant, above, below, moved, message):
            return ancestor, min(descendant, message), above, below, moved or message < descendant

    @Global(int64, SUM)
    def news(moved):
        return 1 if moved else 0

    @Global(int64, SUM)
    def unsure(ancestor, descendant):
        return 0 if ancestor == descendant else 1

    def stop(news, unsure):
        return news == 0 and unsure == 0

    @Result(vertex)
    def component(ancestor):
        return ancestor


@operation
def scc(
    graph: Graph,
    *,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Strongly connected components: vertices joined by paths in both directions.

    In an undirected graph they are the weakly connected components (see `wcc`).

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
        One row per vertex: ``vertex``, ``component``, which is the smallest vertex of the component.

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
    >>> dg.scc(G).compute()
       vertex  component
    0       0          0
    1       1          0
    2       2          0
    3       3          3
    """
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    return execute(graph, StrongComponents() if graph.directed else Components(), options)
