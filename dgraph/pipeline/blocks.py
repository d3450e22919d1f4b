"""Pipeline blocks, which are consecutive rows with about the same number of edges, and compiled loops that copy their
values between the tables and a daemon's buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit

MANY_BLOCKS = 4  # with more blocks than this, the cost of another call is negligible

kernel = cached_njit()


class Block(NamedTuple):
    """Rows of an edge table, or places in a list of senders."""

    first: int
    last: int
    edges: int


def cut_blocks(ends: np.ndarray, size: int, *, taper: bool = False) -> list[Block]:
    """Blocks of about `size` edges and at most `size` rows; row i has the edges ends[i]:ends[i + 1]. Rows are never
    cut, so a long row makes a longer block. With `taper`, the first and last of many blocks are a quarter as long: the
    pipeline fills and drains faster, and blocks of different lengths separate the cost per call from the cost per
    edge."""
    rows, edges = len(ends) - 1, int(ends[-1] - ends[0])
    marks = np.arange(size, edges, size)
    if taper and edges > MANY_BLOCKS * size:
        marks = np.concatenate([np.arange(size // 4, edges - size // 4, size), [edges - size // 4]])
    bounds = np.unique(np.concatenate([[0], np.searchsorted(ends, ends[0] + marks), [rows]]))
    most = max(1, size)
    longer = np.flatnonzero(np.diff(bounds) > most)
    if len(longer):
        more = [np.arange(bounds[i] + most, bounds[i + 1], most) for i in longer]
        bounds = np.unique(np.concatenate([bounds, *more]))
    counts = np.diff(ends[bounds])
    return [Block(a, b, e) for a, b, e in zip(bounds.tolist(), bounds[1:].tolist(), counts.tolist(), strict=False)]


def words(array: np.ndarray) -> np.ndarray:
    """An array of scalars or vectors as rows of unsigned integers, so that one compiled loop copies all types of a
    width and compares values bitwise."""
    return array.view(f"u{array.dtype.itemsize}").reshape(len(array), array.shape[1] if array.ndim == 2 else 1)


def gather(values: np.ndarray, ids: np.ndarray, out: np.ndarray) -> int:
    """out[i] = values[ids[i]]; returns the number of bytes moved."""
    moved = words(out[: len(ids)])
    _gather(words(values), ids, moved)
    return moved.nbytes


def refresh(values: np.ndarray, ids: np.ndarray, cache: np.ndarray, slots: np.ndarray) -> int:
    """cache[slots] = values[ids] where they differ; returns the number of bytes moved."""
    rows = words(values)
    return int(_refresh(rows, ids, words(cache), slots)) * rows.shape[1] * rows.itemsize


@kernel
def _gather(values, ids, out):
    for i in range(uint64(len(ids))):
        u = uint64(ids[i])
        for c in range(uint64(values.shape[1])):
            out[i, c] = values[u, c]


@kernel
def _refresh(values, ids, cache, slots):
    moved = 0
    for i in range(uint64(len(ids))):
        u, s, differs = uint64(ids[i]), uint64(slots[i]), False
        for c in range(uint64(values.shape[1])):
            if cache[s, c] != values[u, c]:
                cache[s, c] = values[u, c]
                differs = True
        moved += differs
    return moved


@kernel
def any_active(neighbours, active):
    """Whether some neighbour of a block is active."""
    e, edges = uint64(0), uint64(len(neighbours))
    while e < edges and not active[neighbours[e]]:
        e += uint64(1)
    return e < edges


@kernel
def gather_edges(indptr, rows, values, out):
    """Copy the values of the edges of some rows, row by row."""
    n = uint64(0)
    for i in range(uint64(len(rows))):
        for e in range(uint64(indptr[rows[i]]), uint64(indptr[rows[i] + uint64(1)])):
            out[n] = values[e]
            n += uint64(1)
