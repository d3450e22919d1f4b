"""Reads a few vertices and edges of a partition by the numbers of the vertices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dgraph.partition.adjacency import Adjacency
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import Proxies
from dgraph.partition.spliced_rows import count_edges

NOWHERE = -1


class NumberFinder:
    """Finds the local ids of a partition's vertices by their numbers."""

    def __init__(self, numbers: np.ndarray, proxies: Proxies):
        self.numbers = numbers
        bounds = np.unique([0, len(numbers), *proxies.groups.ravel()])
        self.runs = [(int(a), int(z)) for a, z in pairwise(bounds)]  # in each, numbers ascend

    def find(self, wanted: np.ndarray) -> np.ndarray:
        """The local id of each vertex; -1 for those that the partition lacks."""
        distinct, places = np.unique(wanted.astype(np.int64), return_inverse=True)
        out = np.full(len(distinct), NOWHERE)
        for begin, end in self.runs:
            run = self.numbers[begin:end]
            low, high = np.searchsorted(distinct, run[0]), np.searchsorted(distinct, run[-1], side="right")
            some = distinct[low:high]
            at = np.searchsorted(run, some.astype(run.dtype))
            there = run[np.minimum(at, len(run) - 1)] == some
            out[low:high][there] = begin + at[there]
        return out[places]


def count_arcs(partition: Partition, sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
    """How many edges a partition has from each of some sources to its destination."""
    local = NumberFinder(partition.numbers, partition.proxies)
    ends = local.find(sources), local.find(destinations)
    table = partition.out or partition.incoming
    return count_local(table, *(ends if partition.out else ends[::-1]))


def count_local(table: Adjacency | None, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many edges there are in a row with each neighbour; local ids may be -1."""
    found, known = np.zeros(len(rows), np.int64), np.flatnonzero((rows >= 0) & (others >= 0))
    assert table is not None
    by_row = known[np.lexsort((others[known], rows[known]))]
    found[by_row] = count_edges(table, rows[by_row].astype(np.uint32), others[by_row].astype(np.uint32))
    return found


def rows_at(
    partition: Partition, vertices: np.ndarray, order: str, weight: str | None, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """The edges in the rows of some vertices, at most so many of each: the vertex of the row, the neighbour, and the
    weight. And the vertices whose rows have more."""
    table: Adjacency = getattr(partition, order)
    local = NumberFinder(partition.numbers, partition.proxies).find(vertices)
    there = local >= 0
    vertices, local, most = vertices[there], local[there], most[there]
    starts, lengths = table.indptr[local], table.indptr[local + 1] - table.indptr[local]
    cut, lengths = vertices[lengths > most], np.minimum(lengths, most)
    places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    others = partition.numbers[table.neighbours[places]]
    weights = None if weight is None else table.columns[weight][places].astype(np.float64)
    return np.repeat(vertices, lengths), others, weights, cut


def lowest_weight(partition: Partition, weight: str) -> float:
    """The lowest weight of a partition's edges; infinite without edges."""
    sides = (side for side in (partition.out, partition.incoming) if side is not None and weight in side.columns)
    weights = next(sides).columns[weight]
    return float(weights.min()) if len(weights) else np.inf
