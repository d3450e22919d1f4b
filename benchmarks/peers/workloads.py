"""The graphs on which operations are measured: extremely skewed, extremely long, or without any structure."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from scipy.sparse.csgraph import breadth_first_order
from scipy.spatial import cKDTree

import dgraph as dg
from dgraph.io.generate import Bipartite, Grid, Rmat, Uniform
from dgraph.testing.verify import Edges

ROUNDS = 20  # of PageRank
PATHS = ("bfs", "sssp")  # operations with a source
DIRECTED = ("scc",)  # operations that are of interest only on directed graphs
# operations on the graph without directions, loops and repeats
SIMPLE = ("triangles", "core_number", "louvain", "leiden")


@dataclass(frozen=True, eq=False)
class Workload:
    """Edges in memory, with weights from 1 to 255, and the source of paths."""

    title: str
    edges: Edges
    start: int
    key: str = field(default_factory=lambda: uuid4().hex)  # names the files of its arrays

    @cached_property
    def simple(self) -> Workload:
        """The workload without directions, loops and repeats, which triangles and cores ignore."""
        rows = self.edges.simple
        low = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        once = low < rows.indices
        edges = Edges(low[once], rows.indices[once].astype(np.int64), self.edges.vertices, directed=False)
        edges.known["simple"] = rows
        return Workload(self.title, edges, self.start)

    def known(self, operation: str) -> dict[str, Any]:
        """What the verifier of an operation must know: where paths start, and the rounds of PageRank."""
        if operation in PATHS:
            return {"source": self.start}
        return {"rounds": ROUNDS} if operation == "pagerank" else {}

    def graph(self, **place: Any) -> dg.Graph:
        """The workload as a graph of dgraph, in as many `parts` as wanted, on the workers of a `client`."""
        edges = self.edges
        frame = {"src": edges.source, "dst": edges.destination}
        if edges.weight is not None:
            frame["weight"] = edges.weight
        place |= {"directed": edges.directed, "vertices": edges.vertices}
        return dg.Graph.from_edges(frame, weight="weight" if "weight" in frame else None, **place)

    def write(self, folder: Path) -> Path:
        """Write the arrays to files, for peers that run in separate processes."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "source.npy", self.edges.source)
        np.save(folder / "destination.npy", self.edges.destination)
        if self.edges.weight is not None:
            np.save(folder / "weight.npy", self.edges.weight)
        facts = {"vertices": self.edges.vertices, "directed": self.edges.directed, "start": self.start}
        np.savez(folder / "facts.npz", **facts)  # type: ignore[arg-type]
        return folder


def rmat(scale: int) -> Workload:
    """A directed, skewed and shallow graph. Scale 20 has 16.1 M edges."""
    drawn = Rmat(scale, 16, seed=1, weights=(1, 255)).build()
    return _titled(f"R-MAT scale {scale}", _once(drawn, 1 << scale))


def grid(scale: int) -> Workload:
    """An undirected and long graph, like a road map. Scale 20 is 2000 x 2000, with a tenth of the roads missing."""
    side = round(2000 * 2 ** ((scale - 20) / 2))
    drawn = Grid(side, side, seed=1).build()
    ends = drawn["source"].astype(np.int64), drawn["destination"].astype(np.int64)
    edges = Edges(*ends, side * side, directed=False, weight=drawn["weight"].astype(np.float64))
    return _titled(f"grid {side} x {side}", edges)


def uniform(scale: int) -> Workload:
    """A directed graph without any structure, which is hard on caches."""
    drawn = Uniform(1 << scale, 16 << scale, seed=1, weights=(1, 255)).build()
    return _titled(f"uniform scale {scale}", _once(drawn, 1 << scale))


def bipartite(scale: int) -> Workload:
    """A graph directed from a small side to a large one, like visitors and places. No path has more than one edge."""
    drawn = Bipartite(1 << (scale - 2), 3 << (scale - 2), 16 << scale, seed=1, weights=(1, 255)).build()
    return _titled(f"bipartite scale {scale}", _once(drawn, 1 << scale))


def neighbours(scale: int) -> Workload:
    """An undirected and long graph: points in a plane in random order, each with edges to the six nearest."""
    rng = np.random.default_rng(1)
    points = rng.random((1 << scale, 2))
    nearest = cKDTree(points).query(points, k=7)[1][:, 1:]
    edges = _either_way(np.repeat(np.arange(1 << scale), 6), nearest.ravel(), 1 << scale, rng)
    return _titled(f"nearest neighbours scale {scale}", edges)


def path(scale: int) -> Workload:
    """An undirected path, the longest possible graph, with vertices in random order."""
    rng = np.random.default_rng(1)
    order = rng.permutation(1 << scale)
    return _titled(f"path scale {scale}", _either_way(order[:-1], order[1:], 1 << scale, rng))


GRAPHS = {"rmat": rmat, "grid": grid, "uniform": uniform}


def _once(drawn: dict[str, np.ndarray], vertices: int) -> Edges:
    """The drawn edges in their order, without loops and repeats, which libraries treat differently."""
    source, destination = drawn["source"].astype(np.int64), drawn["destination"].astype(np.int64)
    key = source * vertices + destination
    order = np.argsort(key, kind="stable")
    first = np.append(True, key[order][1:] != key[order][:-1])
    kept = np.sort(order[first & (source != destination)[order]])
    return Edges(source[kept], destination[kept], vertices, weight=drawn["weight"][kept].astype(np.float64))


def _either_way(source: np.ndarray, destination: np.ndarray, vertices: int, rng: np.random.Generator) -> Edges:
    """Undirected edges, each once, with weights."""
    ends = np.unique(np.sort(np.stack([source, destination]), axis=0), axis=1)
    return Edges(*ends, vertices, directed=False, weight=rng.integers(1, 256, ends.shape[1]).astype(np.float64))


def _titled(title: str, edges: Edges) -> Workload:
    arcs = len(edges.arcs[0])
    size = f"{arcs / 1e6:.1f} M" if arcs >= 1e6 else f"{arcs:,}"
    return Workload(f"{title}, {size} {'edges' if edges.directed else 'arcs'}", edges, _start(edges))


def _start(edges: Edges) -> int:
    """The first vertex from which a quarter of the graph can be reached, or the one with the most edges."""
    rows = edges.matrix(np.ones(len(edges.arcs[0]), np.float32))
    leading = np.flatnonzero(np.diff(rows.indptr))
    for start in leading[:20]:
        if len(breadth_first_order(rows, start, return_predecessors=False)) * 4 > edges.vertices:
            return int(start)
    return int(np.argmax(np.diff(rows.indptr)))
