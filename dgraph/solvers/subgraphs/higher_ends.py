"""Divides the edges of a partition, by their higher end, among the blocks in which triangles are counted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, kernel
from dgraph.partition.adjacency import Adjacency

FROM_HIGHER, FROM_LOWER, ANY = 0, 1, 2  # edges to a lower vertex, to a higher one, or all; never self loops


def by_higher_end(edges: Adjacency, names: np.ndarray, shift: int, which: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each of 2**shift blocks, the rows of its edges' higher ends, and the lower ends. Each block has separate
    arrays, so that they can be freed one by one. `names` are the numbers of local vertices; row r of block p is vertex
    r * 2**shift + p."""
    counts = np.zeros(1 << shift, np.int64)
    _count(edges.indptr, edges.neighbours, names, which, counts)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    rows, others = np.empty(bounds[-1], np.uint32), np.empty(bounds[-1], np.uint32)
    _write(edges.indptr, edges.neighbours, names, which, shift, bounds[:-1].copy(), rows, others)
    return [(rows[a:z].copy(), others[a:z].copy()) for a, z in pairwise(bounds)]


def higher_and_lower(edges: Adjacency, numbers: np.ndarray, *, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    """The higher and the lower end of each edge of a partition, without self loops."""
    which = ANY if directed else FROM_HIGHER  # an undirected edge is there twice
    (ends,) = by_higher_end(edges, numbers.astype(np.uint32, copy=False), 0, which)
    return ends


@inlined
def is_chosen(u, v, which):
    """Whether an edge between u and v is one of those that `which` names."""
    return (u > v and which != FROM_LOWER) or (u < v and which != FROM_HIGHER)


@kernel
def _count(indptr, neighbours, names, which, counts):
    """Set counts[p] to the number of edges of block p."""
    blocks = uint64(counts.size - 1)
    for row in range(uint64(indptr.size - 1)):
        u = names[row]
        for e in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
            v = names[neighbours[e]]
            if is_chosen(u, v, which):
                counts[max(u, v) & blocks] += 1


@kernel
def _write(indptr, neighbours, names, which, shift, offsets, rows, others):
    """Write each edge to its block, in the order of the table."""
    blocks = uint64(offsets.size - 1)
    for row in range(uint64(indptr.size - 1)):
        u = names[row]
        for e in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
            v = names[neighbours[e]]
            if is_chosen(u, v, which):
                high = uint64(max(u, v))
                k = offsets[high & blocks]
                offsets[high & blocks] = k + 1
                rows[uint64(k)] = high >> uint64(shift)
                others[uint64(k)] = min(u, v)
