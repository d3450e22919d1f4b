"""Triangles through each vertex: found by `solvers/subgraphs/triangles.py`, block by block with several partitions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dgraph.graph import Graph
from dgraph.ops.triangle_blocks import count_across
from dgraph.options import DeviceLike
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult


@operation
def triangles(
    graph: Graph, *, engine: Literal["auto", "local", "cugraph"] = "auto", device: DeviceLike = "auto"
) -> RunResult:
    """Number of triangles through each vertex. A triangle is three vertices with an edge between every two of them.

    Directions, self loops and repeated edges do not count. The time grows with the number of edges, and with how
    many neighbours of higher degree their ends have, so dense graphs take a long time.

    Parameters
    ----------
    graph : Graph
        The graph.
    engine : {"auto", "local", "cugraph"}, default "auto"
        No vertex program runs, so no other engine applies. ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu", "cuda"}, default "auto"
        ``"cuda"`` (experimental) is for cuGraph alone.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``triangles``. The result's ``totals["triangles"]`` counts each triangle once.

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
    >>> dg.triangles(G).compute()
       vertex  triangles
    0       0          1
    1       1          1
    2       2          1
    3       3          0
    """
    return count_across(graph, _counted, engine=engine, device=device)


def _counted(counts: np.ndarray, degree: np.ndarray | None, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Each edge opposite a vertex closes a triangle, which is counted at its three vertices."""
    return {"triangles": counts}, {"triangles": total // 3}
