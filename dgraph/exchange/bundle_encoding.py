"""Encodes values for all partitions at once, in a few compiled calls, however many there are. Each buffer is what
`mail.encode` makes of the same values, byte by byte; see there for its layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dgraph.exchange.bundle import copy_longs, padded, up
from dgraph.exchange.mail import fields_of
from dgraph.native.addresses import address_of, bytes_at, longs_at, shorts_at, words_at
from dgraph.native.team import kernel, part
from dgraph.tables.vertex_arrays import Where

ADDRESS, FIRST, LENGTH = range(3)  # columns of an address table; without an address, ids follow the first
DENSE, BITMASK, INDEX = range(3)  # as in `mail.Encoding`
HEAD = 24  # bytes before the fields
NO_MASK = np.empty(0, np.uint8)


class AddressTable(NamedTuple):
    """Local ids by partition: where the list of them is in memory, or the first of a range; and how many there are."""

    rows: np.ndarray  # int64
    lists: Sequence[Where]  # which the addresses refer to

    @classmethod
    def of(cls, lists: Sequence[Where]) -> AddressTable:
        lists = [one if isinstance(one, slice) else np.ascontiguousarray(one, np.uint32) for one in lists]
        rows = [
            (0, one.start, one.stop - one.start) if isinstance(one, slice) else (address_of(one), 0, len(one))
            for one in lists
        ]
        return cls(np.array(rows, np.int64).reshape(-1, 3), lists)


class FieldColumns(NamedTuple):
    """The fields of buffers as kernels need them. Only what NumPy arrays of numbers in main memory are can be one."""

    fields: np.ndarray  # uint64: as they stand in a buffer
    addresses: np.ndarray
    widths: np.ndarray  # bytes of a row

    @classmethod
    def of(cls, arrays: Sequence[Any]) -> FieldColumns:
        places = [address_of(array) for array in arrays]
        widths = [array.itemsize * (array.shape[1] if array.ndim == 2 else 1) for array in arrays]
        return cls(np.frombuffer(fields_of(arrays), np.uint64), np.array(places, np.int64), np.array(widths, np.int64))


def fit(arrays: Sequence[Any]) -> bool:
    """Whether arrays can be `FieldColumns`: kernels read them by address."""
    return all(
        isinstance(one, np.ndarray) and one.flags.c_contiguous and one.flags.aligned and not address_of(one) % 8
        for one in arrays
    )


class EncodedSizes(NamedTuple):
    """How many values of each list have changed, and the bytes that they take; none take none."""

    counts: np.ndarray
    sizes: np.ndarray

    def of(self, lists: Any) -> EncodedSizes:
        """Those of some of the lists."""
        return EncodedSizes(self.counts[lists], self.sizes[lists])


def measure(
    table: np.ndarray, mask: np.ndarray | None, first: int, nearly: float, columns: FieldColumns
) -> EncodedSizes:
    """Measure the buffers of several lists. A mask has a flag for each local id from `first` on, or is None: all have
    changed. Where at least the share `nearly` of a list has changed, all of it travels."""
    counts, sizes = np.empty(len(table), np.int64), np.empty(len(table), np.int64)
    flags = NO_MASK if mask is None else mask.view(np.uint8)
    measure_lists(table, flags, mask is not None, first, nearly, columns.widths, counts, sizes)
    return EncodedSizes(counts, sizes)


def encode_lists(
    table: np.ndarray, mask: np.ndarray | None, first: int, columns: FieldColumns, measured: EncodedSizes, tag: int
) -> np.ndarray:
    """The buffers of several lists, one after the other, each padded to 8 bytes."""
    counts, sizes = measured
    data = np.empty(int(padded(sizes).sum()), np.uint8)
    flags = NO_MASK if mask is None else mask.view(np.uint8)
    ids = np.empty(int(counts.max(initial=0)), np.uint32)
    write_lists(table, flags, first, counts, sizes, *columns, tag, ids, address_of(ids), address_of(data))
    return data


# -- kernels -----------------------------------------------------------------------------------------------------------


@part
def position_width(length):
    """Bytes of a position, as in `mail.py`."""
    if length <= 1 << 16:
        return 2
    return 4 if length <= 1 << 32 else 8


@part
def choice(length, count):
    """The encoding, and the bytes that its positions take."""
    if count == length:
        return DENSE, 0
    bits, integers = (length + 7) // 8, count * position_width(length)
    return (INDEX, integers) if integers < bits else (BITMASK, bits)


@kernel
def measure_lists(table, flags, masked, first, nearly, widths, counts, sizes):
    """Count the flags of each list, and the bytes of its buffer."""
    for p in range(table.shape[0]):
        length = count = table[p, LENGTH]
        if masked:
            count = 0
            if table[p, ADDRESS] == 0:
                for i in range(table[p, FIRST] - first, table[p, FIRST] - first + length):
                    count += flags[i] != 0
            else:
                ids = words_at(table[p, ADDRESS])
                for i in range(length):
                    count += flags[ids[i] - first] != 0
            if count and count >= nearly * length:
                count = length
        counts[p] = count
        size = 0
        if count or not masked:
            size = HEAD + 8 * widths.size + up(choice(length, count)[1])
            for width in widths:
                size += up(count * width)
        sizes[p] = size


@kernel
def write_lists(table, flags, first, counts, sizes, fields, addresses, widths, tag, ids, ids_at, target):
    """Write the buffers of lists, one after the other. `ids` has room for the vertices of one."""
    for p in range(table.shape[0]):
        if sizes[p] == 0:
            continue
        length, count = table[p, LENGTH], counts[p]
        encoding, of_positions = choice(length, count)
        longs = longs_at(target)
        longs[0] = encoding | position_width(length) << 8 | tag << 16 | fields.size << 32
        longs[1], longs[2] = length, count
        for i in range(fields.size):
            longs[3 + i] = fields[i]
        target += HEAD + 8 * fields.size
        if encoding != DENSE:
            mark_positions(table[p], flags, first, encoding, of_positions, target, ids)
            target += up(of_positions)
        for i in range(widths.size):
            width = widths[i]
            if encoding != DENSE:
                gather(addresses[i], width, ids_at, count, target)
            elif table[p, ADDRESS] != 0:
                gather(addresses[i], width, table[p, ADDRESS], count, target)
            else:
                copy(addresses[i] + table[p, FIRST] * width, target, count * width)
            target += up(count * width)


@part
def mark_positions(row, flags, first, encoding, of_positions, target, ids):
    """Write the positions of the flags of a list, and the vertices there."""
    source = words_at(row[ADDRESS])
    marks, shorts, words, longs = bytes_at(target), shorts_at(target), words_at(target), longs_at(target)
    width = position_width(row[LENGTH])
    if encoding == BITMASK:
        for i in range(of_positions):
            marks[i] = 0
    count = 0
    for i in range(row[LENGTH]):
        vertex = row[FIRST] + i if row[ADDRESS] == 0 else np.int64(source[i])
        if flags[vertex - first] != 0:
            ids[count] = vertex
            if encoding == BITMASK:
                marks[i >> 3] |= 1 << (i & 7)
            elif width == 2:
                shorts[count] = i
            elif width == 4:
                words[count] = i
            else:
                longs[count] = i
            count += 1


@part
def gather(source, width, ids_at, count, target):
    """Copy the rows of some vertices."""
    ids = words_at(ids_at)
    if width == 8:
        given, taken = longs_at(source), longs_at(target)
        for i in range(count):
            taken[i] = given[ids[i]]
    elif width == 4:
        given4, taken4 = words_at(source), words_at(target)
        for i in range(count):
            taken4[i] = given4[ids[i]]
    elif width % 8 == 0:
        for i in range(count):
            copy_longs(source + np.int64(ids[i]) * width, target + i * width, width // 8)
    else:
        for i in range(count):
            copy_bytes(source + np.int64(ids[i]) * width, target + i * width, width)


@part
def copy(source, target, size):
    if source & 7 == 0 and target & 7 == 0:
        copy_longs(source, target, size >> 3)
        copy_bytes(source + (size & ~7), target + (size & ~7), size & 7)
    else:
        copy_bytes(source, target, size)


@part
def copy_bytes(source, target, count):
    given, taken = bytes_at(source), bytes_at(target)
    for i in range(count):
        taken[i] = given[i]
