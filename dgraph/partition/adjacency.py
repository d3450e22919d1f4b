"""Edges sorted by row: compressed sparse rows in one direction, built by a parallel radix sort.

The sort is most-significant-digit first: each edge moves once, to a bucket of rows in the final array; each bucket is
then sorted in cache. Besides the result, the sort needs two bytes per edge. It is stable: a row lists its edges in
input order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from dgraph.errors import ColumnError, RoomError
from dgraph.frames.any_frame import rounding_message
from dgraph.native import threads
from dgraph.partition import build_kernels
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks

BUCKETS = 512  # the most streams that write buffers and the TLB serve at full speed


@dataclass(frozen=True, eq=False)
class Adjacency:
    """`neighbours[indptr[u]:indptr[u + 1]]` are the other ends of u's edges; `columns` hold aligned values."""

    indptr: np.ndarray  # int64, one entry more than there are local vertices
    neighbours: np.ndarray  # uint32 local ids
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def num_edges(self) -> int:
        return len(self.neighbours)

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.neighbours.nbytes + sum(c.nbytes for c in self.columns.values())

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return self.nbytes

    def rows(self) -> np.ndarray:
        """The row of each edge."""
        out = np.empty(self.num_edges, np.uint32)
        build_kernels.expand_rows(self.indptr, out)
        return out

    def transposed(
        self, workers: int = 1, sort: SortFunction | None = None, columns: Sequence[str] | None = None
    ) -> Adjacency:
        """Transpose: the same edges by their other end, with the neighbours of each row in ascending order. `columns`
        names the columns to keep (all by default)."""
        kept = {name: self.columns[name] for name in (self.columns if columns is None else columns)}
        if sort is None or sort is build:
            return sorted_pieces(
                TableSlice(self.indptr, self.neighbours, kept).cut(workers), len(self.indptr) - 1, workers
            )
        return sort([EdgeSlice(self.neighbours, self.rows(), kept)], len(self.indptr) - 1, workers=workers)

    def joined(self, other: Adjacency, columns: Iterable[str], workers: int = 1) -> Adjacency:
        """The edges of both tables, with the given columns. Each row lists this table's edges first."""
        indptr = self.indptr + other.indptr
        parts = threads.slices(len(indptr) - 1, 4 * workers if workers > 1 else 1)

        def join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            out = np.empty(int(indptr[-1]), np.result_type(first, second))

            def fill(rows: slice) -> None:
                ends = slice(rows.start, rows.stop + 1)
                build_kernels.join_rows(self.indptr[ends], first, other.indptr[ends], second, indptr[ends], out)

            threads.parallel_map(fill, parts, len(out))
            return out

        joined = {name: join(self.columns[name], other.columns[name]) for name in columns}
        return Adjacency(indptr, join(self.neighbours, other.neighbours), joined)

    def in_order_of(self, numbers: np.ndarray, workers: int = 1) -> Adjacency:
        """The same rows, each sorted by the numbers of its neighbours; repeated edges are sorted by their columns."""
        rank = np.empty(len(numbers), np.uint32)
        rank[np.argsort(numbers)] = np.arange(len(numbers), dtype=np.uint32)
        keys, rows, columns = rank[self.neighbours], self.rows(), self.columns
        if columns:
            order = np.lexsort([*reversed(columns.values())])
            keys, rows = keys[order], rows[order]
            columns = {name: values[order] for name, values in columns.items()}
        by_rank = build([EdgeSlice(keys, rows, columns)], len(numbers), workers=workers)
        ordered = by_rank.transposed(workers)
        return replace(ordered, neighbours=np.argsort(numbers).astype(np.uint32)[ordered.neighbours])


@dataclass(frozen=True, eq=False)
class Buckets:
    """Edges on their way into rows, bucket by bucket."""

    low: np.ndarray  # the low bits of each edge's row
    neighbours: np.ndarray
    columns: dict[str, np.ndarray]


class EdgePiece(Protocol):
    """Edges that can be sorted: what `EdgeSlice` and `TableSlice` have in memory, and others read."""

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns, or at least arrays of their types."""

    def __len__(self) -> int: ...

    def count(self, shift: int, counts: np.ndarray) -> None: ...

    def scatter(self, shift: int, offsets: np.ndarray, into: Buckets) -> None: ...


@dataclass(frozen=True, eq=False)
class EdgeSlice:
    """Some edges to sort by `keys`. `ranks` turns ids into row numbers; `skip_loops` leaves out self loops."""

    keys: np.ndarray
    others: np.ndarray
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    ranks: Ranks = IDENTITY
    skip_loops: bool = False

    def __len__(self) -> int:
        return len(self.keys)

    def cut(self, workers: int) -> list[EdgeSlice]:
        """The same edges as at most `workers` slices, which share memory."""
        return [
            replace(self, keys=self.keys[s], others=self.others[s], columns={n: v[s] for n, v in self.columns.items()})
            for s in threads.slices(len(self.keys), workers)
        ]

    def count(self, shift: int, counts: np.ndarray) -> None:
        """Add the number of edges whose row is in bucket b to counts[b]."""
        build_kernels.count_buckets(self.keys, self.others, *self._rule(shift), counts)

    def scatter(self, shift: int, offsets: np.ndarray, into: Buckets) -> None:
        """Write each edge into its bucket, at `offsets`, which advance."""
        self.scatter_columns(shift, offsets, into)
        build_kernels.scatter_edges(self.keys, self.others, *self._rule(shift), offsets, into.low, into.neighbours)

    def scatter_columns(self, shift: int, offsets: np.ndarray, into: Buckets) -> None:
        for name, values in into.columns.items():
            where = *self._rule(shift), offsets.copy()
            build_kernels.scatter_values(self.keys, self.others, self.columns[name], *where, values)

    def _rule(self, shift: int) -> tuple:
        return *self.ranks.arguments, self.skip_loops, shift


@dataclass(frozen=True, eq=False)
class TableSlice:
    """Edges of a table, from edge `start` on, to sort by their neighbours. Their rows are never materialized."""

    indptr: np.ndarray
    neighbours: np.ndarray
    columns: dict[str, np.ndarray]
    start: int = 0

    def __len__(self) -> int:
        return len(self.neighbours)

    def cut(self, workers: int) -> list[TableSlice]:
        return [
            TableSlice(self.indptr, self.neighbours[s], {n: values[s] for n, values in self.columns.items()}, s.start)
            for s in threads.slices(len(self.neighbours), workers)
        ]

    def count(self, shift: int, counts: np.ndarray) -> None:
        self._as_edges().count(shift, counts)

    def scatter(self, shift: int, offsets: np.ndarray, into: Buckets) -> None:
        self._as_edges().scatter_columns(shift, offsets, into)
        table = self.indptr, self.neighbours, self.start
        build_kernels.scatter_rows(*table, shift, offsets, into.low, into.neighbours)

    def _as_edges(self) -> EdgeSlice:  # for kernels that do not read the other ends
        return EdgeSlice(self.neighbours, self.neighbours, self.columns)


class SortFunction(Protocol):
    """The type of `build` and of its GPU equivalent."""

    def __call__(self, edges: Sequence[EdgeSlice], num_rows: int, *, workers: int = 1) -> Adjacency: ...


def build(edges: Sequence[EdgeSlice], num_rows: int, *, workers: int = 1) -> Adjacency:
    """Sort edges by key into rows 0..num_rows, on `workers` threads. The edges of a row keep their input order."""
    return sorted_pieces([piece for one in edges for piece in one.cut(workers)], num_rows, workers)


def common_type(name: str, arrays: Sequence[np.ndarray]) -> np.dtype:
    """The common type of a column over all pieces of a frame. Pieces with missing values hold floats; refuse integers
    in other pieces that floats cannot represent exactly."""
    common = np.result_type(*arrays)
    for whole in (values for values in arrays if values.dtype.kind in "iu" and common.kind == "f"):
        largest = max(int(whole.max(initial=0)), -int(whole.min(initial=0)))
        if largest >= 2**53:
            raise ColumnError(rounding_message(name, largest))
    return common


def sorted_pieces(pieces: Sequence[EdgePiece], num_rows: int, workers: int) -> Adjacency:
    """Sort the edges of all pieces into rows 0..num_rows, piece by piece: each is counted, and then scattered."""
    shift, buckets = bucket_shift(num_rows)
    starts, offsets = bucket_offsets(pieces, shift, buckets)
    total = int(starts[-1])

    names = list(pieces[0].columns) if pieces else []
    columns = {name: np.empty(total, common_type(name, [p.columns[name] for p in pieces])) for name in names}
    into = Buckets(np.empty(total, low_type(shift)), np.empty(total, np.uint32), columns)
    threads.parallel_map(lambda k: pieces[k].scatter(shift, offsets[k].copy(), into), range(len(pieces)), total)

    low, neighbours = into.low, into.neighbours
    indptr = np.zeros(num_rows + 1, np.int64)
    payloads = [neighbours, *columns.values()]

    def order(group: slice) -> None:
        widest = int(np.diff(starts)[group].max(initial=0))
        targets = np.empty(widest, np.uint32)
        scratch = {array.dtype: np.empty(widest, array.dtype) for array in payloads}
        for b in range(group.start, group.stop):
            a, z = int(starts[b]), int(starts[b + 1])
            rows = indptr[b << shift : min((b + 1) << shift, num_rows) + 1]
            build_kernels.order_bucket(low[a:z], a, rows, targets[: z - a])
            for array in payloads:
                build_kernels.permute(array[a:z], targets[: z - a], scratch[array.dtype])

    threads.parallel_map(order, _groups(starts, workers))
    return Adjacency(indptr, neighbours, columns)


def bucket_shift(num_rows: int) -> tuple[int, int]:
    """How many low bits of a row its bucket leaves out, and the number of buckets."""
    shift = max(0, (max(num_rows, 1) - 1).bit_length() - BUCKETS.bit_length() + 1)
    return shift, (max(num_rows, 1) - 1 >> shift) + 1


def low_type(shift: int) -> np.dtype:
    """The type of the low bits of a row."""
    return np.dtype(np.uint16 if shift <= 16 else np.uint32)


def bucket_offsets(pieces: Sequence[EdgePiece], shift: int, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """The start of each bucket, and where each piece begins to write in it."""

    def count(piece: EdgePiece) -> np.ndarray:
        counts = np.zeros(buckets, np.int64)
        piece.count(shift, counts)
        return counts

    entries = sum(map(len, pieces))
    counts = np.array(threads.parallel_map(count, pieces, entries), np.int64).reshape(len(pieces), buckets)
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    if (most := int(np.diff(starts).max(initial=0))) >= 1 << 32:
        raise RoomError(f"a range of {1 << shift:,} vertices has {most:,} edges, more than can be sorted: use parts=")
    return starts, starts[:-1] + np.cumsum(counts, axis=0) - counts


def _groups(starts: np.ndarray, workers: int) -> list[slice]:
    """Runs of buckets with about equally many edges: a few for each worker, so that none waits long."""
    buckets = len(starts) - 1
    runs = 1 if workers == 1 or starts[-1] < threads.FEWEST_ENTRIES else min(buckets, 4 * workers)
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], runs + 1)[1:-1], side="left")
    edges = np.unique(np.concatenate([[0], cuts, [buckets]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
