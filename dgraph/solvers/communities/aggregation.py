"""The graph of communities: the weights of the edges from one community to another, added up. What is inside a
community becomes a loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, barrier, kernel, team, worthwhile_threads
from dgraph.solvers.communities.ties import NEXT, READS, Ties, WeightTable, add, tables

GRAIN = 512  # communities that a thread takes at a time, fewer if there are few
PLACED = 8  # in `tally`: how many edges of the new rows have a place


class Members(NamedTuple):
    """The vertices by community: those of community c are `order[starts[c]:starts[c + 1]]`."""

    order: np.ndarray
    starts: np.ndarray


def members_of(labels: np.ndarray, count: int) -> Members:
    """The vertices of each of `count` communities, in ascending order."""
    members = Members(np.empty(len(labels), np.uint32), np.zeros(count + 1, np.int64))
    team(_group, 1, labels, members)
    return members


class Room:
    """Memory for the edges of a level, kept for later levels: new memory takes as long to get as edges to write. The
    system gives none for places that are not written."""

    def __init__(self) -> None:
        self.neighbours, self.weights = np.empty(0, np.uint32), np.empty(0)

    def for_edges(self, count: int, kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        if len(self.neighbours) < count or self.weights.dtype != kind:
            # The old memory is freed first, for there may be no room for both.
            self.neighbours, self.weights = np.empty(0, np.uint32), np.empty(0)
            self.neighbours, self.weights = np.empty(count, np.uint32), np.empty(count, kind)
        return self.neighbours, self.weights


def merged(
    first: Ties,
    second: Ties,
    labels: np.ndarray,
    members: Members,
    loops: float,
    threads: int,
    room: Room,
    numbers: np.ndarray,
) -> Ties:
    """The edges between communities. A loop of a vertex counts `loops` times. Unless `numbers` is empty, only edges to
    vertices whose number is not smaller are counted."""
    count = len(members.starts) - 1
    edges = np.bincount(labels, first.lengths, count)
    if len(second.begins):
        edges += np.bincount(labels, second.lengths, count)
    most = int(np.minimum(edges, count).sum())  # if no edges of a community are added up
    places = np.empty(count, np.int64), np.empty(count, np.int64)
    rows = Ties(*places, *room.for_edges(most, first.weights.dtype))
    threads = worthwhile_threads(threads, READS * (first.entries + second.entries))
    how, tally = (loops, max(1, min(GRAIN, count // 64))), np.zeros(64, np.int64)
    team(_merge, threads, first, second, labels, members, numbers, rows, *tables(threads, count), how, tally)
    return rows


@kernel
def _group(rank, size, signals, labels, members):
    """Sort the vertices by community, by counting."""
    order, starts = members
    count = uint64(starts.size) - ONE
    for u in range(uint64(labels.size)):
        starts[uint64(labels[u]) + ONE] += 1
    for c in range(count):
        starts[c + ONE] += starts[c]
    for u in range(uint64(labels.size)):
        c = uint64(labels[u])
        order[uint64(starts[c])] = u
        starts[c] += 1
    for back in range(count):
        c = count - ONE - back
        starts[c + ONE] = starts[c]
    starts[0] = 0


@kernel
def _merge(rank, size, signals, first, second, labels, members, numbers, rows, sums, touched, how, tally):
    table = WeightTable(sums[rank], touched[rank])
    loops, grain = how
    count = uint64(rows.begins.size)
    begin = uint64(atomic_add(tally, NEXT, grain))
    while begin < count:
        _merge_grain(
            begin, min(begin + uint64(grain), count), first, second, labels, members, numbers, rows, table, loops, tally
        )
        begin = uint64(atomic_add(tally, NEXT, grain))
    barrier(size, signals)
    return 0


@scalar_part
def _merge_grain(begin, end, first, second, labels, members, numbers, rows, table, loops, tally):
    """Write the rows of some communities, each where the last one ends that a thread has written."""
    for c in range(begin, end):
        entries = uint64(0)
        for i in range(uint64(members.starts[c]), uint64(members.starts[c + ONE])):
            u = uint64(members.order[i])
            entries = _add_row(u, first, labels, numbers, table, loops, entries)
            if second.begins.size:
                entries = _add_row(u, second, labels, numbers, table, loops, entries)
        place = uint64(atomic_add(tally, PLACED, entries))
        rows.begins[c] = place
        for i in range(entries):
            label = uint64(table.touched[i])
            rows.neighbours[place + i] = label
            rows.weights[place + i] = table.sums[label]
            table.sums[label] = 0.0
        rows.ends[c] = place + entries


@inlined
def _add_row(u, ties, labels, numbers, table, loops, entries):
    for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
        v = uint64(ties.neighbours[e])
        if numbers.size == 0 or numbers[v] >= numbers[u]:
            weight = ties.weights[e] if ties.weights.size else 1.0
            entries = add(table, uint64(labels[v]), weight * loops if v == u else weight, entries)
    return entries
