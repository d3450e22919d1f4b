"""Values of a slice of proxies, of which some changed, as one buffer: dense, bitmask or index encoding by size.

Values travel without ids: both ends hold the slice in the same order (the address tables of a partition), so a position
in the slice is all the address that a value needs. Every encoding decodes to exactly the positions that changed.

Layout, in blocks padded to 8 bytes:  header, one entry a field | positions (bits, or integers) | values of each field
The values may be on a device: then what precedes them is in main memory all the same, for hosts read it at both ends.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.mail import Buffer, DeviceBuffer
from dgraph.tables.vertex_arrays import IN_PROCESS, Where

# encoding, bytes a position, a tag (`proxy_post.py`), fields, length of the slice, values that changed
HEADER = struct.Struct("<BBHIQQ")
FIELD = struct.Struct("<4sI")  # NumPy's name of the type, length of the vector (0: scalar)

NEARLY = 0.9  # the share of a slice from which on all of it travels

Positions = slice | np.ndarray


class Encoding(IntEnum):
    """How a buffer says which positions its values are of."""

    DENSE = 0  # every position changed: values only
    BITMASK = 1  # one bit a position, then the values that changed
    INDEX = 2  # the positions that changed as integers, then their values


def choose(length: int, changed: int) -> tuple[Encoding, int]:
    """The smallest encoding, and how many bytes its positions take."""
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
    room: Callable[[int], Any] | None = None,
) -> Buffer | None:
    """The changed rows of `values` (arrays of one length, scalars or vectors) as bytes; None if nothing changed.

    `changed` is a boolean mask, or None: everything did. With `rows` the slice is `values[rows]`. Unless `exact`, the
    whole slice may travel when nearly all of it changed, which is quicker at both ends. `take` copies values into the
    buffer, from wherever they are; `room(bytes)`, if given, returns room on a device, where they then stay.
    """
    length = rows.stop - rows.start if isinstance(rows, slice) else len(values[0] if rows is None else rows)
    count = length if changed is None else int(np.count_nonzero(changed))
    if not count and changed is not None:
        return None
    if not exact and count >= NEARLY * length:
        changed, count = None, length
    encoding, position_bytes = choose(length, count)
    layout = [HEADER.size + FIELD.size * len(values), position_bytes]
    sizes = [count * _row(column) for column in values]
    head, rest = _length(layout), _length(sizes)
    there = None if room is None else room(rest)
    buffer = np.empty(head + (rest if there is None else 0), np.uint8)
    HEADER.pack_into(buffer, 0, encoding, _position_width(length), 0, len(values), length, count)
    for i, column in enumerate(values):
        width = column.shape[1] if column.ndim == 2 else 0
        FIELD.pack_into(buffer, HEADER.size + FIELD.size * i, column.dtype.str.encode(), width)

    positions, picked = _blocks(buffer, layout)[1], None
    if encoding is not Encoding.DENSE:
        assert changed is not None
        picked = np.flatnonzero(changed)
        if encoding is Encoding.BITMASK:
            positions[:] = np.packbits(changed, bitorder="little")
        else:
            positions.view(_position_type(length))[:] = picked
    for block, column in zip(_blocks(buffer[head:] if there is None else there, sizes), values, strict=True):
        take(column, rows, picked, block.view(column.dtype).reshape(count, *column.shape[1:]))
    return buffer if there is None else DeviceBuffer(buffer, there)


def decode(received: Buffer) -> tuple[Positions, list[Any]]:
    """Which positions of the slice changed, ascending, and their values field by field, as views of the buffer.

    Positions are a slice when all changed; `masters[positions]` is right for both kinds.
    """
    buffer, there = received if isinstance(received, DeviceBuffer) else (received, None)
    try:
        code, width, _, fields, length, count = HEADER.unpack_from(buffer, 0)
        encoding = Encoding(code)
        entries = [FIELD.unpack_from(buffer, HEADER.size + FIELD.size * i) for i in range(fields)]
        dtypes = [_number_type(name.rstrip(b"\0")) for name, _ in entries]
    except (struct.error, ValueError, TypeError) as error:
        raise RunError(
            f"a message of {buffer.nbytes} bytes is no encoded buffer: do all workers run one version of dgraph?"
        ) from error
    if width != _position_width(length) or count > length:
        raise RunError(f"a message of {count} of {length} values does not describe itself; run again")
    shapes = [(count, vector) if vector else (count,) for _, vector in entries]
    position_bytes = {Encoding.DENSE: 0, Encoding.BITMASK: (length + 7) // 8, Encoding.INDEX: count * width}[encoding]
    sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
    layout = [HEADER.size + FIELD.size * fields, position_bytes]
    head, rest = _length(layout), _length(sizes)
    if head + rest != received.nbytes or (there is not None and head != buffer.nbytes):
        raise RunError(f"an encoded buffer of {head + rest} bytes arrived with {received.nbytes}")

    blocks = _blocks(buffer[head:] if there is None else there, sizes)
    values = [block.view(dtype).reshape(shape) for block, dtype, shape in zip(blocks, dtypes, shapes, strict=True)]
    positions: Positions = slice(0, count)
    block = _blocks(buffer, layout)[1]
    if encoding is Encoding.BITMASK:
        positions = np.flatnonzero(np.unpackbits(block, count=length, bitorder="little"))
    elif encoding is Encoding.INDEX:
        positions = block.view(_position_type(length))
    placed = len(positions) if isinstance(positions, np.ndarray) else length
    if placed != count:  # kernels look at no bound
        raise RunError(f"a message has {count} values for {placed} positions; run again")
    return positions, values


def _length(layout: Sequence[int]) -> int:
    """Bytes of blocks with their padding."""
    return sum(map(_padded, layout))


def _blocks(buffer: Any, layout: Sequence[int]) -> list[Any]:
    """The buffer's blocks without their padding."""
    starts = np.cumsum([0, *map(_padded, layout)])
    return [buffer[start : start + size] for start, size in zip(starts, layout, strict=False)]


def _number_type(name: bytes) -> np.dtype:
    if re.fullmatch(rb"[<>|=][biuf][0-9]{1,2}", name) is None:
        raise ValueError(f"{name!r} is no type of numbers")
    return np.dtype(name.decode())


def _padded(size: int) -> int:
    return (size + 7) & ~7


def _row(column: np.ndarray) -> int:
    return column.dtype.itemsize * (column.shape[1] if column.ndim == 2 else 1)


def _position_width(length: int) -> int:
    return 2 if length <= 1 << 16 else 4 if length <= 1 << 32 else 8


def _position_type(length: int) -> str:
    return f"<u{_position_width(length)}"
