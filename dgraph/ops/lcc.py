"""Local clustering coefficients (Watts and Strogatz, 1998); in directed graphs, as LDBC Graphalytics defines them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dgraph.graph import Graph
from dgraph.ops.triangles import count_across
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult


@operation
def lcc(
    graph: Graph, *, engine: Literal["auto", "local"] = "auto", device: Literal["auto", "cpu"] = "auto"
) -> RunResult:
    """Local clustering coefficient: the fraction of possible edges between a vertex's neighbours that exist.

    Between d neighbours, d (d - 1) arcs are possible, one in each direction; an undirected edge counts as two. An edge
    in either direction makes two vertices neighbours. Self loops and repeated edges do not count.

    Parameters
    ----------
    graph : Graph
        The graph.
    engine : {"auto", "local"}, default "auto"
        No vertex program runs, so no other engine applies. ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu"}, default "auto"
        The kernels run only on the CPU.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``lcc``, which is 0 for vertices with fewer than two neighbours.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the engine cannot run this operation.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}, directed=False)
    >>> dg.lcc(G).compute().round(3)
       vertex    lcc
    0       0  1.000
    1       1  1.000
    2       2  0.333
    3       3  0.000
    """
    finish = _of_arcs if graph.directed else _of_edges
    return count_across(graph, finish, directions=graph.directed, degrees=True, engine=engine, device=device)


def _of_arcs(counts: np.ndarray, degree: np.ndarray, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    most = degree - 1.0
    most *= degree
    # vertices with d < 2 are in no triangle, so their count is 0
    return {"lcc": np.divide(counts, np.maximum(most, 1, out=most), out=most)}, {}


def _of_edges(counts: np.ndarray, degree: np.ndarray, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    columns, totals = _of_arcs(counts, degree, total)
    columns["lcc"] *= 2
    return columns, totals
