"""The refinement of Leiden: each community is divided into well connected parts, the vertices of the next level (Traag,
Waltman, van Eck 2019).

Every vertex begins as a part of its own, and may join one other part of its community, along an edge. The parts are the
trees of these edges, so they are connected whatever the threads do at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import atomic_add, barrier, compare_and_swap, kernel, team
from dgraph.solvers.communities.moves import NONE, expected, sums_of
from dgraph.solvers.communities.ties import NEXT, READ, Level, NullModel, VisitingOrder, WeightTable, add, first_of
from dgraph.solvers.union_find import flatten, link


class Parts(NamedTuple):
    """The part of each vertex; for each part, the sums of its vertices' strengths, and how many vertices it has; the
    trees of edges along which vertices joined parts; and the vertices that may not join one now (none if empty)."""

    parts: np.ndarray
    totals: np.ndarray
    totals_into: np.ndarray
    sizes: np.ndarray  # no vertex joins a part of size 0
    above: np.ndarray
    waiting: np.ndarray

    @classmethod
    def begin(cls, null: NullModel, parts: np.ndarray | None = None, waiting: np.ndarray = NONE) -> Parts:
        """Each vertex as a part of its own, or as in `parts`."""
        alone = np.arange(len(null.strengths), dtype=np.uint32)
        sums = sums_of(null, alone if parts is None else parts)
        sizes = np.bincount(sums.labels, minlength=len(alone)).astype(np.int32)
        return cls(sums.labels.copy(), sums.totals, sums.totals_into, sizes, alone, waiting)


def refine(
    level: Level, labels: np.ndarray, order: VisitingOrder, parts: Parts | None = None
) -> tuple[np.ndarray, int]:
    """Let each vertex that is a part of its own, and does not wait, join one; changes `parts`. Returns the root of each
    vertex in the trees that this makes, which is the smallest vertex of a tree, and the number of edges read."""
    null, parts = level.null, parts or Parts.begin(level.null)
    tally, scratch = np.zeros(64, np.int64), level.tables()
    team(_refine, level.threads, *level.ties, null, sums_of(null, labels), parts, *scratch, order, tally)
    return parts.above, int(tally[READ])


@kernel
def _refine(rank, size, signals, first, second, null, communities, parts, sums, touched, order, tally):
    table = WeightTable(sums[rank], touched[rank])
    grain, grains = uint64(order.grain), uint64(order.grains)
    read, n = uint64(0), uint64(parts.parts.size)
    number = uint64(atomic_add(tally, NEXT, 1))
    while number < grains:
        begin = first_of(order, number)
        read += _refine_grain(begin, min(begin + grain, n), first, second, null, communities, parts, table)
        number = uint64(atomic_add(tally, NEXT, 1))
    atomic_add(tally, READ, read)
    barrier(size, signals)
    flatten(n * uint64(rank) // uint64(size), n * uint64(rank + 1) // uint64(size), parts.above)
    barrier(size, signals)
    return 0


@scalar_part
def _refine_grain(begin, end, first, second, null, communities, parts, table):
    read = uint64(0)
    for u in range(begin, end):
        if parts.sizes[u] == 1 and not (parts.waiting.size and parts.waiting[u]):
            count, within = _add_ties_within(u, first, communities.labels, parts.parts, table, uint64(0), 0.0)
            read += uint64(first.ends[u] - first.begins[u])
            if second.begins.size:
                count, within = _add_ties_within(u, second, communities.labels, parts.parts, table, count, within)
                read += uint64(second.ends[u] - second.begins[u])
            if count:
                _join(u, count, within, first, second, null, communities, parts, table)
    return read


@inlined
def _add_ties_within(u, ties, labels, parts, table, count, within):
    """Like `add_ties`, by part, for edges within the community of u, whose sum is also returned."""
    label = labels[u]
    for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
        v = uint64(ties.neighbours[e])
        if v != u and labels[v] == label:
            weight = ties.weights[e] if ties.weights.size else 1.0
            count = add(table, uint64(parts[v]), weight, count)
            within += weight
    return count, within


@inlined
def _join(u, count, within, first, second, null, communities, parts, table):
    """Let u join its best part, provided that u is well connected to its community, and clear the table."""
    label, strength, directed = uint64(communities.labels[u]), null.strengths[u], null.into.size > 0
    into = null.into[u] if directed else 0.0
    rest, rest_into = communities.totals[label] - strength, communities.totals_into[label] - into if directed else 0.0
    well = within >= expected(u, null, rest, rest_into)
    best, most = u, 0.0
    for i in range(count):
        part = uint64(table.touched[i])
        if well and part != u and parts.sizes[part] > 0:
            total_into = parts.totals_into[part] if directed else 0.0
            found = table.sums[part] - expected(u, null, parts.totals[part], total_into)
            if found > most or (found == most and part < best and best != u):
                best, most = part, found
        table.sums[part] = 0.0
    if best == u:
        return
    through = _neighbour_in(u, best, first, parts.parts)
    if through == u and second.begins.size:
        through = _neighbour_in(u, best, second, parts.parts)
    if through == u or not compare_and_swap(parts.sizes, u, 1, 0):  # meanwhile, another vertex has joined u
        return
    parts.parts[u] = best
    atomic_add(parts.sizes, best, 1)
    atomic_add(parts.totals, best, strength)
    if directed:
        atomic_add(parts.totals_into, best, into)
    link(u, through, parts.above)


@inlined
def _neighbour_in(u, part, ties, parts):
    """A neighbour of u in the part; u itself if there is none."""
    for e in range(uint64(ties.begins[u]), uint64(ties.ends[u])):
        v = uint64(ties.neighbours[e])
        if parts[v] == part and v != u and (ties.weights.size == 0 or ties.weights[e] > 0.0):
            return v
    return u
