"""Ids that are numbered by table: sparse integers, strings and UUIDs.

They are found once a chunk (`encode`), sorted and merged in buckets of a range of ids each (`merge`), and every chunk
gets the numbers of its own distinct ids back, so no table is held twice.
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
from dgraph.partition import build_kernels
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.ids.chunk import Chunk, Ids, NumberedChunk
from dgraph.partition.ids.hash_tables import distinct
from dgraph.partition.ids.id_types import IdType

POOL = pa.system_memory_pool()  # Arrow's own pools keep what is freed


@dataclass(frozen=True, eq=False)
class EncodedChunk:
    """A chunk whose ids are positions in a sorted list of its own distinct ids."""

    codes: tuple[np.ndarray, np.ndarray]
    distinct: pa.Array

    def __len__(self) -> int:
        return len(self.codes[1])

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return sum(code.nbytes for code in self.codes) + self.distinct.nbytes


def encode(chunk: Chunk, id_type: IdType) -> EncodedChunk:
    """The edges of a chunk by positions in one sorted list of the distinct ids of both ends."""
    kind = {"string": pa.large_string(), "uuid": pa.binary(16)}.get(id_type.kind) or pa.from_numpy_dtype(id_type.dtype)
    sides = [_listed(side, kind, id_type) for side in (chunk.sources, chunk.destinations)]
    table, codes = ranked([ids for ids, _ in sides], kind)
    sources, destinations = (code if rows is None else code[rows] for code, (_, rows) in zip(codes, sides, strict=True))
    return EncodedChunk((sources, destinations), table)


def _listed(ids: Ids, kind: pa.DataType, id_type: IdType) -> tuple[list[pa.Array], np.ndarray | None]:
    """A column as Arrow arrays of ids; of categories those that have rows, and of each row which one it has."""
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


def ranked(sides: Sequence[Sequence[pa.Array]], kind: pa.DataType) -> tuple[pa.Array, list[np.ndarray]]:
    """All ids of some columns in ascending order, and for every row of a column the rank of its id."""
    lists, codes = distinct(sides, kind)
    give_back()
    joined = pa.concat_arrays(lists, POOL)
    order = np.asarray(pc.sort_indices(joined, memory_pool=POOL))
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    by_code = np.empty((max(map(len, lists)), len(lists)), np.uint32)
    for column, mine in zip(by_code.T, np.split(rank, np.cumsum([len(one) for one in lists])[:-1]), strict=True):
        column[: len(mine)] = mine
    for code in codes:
        pieces = [code[s] for s in threads.slices(len(code), threads.cores())]
        threads.each(lambda piece: build_kernels.look_up(by_code.ravel(), piece), pieces, len(code))
    return pc.take(joined, pa.array(order), memory_pool=POOL), codes


def give_back() -> None:
    """Have Arrow and the C library return to the system what was freed: hash tables, and copies of ids."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def split(encoded: EncodedChunk, splitters: Sequence[Any]) -> list[pa.Array]:
    """The chunk's distinct ids, a piece a bucket; bucket b holds the ids from splitter b - 1 to splitter b."""
    found = ArrowScalars(encoded.distinct)
    cuts = [0, *(bisect_left(found, s) for s in splitters), len(found)]
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
    """Evenly spaced ids of a chunk, from which the bounds of buckets are chosen."""
    positions = np.unique(np.linspace(0, len(encoded.distinct) - 1, size).astype(np.int64))
    return encoded.distinct.take(pa.array(positions)).to_pylist() if len(encoded.distinct) else []


def splitters(samples: Sequence[Sequence[Any]], buckets: int) -> list[Any]:
    """The bounds of so many buckets, chosen from samples of ids so that buckets are about as large; ascending, and
    fewer if ids are few."""
    pool = sorted(value for one in samples for value in one)
    if not pool:
        return []
    return sorted({pool[len(pool) * b // buckets] for b in range(1, buckets)})


def merge(pieces: Sequence[pa.Array]) -> tuple[pa.Array, list[np.ndarray]]:
    """All ids of some lists in order, and for every list the ranks of its ids. A single list is in order already."""
    if len(pieces) == 1:
        return pieces[0], [np.arange(len(pieces[0]), dtype=np.uint32)]
    return ranked([[piece] for piece in pieces], pieces[0].type)


def by_table(encoded: EncodedChunk, ranks: Sequence[np.ndarray], starts: Sequence[int]) -> NumberedChunk:
    """A chunk by number, from the ranks of its ids in each bucket and the number at which each bucket starts."""
    dtype = np.uint32 if starts[-1] < 2**32 else np.int64
    parts = [np.add(rank, start, dtype=dtype) for rank, start in zip(ranks, starts, strict=False)]
    number = np.concatenate(parts) if parts else np.empty(0, dtype)
    everything = len(number) == starts[-1]  # the chunk has all ids: its codes are the numbers
    sources, destinations = encoded.codes if everything else (number[code] for code in encoded.codes)
    return NumberedChunk(sources, destinations, {}, IDENTITY)
