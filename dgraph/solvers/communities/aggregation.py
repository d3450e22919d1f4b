"""The graph of communities: the weights of the edges from one community to another, added up. What is inside a
community becomes a loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, atomic_add, barrier, kernel, new_signals, team, worthwhile_threads
from dgraph.solvers.communities.ties import NEXT, Ties, WeightTable, add, tables

GRAIN = 512  # communities that a thread takes at a time, fewer if there are few


class Members(NamedTuple):
    """The vertices by community: those of community c are `order[starts[c]:starts[c + 1]]`."""

    order: np.ndarray
    starts: np.ndarray


class Rows(NamedTuple):
    """Rows of edges with gaps between them: row c begins at `begins[c]` and has `lengths[c]` edges."""

    begins: np.ndarray
    lengths: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray


def members_of(labels: np.ndarray, count: int) -> Members:
    """The vertices of each of `count` communities, in ascending order."""
    members = Members(np.empty(len(labels), np.uint32), np.zeros(count + 1, np.int64))
    _group(0, 1, new_signals(), labels, members)
    return members


def merged(
    first: Ties, second: Ties, labels: np.ndarray, members: Members, loops: float, threads: int, numbers: np.ndarray
) -> Ties:
    """The edges between communities. A loop of a vertex counts `loops` times. Unless `numbers` is empty, only edges to
    vertices whose number is not smaller are counted."""
    count = len(members.starts) - 1
    begins = np.zeros(count + 1, np.int64)
    room = int(_bound(0, 1, new_signals(), first, second, members, begins))
    rows = Rows(begins, np.zeros(count, np.int64), np.empty(room, np.uint32), np.empty(room))
    threads = worthwhile_threads(threads, len(first.neighbours) + len(second.neighbours))
    grain, tally = max(1, min(GRAIN, count // 64)), np.zeros(64, np.int64)
    how = loops, grain
    team(_merge, threads, first, second, labels, members, numbers, rows, *tables(threads, count), how, tally)
    indptr = np.concatenate([[0], np.cumsum(rows.lengths)])
    packed = Ties(indptr, np.empty(indptr[-1], np.uint32), np.empty(indptr[-1]))
    team(_pack, threads, rows, packed, grain, np.zeros(64, np.int64))
    return packed


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
def _bound(rank, size, signals, first, second, members, begins):
    """Where the row of each community begins, if it is as long as it can be. Returns the sum of the lengths."""
    order, starts = members
    count = uint64(starts.size) - ONE
    for c in range(count):
        edges = 0
        for i in range(uint64(starts[c]), uint64(starts[c + ONE])):
            u = uint64(order[i])
            edges += first.indptr[u + ONE] - first.indptr[u]
            if second.indptr.size > 1:
                edges += second.indptr[u + ONE] - second.indptr[u]
        begins[c + ONE] = begins[c] + min(edges, starts.size - 1)
    return begins[count]


@kernel
def _merge(rank, size, signals, first, second, labels, members, numbers, rows, sums, touched, how, tally):
    table = WeightTable(sums[rank], touched[rank])
    loops, grain = how
    count = uint64(rows.lengths.size)
    begin = uint64(atomic_add(tally, NEXT, grain))
    while begin < count:
        for c in range(begin, min(begin + uint64(grain), count)):
            _write_row(c, first, second, labels, members, numbers, rows, table, loops)
        begin = uint64(atomic_add(tally, NEXT, grain))
    barrier(size, signals)
    return 0


@scalar_part
def _write_row(c, first, second, labels, members, numbers, rows, table, loops):
    entries, place = uint64(0), uint64(rows.begins[c])
    for i in range(uint64(members.starts[c]), uint64(members.starts[c + ONE])):
        u = uint64(members.order[i])
        entries = _add_row(u, first, labels, numbers, table, loops, entries)
        if second.indptr.size > 1:
            entries = _add_row(u, second, labels, numbers, table, loops, entries)
    for i in range(entries):
        label = uint64(table.touched[i])
        rows.neighbours[place + i] = label
        rows.weights[place + i] = table.sums[label]
        table.sums[label] = 0.0
    rows.lengths[c] = entries


@inlined
def _add_row(u, ties, labels, numbers, table, loops, entries):
    for e in range(uint64(ties.indptr[u]), uint64(ties.indptr[u + ONE])):
        v = uint64(ties.neighbours[e])
        if numbers.size == 0 or numbers[v] >= numbers[u]:
            weight = ties.weights[e] if ties.weights.size else 1.0
            entries = add(table, uint64(labels[v]), weight * loops if v == u else weight, entries)
    return entries


@kernel
def _pack(rank, size, signals, rows, packed, grain, tally):
    """Copy the rows without the gaps."""
    count = uint64(packed.indptr.size) - ONE
    begin = uint64(atomic_add(tally, NEXT, grain))
    while begin < count:
        for c in range(begin, min(begin + uint64(grain), count)):
            origin, place = uint64(rows.begins[c]), uint64(packed.indptr[c])
            for i in range(uint64(rows.lengths[c])):
                packed.neighbours[place + i] = rows.neighbours[origin + i]
                packed.weights[place + i] = rows.weights[origin + i]
        begin = uint64(atomic_add(tally, NEXT, grain))
    barrier(size, signals)
    return 0
