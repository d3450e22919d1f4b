"""Triangles through each vertex after edges came and went, from those before.

Triangles that are gone had an edge that went, and none that came; new ones have an edge that came, and none that went.
Each is found at the first of these edges: the neighbours of the end that has more are marked, and those of the other
end are looked up among them.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import kernel
from dgraph.solvers.subgraphs.simple_pairs import (
    NO_RANK,
    SimplePairs,
    neighbour,
    pairs_at,
    places_of,
    rank_of,
    row_lengths,
)
from dgraph.tables.changed_rows import NOBODY, ChangedRows, most_to_read

LOOKS = 4  # a fresh run looks at most edges more than once
BEFORE, AFTER = 1, 2  # bits of marks: neighbours without the edges that came; neighbours without those that went


def repaired_triangles(counts: np.ndarray, tables: tuple[ChangedRows, ...], pairs: SimplePairs, read: int) -> int:
    """Correct the number of triangles at each vertex, and return the number of edges read, `read` of them before; -1 if
    these are more than is worth it. One table, or two for both directions, have the edges as they are."""
    rows, other_rows = tables[0], tables[-1]
    ends = np.concatenate([pairs.first, pairs.second])
    pairs = pairs.of_longer_rows(row_lengths(rows, other_rows, len(tables), ends))
    marks, seen = np.zeros(len(counts), np.uint32), np.zeros(len(counts), np.uint32)
    most = LOOKS * most_to_read(rows)
    return int(_recount(rows, other_rows, len(tables), *pairs, read, most, marks, seen, counts))


@kernel
def _recount(rows, other_rows, tables, first, second, present, keys, ranks, read, most, marks, seen, counts):
    """While it counts the triangles of v, marks[w] is 4 * (the rank of v's first pair + 1) with the bits of w; while it
    counts those of pair k, seen[w] is k + 1."""
    mark = np.uint32(0)
    for k in range(first.size):
        u, v = uint64(first[k]), uint64(second[k])
        of_v, end_of_v = pairs_at(v, keys)
        if k == 0 or second[k - 1] != second[k]:
            mark = np.uint32(4 * (k + 1))
            place, beside, total = places_of(v, rows, other_rows, tables)
            for i in range(total):
                w = neighbour(uint64(i), v, place, beside, rows, other_rows)
                if w != uint64(NOBODY):
                    came = rank_of(v, w, of_v, end_of_v, keys, ranks) != NO_RANK
                    marks[w] = mark | np.uint32(AFTER if came else BEFORE | AFTER)
            for at in range(of_v, end_of_v):
                if not present[ranks[at]]:
                    marks[keys[at] & uint64(0xFFFFFFFF)] = mark | np.uint32(BEFORE)
            read += np.int64(total)
        side = np.uint32(AFTER if present[k] else BEFORE)
        change = 1 if present[k] else -1
        of_u, end_of_u = pairs_at(u, keys)
        place, beside, total = places_of(u, rows, other_rows, tables)
        lost = uint64(0) if present[k] else end_of_u - of_u
        seen[u] = seen[v] = np.uint32(k + 1)  # which are no third vertices
        found = 0
        for i in range(total + lost):
            if i < total:
                w = neighbour(uint64(i), u, place, beside, rows, other_rows)
                if w == uint64(NOBODY):
                    continue
                if marks[w] & ~np.uint32(3) != mark or marks[w] & side == 0:
                    continue
                rank = rank_of(u, w, of_u, end_of_u, keys, ranks)
                if rank != NO_RANK and not present[k]:
                    continue
            else:
                rank = ranks[of_u + i - total]
                w = keys[of_u + i - total] & uint64(0xFFFFFFFF)
                if present[rank] or marks[w] & ~np.uint32(3) != mark or marks[w] & side == 0:
                    continue
            if seen[w] == np.uint32(k + 1):
                continue
            if rank != NO_RANK and rank < k:
                continue
            other = rank_of(v, w, of_v, end_of_v, keys, ranks)
            if other != NO_RANK and other < k:
                continue
            seen[w] = np.uint32(k + 1)
            counts[w] += change
            found += change
        counts[u] += found
        counts[v] += found
        read += np.int64(total)
        if read > most:
            return -1
    return read
