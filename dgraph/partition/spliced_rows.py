"""Rows of edges after some were cut out and others put in: whatever lies between is copied, and nothing is sorted.

Edges to cut out are found by their ends. A row is not sorted by its neighbours, so each row that loses an edge is read
once, and its edges are looked up among those that it loses, which are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import uint64

from dgraph.native import threads
from dgraph.native.machine_code import cached_njit, inlined
from dgraph.partition.adjacency import Adjacency

PIECES = 4  # of a table, for each core

kernel = cached_njit()


# -- finding edges -----------------------------------------------------------------------------------------------------


def count_edges(table: Adjacency, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many edges a table has between each of some pairs of ends, which ascend by row and then by neighbour."""
    found = np.zeros(len(rows), np.int64)

    def count(s: slice) -> None:
        _count_matches(table.indptr, table.neighbours, rows[s], others[s], found[s])

    _each_piece(table, rows, count)
    return found


def last_edges(table: Adjacency, rows: np.ndarray, others: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The places of the last `counts[k]` edges between each of some pairs of ends, which ascend as for `count_edges`.
    The table has so many of each. The places ascend."""

    def find(s: slice) -> np.ndarray:
        out = np.empty(int(counts[s].sum()), np.int64)
        _find_last(table.indptr, table.neighbours, rows[s], others[s], counts[s].astype(np.int64), out)
        return out

    return np.concatenate([np.empty(0, np.int64), *_each_piece(table, rows, find)])


def _each_piece(table: Adjacency, rows: np.ndarray, work: Callable[[slice], Any]) -> list[Any]:
    """Do the work for slices of pairs with about equally many edges to read. No row is in two of them."""
    firsts = np.flatnonzero(np.concatenate([np.ones(min(1, len(rows)), bool), rows[1:] != rows[:-1]]))
    there = np.minimum(rows[firsts].astype(np.int64), len(table.indptr) - 2)
    edges = np.cumsum(table.indptr[there + 1] - table.indptr[there])
    total = int(edges[-1]) if len(edges) else 0
    pieces = PIECES * threads.cores() if total >= threads.FEWEST_ENTRIES else 1
    cuts = firsts[np.searchsorted(edges, np.linspace(0, total, pieces + 1)[1:-1])] if len(firsts) else firsts
    bounds = np.unique([0, *cuts, len(rows)])
    return threads.parallel_map(work, [slice(a, z) for a, z in pairwise(bounds.tolist())], total)


@inlined
def _place(values, low, high, value):
    """The first place in low..high of ascending values whose value is not below `value`."""
    while low < high:
        middle = (low + high) >> uint64(1)
        if values[middle] < value:
            low = middle + uint64(1)
        else:
            high = middle
    return low


@kernel
def _count_matches(indptr, neighbours, rows, others, found):
    q = uint64(0)
    while q < rows.size:
        row, stop = uint64(rows[q]), q + uint64(1)
        while stop < rows.size and rows[stop] == row:
            stop += uint64(1)
        if row + uint64(1) < indptr.size:
            for e in range(uint64(indptr[row]), uint64(indptr[row + uint64(1)])):
                k = _place(others, q, stop, neighbours[e])
                if k < stop and others[k] == neighbours[e]:
                    found[k] += 1
        q = stop


@kernel
def _find_last(indptr, neighbours, rows, others, left, out):
    """Write the places of the last left[k] edges of each pair k. Each row is read from its end, and `out` is filled
    backwards for it, so that all places ascend."""
    end, q = uint64(0), uint64(0)
    while q < rows.size:
        row, stop, wanted = uint64(rows[q]), q + uint64(1), left[q]
        while stop < rows.size and rows[stop] == row:
            wanted += left[stop]
            stop += uint64(1)
        end += uint64(wanted)
        n, e = end, uint64(indptr[row + uint64(1)]) if wanted > 0 else uint64(0)
        while wanted > 0 and e > uint64(indptr[row]):
            e -= uint64(1)
            k = _place(others, q, stop, neighbours[e])
            if k < stop and others[k] == neighbours[e] and left[k] > 0:
                left[k] -= 1
                wanted -= 1
                n -= uint64(1)
                out[n] = e
        q = stop


# -- splicing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Splice:
    """Which edges of a table go, and where others come.

    `gone` are places of edges, ascending. New edge i comes before the edge at `at[i]`, and belongs to row `rows[i]` of
    the new table; both ascend. `renumber` has the new number of each vertex of the old table, which ascend too; None if
    the numbers stay.
    """

    gone: np.ndarray
    at: np.ndarray
    rows: np.ndarray
    num_rows: int
    renumber: np.ndarray | None = None

    def indptr(self, indptr: np.ndarray) -> np.ndarray:
        """Where the new rows begin."""
        old = len(indptr) - 1
        lost = np.searchsorted(indptr, self.gone, side="right") - 1
        if self.renumber is None:
            out = np.empty(self.num_rows + 1, np.int64)
            out[: old + 1], out[old + 1 :] = indptr, indptr[-1]
        else:
            out, lost = np.zeros(self.num_rows + 1, np.int64), self.renumber[lost].astype(np.int64)
            out[1:][self.renumber] = np.diff(indptr)
            np.cumsum(out, out=out)
        change = np.bincount(self.rows + 1, minlength=self.num_rows + 1) if len(self.rows) else 0
        less = np.bincount(lost + 1, minlength=self.num_rows + 1) if len(lost) else 0
        if len(self.rows) or len(lost):
            out += np.cumsum(change - less)
        return out

    def neighbours(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """The neighbours in the new table; `new` have new numbers."""
        return self.values(old, new, old.dtype, self.renumber)

    def values(
        self, old: np.ndarray, new: np.ndarray, dtype: np.dtype, renumber: np.ndarray | None = None
    ) -> np.ndarray:
        """A column of the new table, given that of the old one and the values of the new edges."""
        out = np.empty(len(old) - len(self.gone) + len(self.at), dtype)
        bits = f"u{out.itemsize}"  # so that few kernels do for all types
        old, new, filled = (one.astype(dtype, copy=False).view(bits) for one in (old, new, out))
        pieces = PIECES * threads.cores() if len(out) >= threads.FEWEST_ENTRIES else 1
        bounds = np.unique(np.linspace(0, len(old), pieces + 1).astype(np.int64))
        gone = np.searchsorted(self.gone, bounds)
        at = np.searchsorted(self.at, bounds)
        gone[-1], at[-1] = len(self.gone), len(self.at)  # what comes at the end is in the last piece
        numbers = np.empty(0, np.uint32) if renumber is None else renumber

        def fill(k: int) -> None:
            low, high, g, a = bounds[k], bounds[k + 1], slice(gone[k], gone[k + 1]), slice(at[k], at[k + 1])
            start = low - gone[k] + at[k]
            stop = start + (high - low) - (g.stop - g.start) + (a.stop - a.start)
            _splice(old, low, high, self.gone[g], self.at[a], new[a], numbers, filled[start:stop])

        if len(bounds) > 1:
            threads.parallel_map(fill, range(len(bounds) - 1), len(out))
        else:
            filled[:] = new
        return out

    def places(self, old: np.ndarray) -> np.ndarray:
        """Where edges of the old table that stay are in the new one."""
        return old - np.searchsorted(self.gone, old) + np.searchsorted(self.at, old, side="right")


@kernel
def _splice(old, low, high, gone, at, new, renumber, out):
    """Copy old[low:high] without the places in `gone`, and with new[i] before the place at[i]."""
    k, g, a, e = uint64(0), uint64(0), uint64(0), uint64(low)
    while True:
        stop = uint64(high)
        if g < gone.size:
            stop = min(stop, uint64(gone[g]))
        if a < at.size:
            stop = min(stop, uint64(at[a]))
        if renumber.size:
            for i in range(stop - e):
                out[k + i] = renumber[uint64(old[e + i])]
        else:
            for i in range(stop - e):
                out[k + i] = old[e + i]
        k += stop - e
        e = stop
        while a < at.size and uint64(at[a]) == e:
            out[k] = new[a]
            k += uint64(1)
            a += uint64(1)
        if e >= uint64(high):
            return
        if g < gone.size and uint64(gone[g]) == e:
            e += uint64(1)
            g += uint64(1)
