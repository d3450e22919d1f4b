"""Computes for how many rounds a partition need not synchronise: the number of edges that its messages must cross
before they reach a vertex that another partition knows. This generalises GX-Plug's synchronisation skipping (Zou et al.
2022), which looks one edge ahead."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit
from dgraph.tables.edge_tables import EdgeTables, cached_on

MOST_HOPS = 65535  # stands for this many edges or more

kernel = cached_njit()


def quiet_rounds(edges: EdgeTables, along: str, senders: np.ndarray) -> int:
    """The number of rounds, including this one, that cannot affect other partitions if these vertices send."""
    sides = edges.receivers(along, joined=False)
    if not sides:
        return 0
    hops = cached_on(edges.partition, ("hops", edges.directed, along), lambda: _hops(edges, sides))
    return int(_fewest_hops(hops, senders))


def _hops(edges: EdgeTables, sides: list) -> np.ndarray:
    """For each owned vertex, the number of edges to the nearest vertex that other partitions know (it has copies
    elsewhere, or an edge to a proxy); 0 for these vertices themselves. A breadth-first search against the direction of
    messages."""
    partition = edges.partition
    n = partition.num_owned
    hops, queue, count = np.full(n, MOST_HOPS, np.uint16), np.empty(n, np.uint32), 0
    proxies = np.arange(n, partition.num_local, dtype=np.uint32)
    for side in sides:
        count = _reach(side.indptr, side.neighbours, proxies, 0, hops, queue, count)
    for copied in partition.proxies.masters.values():
        count = _mark(copied, hops, queue, count)
    begin, level = 0, 0
    while begin < count and level < MOST_HOPS - 1:
        begin, level, rows = count, level + 1, queue[begin:count]
        for side in sides:
            count = _reach(side.indptr, side.neighbours, rows, level, hops, queue, count)
    return hops


@kernel
def _reach(indptr, neighbours, rows, level, hops, queue, count):
    """Add the unvisited vertices that send to some rows to the queue; returns its new length."""
    for i in range(uint64(len(rows))):
        for e in range(uint64(indptr[rows[i]]), uint64(indptr[rows[i] + uint64(1)])):
            u = neighbours[e]
            if u < len(hops) and hops[u] == MOST_HOPS:
                hops[u] = level
                queue[count] = u
                count += 1
    return count


@kernel
def _mark(ids, hops, queue, count):
    for i in range(uint64(len(ids))):
        if hops[ids[i]] == MOST_HOPS:
            hops[ids[i]] = 0
            queue[count] = ids[i]
            count += 1
    return count


@kernel
def _fewest_hops(hops, ids):
    least = MOST_HOPS
    for i in range(uint64(len(ids))):
        least = min(least, hops[ids[i]])
        if least == 0:
            break
    return least
