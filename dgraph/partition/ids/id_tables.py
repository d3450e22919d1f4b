"""Numbering by table: sparse integers, strings and UUIDs.

The distinct ids of each chunk are found (`encode`), and merged in buckets of a range of ids each (`merge`). Each chunk
then gets the numbers of its own distinct ids back, so no table is held twice.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import uint32, uint64

from dgraph.native import threads
from dgraph.native.machine_code import cached_njit, inlined
from dgraph.partition.ids import id_kernels
from dgraph.partition.ids.chunk import Chunk, Ids, NumberedChunk
from dgraph.partition.ids.id_types import IdType

ARROW_POOL = pa.system_memory_pool()  # Arrow's own pools do not return freed memory to the system
BLOCK = 64  # ids looked up together, so that their memory accesses overlap
MOST_THREADS = 8  # few threads, since each of them reads every id

kernel = cached_njit()


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
    cuts = [0, *(place_in(encoded.distinct, one) for one in splitters), len(encoded.distinct)]
    return [encoded.distinct.slice(a, b - a) for a, b in pairwise(cuts)]


def place_in(ids: pa.Array, value: Any) -> int:
    """The place of a value in sorted ids, or where it would be."""
    return bisect_left(range(len(ids)), value, key=lambda place: ids[place].as_py())


def places_of(table: pa.Array, ids: pa.Array) -> np.ndarray:
    """The place of each id in a table, or -1 if it is not there; both ascend and have one type."""
    found = np.full(len(ids), -1)
    if not len(table):
        return found
    if pa.types.is_integer(ids.type):
        values, wanted = np.asarray(table), np.asarray(ids)
        found[:] = np.searchsorted(values, wanted)
        found[found == len(values)] = -1
        found[(found >= 0) & (values.take(found, mode="wrap") != wanted)] = -1
    else:
        there, mine = Column.of(table), Column.of(ids)
        _search(there.data, there.ends, there.width, there.size, mine.data, mine.ends, mine.width, found)
    return found


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


# -- hash tables: the distinct ids of some columns, and the id of each row as a code ----------------------------------
# An id is hashed as bytes: those of a string, sixteen of a UUID, eight of an integer. Each thread reads all ids and
# keeps those whose hash falls into its share, so each id is in exactly one table, and no thread waits for another.


@dataclass
class Column:
    """Ids in Arrow's memory layout: the id of row i is the bytes ends[i]..ends[i + 1], or each id has `width` bytes."""

    data: np.ndarray
    ends: np.ndarray
    width: int
    size: int

    @classmethod
    def of(cls, ids: pa.Array) -> Column:
        kind, size = ids.type, len(ids)
        _, *buffers = ids.buffers()
        data = np.frombuffer(buffers[-1] or b"", np.uint8)
        if pa.types.is_large_string(kind) or pa.types.is_string(kind):
            ends = np.frombuffer(buffers[0] or bytes(8), np.int64 if pa.types.is_large_string(kind) else np.int32)
            return cls(data, ends[ids.offset : ids.offset + size + 1], 0, size)
        width = kind.bit_width // 8
        return cls(data[ids.offset * width :], np.empty(0, np.int64), width, size)


@dataclass
class IdTable:
    """Distinct ids in order of first occurrence. A slot is 0 if empty; otherwise it holds half a hash, and the place of
    an id counted from 1."""

    slots: np.ndarray = field(default_factory=lambda: np.zeros(1 << 10, np.uint64))
    data: np.ndarray = field(default_factory=lambda: np.empty(1 << 13, np.uint8))
    ends: np.ndarray = field(default_factory=lambda: np.zeros(1 + (1 << 9), np.int64))
    size: int = 0

    def find(self, column: Column, mine: int, of: int, codes: np.ndarray) -> None:
        """For each id i that belongs to table `mine` of `of`: codes[i] = its place in the table, times `of`, plus
        `mine`. New ids are added."""
        at = 0
        while at < column.size:
            at, self.size = _find(
                *(column.data, column.ends, column.width, column.size, at),
                *(self.slots, self.data, self.ends, self.size, mine, of, codes),
            )
            if at < column.size:
                self._grow(int(column.ends[at + 1] - column.ends[at]) if len(column.ends) else column.width)

    def _grow(self, length: int) -> None:
        """Make room for one more id of `length` bytes, and double the capacity."""
        used = int(self.ends[self.size])
        if used + length > len(self.data):
            self.data = _longer(self.data[:used], 2 * used + length)
        if 2 * (self.size + 1) > len(self.slots):
            self.slots = np.zeros(2 * len(self.slots), np.uint64)
            self.ends = _longer(self.ends[: self.size + 1], len(self.slots) // 2 + 1)
            _enter(self.data, self.ends, self.size, self.slots)

    def ids(self, kind: pa.DataType) -> pa.Array:
        """The ids in the table; strings as Arrow's large strings."""
        data, ends = self.data[: self.ends[self.size]], self.ends[: self.size + 1]
        buffers = [pa.py_buffer(ends), pa.py_buffer(data)] if pa.types.is_large_string(kind) else [pa.py_buffer(data)]
        return pa.Array.from_buffers(kind, self.size, [None, *buffers])


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    out = np.empty(size, array.dtype)
    out[: len(array)] = array
    return out


def distinct(sides: Sequence[Sequence[pa.Array]], kind: pa.DataType) -> tuple[list[pa.Array], list[np.ndarray]]:
    """The distinct ids of all sides, in T disjoint lists, and for each side a code per row: code c stands for id c // T
    of list c % T."""
    columns = [[Column.of(piece) for piece in side] for side in sides]
    codes = [np.empty(sum(column.size for column in side), np.uint32) for side in columns]
    rows = sum(map(len, codes))
    of = max(1, min(threads.cores(), MOST_THREADS, rows // threads.FEWEST_ENTRIES))

    def find(mine: int) -> pa.Array:
        table = IdTable()
        for side, out in zip(columns, codes, strict=True):
            start = 0
            for column in side:
                table.find(column, mine, of, out[start : start + column.size])
                start += column.size
        return table.ids(kind)

    return threads.parallel_map(find, range(of), rows), codes


# -- kernels -----------------------------------------------------------------------------------------------------------


@inlined
def _half(data, at):
    """The four bytes from `at`, in one load."""
    return (
        uint64(data[at])
        | uint64(data[at + uint64(1)]) << uint64(8)
        | uint64(data[at + uint64(2)]) << uint64(16)
        | uint64(data[at + uint64(3)]) << uint64(24)
    )


@inlined
def _word(data, at):
    """The eight bytes from `at`, in one load."""
    return _half(data, at) | _half(data, at + uint64(4)) << uint64(32)


@inlined
def _rest(data, at, length):
    """Fewer than eight bytes as one word, which is unique for a given length."""
    if length >= uint64(4):
        return _half(data, at) | _half(data, at + length - uint64(4)) << uint64(32)
    word = uint64(0)
    for i in range(length):
        word = word << uint64(8) | uint64(data[at + i])
    return word


@inlined
def _mixed(h, word):
    h = (h ^ word) * uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> uint64(32))


@inlined
def _hash(data, at, length):
    h = _mixed(uint64(0), length)
    if length < uint64(8):
        return _mixed(_mixed(h, _rest(data, at, length)), uint64(0))
    last = at + length - uint64(8)
    while at < last:
        h = _mixed(h, _word(data, at))
        at += uint64(8)
    return _mixed(_mixed(h, _word(data, last)), uint64(0))


@inlined
def _same(data, at, length, others, start, stop):
    """Whether data[at..at + length] equals others[start..stop]."""
    if stop - start != length:
        return False
    if length < uint64(8):
        return _rest(data, at, length) == _rest(others, start, length)
    last = at + length - uint64(8)
    while at < last:
        if _word(data, at) != _word(others, start):
            return False
        at += uint64(8)
        start += uint64(8)
    return _word(data, last) == _word(others, stop - uint64(8))


@kernel
def _find(data, ends, width, size, start, slots, names, bounds, found, mine, of, codes):
    """Write the codes of the ids in start..size that belong to table `mine`. Returns the first id for which the table
    has no room (or `size`), and the number of ids in the table. A block of ids is first hashed, then their slots are
    read, then the ids are compared, so that each step waits for memory only once per block."""
    mask = uint64(slots.size - 1)
    rows, hashes, heads = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    by_width = uint64(width) if ends.size == 0 else uint64(0)
    i, stop = uint64(start), uint64(size)
    while i < stop:
        n = uint64(0)
        until = min(stop, i + uint64(BLOCK))
        while i < until:
            at = i * by_width if by_width else uint64(ends[i])
            length = by_width if by_width else uint64(ends[i + uint64(1)]) - at
            h = _hash(data, at, length)
            rows[n], hashes[n] = i, h
            n += uint64((h >> uint64(40)) * uint64(of) >> uint64(24) == uint64(mine))
            i += uint64(1)
        for j in range(n):
            heads[j] = slots[hashes[j] & mask]
        for j in range(n):
            row, h, head = rows[j], hashes[j], heads[j]
            at = row * by_width if by_width else uint64(ends[row])
            length = by_width if by_width else uint64(ends[row + uint64(1)]) - at
            slot = h & mask
            while True:
                if head == uint64(0):
                    head = slots[slot]  # another id of the block may have taken the slot
                if head == uint64(0):
                    end = uint64(bounds[found])
                    if uint64(2 * (found + 1)) > uint64(slots.size) or end + length > uint64(names.size):
                        return row, found
                    for k in range(length):
                        names[end + k] = data[at + k]
                    found += 1
                    bounds[found] = end + length
                    head = (h & uint64(0xFFFFFFFF00000000)) | uint64(found)
                    slots[slot] = head
                    break
                if (head ^ h) >> uint64(32) == uint64(0):
                    place = (head & uint64(0xFFFFFFFF)) - uint64(1)
                    if _same(data, at, length, names, uint64(bounds[place]), uint64(bounds[place + uint64(1)])):
                        break
                slot = (slot + uint64(1)) & mask
                head = slots[slot]
            codes[row] = uint32(((head & uint64(0xFFFFFFFF)) - uint64(1)) * uint64(of) + uint64(mine))
    return stop, found


@kernel
def _enter(names, bounds, found, slots):
    """Enter the ids of a table into larger, empty slots."""
    mask = uint64(slots.size - 1)
    for place in range(uint64(found)):
        at = uint64(bounds[place])
        h = _hash(names, at, uint64(bounds[place + uint64(1)]) - at)
        slot = h & mask
        while slots[slot] != uint64(0):
            slot = (slot + uint64(1)) & mask
        slots[slot] = (h & uint64(0xFFFFFFFF00000000)) | (place + uint64(1))


@inlined
def _span(ends, width, i):
    """The first byte of an id, and the one after its last."""
    if ends.size == 0:
        return i * uint64(width), (i + uint64(1)) * uint64(width)
    return uint64(ends[i]), uint64(ends[i + uint64(1)])


@inlined
def _precedes(data, at, stop, others, start, end):
    """Whether data[at..stop] comes before others[start..end]."""
    while at < stop and start < end:
        if data[at] != others[start]:
            return data[at] < others[start]
        at += uint64(1)
        start += uint64(1)
    return start < end


@kernel
def _search(data, ends, width, size, names, bounds, name_width, found):
    """Search ascending ids among ascending ids: each from the place of the last on, in steps that double."""
    place, size = uint64(0), uint64(size)
    for i in range(uint64(found.size)):
        start, end = _span(bounds, name_width, i)
        stride, high = uint64(1), place
        while high < size:
            at, stop = _span(ends, width, high)
            if not _precedes(data, at, stop, names, start, end):
                break
            place = high + uint64(1)
            high += stride
            stride += stride
        high = min(high, size)
        while place < high:
            middle = (place + high) >> uint64(1)
            at, stop = _span(ends, width, middle)
            if _precedes(data, at, stop, names, start, end):
                place = middle + uint64(1)
            else:
                high = middle
        if place < size:
            at, stop = _span(ends, width, place)
            if _same(data, at, stop - at, names, start, end):
                found[i] = place
