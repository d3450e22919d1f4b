"""Weakly connected components after edges came and went, from those before.

Edges that came join components. Where edges went, their ends grow regions, in turns and by about equally many edges.
Regions that meet are one. A region grows until each edge that went from it has its other end in it, too; then it has
found replacements for them. A region that cannot grow any more is a component of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import kernel, part, share, team
from dgraph.solvers.union_find import join_pairs
from dgraph.tables.changed_rows import (
    NOBODY,
    ChangedRows,
    ask_for_rest,
    extent,
    is_in_part,
    is_missing,
    most_to_read,
    other_end,
)

FIRST_TURN = 4  # edges that a region reads in its first turn; in each later turn, twice as many
NONE = -1
ALONE = np.uint32((1 << 32) - 1)  # the mark of vertices in a region that cannot grow
READ, FOUND = 0, 1  # counts: edges read; vertices in such regions


def repaired_components(
    labels: np.ndarray,
    rows: Callable[[], Sequence[ChangedRows]],
    gone: tuple[np.ndarray, np.ndarray],
    present: tuple[np.ndarray, np.ndarray],
    threads: int,
) -> tuple[np.ndarray, int]:
    """The smallest vertex of the component of each vertex, and the number of edges read; -1 if these are more than is
    worth it.

    `labels` are those before; new vertices are components of their own. Between the pairs of vertices in `gone` there
    was an edge and is none; between those in `present` there is one. `rows()`, one table or two, have the edges as they
    are; it is called if edges went within a component.
    """
    first, second = (ends.astype(np.int64) for ends in gone)
    lost = (labels[first] == labels[second]) & (first != second)
    counts = np.zeros(2, np.int64)
    if lost.any():
        seeds, ends = np.unique(np.stack([first[lost], second[lost]], axis=1), return_inverse=True)
        tables, labels = rows(), labels.copy()
        most = most_to_read(tables[0])
        work = np.zeros(len(labels), np.uint32), np.zeros(len(labels), np.int64), np.empty(len(labels), np.int64)
        _find_alone(tables[0], tables[-1], len(tables), seeds, ends.reshape(-1), most, *work, labels, counts)
        if counts[READ] < 0:
            return labels, NONE
    some, others = (labels[ends] for ends in present)
    apart = some != others
    if apart.any():
        names, places = np.unique(np.stack([some[apart], others[apart]]), return_inverse=True)
        places = places.reshape(2, -1).astype(np.uint32)
        above = np.arange(len(names), dtype=np.uint32)
        join_pairs(places[0], places[1], above)
        to = np.zeros(len(labels), np.int64)
        to[names] = names[above] + 1
        labels, before = np.empty_like(labels), labels
        team(_rename, threads, before, to, labels)
    return labels, int(counts[READ])


@kernel
def _rename(rank, size, signals, before, to, labels):
    """Give components the names to[label] - 1, unless that is negative."""
    low, high = share(rank, size, labels.size)
    for v in range(uint64(low), uint64(high)):
        name = to[uint64(before[v])]
        labels[v] = name - 1 if name else before[v]


@inlined
def _root(region, up):
    while up[region] != region:
        up[region] = up[up[region]]
        region = up[region]
    return region


@inlined
def _append(one, other, heads, tails, following):
    """Append the chain of another region to that of one."""
    if heads[other] != NONE:
        if heads[one] == NONE:
            heads[one] = heads[other]
        else:
            following[tails[one]] = heads[other]
        tails[one] = tails[other]


@inlined
def _push(region, item, heads, tails, following):
    """Append an item to a region's chain."""
    following[item] = NONE
    if heads[region] == NONE:
        heads[region] = item
    else:
        following[tails[region]] = item
    tails[region] = item


@inlined
def _unite(one, other, up, wanted, sizes, ends, settled, chains, end_chain, following):
    """Make two regions one, of which each edge that went between them is settled. Returns the one that is left."""
    heads, tails, end_heads, end_tails = chains[0], chains[1], chains[4], chains[5]
    if sizes[one] < sizes[other]:
        one, other = other, one
    e = end_heads[other]
    while e != NONE:
        if not settled[e >> 1] and _root(ends[e ^ 1], up) == one:
            settled[e >> 1] = True
            wanted[one] -= 1
            wanted[other] -= 1
        e = end_chain[e]
    up[other] = one
    wanted[one] += wanted[other]
    sizes[one] += sizes[other]
    _append(one, other, end_heads, end_tails, end_chain)
    _append(one, other, heads, tails, following)
    _append(one, other, chains[2], chains[3], following)
    return one


@inlined
def _leave(region, up, wanted, sizes, ends, settled, chains, end_chain):
    """A region cannot grow any more. The regions that it was connected with look for each other instead, one for the
    next, because they may have been connected through it alone."""
    end_heads, end_tails = chains[4], chains[5]
    e, before, last = end_heads[region], np.int64(NONE), np.int64(NONE)
    while e != NONE:
        after = end_chain[e]
        if not settled[e >> 1]:
            other = _root(ends[e ^ 1], up)
            if last == other:
                settled[before >> 1] = True
                wanted[other] -= 1
            elif last != NONE:
                ends[before] = other
                _push(other, before, end_heads, end_tails, end_chain)
                sizes[other] += 1
                wanted[other] += 1
            before, last = e, other
        e = after
    if last != NONE:
        settled[before >> 1] = True
        wanted[last] -= 1
    wanted[region] = 0


@kernel
def _find_alone(rows, other_rows, tables, seeds, ends, most, mark, at, following, labels, counts):
    """Edge k went between the vertices seeds[ends[2 * k]] and seeds[ends[2 * k + 1]]. Find the components that are cut
    off, and name all vertices of components that lost some.

    `mark` holds, for each vertex, the number of a region + 1, and `at` how many of its edges have been read. A region
    has chains of vertices: those that it still has to read (0, 1: the first and the last), and those that it has read
    (2, 3); and of ends of edges that went (4, 5). `wanted` is the number of these that are not settled.
    """
    count = seeds.size
    up, wanted, sizes = np.arange(count), np.zeros(count, np.int64), np.zeros(count, np.int64)
    chains = np.full((6, count), NONE, np.int64)
    settled, end_chain = np.zeros(ends.size // 2, np.bool_), np.empty(ends.size, np.int64)
    active, turns, cut_off = np.arange(count), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for region in range(count):
        mark[seeds[region]] = region + 1
        _push(region, seeds[region], chains[0], chains[1], following)
    for e in range(ends.size):
        _push(ends[e], e, chains[4], chains[5], end_chain)
        sizes[ends[e]] += 1
        wanted[ends[e]] += 1
    length, turn, share, read, waits = count, 0, FIRST_TURN, np.int64(0), False
    while length > 0:
        turn += 1
        kept = 0
        for k in range(length):
            region, left = active[k], share
            if up[region] != region or turns[region] == turn:
                continue
            while left > 0 and wanted[region] > 0:
                if chains[0, region] == NONE:
                    cut_off[region] = True
                    _leave(region, up, wanted, sizes, ends, settled, chains, end_chain)
                    break
                u = uint64(chains[0, region])
                place = extent(u, rows)
                total = np.int64(place[1] + place[3])
                beside, both = place, total
                if tables == 2:
                    beside = extent(u, other_rows)
                    both += np.int64(beside[1] + beside[3])
                if is_missing(u, rows) or (tables == 2 and is_missing(u, other_rows)):
                    waits = True  # and so does the region, unless another one meets it
                    turns[region] = turn
                    break
                i, met = at[u], region
                while i < both and left > 0 and met == region:
                    if i < total:
                        v = other_end(uint64(i), u, place, rows)
                    else:
                        v = other_end(uint64(i - total), u, beside, other_rows)
                    i += 1
                    left -= 1
                    read += 1
                    if v == uint64(NOBODY):
                        continue
                    if mark[v] == 0:
                        mark[v] = region + 1
                        _push(region, np.int64(v), chains[0], chains[1], following)
                    else:
                        met = _root(np.int64(mark[v]) - 1, up)
                at[u] = i
                is_cut = is_in_part(u, rows) or (tables == 2 and is_in_part(u, other_rows))
                if i == both and is_cut and met == region:
                    ask_for_rest(u, rows)
                    ask_for_rest(u, other_rows)
                    waits = True
                    turns[region] = turn
                    break
                if i == both and not is_cut:
                    chains[0, region] = following[u]
                    _push(region, np.int64(u), chains[2], chains[3], following)
                if met != region:
                    region = _unite(region, met, up, wanted, sizes, ends, settled, chains, end_chain, following)
            if read > most:
                counts[READ] = -1
                return
            if wanted[region] > 0 and turns[region] != turn:
                turns[region] = turn
                active[kept] = region
                kept += 1
        length, share = kept, 2 * share
    counts[READ] = read
    if waits:
        return
    _name_parts(cut_off, chains, following, mark, labels, counts)


@part
def _name_parts(cut_off, chains, following, mark, labels, counts):
    """Name the components that are cut off, and what is left of those that they were cut off from."""
    beheaded = np.zeros(labels.size, np.bool_)  # labels of components that have lost their smallest vertex
    for region in range(cut_off.size):
        if cut_off[region]:
            u = chains[2, region]
            while u != NONE:
                mark[u] = ALONE
                u = following[u]
                counts[FOUND] += 1
    if counts[FOUND] == 0:
        return
    some = False
    for region in range(cut_off.size):
        if cut_off[region]:
            u = chains[2, region]
            smallest = u
            while u != NONE:
                smallest = min(smallest, u)
                u = following[u]
            u = chains[2, region]
            while u != NONE:
                if mark[labels[u]] == ALONE:
                    beheaded[labels[u]] = some = True
                labels[u] = smallest
                u = following[u]
    if some:
        names = np.zeros(labels.size, np.int64)
        for v in range(labels.size):
            label = labels[v]
            if beheaded[label] and mark[v] != ALONE:
                if names[label] == 0:
                    names[label] = v + 1
                labels[v] = names[label] - 1
