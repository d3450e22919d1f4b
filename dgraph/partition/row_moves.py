"""Rows of edges of a partition whose vertices get other local ids: each row is copied to its new place, without the
edges that go from it and followed by those that come to it. Nothing is sorted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import uint64

from dgraph.native import threads
from dgraph.native.ascending import first_from
from dgraph.native.machine_code import cached_njit

PIECES = 4  # of a table, for each thread
NO_ROW = np.uint32((1 << 32) - 1)

kernel = cached_njit()


@dataclass(frozen=True, eq=False)
class RowMove:
    """Where the rows of a table go.

    `old` says where its rows begin. Row r of the new table was row `origin[r]`, or none if that is NO_ROW. `gone` are
    the places of edges that go, and `rows` the new rows of edges that come; both ascend.
    """

    old: np.ndarray
    origin: np.ndarray
    gone: np.ndarray
    rows: np.ndarray

    def indptr(self) -> np.ndarray:
        """Where the new rows begin."""
        size = len(self.origin)
        there = self.origin != NO_ROW
        lost = np.bincount(np.searchsorted(self.old, self.gone, side="right") - 1, minlength=len(self.old) - 1)
        out = np.zeros(size + 1, np.int64)
        out[1:][there] = (np.diff(self.old) - lost)[self.origin[there]]
        out[1:] += np.bincount(self.rows, minlength=size)
        return np.cumsum(out, out=out)

    def values(
        self,
        old: np.ndarray,
        new: np.ndarray,
        indptr: np.ndarray,
        workers: int,
        dtype: np.dtype | None = None,
        renumber: np.ndarray | None = None,
    ) -> np.ndarray:
        """A column of the new table, whose rows begin at `indptr`, from that of the old one and the values of the edges
        that come; old values get other numbers by `renumber`."""
        out = np.empty(int(indptr[-1]), dtype or old.dtype)
        bits = f"u{out.itemsize}"  # so that few kernels do for all types
        before, added, filled = (one.astype(out.dtype, copy=False).view(bits) for one in (old, new, out))
        pieces = PIECES * workers if len(out) >= threads.FEWEST_ENTRIES else 1
        bounds = np.unique([0, *np.searchsorted(indptr, np.linspace(0, len(out), pieces + 1)[1:-1]), len(self.origin)])
        numbers = np.empty(0, np.uint32) if renumber is None else renumber
        start_new = np.searchsorted(self.rows, bounds)

        def fill(k: int) -> None:
            low, high = bounds[k], bounds[k + 1]
            come = slice(start_new[k], start_new[k + 1])
            rows = self.origin[low:high], indptr[low : high + 1]
            _move(self.old, before, *rows, self.gone, self.rows[come], low, added[come], numbers, filled)

        threads.parallel_map(fill, range(len(bounds) - 1), len(out))
        return out

    def places(self, edges: np.ndarray, targets: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Where edges of the old table that stay are in the new one; `targets` has the new number of each old row."""
        row = np.searchsorted(self.old, edges, side="right") - 1
        within = edges - self.old[row]
        before = np.searchsorted(self.gone, edges) - np.searchsorted(self.gone, self.old[row])
        return indptr[targets[row].astype(np.int64)] + within - before


@kernel
def _move(old, values, origin, indptr, gone, more_rows, first, more, renumber, out):
    """Fill the rows of `out` that begin at `indptr`, the first of which has the number `first`."""
    a = uint64(0)
    for r in range(uint64(origin.size)):
        k, stop = uint64(indptr[r]), uint64(indptr[r + uint64(1)])
        last = a
        while last < more_rows.size and uint64(more_rows[last]) == uint64(first) + r:
            last += uint64(1)
        if origin[r] != NO_ROW:
            row = uint64(origin[r])
            e, end = uint64(old[row]), uint64(old[row + uint64(1)])
            g = uint64(gone.size)
            if stop - k != end - e + (last - a):
                g = first_from(gone, uint64(0), g, e)
            while e < end:
                until = end
                if g < gone.size:
                    until = min(until, uint64(gone[g]))
                if renumber.size:
                    for i in range(until - e):
                        out[k + i] = renumber[uint64(values[e + i])]
                else:
                    for i in range(until - e):
                        out[k + i] = values[e + i]
                k += until - e
                e = until
                if g < gone.size and uint64(gone[g]) == e and e < end:
                    e += uint64(1)
                    g += uint64(1)
        while a < last:
            out[k] = more[a]
            k += uint64(1)
            a += uint64(1)
