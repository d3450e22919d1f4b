"""Rows of edges as kernels read them while changes are not merged into them: some edges are left out, others come after
those of the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.ascending import ONE, contains, first_from
from dgraph.native.machine_code import inlined

NOBODY = (1 << 64) - 1  # the other end of an edge that is left out
HALF = uint64(32)
SHARE, FEW = 4, 1 << 16


ASKED, HERE, IN_PART = 1, 2, 3  # of a row that a kernel looked for and that is not here; of one that is; of its start
ALL_HERE = np.empty(0, np.uint8)


class ChangedRows(NamedTuple):
    """The table; the keys (row and neighbour) of edges that are left out; and edges that are put in. Keys and rows
    ascend. There may be fewer rows than vertices. Without weights, which are empty then, each edge has the weight 1.

    If rows are fetched as kernels ask for them, `asked` says for each vertex whether its row is HERE, or was ASKED for,
    and looks empty, or is here IN_PART; and `total` is the number of edges of all rows."""

    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    gone: np.ndarray
    more_rows: np.ndarray
    more_neighbours: np.ndarray
    more_weights: np.ndarray
    asked: np.ndarray = ALL_HERE
    total: int = 0

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """The number of edges of the table in each of some rows."""
        there = np.minimum(rows.astype(np.int64), len(self.indptr) - 2)
        return np.where(there == rows, self.indptr[there + 1] - self.indptr[there], 0)


def most_to_read(rows: ChangedRows) -> int:
    """The number of edges to read at most before it is better to compute an answer anew."""
    return max(FEW, max(rows.total, len(rows.neighbours)) // SHARE)


@inlined
def extent(u, rows):
    """Where the edges of a vertex are: the first of the table, and how many; the first that is put in, and how many;
    the first key that is left out, and how many."""
    start, length, more, added, gone, lost = uint64(0), uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
    if rows.asked.size and rows.asked[u] < HERE:
        rows.asked[u] = ASKED
    if u + ONE < uint64(rows.indptr.size):
        start = uint64(rows.indptr[u])
        length = uint64(rows.indptr[u + ONE]) - start
    if rows.more_rows.size:
        last = uint64(rows.more_rows.size)
        more = first_from(rows.more_rows, uint64(0), last, u)
        added = first_from(rows.more_rows, more, last, u + ONE) - more
    if rows.gone.size:
        last = uint64(rows.gone.size)
        gone = first_from(rows.gone, uint64(0), last, u << HALF)
        lost = first_from(rows.gone, gone, last, (u + ONE) << HALF) - gone
    return start, length, more, added, gone, lost


@inlined
def is_missing(u, rows):
    """Whether the row of a vertex was asked for and is not here."""
    return rows.asked.size > 0 and rows.asked[u] == ASKED


@inlined
def is_in_part(u, rows):
    """Whether only the start of a vertex's row is here."""
    return rows.asked.size > 0 and rows.asked[u] == IN_PART


@inlined
def ask_for_rest(u, rows):
    if rows.asked.size > 0 and rows.asked[u] == IN_PART:
        rows.asked[u] = ASKED


@inlined
def other_end(i, u, place, rows):
    """The other end of the vertex's edge i, given its `extent`; NOBODY if it is left out."""
    start, length, more, _, gone, lost = place
    if i >= length:
        return uint64(rows.more_neighbours[more + i - length])
    v = uint64(rows.neighbours[start + i])
    if lost and contains(rows.gone, gone, gone + lost, u << HALF | v):
        return uint64(NOBODY)
    return v


@inlined
def weight_of(i, place, rows):
    """The weight of the vertex's edge i, given its `extent`."""
    start, length, more = place[0], place[1], place[2]
    if i >= length:
        return rows.more_weights[more + i - length] if rows.more_weights.size else 1.0
    return np.float64(rows.weights[start + i]) if rows.weights.size else 1.0
