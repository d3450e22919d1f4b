"""Edges as the kernels of communities read them, and the scratch in which a thread adds up weights by community."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE

NEXT, READ = 0, 24  # positions in the arrays called `tally`: the next item to take, and the number of edges read


class Ties(NamedTuple):
    """The edges of one direction. Without weights, each weighs 1."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray  # float64; empty if not used


class WeightTable(NamedTuple):
    """Scratch of one thread."""

    sums: np.ndarray  # by community; all zero between two vertices
    touched: np.ndarray  # the communities whose sums are not zero


NO_TIES = Ties(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0))


def tables(threads: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The tables of all threads, for `count` communities: an array of sums, and one of the communities touched."""
    return np.zeros((threads, count)), np.empty((threads, count), np.uint32)


@inlined
def add(table, label, weight, count):
    """Add a weight to the sum of a community; a weight of 0 is no tie. Returns how many communities were touched."""
    if weight > 0.0:
        before = table.sums[label]
        if before == 0.0:
            table.touched[count] = label
            count += ONE
        table.sums[label] = before + weight
    return count


@inlined
def add_ties(u, ties, labels, table, count):
    """Add the weights of the edges from u to other vertices to the sums of their communities. Returns how many
    communities were touched."""
    for e in range(uint64(ties.indptr[u]), uint64(ties.indptr[u + ONE])):
        v = uint64(ties.neighbours[e])
        if v != u:
            count = add(table, uint64(labels[v]), ties.weights[e] if ties.weights.size else 1.0, count)
    return count
