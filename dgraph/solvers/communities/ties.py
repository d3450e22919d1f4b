"""What the kernels of communities read: edges of a level, what chance would expect of them, an order of the vertices,
and the scratch in which a thread adds up weights by community."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import barrier, kernel, share, team, worthwhile_threads
from dgraph.solvers.union_find import flatten, link

READS = 8  # how often the edges of a level are read, about
GRAIN = 64  # vertices that a thread takes at a time, fewer in a small graph
FEWEST_GRAINS = 512
NEXT, READ = 0, 24  # positions in the arrays called `tally`: the next item to take, and the number of edges read


class Ties(NamedTuple):
    """The edges of one direction: those of u are at begins[u] to ends[u]. Between rows there may be gaps."""

    begins: np.ndarray
    ends: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray  # uint32 if they are whole and add up to less than 2**32, else float64; empty if all are 1

    @classmethod
    def of(cls, indptr: np.ndarray, neighbours: np.ndarray, weights: np.ndarray) -> Ties:
        return cls(indptr[:-1], indptr[1:], neighbours, weights)

    @classmethod
    def none(cls, like: Ties) -> Ties:
        """In place of the second table of a level, of the same type as the first one."""
        return cls.of(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, like.weights.dtype))

    @property
    def lengths(self) -> np.ndarray:
        """The number of edges in each row."""
        return self.ends - self.begins

    @property
    def entries(self) -> int:
        return int(self.lengths.sum())

    def listed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both ends and the weight of each edge."""
        lengths = self.lengths
        places = np.repeat(self.ends - np.cumsum(lengths), lengths) + np.arange(lengths.sum())  # the gaps left out
        rows = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
        return rows, self.neighbours[places], self.weights[places] if len(self.weights) else self.weights


class NullModel(NamedTuple):
    """The weight that chance would give to the edges between a vertex and a community: `factor` times the product of
    their strengths, those of a community being the sums over its vertices. In a directed graph, it is the sum of both
    directions."""

    factor: float
    strengths: np.ndarray  # of each vertex: the weight of its edges, or its size
    into: np.ndarray  # of its incoming edges, if those count apart; else empty


class VisitingOrder(NamedTuple):
    """The order in which threads take grains of vertices: a random arithmetic progression."""

    grain: int
    grains: int
    stride: int
    offset: int

    @classmethod
    def drawn(cls, vertices: int, draw: np.random.Generator) -> VisitingOrder:
        grain = max(1, min(GRAIN, vertices // FEWEST_GRAINS))
        grains = -(-vertices // grain)
        stride = int(draw.integers(1, grains + 1)) if grains else 1
        while gcd(stride, grains) > 1:
            stride += 1
        return cls(grain, grains, stride, int(draw.integers(max(1, grains))))


class WeightTable(NamedTuple):
    """Scratch of one thread."""

    sums: np.ndarray  # by community; all zero between two vertices
    touched: np.ndarray  # the communities whose sums are not zero


@dataclass(frozen=True)
class Level:
    """A graph whose vertices may each stand for many. `ties` has one table or two; a loop in a row counts `loops`
    times."""

    ties: tuple[Ties, Ties]
    loops: float
    null: NullModel
    weight: float  # of all edges, in both directions
    cores: int

    @property
    def vertices(self) -> int:
        return len(self.null.strengths)

    @cached_property  # many steps of a level ask
    def entries(self) -> int:
        return sum(one.entries for one in self.ties)

    @property
    def untied(self) -> np.ndarray:
        """Whether a vertex has no edges."""
        return np.asarray(sum(one.lengths for one in self.ties if len(one.begins)) == 0)

    @property
    def threads(self) -> int:
        return worthwhile_threads(self.cores, READS * self.entries)

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        return tables(self.threads, self.vertices)


def level_weights(column: np.ndarray | None, edges: int) -> np.ndarray:
    """The weights of the edges of a level, from a column or 1 each. A level of communities has a new weight for each of
    its edges, so the narrower type saves a third of its memory. It holds any sum of them, loops counted twice."""
    if column is None:
        return np.zeros(0, _kind(edges))
    whole = column.dtype.kind in "iu"
    return column.astype(_kind(column.sum(dtype=np.float64)) if whole else np.float64, copy=False)


def _kind(total: float) -> type:
    return np.uint32 if 2 * total < 1 << 32 else np.float64


def tables(threads: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The tables of all threads, for `count` communities: an array of sums, and one of the communities touched."""
    return np.zeros((threads, count)), np.empty((threads, count + 1), np.uint32)


@inlined
def first_of(order, number):
    """The first vertex of the grain that is taken after so many others."""
    return (number * uint64(order.stride) + uint64(order.offset)) % uint64(order.grains) * uint64(order.grain)


@inlined
def add(table, label, weight, count):
    """Add a weight to the sum of a community; a weight of 0 is no tie. Returns how many communities were touched."""
    if weight > 0.0:
        before = table.sums[label]
        table.touched[count] = label
        count += uint64(before == 0.0)  # no branch, which could not be foreseen
        table.sums[label] = before + weight
    return count


@inlined
def add_ties(u, ties, labels, table, count):
    """Add the weights of the edges from u to other vertices to the sums of their communities. Returns how many
    communities were touched."""
    for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
        v = uint64(ties.neighbours[e])
        if v != u:
            count = add(table, uint64(labels[v]), ties.weights[e] if ties.weights.size else 1.0, count)
    return count


def row_sums(ties: Ties, loops: float, threads: int) -> np.ndarray:
    """The sum of the weights in each row."""
    sums = np.empty(len(ties.begins))
    team(_row_sums, worthwhile_threads(threads, ties.entries), ties, loops, sums)
    return sums


def inside(level: Level, labels: np.ndarray) -> float:
    """The weight of all edges inside communities, in both directions."""
    sums = np.zeros((level.threads, 8))
    team(_inside, level.threads, *level.ties, level.loops, labels, sums)
    return float(sums.sum())


def connected(level: Level, labels: np.ndarray) -> np.ndarray:
    """The communities, each divided into its connected components, which are named by their smallest vertex."""
    above = np.arange(level.vertices, dtype=np.uint32)
    team(unite, level.threads, level.ties[0], labels, above)
    return above


@kernel
def _row_sums(rank, size, signals, ties, loops, sums):
    first, last = share(rank, size, sums.size)
    for u in range(uint64(first), uint64(last)):
        total = 0.0
        for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
            weight = ties.weights[e] if ties.weights.size else 1.0
            total += weight * loops if uint64(ties.neighbours[e]) == u else weight
        sums[u] = total
    barrier(size, signals)
    return 0


@kernel
def _inside(rank, size, signals, first, second, loops, labels, sums):
    begin, end = share(rank, size, labels.size)
    for ties in (first, second):
        if ties.begins.size:
            for u in range(uint64(begin), uint64(end)):
                for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
                    v = uint64(ties.neighbours[e])
                    if labels[v] == labels[u]:
                        weight = ties.weights[e] if ties.weights.size else 1.0
                        sums[rank, 0] += weight * loops if u == v else weight
    barrier(size, signals)
    return 0


@kernel
def unite(rank, size, signals, ties, labels, above):
    """Join the trees of vertices that an edge joins inside a community; an edge of weight 0 does not."""
    first, last = share(rank, size, ties.begins.size)
    for u in range(uint64(first), uint64(last)):
        for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
            v = uint64(ties.neighbours[e])
            if labels[v] == labels[u] and (ties.weights.size == 0 or ties.weights[e] > 0):
                link(u, v, above)
    barrier(size, signals)
    flatten(first, last, above)
    barrier(size, signals)
    return 0
