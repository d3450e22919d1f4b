"""Triangles whose edges have weights: for each vertex, the sum over its triangles of the products of three weights.
They are found as in `triangles.py`."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, team

GRAIN = 256  # rows that a thread takes at a time


def sums_of_products(high: np.ndarray, low: np.ndarray, weights: np.ndarray, size: int, threads: int) -> np.ndarray:
    """The sum of each of `size` vertices. Edges are listed once, in the order of their higher ends. If vertices are
    numbered by descending degree, rows are short. Sums of floats depend on the number of threads."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(high, minlength=size))])
    sums, marks = np.zeros((threads, size), weights.dtype), np.zeros((threads, size), weights.dtype)
    team(_sums_of_products, threads, np.zeros(1, np.int64), indptr, low.astype(np.uint32), weights, sums, marks)
    return sums.sum(axis=0)


@kernel
def _sums_of_products(rank, size, signals, cursor, indptr, lower, weights, sums, marks):
    """Each thread writes its own `sums[rank]`. While it looks for the triangles of u, `marks[rank]` holds the weights
    of the edges to u's lower neighbours; it clears them afterwards."""
    mark, found = marks[rank], sums[rank]
    n = indptr.size - 1
    while atomic_load(signals, STOP) == 0:
        first = atomic_add(cursor, 0, GRAIN)
        if first >= n:
            break
        for u in range(uint64(first), uint64(min(first + GRAIN, n))):
            begin, end = uint64(indptr[u]), uint64(indptr[u + ONE])
            for i in range(begin, end):
                mark[lower[i]] = weights[i]
            for i in range(begin, end):
                v, across, at_v = uint64(lower[i]), weights[i], weights.dtype.type(0)
                for k in range(uint64(indptr[v]), uint64(indptr[v + ONE])):
                    product = across * mark[lower[k]] * weights[k]
                    at_v += product
                    found[lower[k]] += product
                found[v] += at_v
                found[u] += at_v
            for i in range(begin, end):
                mark[lower[i]] = 0
