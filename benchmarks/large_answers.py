"""Verifies answers on R-MAT graphs that are too large to hold: the edges are drawn again, batch by batch.

    .venv/bin/python benchmarks/large_answers.py --operation wcc --scale 26 --answer wcc.parquet

Nothing here is shared with the operations, and nothing is read from the files that these read. At scale 26 it takes
less than 8 GB of memory, and up to 9 GB of disk beside the answer, for neighbours sorted by vertex.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dgraph.errors import AnswerError
from dgraph.io.generate import Rmat

BATCH = 1 << 23  # edges drawn at once
THREADS = 2
ALPHA = 0.85
WEIGHTS = 1, 255
RTOL = 1e-9
LEAST_MODULARITY = 0.02  # R-MAT graphs have hardly any communities

kernel = numba.njit(nogil=True)


class LargeGraph:
    """An R-MAT graph whose vertices are those that occur in edges."""

    def __init__(self, scale: int, edges: int | None = None):
        """With `edges`, the graph has only so many of the edges: the first ones."""
        self.drawn = Rmat(scale, seed=1, weights=WEIGHTS)
        self.size, self.num_edges = self.drawn.num_vertices, edges or self.drawn.num_indices
        self.outgoing, self.incoming = np.zeros(self.size, np.uint32), np.zeros(self.size, np.uint32)
        for sources, destinations, _ in self.batches():
            count(sources, self.outgoing)
            count(destinations, self.incoming)
        self.occurs = (self.outgoing > 0) | (self.incoming > 0)

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """All edges: sources, destinations and weights. The next batches are drawn while one is in use."""

        def draw(start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            block = self.drawn.block(start, min(start + BATCH, self.num_edges))
            return block["source"], block["destination"], block["weight"]

        waiting: deque[Future] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            for start in range(0, self.num_edges, BATCH):
                waiting.append(pool.submit(draw, start))
                if len(waiting) > THREADS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    @property
    def source(self) -> int:
        """Where paths start: the vertex with the most edges."""
        return int((self.outgoing + self.incoming).argmax())

    def answer(self, path: str, column: str, missing: Any) -> np.ndarray:
        """A column of an answer by vertex, `missing` for numbers that are no vertex. Every vertex must have one row."""
        file = pq.ParquetFile(path)
        values: np.ndarray | None = None
        seen = np.zeros(self.size, bool)
        for batch in file.iter_batches(1 << 20, columns=["vertex", column]):
            vertices, own = (one.fill_null(missing) if one.null_count else one for one in batch.columns)
            if pa.types.is_string(vertices.type) or pa.types.is_large_string(vertices.type):
                vertices = pc.cast(pc.utf8_slice_codeunits(vertices, 1), pa.int64())  # v00000012345
            vertex, value = vertices.to_numpy(), own.to_numpy()
            if values is None:
                values = np.full(self.size, missing, value.dtype)
            expect(~seen[vertex], lambda i, vertex=vertex: f"vertex {vertex[i]} has two rows")
            seen[vertex], values[vertex] = True, value
        expect(seen == self.occurs, lambda v: f"vertex {v} " + ("has no edge" if seen[v] else "has no row"))
        if values is None:
            raise AnswerError(f"{path} has no rows")
        return values


def expect(holds: np.ndarray, say: Callable[[int], str]) -> None:
    """Raise an AnswerError about the first place where something does not hold."""
    if not holds.all():
        wrong = np.flatnonzero(~holds)
        raise AnswerError(f"{say(int(wrong[0]))} (and {len(wrong) - 1:,} others)")


# -- generated edges ---------------------------------------------------------------------------------------------------


def generate(graph: LargeGraph, path: str) -> None:
    """A folder of Parquet holds the same edges, in any order."""
    found = expected = size = 0
    for file in Path(path).iterdir():
        for batch in pq.ParquetFile(file).iter_batches(BATCH, columns=["source", "destination"]):
            found += mixed(*(column.to_numpy() for column in batch.columns))
            size += len(batch)
    for sources, destinations, _ in graph.batches():
        expected += mixed(sources, destinations)
    if size != graph.num_edges or (found - expected) % (1 << 64):
        raise AnswerError(f"{path} has {size:,} edges, which are not the {graph.num_edges:,} expected")


def mixed(sources: np.ndarray, destinations: np.ndarray) -> int:
    """A sum over edges, in which each counts by the mixed bits of its ends."""
    x = sources.astype(np.uint64) << np.uint64(32) | destinations.astype(np.uint64)
    for bits, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB):
        x = (x ^ x >> np.uint64(bits)) * np.uint64(factor)
    return int(x.sum(dtype=np.uint64))


# -- ranks -------------------------------------------------------------------------------------------------------------


def pagerank(graph: LargeGraph, path: str, rounds: int = 10) -> None:
    """As many rounds of power iteration from even ranks give the same ranks."""
    found = graph.answer(path, "pagerank", 0.0)
    vertices = int(graph.occurs.sum())
    rank = np.where(graph.occurs, 1 / vertices, 0.0)
    with sorted_neighbours(graph, path, both=False) as (starts, senders):
        for _ in range(rounds):
            lost = rank[graph.occurs & (graph.outgoing == 0)].sum()
            share = np.divide(rank, graph.outgoing, out=np.zeros(graph.size), where=graph.outgoing > 0)
            by_rows(gather, starts, senders, share, rank)
            rank *= ALPHA
            rank[graph.occurs] += (ALPHA * lost + 1 - ALPHA) / vertices
    near = np.abs(found - rank) <= RTOL * rank
    expect(near, lambda v: f"vertex {v} has rank {found[v]:.12g} after {rounds} rounds; it is {rank[v]:.12g}")


@kernel
def count(ends, degree):
    for v in ends:
        degree[v] += 1


@kernel
def gather(low, high, starts, senders, share, rank):
    for v in range(low, high):
        total = 0.0
        for e in range(starts[v], starts[v + 1]):
            total += share[senders[e]]
        rank[v] = total


# -- components --------------------------------------------------------------------------------------------------------


def wcc(graph: LargeGraph, path: str) -> None:
    """Each component is named by its smallest vertex, as union by the smaller root finds it."""
    found = graph.answer(path, "component", -1)
    root = np.arange(graph.size, dtype=np.int64)
    for sources, destinations, _ in graph.batches():
        unite(sources, destinations, root)
    flatten(root)
    holds = (found == root) | ~graph.occurs
    expect(holds, lambda v: f"vertex {v} is in component {found[v]}, not {root[v]}")


@kernel
def root_of(v, root):
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@kernel
def unite(sources, destinations, root):
    for e in range(sources.size):
        a, b = root_of(sources[e], root), root_of(destinations[e], root)
        if a < b:
            root[b] = a
        elif b < a:
            root[a] = b


@kernel
def flatten(root):
    for v in range(root.size):
        root[v] = root[root[v]]  # roots are smaller than those below them, and come first


# -- communities -------------------------------------------------------------------------------------------------------


def leiden(graph: LargeGraph, path: str) -> None:
    """Each community is connected and named by its smallest vertex. Edges without a direction have a modularity that no
    division by chance has."""
    found = graph.answer(path, "community", -1)
    root, inside = np.arange(graph.size, dtype=np.int64), 0
    for sources, destinations, _ in graph.batches():
        within = found[sources] == found[destinations]
        inside += int(within.sum())
        unite(sources[within], destinations[within], root)
    flatten(root)
    expect((found == root) | ~graph.occurs, lambda v: f"vertex {v} of community {found[v]} is joined to {root[v]}")
    degrees = np.bincount(root, graph.outgoing.astype(np.float64) + graph.incoming)
    modularity = inside / graph.num_edges - float(((degrees / (2 * graph.num_edges)) ** 2).sum())
    print(f"modularity {modularity:.4f} of {len(np.unique(found[graph.occurs])):,} communities")
    if modularity < LEAST_MODULARITY:
        raise AnswerError(f"the communities have modularity {modularity:.4f}, less than {LEAST_MODULARITY}")


# -- paths -------------------------------------------------------------------------------------------------------------


def bfs(graph: LargeGraph, path: str) -> None:
    paths(graph, path, weighted=False)


def sssp(graph: LargeGraph, path: str) -> None:
    paths(graph, path, weighted=True)


def paths(graph: LargeGraph, path: str, *, weighted: bool) -> None:
    """No edge shortens a path, every vertex that is reached has an edge that its path ends with, and its predecessor is
    the smallest vertex from which one leads."""
    distance = graph.answer(path, "distance", math.inf).astype(np.float64)
    found = graph.answer(path, "predecessor", -1)
    source = graph.source
    if distance[source] != 0:
        raise AnswerError(f"vertex {source}, the source, is {distance[source]} away")
    before = np.full(graph.size, -1, np.int64)
    for sources, destinations, weights in graph.batches():
        shortened = relax(sources, destinations, weights, weighted, distance, before)
        if shortened >= 0:
            u, v, w = (int(column[shortened]) for column in (sources, destinations, weights))
            said = f"the edge from {u} ({distance[u]:g}) to {v} ({distance[v]:g}) has weight {w if weighted else 1}"
            raise AnswerError(f"{said}: the path over it is shorter")
    before[source] = -1
    reached = np.isfinite(distance)
    reached[source] = False
    expect((before >= 0) == reached, lambda v: f"no edge gives vertex {v} its distance of {distance[v]:g}")
    expect(found == before, lambda v: f"vertex {v} has the predecessor {found[v]}; the smallest is {before[v]}")


@kernel
def relax(sources, destinations, weights, weighted, distance, before):
    """Keep the smallest predecessor of each vertex; return the first edge that shortens a path, or -1."""
    for e in range(sources.size):
        u, v = sources[e], destinations[e]
        over = distance[u] + (weights[e] if weighted else 1)
        if over < distance[v]:
            return e
        if over == distance[v] and over < np.inf and (before[v] < 0 or u < before[v]):
            before[v] = u
    return -1


# -- neighbours, for ranks, labels and cores ---------------------------------------------------------------------------


@contextmanager
def sorted_neighbours(graph: LargeGraph, path: str, *, both: bool = True) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The senders of each vertex, or both ends of its edges, in a file beside the answer: where those of each vertex
    begin, and all of them."""
    degree = graph.incoming.astype(np.int64)
    starts = np.zeros(graph.size + 1, np.int64)
    np.cumsum(degree + graph.outgoing if both else degree, out=starts[1:])
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        ends = np.memmap(Path(folder) / "neighbours", np.uint32, "w+", shape=(max(1, int(starts[-1])),))
        place = starts[:-1].copy()
        for sources, destinations, _ in graph.batches():
            put(destinations, sources, place, ends)
            if both:
                put(sources, destinations, place, ends)
        yield starts, ends


def by_rows(run: Callable[..., None], starts: np.ndarray, *arguments: np.ndarray) -> None:
    """Call a kernel with the rows of each thread, which have about equally many neighbours."""
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], THREADS + 1)[1:-1])
    bounds = [0, *cuts.tolist(), starts.size - 1]
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, *rows, starts, *arguments) for rows in pairwise(bounds)]:
            done.result()


@kernel
def put(keys, others, place, ends):
    for e in range(keys.size):
        ends[place[keys[e]]] = others[e]
        place[keys[e]] += 1


def cdlp(graph: LargeGraph, path: str, rounds: int = 10) -> None:
    """As many rounds in which every vertex takes the label that most of its neighbours have, the smallest of those."""
    found = graph.answer(path, "label", -1)
    with sorted_neighbours(graph, path) as (starts, ends):
        label, other = np.arange(graph.size, dtype=np.uint32), np.empty(graph.size, np.uint32)
        for _ in range(rounds):
            by_rows(vote, starts, ends, label, other)
            label, other = other, label
    holds = (found == label) | ~graph.occurs
    expect(holds, lambda v: f"vertex {v} has the label {found[v]} after {rounds} rounds, not {label[v]}")


@kernel
def vote(low, high, starts, ends, label, out):
    votes = np.zeros(label.size, np.uint32)
    for v in range(low, high):
        best, most = label[v], 0
        for e in range(starts[v], starts[v + 1]):
            one = label[ends[e]]
            votes[one] += 1
            if votes[one] > most or (votes[one] == most and one < best):
                best, most = one, votes[one]
        for e in range(starts[v], starts[v + 1]):
            votes[label[ends[e]]] = 0
        out[v] = best


def core_number(graph: LargeGraph, path: str) -> None:
    """Removing vertices of the lowest degree, one after another, gives the same numbers."""
    found = graph.answer(path, "core", -1)
    with sorted_neighbours(graph, path) as (starts, ends):
        core = peel(starts, ends, simplify(starts, ends))
    holds = (found == core) | ~graph.occurs
    expect(holds, lambda v: f"vertex {v} has core number {found[v]}, not {core[v]}")


@kernel
def simplify(starts, ends):
    """Sort the neighbours of each vertex, move those that are distinct to the front, and return how many these are."""
    degree = np.zeros(starts.size - 1, np.int64)
    for v in range(degree.size):
        own = ends[starts[v] : starts[v + 1]].copy()
        own.sort()
        for k in range(own.size):
            if own[k] != v and (k == 0 or own[k] != own[k - 1]):
                ends[starts[v] + degree[v]] = own[k]
                degree[v] += 1
    return degree


@kernel
def peel(starts, ends, degree):
    """Batagelj and Zaversnik: vertices in order of degree, moved forward as neighbours are removed."""
    size = degree.size
    left = degree.astype(np.int32)
    first = np.zeros(left.max() + 2, np.int64)  # where the vertices of each degree begin
    for v in range(size):
        first[left[v] + 1] += 1
    for d in range(1, first.size):
        first[d] += first[d - 1]
    order, place, free = np.empty(size, np.uint32), np.empty(size, np.uint32), first.copy()
    for v in range(size):
        place[v] = free[left[v]]
        order[place[v]] = v
        free[left[v]] += 1
    for k in range(size):
        v = order[k]
        for e in range(starts[v], starts[v] + degree[v]):
            u = ends[e]
            if left[u] > left[v]:
                front = first[left[u]]
                if front <= k:
                    front = k + 1
                w = order[front]
                order[front], order[place[u]] = u, w
                place[w], place[u] = place[u], front
                first[left[u]] = front + 1
                left[u] -= 1
    return left


OPERATIONS: dict[str, Callable[[LargeGraph, str], None]] = {
    "generate": generate,
    "pagerank": pagerank,
    "wcc": wcc,
    "leiden": leiden,
    "bfs": bfs,
    "sssp": sssp,
    "cdlp": cdlp,
    "core_number": core_number,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--operation", choices=OPERATIONS, required=True)
    options.add_argument("--scale", type=int, required=True)
    options.add_argument("--edges", type=int, help="how many of the edges there are")
    options.add_argument("--answer", required=True, help="Parquet file with a row per vertex, or folder of edges")
    given = options.parse_args()
    OPERATIONS[given.operation](LargeGraph(given.scale, given.edges), given.answer)
    print(f"{given.operation} on scale {given.scale}: verified")


if __name__ == "__main__":
    main()
