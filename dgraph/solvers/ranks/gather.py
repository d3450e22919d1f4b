"""A layout of edges for gathering: in every round, each row sums up what its senders have sent.

A vertex has one place, both as a row and as a sender. If degrees are skewed, vertices are grouped by classes of similar
degree, the highest first, so that the senders that are read most stay in the cache. Within a class they keep their
order, so that vertices that are close in the graph stay close (Faldu, Diamond and Grot 2019, "degree-based grouping").
If degrees are not skewed, all vertices keep their order. Within a block, rows are sorted by their number of edges, so
that the branch at the end of a row is predicted well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.ascending import first_from
from dgraph.native.free_memory import has_room
from dgraph.native.team import ONE, atomic_add, barrier, kernel, part, prefetch_once, share, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.solver import Problem
from dgraph.solvers.subgraphs.neighbours import are_skewed
from dgraph.tables.edge_tables import cached_on

GRAIN = 1 << 15  # edges and rows of a block
DEGREE_CLASSES = 160  # one class for each degree below 32, then two for each power of two
MOST_COUNTERS = 4  # the maximum number of threads that count degrees: each needs a separate table
AHEAD = 512  # prefetch distance, in edges
PER_LINE = 16  # senders on a cache line
VERTEX_BYTES = 64  # what making a layout, and scores, take for each vertex


class Terms(NamedTuple):
    """What rows gather beside their edges: row rows[k], which ascend, gets factors[k] times what senders[k] sends."""

    rows: np.ndarray
    senders: np.ndarray
    factors: np.ndarray


class RowEdges(NamedTuple):
    """The edges into some rows, for kernels: those of row i come from senders[indptr[i]:indptr[i + 1]]. Blocks of rows
    cuts[b]:cuts[b + 1] take about the same work."""

    cuts: np.ndarray
    indptr: np.ndarray
    senders: np.ndarray
    weights: np.ndarray | None  # None: all are 1
    terms: Terms | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """Row i of `edges` is that of vertex rows[i]. Its senders are places, too."""

    rows: np.ndarray  # uint32
    edges: RowEdges
    degree: np.ndarray  # uint32, by place: the number of out-edges

    @cached_property
    def places(self) -> np.ndarray:
        """The place of each vertex."""
        out = np.empty_like(self.rows)
        out[self.rows] = np.arange(len(out), dtype=np.uint32)
        return out

    def with_terms(self, size: int, terms: Terms) -> Layout:
        """The layout of `size` vertices, of which the last are new. The terms, by vertex and in any order, are edges
        that came, or with negative factors those that went. Without weights, factors are numbers of edges."""
        old = len(self.rows)
        new = np.arange(old, size, dtype=np.uint32)
        places = np.concatenate([self.places, new]) if len(new) else self.places
        receivers, senders = places[terms.rows], places[terms.senders]
        degree = np.concatenate([self.degree, np.zeros(len(new), np.uint32)])
        if self.edges.weights is None:
            np.add.at(degree, senders, terms.factors.astype(np.int64).astype(np.uint32))  # which wraps around
        order = np.argsort(receivers, kind="stable")
        indptr, cuts = self.edges.indptr, self.edges.cuts
        if len(new):
            indptr, cuts = np.concatenate([indptr, np.full(len(new), indptr[-1])]), np.append(cuts, size)
        edges = self.edges._replace(
            cuts=cuts, indptr=indptr, terms=Terms(receivers[order], senders[order], terms.factors[order])
        )
        return Layout(np.concatenate([self.rows, new]), edges, degree)


def table_of(problem: Problem, along: str) -> Adjacency:
    """The rows of receivers. In an undirected graph, both directions are the same table, which is "out"."""
    edges = problem.edges
    return (edges.receivers(along, joined=True) if edges.directed else edges.senders("out"))[0]


def layout_of(problem: Problem) -> Layout:
    """The layout of a graph's edges, and of their weights if the program reads them; cached with the edges."""
    edges, table = problem.edges, table_of(problem, "out")
    return cached_on(
        table,
        ("layout", edges.columns.get("weight")),
        lambda: lay_out(table, edges.column(table, "weight"), problem.threads),
    )


def lay_out(table: Adjacency, weights: np.ndarray | None, threads: int) -> Layout:
    """The layout of a table of receivers: the table itself, if there is no room for a copy."""
    n = len(table.indptr) - 1
    counts = np.zeros((min(threads, MOST_COUNTERS), n), np.uint32)
    team(_count, len(counts), table.neighbours, counts)
    degree = counts[0].copy()
    del counts
    rows = np.arange(n, dtype=np.uint32)
    copied = table.neighbours.nbytes + (0 if weights is None else weights.nbytes)
    if not has_room(copied + n * VERTEX_BYTES):
        return Layout(rows, RowEdges(blocks_of(table.indptr), table.indptr, table.neighbours, weights), degree)
    lengths = np.diff(table.indptr).astype(np.uint32)
    if are_skewed(degree):
        rows = _by_class(rows, np.array([0, n]), degree, 1)
    cuts = blocks_of(_bounds(lengths[rows]))
    rows = _by_class(rows, cuts, lengths, threads)
    indptr, places = _bounds(lengths[rows]), np.empty(n, np.uint32)
    places[rows] = np.arange(n, dtype=np.uint32)
    senders = np.empty_like(table.neighbours)
    moved = None if weights is None else np.empty_like(weights)
    sides = table.indptr, table.neighbours, weights, rows, places, indptr
    team(_move, threads, np.zeros(1, np.int64), cuts, *sides, senders, moved)
    return Layout(rows, RowEdges(cuts, indptr, senders, moved), degree[rows])


def _bounds(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _by_class(vertices: np.ndarray, cuts: np.ndarray, degree: np.ndarray, threads: int) -> np.ndarray:
    """The vertices of each block by descending class; within a class, they keep their order."""
    ordered = np.empty_like(vertices)
    starts = np.zeros((threads, DEGREE_CLASSES + 1), np.int64)
    team(_sort, threads, np.zeros(1, np.int64), cuts, degree, starts, vertices, ordered)
    return ordered


def blocks_of(indptr: np.ndarray) -> np.ndarray:
    """The bounds of blocks of rows. They depend only on the rows' lengths and order, and so do sums over blocks."""
    work = indptr + np.arange(len(indptr))
    return np.unique(np.searchsorted(work, np.linspace(0, work[-1], 2 + int(work[-1]) // GRAIN)))


@kernel
def _count(rank, size, signals, neighbours, counts):
    """Set counts[0] to how often each vertex is a neighbour. Each thread counts in its own table, then the tables are
    added up."""
    mine = counts[rank]
    lo, hi = share(rank, size, neighbours.size)
    for e in range(uint64(lo), uint64(hi)):
        mine[uint64(neighbours[e])] += 1
    barrier(size, signals)
    lo, hi = share(rank, size, mine.size)
    for other in range(1, size):
        for v in range(uint64(lo), uint64(hi)):
            counts[0, v] += counts[other, v]


@part
def _class(degree):
    """The class of a degree; higher degrees have lower classes."""
    d, c = np.int64(degree), 0
    while d >= 32:
        d >>= 1
        c += 1
    return DEGREE_CLASSES - 1 - (d if c == 0 else 30 + 2 * c + ((d >> 3) & 1))


@kernel
def _sort(rank, size, signals, cursor, cuts, degree, starts, vertices, ordered):
    """A counting sort of each block, by the thread that takes it; `starts[rank]` is scratch of that thread."""
    mine = starts[rank]
    while True:
        b = atomic_add(cursor, 0, 1)
        if b >= cuts.size - 1:
            break
        mine[:] = 0
        mine[0] = cuts[b]
        for i in range(uint64(cuts[b]), uint64(cuts[b + 1])):
            mine[_class(degree[vertices[i]]) + 1] += 1
        for c in range(DEGREE_CLASSES):
            mine[c + 1] += mine[c]
        for i in range(uint64(cuts[b]), uint64(cuts[b + 1])):
            c = _class(degree[vertices[i]])
            ordered[uint64(mine[c])] = vertices[i]
            mine[c] += 1


@kernel
def _move(rank, size, signals, cursor, cuts, table_indptr, neighbours, weights, rows, places, indptr, senders, moved):
    """Copy the edges to their new rows. The thread that takes a block of rows writes it."""
    while True:
        b = atomic_add(cursor, 0, 1)
        if b >= cuts.size - 1:
            break
        for i in range(uint64(cuts[b]), uint64(cuts[b + 1])):
            e, to = uint64(table_indptr[rows[i]]), uint64(indptr[i])
            for k in range(uint64(indptr[i + ONE]) - to):
                senders[to + k] = places[uint64(neighbours[e + k])]
                if weights is not None:
                    moved[to + k] = weights[e + k]


@part
def gather(edges, sent, lo, hi, sums):
    """Set sums[i - lo] to the sum of what row i is sent, for rows lo:hi. Four partial sums keep additions from waiting
    for each other. `senders` is read once per round and prefetched accordingly, so that the values that they send,
    which are read again and again, stay in the cache."""
    _, indptr, senders, weights, terms = edges
    zero, four = sent.dtype.type(0), uint64(4)
    for i in range(uint64(lo), uint64(hi)):
        e, end = uint64(indptr[i]), uint64(indptr[i + ONE])
        a, b, c, d = zero, zero, zero, zero
        prefetch_once(senders, e + uint64(AHEAD))
        while end - e >= four:
            a += _term(senders, weights, sent, e)
            b += _term(senders, weights, sent, e + ONE)
            c += _term(senders, weights, sent, e + uint64(2))
            d += _term(senders, weights, sent, e + uint64(3))
            e += four
            if e % uint64(PER_LINE) < four:
                prefetch_once(senders, e + uint64(AHEAD))
        while e != end:
            a += _term(senders, weights, sent, e)
            e += ONE
        sums[i - uint64(lo)] = (a + b) + (c + d)
    _add_terms(terms, sent, uint64(lo), uint64(hi), sums)


@part
def _add_terms(terms, sent, lo, hi, sums):
    if terms is not None:
        last, kind = uint64(terms.rows.size), sent.dtype.type
        k = first_from(terms.rows, uint64(0), last, lo)
        while k < last and uint64(terms.rows[k]) < hi:
            sums[uint64(terms.rows[k]) - lo] += kind(terms.factors[k]) * sent[terms.senders[k]]
            k += ONE


@part
def _term(senders, weights, sent, e):
    if weights is None:
        return sent[senders[e]]
    return weights[e] * sent[senders[e]]


@part
def total(sums, column):
    """The sum of a column over blocks, in their order."""
    result = 0.0
    for b in range(len(sums)):
        result += sums[b, column]
    return result
