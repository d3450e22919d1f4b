"""Local clustering coefficients: how many of the edges that could be among a vertex's neighbours are there (Watts and
Strogatz, 1998); of directed graphs as LDBC Graphalytics defines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.graph import Graph
from dgraph.ops.triangle_blocks import across
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult


@operation
def lcc(graph: Graph, **options: Any) -> RunResult:
    """Local clustering coefficients: the column `lcc` is the share of the d (d - 1) arcs there can be between the d
    neighbours of a vertex that there are; 0 if d < 2.

    A neighbour is one by an edge of either direction. Two neighbours may have an arc each way; an undirected edge is
    both. Self loops and repeated edges do not count.

    This is no vertex program: of the options of `dgraph.run` it has `device`, and `engine`, which is "auto", or "local"
    where the graph is one partition.
    """
    finish = _of_arcs if graph.directed else _of_edges
    return across(graph, finish, directions=graph.directed, degrees=True, **options)


def _of_arcs(found: np.ndarray, degree: np.ndarray, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    most = degree - 1.0
    most *= degree
    return {"lcc": np.divide(found, np.maximum(most, 1, out=most), out=most)}, {}  # who has d < 2 is in no triangle


def _of_edges(found: np.ndarray, degree: np.ndarray, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    columns, totals = _of_arcs(found, degree, total)
    columns["lcc"] *= 2
    return columns, totals
