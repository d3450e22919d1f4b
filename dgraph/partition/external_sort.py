"""Edges sorted by row, as in `adjacency.py`, but on disk: memory holds a piece and a bucket for each thread.

Each edge is written twice and read once, in long runs: first into its bucket, and then, bucket by bucket, into its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from itertools import accumulate

import numpy as np

from dgraph.native import threads
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
    with ExitStack() as files:
        low, *payloads = (
            files.enter_context(closing(scratch.array(total, dtype)))
            for dtype in (low_type(shift), np.dtype(np.uint32), *types.values())
        )

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
        threads.parallel_map(order, range(buckets), total)
        low.close()
        neighbours, *columns = (one.mapped() for one in payloads)
    return Adjacency(indptr, neighbours, dict(zip(types, columns, strict=True)))


def transposed_on_disk(
    table: Adjacency, columns: Sequence[str] | None, workers: int, scratch: ScratchFolder
) -> Adjacency:
    """Like `table.transposed`, but the result is on disk."""
    kept = {name: table.columns[name] for name in (table.columns if columns is None else columns)}
    slices = TableSlice(table.indptr, table.neighbours, kept).cut(-(-table.num_edges // SLICE))
    return sorted_on_disk(slices, len(table.indptr) - 1, workers, scratch)
