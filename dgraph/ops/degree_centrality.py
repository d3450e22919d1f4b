"""Degree centrality (Freeman, 1978): degrees as shares of the other vertices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, DaemonsLike, DeviceLike, EngineLike, ProgressLike
from dgraph.ops.degrees import Degrees, with_degree
from dgraph.runs.execution import execute
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions


@operation
def degree_centrality(
    graph: Graph,
    *,
    engine: EngineLike = "auto",
    device: DeviceLike = "auto",
    daemons: DaemonsLike = None,
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> RunResult:
    """Degrees divided by the number of other vertices.

    Loops and repeated edges count as in `degrees`, so a share can be greater than 1. As in NetworkX, the only vertex of
    a graph has the centrality 1.

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
        One row per vertex: ``vertex``, ``degree_centrality``, ``in_degree_centrality`` and ``out_degree_centrality``.
        In an undirected graph all three are equal.

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
    >>> dg.degree_centrality(G).compute()[["vertex", "degree_centrality", "out_degree_centrality"]]
      vertex  degree_centrality  out_degree_centrality
    0      a                1.0                    1.0
    1      b                1.0                    0.5
    2      c                1.0                    0.0
    """
    options = RunOptions(engine=engine, device=device, daemons=daemons, checkpoint=checkpoint, progress=progress)
    shares = partial(_shares, directed=graph.directed, vertices=graph.num_vertices)
    return execute(graph, Degrees(), options).map(shares)


def _shares(numbers: np.ndarray, values: dict[str, np.ndarray], directed: bool, vertices: int) -> Any:
    _, degrees = with_degree(numbers, values, directed)
    names = ("degree", "in_degree", "out_degree")
    if vertices == 1:
        return numbers, {f"{name}_centrality": np.ones(len(numbers)) for name in names}
    return numbers, {f"{name}_centrality": degrees[name] / max(vertices - 1, 1) for name in names}
