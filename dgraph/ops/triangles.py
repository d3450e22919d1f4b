"""Triangles: three vertices with an edge between any two; directions, self loops and repeated edges do not count.

`solvers/subgraphs/triangles.py` finds them, `triangle_blocks.py` where the graph has several partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.graph import Graph
from dgraph.ops.triangle_blocks import across
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult


@operation
def triangles(graph: Graph, **options: Any) -> RunResult:
    """How many triangles go through each vertex: the column `triangles`. `totals["triangles"]` of the result counts
    each once.

    Time grows with the edges, and with how many neighbours of higher degree their ends have: what is dense is dear.

    This is no vertex program: of the options of `dgraph.run` it has `device`, and `engine`, which is "auto", or "local"
    where the graph is one partition.
    """
    return across(graph, _counted, **options)


def _counted(found: np.ndarray, degree: np.ndarray | None, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Each edge across from a vertex closes a triangle, which has three vertices."""
    return {"triangles": found}, {"triangles": total // 3}
