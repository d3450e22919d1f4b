"""Values of a slice of vertices as the bytes of one buffer.

A buffer holds the changed values of a slice of proxies, in the smallest of three encodings. Both ends hold the slice in
the same order, so a position in the slice is a sufficient address. Every encoding decodes to exactly the positions that
changed.

Layout, in blocks padded to 8 bytes:  header, one entry per field | positions (bits or integers) | values of each field
The values may be on a device; even then, what precedes them is in main memory, because the host reads it at both ends.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.mail import Buffer, DeviceBuffer
from dgraph.tables.vertex_arrays import IN_PROCESS, Where

# encoding, bytes per position, a tag, number of fields, length of the slice, number of changed values
HEADER = struct.Struct("<BBHIQQ")
FIELD = struct.Struct("<4sI")  # NumPy's name of the type, length of the vector (0: scalar)

NEARLY_ALL = 0.9  # if at least this share of a slice changed, all of it may travel

Positions = slice | np.ndarray


def tag_of(buffer: Buffer) -> int:
    return int(tag_bytes(buffer)[0])


def tag_bytes(buffer: Buffer) -> np.ndarray:
    """The two bytes for a tag in the header of an encoded buffer."""
    return (buffer.header if isinstance(buffer, DeviceBuffer) else buffer)[2:4].view(np.uint16)


class Encoding(IntEnum):
    """How a buffer stores the positions of its values."""

    DENSE = 0  # every position changed: values only
    BITMASK = 1  # one bit per position, then the changed values
    INDEX = 2  # the changed positions as integers, then their values


def choose_encoding(length: int, changed: int) -> tuple[Encoding, int]:
    """The smallest encoding, and the number of bytes that its positions take."""
    if changed == length:
        return Encoding.DENSE, 0
    bits, integers = (length + 7) // 8, changed * _position_width(length)
    return (Encoding.INDEX, integers) if integers < bits else (Encoding.BITMASK, bits)


def encode(
    changed: np.ndarray | None,
    values: Sequence[Any],
    rows: Where | None = None,
    *,
    exact: bool = True,
    take: Callable[[Any, Where | None, np.ndarray | None, Any], None] = IN_PROCESS.take,
    allocate: Callable[[int], Any] | None = None,
) -> Buffer | None:
    """The changed rows of `values` (arrays of equal length, of scalars or vectors) as bytes; None if nothing changed.

    `changed` is a boolean mask, or None if everything changed. With `rows` the slice is `values[rows]`. Unless `exact`,
    the whole slice may travel when nearly all of it changed, which is faster at both ends. `take` copies values into
    the buffer, wherever they are. If `allocate(bytes)` is given, it allocates memory on a device for the values.
    """
    length = rows.stop - rows.start if isinstance(rows, slice) else len(values[0] if rows is None else rows)
    count = length if changed is None else int(np.count_nonzero(changed))
    if not count and changed is not None:
        return None
    if not exact and count >= NEARLY_ALL * length:
        changed, count = None, length
    encoding, position_bytes = choose_encoding(length, count)
    layout = [HEADER.size + FIELD.size * len(values), position_bytes]
    sizes = [count * _row(column) for column in values]
    head, rest = _length(layout), _length(sizes)
    on_device = None if allocate is None else allocate(rest)
    buffer = np.empty(head + (rest if on_device is None else 0), np.uint8)
    HEADER.pack_into(buffer, 0, encoding, _position_width(length), 0, len(values), length, count)
    names = fields_of(values)
    buffer[HEADER.size : HEADER.size + len(names)] = np.frombuffer(names, np.uint8)

    positions, picked = _blocks(buffer, layout)[1], None
    if encoding is not Encoding.DENSE:
        assert changed is not None
        picked = np.flatnonzero(changed)
        if encoding is Encoding.BITMASK:
            positions[:] = np.packbits(changed, bitorder="little")
        else:
            positions.view(_position_type(length))[:] = picked
    for block, column in zip(_blocks(buffer[head:] if on_device is None else on_device, sizes), values, strict=True):
        take(column, rows, picked, block.view(column.dtype).reshape(count, *column.shape[1:]))
    return buffer if on_device is None else DeviceBuffer(buffer, on_device)


def decode(received: Buffer) -> tuple[Positions, list[Any]]:
    """The positions of the slice that changed, ascending, and their values field by field, as views of the buffer.

    The positions are a slice if all changed, and an array otherwise; both can index an array.
    """
    buffer, on_device = received if isinstance(received, DeviceBuffer) else (received, None)
    try:
        code, width, _, fields, length, count = HEADER.unpack_from(buffer, 0)
        encoding = Encoding(code)
        columns = columns_of(bytes(buffer[HEADER.size : HEADER.size + FIELD.size * fields]), fields)
    except (struct.error, ValueError, TypeError) as error:
        raise not_encoded(buffer.nbytes) from error
    if width != _position_width(length) or count > length:
        raise RunError(f"a message of {count} of {length} values has an inconsistent header; run again")
    position_bytes = {Encoding.DENSE: 0, Encoding.BITMASK: (length + 7) // 8, Encoding.INDEX: count * width}[encoding]
    sizes = [count * dtype.itemsize * (vector or 1) for dtype, vector in columns]
    layout = [HEADER.size + FIELD.size * fields, position_bytes]
    head, rest = _length(layout), _length(sizes)
    if head + rest != received.nbytes or (on_device is not None and head != buffer.nbytes):
        raise RunError(f"expected an encoded buffer of {head + rest} bytes but got {received.nbytes}; run again")

    blocks = _blocks(buffer[head:] if on_device is None else on_device, sizes)
    values = [
        block.view(dtype).reshape(count, vector) if vector else block.view(dtype)
        for block, (dtype, vector) in zip(blocks, columns, strict=True)
    ]
    positions: Positions = slice(0, count)
    block = _blocks(buffer, layout)[1]
    if encoding is Encoding.BITMASK:
        positions = np.flatnonzero(np.unpackbits(block, count=length, bitorder="little"))
    elif encoding is Encoding.INDEX:
        positions = block.view(_position_type(length))
    placed = len(positions) if isinstance(positions, np.ndarray) else length
    if placed != count:  # kernels do not check bounds
        raise RunError(f"a message has {count} values for {placed} positions; run again")
    return positions, values


def not_encoded(size: int) -> RunError:
    return RunError(
        f"a message of {size} bytes is not an encoded buffer; check that all workers have the same version of dgraph"
    )


def _length(layout: Sequence[int]) -> int:
    """The number of bytes in blocks, including their padding."""
    return sum(map(_padded, layout))


def _blocks(buffer: Any, layout: Sequence[int]) -> list[Any]:
    """The blocks of a buffer, without their padding."""
    starts = accumulate(map(_padded, layout), initial=0)
    return [buffer[start : start + size] for start, size in zip(starts, layout, strict=False)]


def fields_of(columns: Sequence[Any]) -> bytes:
    """The entries of fields."""
    return b"".join(
        FIELD.pack(column.dtype.str.encode(), column.shape[1] if column.ndim == 2 else 0) for column in columns
    )


@lru_cache(maxsize=256)
def columns_of(fields: bytes, count: int) -> tuple[tuple[np.dtype, int], ...]:
    """The type of each field, and the length of its vectors (0: scalars)."""
    return tuple(_column(*FIELD.unpack_from(fields, FIELD.size * i)) for i in range(count))


def _column(name: bytes, vector: int) -> tuple[np.dtype, int]:
    name = name.rstrip(b"\0")
    if re.fullmatch(rb"[<>|=][biuf][0-9]{1,2}", name) is None:
        raise ValueError(f"{name!r} is not a numeric type")
    return np.dtype(name.decode()), vector


def _padded(size: int) -> int:
    return (size + 7) & ~7


def _row(column: np.ndarray) -> int:
    return column.dtype.itemsize * (column.shape[1] if column.ndim == 2 else 1)


def _position_width(length: int) -> int:
    return 2 if length <= 1 << 16 else 4 if length <= 1 << 32 else 8


def _position_type(length: int) -> str:
    return f"<u{_position_width(length)}"
