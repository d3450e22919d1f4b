"""Opens the buffers of all senders at once, in a few compiled calls; `bundle_encoding.py` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import string_at
from typing import NamedTuple

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.bundle import COLUMNS, DATA, NUMBER, RECEIVER, ROWS, SENDER, SIZE, TABLE, Bundle, places_of, up
from dgraph.exchange.bundle_encoding import (
    ADDRESS,
    BITMASK,
    DENSE,
    FIRST,
    HEAD,
    INDEX,
    LENGTH,
    FieldColumns,
    copy,
    position_width,
)
from dgraph.exchange.mail import columns_of, not_encoded
from dgraph.native.addresses import bytes_at, longs_at, numbers_at, shorts_at, words_at
from dgraph.native.team import kernel, part

# what is known of a buffer: its tag, sender and number; how many values it has and its list has, and how many fields;
# where it is in memory, its bytes and its encoding
TAG, FROM, NUMBERED, COUNT, OF_LIST, FIELDS, AT, BYTES, ENCODED = range(OF_BUFFER := 9)
NO_TAG = -1


class OpenedValues(NamedTuple):
    """The values of several buffers of one tag: the vertices, by sender, and where those of each buffer end."""

    ids: np.ndarray
    values: list[np.ndarray]
    ends: np.ndarray


class ArrivedBuffers:
    """The buffers of bundles for one partition, in the order of their tags, senders and numbers."""

    def __init__(self, bundles: Sequence[Bundle], receiver: int):
        self.bundles, places = bundles, places_of(bundles)
        heads = np.empty((int(places[:, ROWS].sum()), OF_BUFFER), np.int64)
        count, wrong = read_heads(places, receiver, heads)
        if wrong >= 0:
            raise not_encoded(wrong)
        heads = heads[:count]
        self.heads, self.order = heads, np.lexsort((heads[:, NUMBERED], heads[:, FROM], heads[:, TAG]))

    def __len__(self) -> int:
        return len(self.order)

    def key(self, place: int) -> tuple[int, int]:
        """The tag and the sender of a buffer."""
        row = self.order[place]
        return int(self.heads[row, TAG]), int(self.heads[row, FROM])

    def run(self, begin: int, before: tuple[int, int] | None) -> int:
        """Where the buffers of one tag end that begin there, if another one may stand `before` some of them: the tag
        and the sender of that one."""
        return int(end_of_run(self.heads, self.order, begin, *(before or (NO_TAG, 0))))

    def open(self, begin: int, end: int, table: np.ndarray) -> OpenedValues:
        """Open buffers of one tag. `table` has the list of each sender here."""
        rows, heads = self.order[begin:end], self.heads
        first = heads[rows[0]]
        try:
            fields = string_at(int(first[AT]) + HEAD, 8 * int(first[FIELDS]))
            columns = columns_of(fields, int(first[FIELDS]))
        except (ValueError, TypeError) as error:
            raise not_encoded(first[BYTES]) from error
        ends = np.empty(len(rows), np.int64)
        if wrong := count_values(heads, rows, table, ends):
            _, sender, *_, length = heads[rows[wrong - 1], : OF_LIST + 1].tolist()
            about = f"{table[sender, LENGTH] if sender < len(table) else 0:,} values from partition {sender}"
            raise RunError(f"expected a message about {about}, not about {length:,}; run again")
        count = int(ends[-1])
        ids = np.empty(count, np.uint32)
        values = [np.empty((count, vector) if vector else count, dtype) for dtype, vector in columns]
        wrong = read_buffers(heads, rows, table, *FieldColumns.of(values), ids)
        if wrong > 0:
            raise not_encoded(heads[rows[wrong - 1], BYTES])
        if wrong < 0:
            _, sender, _, count, *_ = heads[rows[-wrong - 1]].tolist()
            raise RunError(f"a message of partition {sender} has {count} values for other positions; run again")
        return OpenedValues(ids, values, ends)


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel
def read_heads(places, receiver, heads):
    """Read what the buffers of bundles for a partition say of themselves; returns their number, and the bytes of the
    first that is no buffer, or -1."""
    count = 0
    for b in range(places.shape[0]):
        table, at = numbers_at(places[b, TABLE]), places[b, DATA]
        for i in range(places[b, ROWS]):
            size = table[COLUMNS * i + SIZE]
            if table[COLUMNS * i + RECEIVER] == receiver:
                if size < HEAD:
                    return count, size
                longs = longs_at(at)
                word, length, changed = np.int64(longs[0]), np.int64(longs[1]), np.int64(longs[2])
                encoding, width, fields = word & 0xFF, (word >> 8) & 0xFF, (word >> 32) & 0xFFFFFFFF
                wrong = encoding > INDEX or width != position_width(length) or changed < 0 or changed > length
                if wrong or (encoding == DENSE and changed != length) or HEAD + 8 * fields > size:
                    return count, size
                head = heads[count]
                head[TAG], head[FROM] = (word >> 16) & 0xFFFF, table[COLUMNS * i + SENDER]
                head[NUMBERED], head[COUNT], head[OF_LIST] = table[COLUMNS * i + NUMBER], changed, length
                head[FIELDS], head[AT], head[BYTES], head[ENCODED] = fields, at, size, encoding
                count += 1
            at += up(size)
    return count, -1


@kernel
def end_of_run(heads, order, begin, tag, sender):
    """Where the buffers with one tag end, or those up to a sender if it is this tag."""
    first = heads[order[begin], TAG]
    end = begin
    while end < order.size and heads[order[end], TAG] == first:
        if first == tag and heads[order[end], FROM] > sender:
            break
        end += 1
    return end


@kernel
def count_values(heads, rows, table, ends):
    """Add up the numbers of values; returns the number, from one, of the first buffer about another list, or 0."""
    count = 0
    for i in range(rows.size):
        head = heads[rows[i]]
        if head[FROM] >= table.shape[0] or head[OF_LIST] != table[head[FROM], LENGTH]:
            return i + 1
        count += head[COUNT]
        ends[i] = count
    return 0


@kernel
def read_buffers(heads, rows, table, fields, targets, widths, ids):
    """Join the values of buffers in `targets`, and their vertices; returns the number of the first that is wrong, from
    one, or 0. It is negative if only the positions are."""
    done = 0
    for i in range(rows.size):
        head = heads[rows[i]]
        at, count, encoding = head[AT], head[COUNT], head[ENCODED]
        if head[FIELDS] != fields.size:
            return i + 1
        longs = longs_at(at)
        for f in range(fields.size):
            if longs[3 + f] != fields[f]:
                return i + 1
        of_positions = 0
        if encoding == BITMASK:
            of_positions = (head[OF_LIST] + 7) // 8
        elif encoding == INDEX:
            of_positions = count * position_width(head[OF_LIST])
        size = HEAD + 8 * fields.size + up(of_positions)
        for width in widths:
            size += up(count * width)
        if size != head[BYTES]:
            return i + 1
        at += HEAD + 8 * fields.size
        if not read_positions(table[head[FROM]], encoding, at, count, ids, done):
            return -(i + 1)
        at += up(of_positions)
        for f in range(widths.size):
            copy(at, targets[f] + done * widths[f], count * widths[f])
            at += up(count * widths[f])
        done += count
    return 0


@part
def read_positions(row, encoding, at, count, ids, done):
    """Write the vertices of a buffer's positions from `ids[done]` on; returns whether there are `count`, all in the
    list."""
    listed, length = words_at(row[ADDRESS]), row[LENGTH]
    far = row[ADDRESS] != 0
    if encoding == DENSE:
        for i in range(count):
            ids[done + i] = listed[i] if far else np.uint32(row[FIRST] + i)
        return True
    if encoding == BITMASK:
        marks, found = bytes_at(at), 0
        for i in range(length):
            if marks[i >> 3] >> (i & 7) & 1:
                if found == count:
                    return False
                ids[done + found] = listed[i] if far else np.uint32(row[FIRST] + i)
                found += 1
        return found == count
    shorts, words, longs = shorts_at(at), words_at(at), longs_at(at)
    width = position_width(length)
    for i in range(count):
        place = np.int64(shorts[i]) if width == 2 else np.int64(words[i]) if width == 4 else np.int64(longs[i])
        if place < 0 or place >= length:
            return False
        ids[done + i] = listed[place] if far else np.uint32(row[FIRST] + place)
    return True
