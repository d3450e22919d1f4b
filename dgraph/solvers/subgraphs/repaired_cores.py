"""Core numbers after edges came and went, from those before.

Without the edges that came, core numbers can only be lower: vertices whose neighbours do not support theirs any more
are lowered to what they do support, until all are supported (Lü, Zhou, Zhang, Stanley, 2016). Then edges come one by
one, and each raises, by one, only vertices with the lower core number of its ends, which it connects: those around that
end are tested, and dropped again if too few of their neighbours can be in the next core (Sariyüce and others, 2013).
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import kernel, part
from dgraph.solvers.subgraphs.simple_pairs import SimplePairs, neighbour, pairs_at, places_of, rank_of, row_lengths
from dgraph.tables.changed_rows import NOBODY, ChangedRows, most_to_read

SHARE = 4  # peeling anew is fast, so only this fraction of the edges that other repairs may read is read
ONE_PAIR = 16  # one edge that comes may read this fraction of that: where it reads more, so do others
SPARE = 8  # supporters that are counted beyond those that a vertex needs, so that a few may be lost
WAITING, TRIED, DROPPED = 1, 2, 3  # states of vertices that may be raised
READ, SCANS = 0, 1  # counts: edges read; rows of which neighbours were marked


def repaired_cores(
    core: np.ndarray, tables: tuple[ChangedRows, ...], pairs: SimplePairs, read: int, *, all_doubtful: bool
) -> tuple[int, int]:
    """Correct core numbers in place. Returns the number of edges read, `read` of them before, -1 if these are more than
    is worth it; and the number of vertices with another core number.

    New vertices have 0. One table, or two for both directions, have the edges as they are. With `all_doubtful`, some
    pairs that are present may have been so before."""
    rows, other_rows, size = tables[0], tables[-1], len(core)
    doubtful = np.ones(len(pairs.first), bool) if all_doubtful else ~pairs.present
    first, second = pairs.first[doubtful], pairs.second[doubtful]
    seeds = np.concatenate([first[core[second] >= core[first]], second[core[first] >= core[second]]])
    most, counts = max(1, most_to_read(rows) // SHARE), np.array([read, 0])
    before, seen = core.copy(), np.zeros(size, np.uint32)
    how = rows, other_rows, len(tables), pairs.keys, pairs.ranks, most
    if len(seeds):
        work = np.zeros(size, np.int32), np.zeros(size, np.bool_), np.zeros(int(core.max()) + 2, np.int64)
        _lower(*how, np.unique(seeds), *work, core, seen, counts)
    if pairs.present.any() and counts[READ] <= most:
        ends = np.concatenate([pairs.first, pairs.second])
        shorter_first = np.less_equal(*np.split(row_lengths(rows, other_rows, len(tables), ends), 2))
        work = np.zeros(size, np.uint32), np.zeros(size, np.int32), np.empty(size, np.uint32)
        _raise(*how, pairs.first, pairs.second, pairs.present, shorter_first, *work, core, seen, counts)
    return int(counts[READ]) if counts[READ] <= most else -1, int(np.count_nonzero(core != before))


@inlined
def _other(i, u, place, beside, rows, other_rows, of_u, end_of_u, keys, ranks, last, seen, scan):
    """The neighbour i of u; NOBODY if it is u itself or was returned before, or if the edge is left out or comes after
    pair `last`."""
    w = neighbour(uint64(i), u, place, beside, rows, other_rows)
    if w == uint64(NOBODY) or w == u or seen[w] == scan:
        return uint64(NOBODY)
    seen[w] = scan
    if rank_of(u, w, of_u, end_of_u, keys, ranks) > last:
        return uint64(NOBODY)
    return w


@kernel
def _lower(rows, other_rows, tables, keys, ranks, most, seeds, support, waits, histogram, core, seen, counts):
    """Lower core numbers until all are supported. `support` is a lower bound of the number of neighbours with no lower
    core number, plus 1; 0 if it is not known."""
    stack = [uint64(u) for u in seeds]
    for u in seeds:
        waits[u] = True
    while len(stack) > 0 and counts[READ] <= most:
        u = stack.pop()
        waits[u] = False
        old = core[u]
        if old == 0:
            continue
        of_u, end_of_u = pairs_at(u, keys)
        place, beside, total = places_of(u, rows, other_rows, tables)
        enough = old + old // SPARE + SPARE
        histogram[: old + 1] = 0
        counts[SCANS] += 1
        scan = np.uint32(counts[SCANS])
        i = uint64(0)
        while i < total and histogram[old] < enough:
            w = _other(i, u, place, beside, rows, other_rows, of_u, end_of_u, keys, ranks, -1, seen, scan)
            if w != uint64(NOBODY):
                histogram[min(old, core[w])] += 1
            i += uint64(1)
        counts[READ] += np.int64(i)
        new, found = old, histogram[old]
        while found < new:
            new -= 1
            found += histogram[new]
        support[u] = found + 1
        if new == old:
            continue
        core[u] = new
        counts[SCANS] += 1
        scan = np.uint32(counts[SCANS])
        for e in range(total):
            w = _other(uint64(e), u, place, beside, rows, other_rows, of_u, end_of_u, keys, ranks, -1, seen, scan)
            if w == uint64(NOBODY) or core[w] <= new or core[w] > old:
                continue
            if support[w] > 0:
                support[w] -= 1
            if support[w] - 1 < core[w] and not waits[w]:
                waits[w] = True
                stack.append(w)
        counts[READ] += np.int64(total)


@kernel
def _raise(
    rows, other_rows, tables, keys, ranks, most, first, second, present, shorter_first,
    states, able, queue, core, seen, counts,
):  # fmt: skip
    """Let pair by pair come. While pair k does, states[w] is 4 * (k + 1) with the state of w, if it has one, and
    able[w] is the number of w's neighbours that may be in the next core."""
    for k in range(first.size):
        if not present[k] or counts[READ] > most:
            continue
        root, other = uint64(first[k]), uint64(second[k])
        if core[root] > core[other] or (core[root] == core[other] and not shorter_first[k]):
            root, other = other, root
        level, mark, stop = core[root], np.uint32(4 * (k + 1)), counts[READ] + most // ONE_PAIR
        queue[0], states[root] = root, mark | np.uint32(WAITING)
        head, tail = 0, 1
        while head < tail and states[root] != mark | np.uint32(DROPPED) and counts[READ] <= stop:
            u = uint64(queue[head])
            head += 1
            of_u, end_of_u = pairs_at(u, keys)
            place, beside, total = places_of(u, rows, other_rows, tables)
            counts[SCANS] += 1
            scan, behind, found = np.uint32(counts[SCANS]), tail, 0
            for i in range(total):
                w = _other(uint64(i), u, place, beside, rows, other_rows, of_u, end_of_u, keys, ranks, k, seen, scan)
                if w == uint64(NOBODY) or core[w] < level:
                    continue
                if core[w] == level:
                    if states[w] == mark | np.uint32(DROPPED):
                        continue
                    if states[w] & ~np.uint32(3) != mark:
                        queue[tail] = w  # tried only if u may be raised
                        tail += 1
                found += 1
            counts[READ] += np.int64(total)
            able[u], states[u] = found, mark | np.uint32(TRIED)
            if found > level:
                for place_in_queue in range(behind, tail):
                    states[queue[place_in_queue]] = mark | np.uint32(WAITING)
                continue
            tail = behind
            _drop(u, level, mark, k, rows, other_rows, tables, keys, ranks, states, able, core, seen, counts)
        if counts[READ] > stop:
            counts[READ] = most + 1
        elif states[root] != mark | np.uint32(DROPPED):
            for at in range(tail):
                if states[queue[at]] == mark | np.uint32(TRIED):
                    core[queue[at]] = level + 1


@part
def _drop(u, level, mark, last, rows, other_rows, tables, keys, ranks, states, able, core, seen, counts):
    """Drop a vertex that cannot be raised, and those that cannot be without it."""
    states[u] = mark | np.uint32(DROPPED)
    stack = [u]
    while len(stack) > 0:
        v = stack.pop()
        of_v, end_of_v = pairs_at(v, keys)
        place, beside, total = places_of(v, rows, other_rows, tables)
        counts[SCANS] += 1
        scan = np.uint32(counts[SCANS])
        for i in range(total):
            w = _other(uint64(i), v, place, beside, rows, other_rows, of_v, end_of_v, keys, ranks, last, seen, scan)
            if w != uint64(NOBODY) and states[w] == mark | np.uint32(TRIED):
                able[w] -= 1
                if able[w] <= level:
                    states[w] = mark | np.uint32(DROPPED)
                    stack.append(w)
        counts[READ] += np.int64(total)
