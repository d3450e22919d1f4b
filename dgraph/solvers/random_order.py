"""Vertices in a random order, as `maximal_independent_set` and `coloring` decide them: each after its earlier ones.

Threads go through the vertices by number, which reads memory in order, and put a vertex aside while they decide an
earlier neighbour (Blelloch, Fineman, Shun: Greedy sequential maximal independent set and matching are parallel on
average, SPAA 2012). Two threads may decide the same vertex, and then agree, so they need not wait for each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint32, uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, share
from dgraph.solvers.compiled_draws import uniform, word_of_round
from dgraph.solvers.solver import CsrArrays, Problem

LOTS = 1 << 30  # vertices are ordered by a random number below this, then by vertex
GRAIN = 1024  # vertices that a thread takes at a time
DEPTH = 1 << 12  # vertices put aside at once; beyond that, the thread forgets them, and comes back to them later


class Aside(NamedTuple):
    """The vertices that a thread has put aside, each with its place: the number of its edges that are read."""

    vertices: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, threads: int, vertices: int) -> Aside:
        """Arrays with a row for each thread."""
        depth = max(1, min(DEPTH, vertices))
        return cls(np.empty((threads, depth), np.uint32), np.empty((threads, depth), np.uint64))


def both_sides(problem: Problem) -> tuple[CsrArrays, CsrArrays]:
    """The rows of all neighbours. The second table is empty unless messages along and against edges need two."""
    tables = [CsrArrays(side.indptr, side.neighbours) for side in problem.edges.senders("both")]
    return (*tables, CsrArrays(np.zeros(1, np.int64), np.zeros(0, np.uint32)))[:2]  # type: ignore[return-value]


@scalar_part
def draw_lots(rank, size, lots, random_seed):
    """Draw the lots of this thread's share of the vertices."""
    word = word_of_round(random_seed, 0)
    begin, end = share(rank, size, lots.size)
    for u in range(uint64(begin), uint64(end)):
        lots[u] = uint32(uniform(word, u) * LOTS)


@inlined
def degree_of(u, first, second):
    """The number of edges in both rows of a vertex."""
    degree = uint64(first.indptr[u + ONE] - first.indptr[u])
    return degree + uint64(second.indptr[u + ONE] - second.indptr[u]) if second.indptr.size > 1 else degree


@inlined
def neighbour_at(place, u, first, second):
    """The other end of one of these edges."""
    begin, end = uint64(first.indptr[u]), uint64(first.indptr[u + ONE])
    if begin + place < end:
        return uint64(first.neighbours[begin + place])
    return uint64(second.neighbours[uint64(second.indptr[u]) + place - (end - begin)])
