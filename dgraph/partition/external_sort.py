"""Edges sorted by row, as in `adjacency.py`, but on disk: memory holds a piece and a bucket for each thread.

Each edge is written twice and read once, in long runs: first into its bucket, and then, bucket by bucket, into its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from dgraph.native import threads
from dgraph.native.free_memory import free_memory, has_room, refuse_beyond_memory
from dgraph.partition import build_kernels
from dgraph.partition.adjacency import (
    Adjacency,
    Buckets,
    EdgePiece,
    TableSlice,
    bucket_offsets,
    bucket_shift,
    common_type,
    low_type,
)
from dgraph.partition.scratch import ScratchFolder

SLICE = 1 << 22  # edges of a table that are transposed at once


def sorted_on_disk(pieces: Sequence[EdgePiece], num_rows: int, workers: int, scratch: ScratchFolder) -> Adjacency:
    """Sort the edges of all pieces into rows 0..num_rows, which are mapped from the scratch folder."""
    shift, buckets = bucket_shift(num_rows)
    starts, offsets = bucket_offsets(pieces, shift, buckets)
    total = int(starts[-1])
    types = {name: common_type(name, [piece.columns[name] for piece in pieces]) for name in pieces[0].columns}
    indptr = np.zeros(num_rows + 1, np.int64)
    low = scratch.array(total, low_type(shift))
    payloads = [scratch.array(total, dtype) for dtype in (np.dtype(np.uint32), *types.values())]

    def place(k: int) -> None:
        counts = (offsets[k + 1] if k + 1 < len(pieces) else starts[1:]) - offsets[k]
        own = np.array([0, *accumulate(counts.tolist())])
        columns = {name: np.empty(own[-1], dtype) for name, dtype in types.items()}
        into = Buckets(np.empty(own[-1], low.dtype), np.empty(own[-1], np.uint32), columns)
        pieces[k].scatter(shift, own[:-1].copy(), into)
        arrays = into.low, into.neighbours, *columns.values()
        for b in np.flatnonzero(counts).tolist():
            for target, values in zip((low, *payloads), arrays, strict=True):
                target.write(int(offsets[k, b]), values[own[b] : own[b + 1]])

    def order(b: int) -> None:
        a, z = int(starts[b]), int(starts[b + 1])
        targets = np.empty(z - a, np.uint32)
        rows = indptr[b << shift : min((b + 1) << shift, num_rows) + 1]
        build_kernels.order_bucket(low.read(a, z), a, rows, targets)
        for target in payloads:
            values = target.read(a, z)
            build_kernels.permute(values, targets, np.empty_like(values))
            target.write(a, values)

    threads.parallel_map(place, range(len(pieces)), total)
    small, large = _by_size(np.diff(starts), low.dtype, types.values(), workers)
    for b in large:
        order(b)
    threads.parallel_map(order, small, total)
    low.close()
    neighbours, *columns = (one.mapped() for one in payloads)
    return Adjacency(indptr, neighbours, dict(zip(types, columns, strict=True)))


def _by_size(
    sizes: np.ndarray, low: np.dtype, columns: Iterable[np.dtype], workers: int
) -> tuple[list[int], list[int]]:
    """The buckets that threads may sort at the same time, and those that are too large for that. A bucket that is too
    large for memory is refused."""
    edge = low.itemsize + 4 + 2 * max([4, *(column.itemsize for column in columns)])
    most = int(sizes.max(initial=0))
    if has_room(most * edge * workers):
        return list(range(len(sizes))), []
    refuse_beyond_memory(f"{most:,} edges of vertices that are sorted together", most * edge)
    small = sizes * edge * workers <= free_memory() // 2
    return np.flatnonzero(small).tolist(), np.flatnonzero(~small).tolist()


def transposed_on_disk(
    table: Adjacency, columns: Sequence[str] | None, workers: int, scratch: ScratchFolder
) -> Adjacency:
    """Like `table.transposed`, but the result is on disk."""
    kept = {name: table.columns[name] for name in (table.columns if columns is None else columns)}
    slices = TableSlice(table.indptr, table.neighbours, kept).cut(-(-table.num_edges // SLICE))
    return sorted_on_disk(slices, len(table.indptr) - 1, workers, scratch)
