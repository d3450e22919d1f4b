"""What a division into communities is worth: the weight of each community's edges, and whether it is connected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, barrier, kernel, share, team, worthwhile_threads
from dgraph.partition.partition import Partition
from dgraph.solvers.communities.ties import Ties, unite
from dgraph.solvers.union_find import join_pairs


class CommunitySums(NamedTuple):
    """Sums over the edges of one partition, for each community. Edges of undirected graphs are counted in both
    directions, and so are their loops."""

    inside: np.ndarray  # the weight of edges between its vertices
    leaving: np.ndarray  # the weight of all edges that leave its vertices
    entering: np.ndarray  # the weight of all edges that enter its vertices
    edges_inside: np.ndarray  # the number of edges between its vertices


def community_sums(
    partition: Partition, labels: np.ndarray, weight: str | None, count: int, loops: int, threads: int
) -> CommunitySums:
    """The sums of one partition. `labels` are the communities of all vertices, `count` is how many there are, and a
    loop counts `loops` times."""
    rows = partition.by_source
    weights = np.zeros(0) if weight is None else rows.columns[weight]
    threads = max(1, min(worthwhile_threads(threads, rows.num_edges), rows.num_edges // (2 * count + 1)))
    sums, edges = np.zeros((threads, 3, count)), np.zeros((threads, count), np.int64)
    local = labels[partition.numbers]
    team(_sum, threads, rows.indptr, rows.neighbours, weights, local, float(loops), sums, edges)
    inside, leaving, entering = sums.sum(axis=0)
    return CommunitySums(inside, leaving, entering, edges.sum(axis=0))


@kernel
def _sum(rank, size, signals, indptr, neighbours, weights, labels, loops, sums, edges):
    inside, leaving, entering = sums[rank]
    first, last = share(rank, size, indptr.size - 1)
    for u in range(uint64(first), uint64(last)):
        mine = labels[u]
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            v = uint64(neighbours[e])
            weight = float(weights[e]) if weights.size else 1.0
            times = int(loops) if u == v else 1
            weight *= times
            leaving[mine] += weight
            entering[labels[v]] += weight
            if labels[v] == mine:
                inside[mine] += weight
                edges[rank, mine] += times
    barrier(size, signals)
    return 0


def inner_trees(
    partition: Partition, labels: np.ndarray, weight: str | None, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Trees of the edges within communities: the numbers of vertices that are not roots, and of their roots."""
    rows = partition.by_source
    ties = Ties.of(rows.indptr, rows.neighbours, np.zeros(0) if weight is None else rows.columns[weight])
    alone = np.arange(partition.num_local, dtype=np.uint32)
    above = alone.copy()
    team(unite, worthwhile_threads(threads, rows.num_edges), ties, labels[partition.numbers], above)
    below = np.flatnonzero(above != alone)
    return partition.numbers[below], partition.numbers[above[below]]


def roots(vertices: int, trees: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The root of each vertex once the trees of all partitions are joined."""
    above = np.arange(vertices, dtype=np.uint32)
    for children, parents in trees:
        join_pairs(children.astype(np.uint32), parents.astype(np.uint32), above)
    return above
