"""Numbering by table: sparse integers, strings and UUIDs.

The distinct ids of each chunk are found (`encode`), and merged in buckets of a range of ids each (`merge`). Each chunk
then gets the numbers of its own distinct ids back, so no table is held twice.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.native import threads
from dgraph.partition.ids import id_kernels
from dgraph.partition.ids.chunk import Chunk, Ids, NumberedChunk
from dgraph.partition.ids.hash_tables import distinct
from dgraph.partition.ids.id_types import IdType

ARROW_POOL = pa.system_memory_pool()  # Arrow's own pools do not return freed memory to the system


@dataclass(frozen=True, eq=False)
class EncodedChunk:
    """A chunk whose ends are positions in the sorted list of its distinct ids."""

    codes: tuple[np.ndarray, np.ndarray]
    distinct: pa.Array

    def __len__(self) -> int:
        return len(self.codes[1])

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return sum(code.nbytes for code in self.codes) + self.distinct.nbytes


def encode(chunk: Chunk, id_type: IdType) -> EncodedChunk:
    """A chunk of edges with positions in the sorted list of the distinct ids of both ends."""
    kind = {"string": pa.large_string(), "uuid": pa.binary(16)}.get(id_type.kind) or pa.from_numpy_dtype(id_type.dtype)
    sides = [_arrow_ids(side, kind, id_type) for side in (chunk.sources, chunk.destinations)]
    table, codes = rank_ids([ids for ids, _ in sides], kind)
    sources, destinations = (code if rows is None else code[rows] for code, (_, rows) in zip(codes, sides, strict=True))
    return EncodedChunk((sources, destinations), table)


def _arrow_ids(ids: Ids, kind: pa.DataType, id_type: IdType) -> tuple[list[pa.Array], np.ndarray | None]:
    """A column as Arrow arrays of ids. For categories: those that occur, and the position of each row's category."""
    if isinstance(ids, np.ndarray):
        return ([pa.array(id_type.fit(ids))] if len(ids) else []), None
    if not pa.types.is_dictionary(ids.type):
        pieces = ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]
        return [piece if pa.types.is_string(piece.type) else piece.cast(kind) for piece in pieces], None
    pieces = ids.unify_dictionaries().chunks if isinstance(ids, pa.ChunkedArray) else [ids]
    categories = np.concatenate([np.asarray(piece.indices) for piece in pieces])
    occurring = np.bincount(categories, minlength=len(pieces[0].dictionary)) > 0
    rows = (np.cumsum(occurring, dtype=np.uint32) - np.uint32(1))[categories]
    return [pieces[0].dictionary.filter(pa.array(occurring)).cast(kind)], rows


def rank_ids(sides: Sequence[Sequence[pa.Array]], kind: pa.DataType) -> tuple[pa.Array, list[np.ndarray]]:
    """The distinct ids of some columns in ascending order, and for each row of a column the rank of its id."""
    lists, codes = distinct(sides, kind)
    release_memory()
    joined = pa.concat_arrays(lists, ARROW_POOL)
    order = np.asarray(pc.sort_indices(joined, memory_pool=ARROW_POOL))
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    by_code = np.empty((max(map(len, lists)), len(lists)), np.uint32)
    for column, mine in zip(by_code.T, np.split(rank, np.cumsum([len(one) for one in lists])[:-1]), strict=True):
        column[: len(mine)] = mine
    for code in codes:
        pieces = [code[s] for s in threads.slices(len(code), threads.cores())]
        threads.parallel_map(lambda piece: id_kernels.look_up(by_code.ravel(), piece), pieces, len(code))
    return pc.take(joined, pa.array(order), memory_pool=ARROW_POOL), codes


def release_memory() -> None:
    """Have Arrow and the C library return freed memory (hash tables, copies of ids) to the system."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def split(encoded: EncodedChunk, splitters: Sequence[Any]) -> list[pa.Array]:
    """The chunk's distinct ids, one piece per bucket; bucket b has the ids from splitter b - 1 to splitter b."""
    values = ArrowScalars(encoded.distinct)
    cuts = [0, *(bisect_left(values, s) for s in splitters), len(values)]
    return [encoded.distinct.slice(a, b - a) for a, b in pairwise(cuts)]


class ArrowScalars(Sequence):
    """An Arrow array as a sequence of Python values, for bisection."""

    def __init__(self, array: pa.Array):
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i):
        return self.array[i].as_py()


def sample(encoded: EncodedChunk, size: int = 256) -> list[Any]:
    """Evenly spaced ids of a chunk, from which `splitters` chooses the bounds of buckets."""
    positions = np.unique(np.linspace(0, len(encoded.distinct) - 1, size).astype(np.int64))
    return encoded.distinct.take(pa.array(positions)).to_pylist() if len(encoded.distinct) else []


def splitters(samples: Sequence[Sequence[Any]], buckets: int) -> list[Any]:
    """The bounds between buckets, chosen from samples of ids so that buckets are about equally large; ascending, and
    fewer if there are few ids."""
    pool = sorted(value for one in samples for value in one)
    return sorted({pool[len(pool) * b // buckets] for b in range(1, buckets)}) if pool else []


def merge(pieces: Sequence[pa.Array]) -> tuple[pa.Array, list[np.ndarray]]:
    """The ids of some sorted lists in order, and for each list the ranks of its ids."""
    if len(pieces) == 1:
        return pieces[0], [np.arange(len(pieces[0]), dtype=np.uint32)]
    return rank_ids([[piece] for piece in pieces], pieces[0].type)


def number_by_table(encoded: EncodedChunk, ranks: Sequence[np.ndarray], starts: Sequence[int]) -> NumberedChunk:
    """A chunk by number, given the ranks of its ids in each bucket and the first number of each bucket."""
    dtype = np.uint32 if starts[-1] < 2**32 else np.int64
    parts = [np.add(rank, start, dtype=dtype) for rank, start in zip(ranks, starts, strict=False)]
    number = np.concatenate(parts) if parts else np.empty(0, dtype)
    has_all_ids = len(number) == starts[-1]  # then codes are numbers
    sources, destinations = encoded.codes if has_all_ids else (number[code] for code in encoded.codes)
    return NumberedChunk(sources, destinations)
