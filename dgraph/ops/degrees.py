"""Degrees: the number of edges into and out of each vertex."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy import int64

from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Phase, Result, State, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.solver import Problem, Solution, Solver


def _counted(problem: Problem) -> Solution:
    edges = problem.edges
    out = edges.degrees("out")
    into = edges.degrees("in") if edges.directed else out
    return Solution({"in_degree": into, "out_degree": out}, edges=edges.partition.num_edges)


class Degrees(VertexProgram):
    """Every vertex sends 1 along each of its out-edges, then along each of its in-edges."""

    operation = "degrees"
    kind = "synchronous"
    solver = Solver(_counted)
    into = State(int64)
    out = State(int64)

    class Along(Phase):
        merge = SUM

        def send():  # type: ignore[misc]  # reads nothing
            return 1

        def apply(message, out):
            return message, out

    class Back(Phase):
        merge = SUM
        along = "in"

        def send():  # type: ignore[misc]  # reads nothing
            return 1

        def apply(into, message):
            return into, message

    def stop(round):
        return round >= 2

    @Result(int64)
    def in_degree(into):
        return into

    @Result(int64)
    def out_degree(out):
        return out


@operation
def degrees(
    graph: Graph,
    *,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Number of edges into and out of every vertex.

    Repeated edges all count. A self loop counts once in ``in_degree`` and once in ``out_degree``, so it adds 2 to the
    ``degree`` in a directed graph, and 1 in an undirected graph.

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
        One row per vertex: ``vertex``, ``in_degree``, ``out_degree`` and ``degree``, which is their sum in a directed
        graph. In an undirected graph all three are equal.

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
    >>> G = dg.Graph.from_edges({"src": ["a", "a", "b"], "dst": ["b", "c", "c"]})
    >>> dg.degrees(G).compute()
      vertex  in_degree  out_degree  degree
    0      a          0           2       2
    1      b          1           1       2
    2      c          2           0       2
    """
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    return execute(graph, Degrees(), options).map(partial(with_degree, directed=graph.directed))


def with_degree(numbers: np.ndarray, values: dict[str, np.ndarray], directed: bool) -> Any:
    """Add the column `degree`, which the program cannot declare because its functions read a value of that name."""
    both = values["in_degree"] + values["out_degree"] if directed else values["out_degree"]
    return numbers, {**values, "degree": both}
