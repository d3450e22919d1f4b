"""leidenalg: the reference implementation of Leiden, C++ behind Python, one thread (Traag, Waltman, van Eck 2019)."""

from __future__ import annotations

from typing import Any

import igraph
import leidenalg
import numpy as np

from peers.library import Arrays, Library, Operation


def graph_of(arrays: Arrays) -> Any:
    edges = np.stack([arrays.source, arrays.destination], axis=1)
    return igraph.Graph(n=arrays.vertices, edges=edges, directed=arrays.directed)


def leiden(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, n_iterations=2).membership)


LIBRARY = Library(
    ("leidenalg", "igraph"),
    {
        "leiden": Operation(graph_of, leiden, "community", "2 iterations", {"names": "any", "connected": False}),
    },
)
