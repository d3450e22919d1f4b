"""NetworKit: C++ with OpenMP behind Python (Staudt, Sazonovs, Meyerhenke, 2016)."""

from __future__ import annotations

from typing import Any

import networkit as nk
import numpy as np

from peers.library import Arrays, Library, Operation


def plain(arrays: Arrays) -> Any:
    ends = (arrays.source, arrays.destination)
    return nk.GraphFromCoo(ends, n=arrays.vertices, weighted=False, directed=arrays.directed)


def weighted(arrays: Arrays) -> Any:
    ends = (arrays.weight, (arrays.source, arrays.destination))
    return nk.GraphFromCoo(ends, n=arrays.vertices, weighted=True, directed=arrays.directed)


def undirected(arrays: Arrays) -> Any:
    return nk.GraphFromCoo((arrays.source, arrays.destination), n=arrays.vertices, weighted=False, directed=False)


def pagerank(graph: Any, arrays: Arrays) -> np.ndarray:
    found = nk.centrality.PageRank(graph, damp=0.85, tol=0)
    found.maxIterations = 20
    return np.array(found.run().scores())


def bfs(graph: Any, arrays: Arrays) -> np.ndarray:
    found = nk.distance.BFS(graph, arrays.start, storePaths=False).run()
    return np.array(found.getDistances())


def sssp(graph: Any, arrays: Arrays) -> np.ndarray:
    found = nk.distance.Dijkstra(graph, arrays.start, storePaths=False).run()
    return np.array(found.getDistances())


def wcc(graph: Any, arrays: Arrays) -> np.ndarray:
    kind = nk.components.WeaklyConnectedComponents if arrays.directed else nk.components.ParallelConnectedComponents
    return np.array(kind(graph).run().getPartition().getVector())


def scc(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(nk.components.StronglyConnectedComponents(graph).run().getPartition().getVector())


def triangles(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(nk.sparsification.TriangleEdgeScore(graph).run().scores())


def label_propagation(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(nk.community.PLP(graph).run().getPartition().getVector())


def core_number(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(nk.centrality.CoreDecomposition(graph).run().scores())


def louvain(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(nk.community.PLM(graph).run().getPartition().getVector())


def leiden(graph: Any, arrays: Arrays) -> np.ndarray:
    return np.array(nk.community.ParallelLeiden(graph).run().getPartition().getVector())


def indexed(arrays: Arrays) -> Any:
    graph = undirected(arrays)
    graph.indexEdges()
    return graph


def distances(found: np.ndarray, arrays: Arrays) -> dict[str, np.ndarray]:
    return {"distance": np.where(found > 1e300, np.inf, found)}


LIBRARY = Library(
    ("networkit",),
    {
        "pagerank": Operation(
            plain,
            pagerank,
            lambda r, _: {"pagerank": r / r.sum()},  # NetworKit scales ranks of directed graphs only
            "float64; ranks of vertices without out-edges are lost, and all ranks scaled in the end",
            {"dangling": "scaled"},
        ),
        "bfs": Operation(plain, bfs, distances, "distances only"),
        "sssp": Operation(weighted, sssp, distances, "Dijkstra; float64, distances only"),
        "wcc": Operation(plain, wcc, "component", "labels of its own", {"names": "any"}),
        "scc": Operation(plain, scc, "component", "labels of its own", {"names": "any"}),
        "triangles": Operation(
            indexed, triangles, lambda r, _: {"total": np.array(int(r.sum()) // 3)}, "triangles of every edge"
        ),
        "label_propagation": Operation(
            undirected, label_propagation, "label", "asynchronous; without directions", {"restless": 0.02}
        ),
        "louvain": Operation(undirected, louvain, "community", "PLM without its refinement", {"names": "any"}),
        "leiden": Operation(
            undirected, leiden, "community", "ParallelLeiden, 3 iterations", {"names": "any", "connected": False}
        ),
        "core_number": Operation(undirected, core_number, "core", "exact"),
    },
)
