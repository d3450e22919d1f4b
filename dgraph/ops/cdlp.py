"""Community detection by synchronous label propagation (Raghavan, Albert, Kumara, 2007), as in LDBC Graphalytics."""

from __future__ import annotations

import numpy as np
from numpy import int64

from dgraph.arguments import check_integer
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import MOST_FREQUENT, NONE
from dgraph.programs.program import Parameter, State, VertexProgram, vertex
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.label_propagation import spread
from dgraph.solvers.solver import Problem, Solution, Solver


def _solve(problem: Problem) -> Solution:
    labels = np.arange(problem.vertices, dtype=np.uint32)
    rounds, _, edges = spread(problem, labels)
    return Solution({"label": labels.astype(np.int64)}, rounds, edges)


class CommunityDetection(VertexProgram):
    """In each round, every vertex takes the most frequent label among its neighbours; ties go to the smallest."""

    operation = "cdlp"
    kind = "synchronous"
    label = State(vertex)
    merge = MOST_FREQUENT
    along = "both"
    max_iter = Parameter(int64, 10)
    solver = Solver(_solve, orders=("out", "incoming"), reads_per_edge=8)

    def start(id):
        return id

    def send(label):
        return label

    def apply(label, message):
        return label if message == NONE else message

    def stop(round, max_iter):
        return round >= max_iter


@operation
def cdlp(
    graph: Graph,
    *,
    max_iter: int = 10,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Communities by synchronous label propagation, as LDBC Graphalytics defines it.

    Parameters
    ----------
    graph : Graph
        The graph to divide into communities.
    max_iter : int, default 10
        Maximum number of iterations; exactly this many are run.
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
        One row per vertex: ``vertex``, ``label``. Labels are vertices; vertices with the same label form a community.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    DeviceError
        If the requested device is not available.
    RoomError
        If there is not enough memory, on the workers or in this process.

    See Also
    --------
    label_propagation : Runs until the labels are stable.

    Notes
    -----
    All vertices change their labels at the same time. In- and out-neighbours both vote, once per edge, and ties go to
    the smallest label. (GraphX and GX-Plug do the same, but leave ties open.) Vertices may swap labels forever.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 3, 4, 5], "dst": [1, 2, 0, 4, 5, 3]})
    >>> dg.cdlp(G, max_iter=5).compute()["label"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    return execute(graph, CommunityDetection(max_iter=check_integer("max_iter", max_iter)), options)
