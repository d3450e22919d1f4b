"""The user's ids to numbers 0, 1, 2 ... in ascending order of the ids, and back.

Two ways. Integers whose range is not much larger than the edge list are numbered by distance from the smallest, or by
rank in a bitmap when there are gaps: no id is ever looked up in a table. All other ids are found once a chunk
(`encode`), sorted and merged in buckets of a range of ids each (`merge`), and every chunk gets the numbers of its own
distinct ids back, so no table is held twice.
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

from dgraph.errors import IdError
from dgraph.partition import kernels, threads
from dgraph.partition.chunk import Chunk, Ids, Numbered
from dgraph.partition.hashing import distinct
from dgraph.partition.ids import IdType
from dgraph.partition.ranks import IDENTITY, Ranks, bitmap

POOL = pa.system_memory_pool()  # Arrow's own pools keep what is freed


# -- numbers by distance or rank ---------------------------------------------------------------------------------------


def occurring(chunk: Chunk, low: int, high: int) -> np.ndarray:
    """A bitmap of the ids of a chunk."""
    return bitmap([chunk.sources, chunk.destinations], low, high)


def occurring_in_range(listed: range, low: int, high: int) -> np.ndarray:
    """The same bitmap of ids that are listed as a range."""
    return bitmap([np.arange(listed.start, listed.stop)], low, high)


# -- numbers by table --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Encoded:
    """A chunk whose ids are positions in a sorted list of its own distinct ids."""

    codes: tuple[np.ndarray, np.ndarray]
    distinct: pa.Array

    def __len__(self) -> int:
        return len(self.codes[1])

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return sum(code.nbytes for code in self.codes) + self.distinct.nbytes


def encode(chunk: Chunk, id_type: IdType) -> Encoded:
    """The edges of a chunk by positions in one sorted list of the distinct ids of both ends."""
    kind = {"string": pa.large_string(), "uuid": pa.binary(16)}.get(id_type.kind) or pa.from_numpy_dtype(id_type.dtype)
    sides = [_listed(side, kind, id_type) for side in (chunk.sources, chunk.destinations)]
    table, codes = ranked([ids for ids, _ in sides], kind)
    sources, destinations = (code if rows is None else code[rows] for code, (_, rows) in zip(codes, sides, strict=True))
    return Encoded((sources, destinations), table)


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
        threads.each(lambda piece: kernels.look_up(by_code.ravel(), piece), pieces, len(code))
    return pc.take(joined, pa.array(order), memory_pool=POOL), codes


def give_back() -> None:
    """Have Arrow and the C library return to the system what was freed: hash tables, and copies of ids."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def split(encoded: Encoded, splitters: Sequence[Any]) -> list[pa.Array]:
    """The chunk's distinct ids, a piece a bucket; bucket b holds the ids from splitter b - 1 to splitter b."""
    found = _Scalars(encoded.distinct)
    cuts = [0, *(bisect_left(found, s) for s in splitters), len(found)]
    return [encoded.distinct.slice(a, b - a) for a, b in pairwise(cuts)]


class _Scalars(Sequence):
    """An Arrow array as a sequence of Python values, for bisection."""

    def __init__(self, array: pa.Array):
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i):
        return self.array[i].as_py()


def sample(encoded: Encoded, size: int = 256) -> list[Any]:
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


def by_table(encoded: Encoded, ranks: Sequence[np.ndarray], starts: Sequence[int]) -> Numbered:
    """A chunk by number, from the ranks of its ids in each bucket and the number at which each bucket starts."""
    dtype = np.uint32 if starts[-1] < 2**32 else np.int64
    parts = [np.add(rank, start, dtype=dtype) for rank, start in zip(ranks, starts, strict=False)]
    number = np.concatenate(parts) if parts else np.empty(0, dtype)
    everything = len(number) == starts[-1]  # the chunk has all ids: its codes are the numbers
    sources, destinations = encoded.codes if everything else (number[code] for code in encoded.codes)
    return Numbered(sources, destinations, {}, IDENTITY)


# -- the result --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Numbering:
    """All ids of a graph in ascending order: by `ranks`, or as sorted tables, one a bucket."""

    id_type: IdType
    size: int
    ranks: Ranks | None = None
    tables: tuple[pa.Array, ...] = ()

    @classmethod
    def by_ranks(cls, id_type: IdType, ranks: Ranks) -> Numbering:
        return cls(id_type, ranks.size, ranks)

    @classmethod
    def by_bitmap(cls, id_type: IdType, first: int, words: np.ndarray) -> Numbering:
        return cls.by_ranks(id_type, Ranks.of_bitmap(first, words))

    @classmethod
    def by_tables(cls, id_type: IdType, tables: Sequence[pa.Array]) -> Numbering:
        return cls(id_type, sum(map(len, tables)), tables=tuple(tables))

    def ids(self, start: int = 0, stop: int | None = None) -> Ids:
        """The ids of the numbers start..stop."""
        stop = self.size if stop is None else stop
        if self.ranks is not None:
            if self.ranks.is_dense:
                return np.arange(self.ranks.first + start, self.ranks.first + stop, dtype=np.int64)
            return self.ranks.members()[start:stop]
        pieces, base = [], 0
        for table in self.tables:
            a, z = max(start - base, 0), min(stop - base, len(table))
            if a < z:
                pieces.append(table.slice(a, z - a))
            base += len(table)
        found = pa.concat_arrays(pieces) if pieces else self.tables[0].slice(0, 0)
        return found.to_numpy(zero_copy_only=False) if self.id_type.kind == "integer" else found

    def take(self, numbers: np.ndarray) -> Ids:
        """The ids of any numbers."""
        if self.ranks is not None and self.ranks.is_dense:
            return numbers.astype(np.int64) + self.ranks.first
        ids = self.ids()
        return ids[numbers] if isinstance(ids, np.ndarray) else ids.take(pa.array(numbers))

    def number(self, ids: pa.Array) -> np.ndarray:
        """The numbers of ids, by table."""
        table = pa.chunked_array(self.tables).cast(ids.type)
        found = pc.index_in(ids, value_set=table.combine_chunks())
        if found.null_count:
            self._refuse(ids[pc.index(found.is_null(), True).as_py()].as_py())
        return np.asarray(found).astype(np.uint32)

    def number_of(self, vertices: Chunk) -> np.ndarray:
        """The number of each id of a chunk of vertices of this graph."""
        if self.ranks is not None:
            self.check(vertices)
            return self.ranks.number(np.asarray(vertices.sources))
        encoded = encode(vertices, self.id_type)
        return self.number(encoded.distinct)[encoded.codes[0]]

    def check(self, chunk: Chunk) -> None:
        """A frame that is read again names ids that are known by rank, and no others."""
        if self.ranks is not None:
            for ids in (chunk.sources, chunk.destinations):
                if (missing := self.ranks.missing(np.asarray(ids))) is not None:
                    self._refuse(missing)

    def _refuse(self, id: Any) -> None:
        raise IdError(
            f"the frame now names id {id!r}, and did not when ids were numbered: let it be the same each time it is "
            f"computed; persist() it first"
        )

    def find(self, value: Any) -> int:
        """The number of one id; an IdError if the graph has no such vertex."""
        wanted = self.id_type.scalar(value)
        if self.ranks is not None:
            x = wanted - self.ranks.first
            if self.ranks.is_dense:
                if 0 <= x < self.size:
                    return x
            elif 0 <= x < 64 * len(self.ranks.words) and int(self.ranks.words[x >> 6]) >> (x & 63) & 1:
                return int(self.ranks.number(np.array([wanted], np.int64))[0])
        else:
            base = 0
            for table in self.tables:
                found = _Scalars(table)
                k = bisect_left(found, wanted)
                if k < len(found) and found[k] == wanted:
                    return base + k
                base += len(table)
        raise IdError(f"the graph has no vertex {value!r}; it has {self.size} vertices{self._example()}")

    def _example(self) -> str:
        return f", the first is {self.id_type.restore(self.ids(0, 1)).tolist()[0]!r}" if self.size else ""
