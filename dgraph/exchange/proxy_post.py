"""Sends values between masters and their proxies, by the address tables of a partition.

A *side* says which proxies take part: those with in-edges ("in"), those with out-edges ("out"), or all ("any"). Both
ends list them in the same order, so values travel without ids. Each buffer carries a tag that says what it is for.

A buffer holds the changed values of a slice of proxies, in the smallest of three encodings. Both ends hold the slice in
the same order, so a position in the slice is a sufficient address. Every encoding decodes to exactly the positions that
changed.

Layout, in blocks padded to 8 bytes:  header, one entry per field | positions (bits or integers) | values of each field
The values may be on a device; even then, what precedes them is in main memory, because the host reads it at both ends.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.joint_mail import JointBuffer
from dgraph.exchange.mail import Buffer, DeviceBuffer
from dgraph.exchange.worker_post import JOINT, WorkerPost, rows_for
from dgraph.partition.partition import Partition
from dgraph.tables.vertex_arrays import IN_PROCESS, VertexArrays, Where, length_of, listed

REDUCE, BROADCAST, TARGET = 1, 2, 3  # tags: to masters, to proxies with out-edges, to proxies with in-edges
BORDER_REPORT, BORDER_ANSWER = 4, 5  # to another partition, about vertices that need not have copies in both
# encoding, bytes per position, a tag, number of fields, length of the slice, number of changed values
HEADER = struct.Struct("<BBHIQQ")
FIELD = struct.Struct("<4sI")  # NumPy's name of the type, length of the vector (0: scalar)

JOINED_BYTES = 256 << 10  # the most that is worth a copy
NEARLY_ALL = 0.9  # if at least this share of a slice changed, all of it may travel

Positions = slice | np.ndarray


class ReceivedValues(NamedTuple):
    """Values that arrived for some vertices."""

    tag: int
    locals: np.ndarray  # the vertices' local ids here
    values: list[Any]


class ProxyMail:
    """One partition's mail. The engine sets `step`: values are sent in that step, and values of the previous step are
    collected. Values for partitions in `direct` may stay on this partition's device."""

    def __init__(
        self, exchange: Exchange, partition: Partition, direct: Container[int] = (), shared: WorkerPost | None = None
    ):
        self.exchange, self.partition, self.direct, self.step = exchange, partition, direct, 0
        self.shared = shared  # by the partitions of this worker, if workers have many
        if shared is not None:
            shared.partitions[partition.index] = partition
        self._rows: dict[tuple[int, bool, str], Where] = {}
        self.arrays: VertexArrays = IN_PROCESS  # reads and copies values, wherever they are
        self.buffers = self.bytes = 0  # how much was sent so far
        self.waited = 0.0  # seconds spent waiting for mail
        self.free_buffers: list[tuple[int, Buffer]] | None = (
            None  # set by `use_free_mail`; None if mail arrives step by step
        )
        self.peers = [q for q in range(partition.parts) if q != partition.index]

    def proxies(self, side: str, peer: int) -> slice:
        """The local ids of this partition's proxies on a side, for vertices that `peer` owns."""
        return self.partition.proxies.copies(side, peer)

    def masters(self, side: str, peer: int) -> np.ndarray:
        """The vertices owned here that have a proxy in partition `peer` on a side, in the order of `peer`."""
        return self.partition.proxies.originals(side, peer)

    def has(self, side: str) -> bool:
        """Whether this partition has any proxy on this side."""
        return self.partition.proxies.has(side)

    def reduce(self, side: str, arrays: Sequence[Any], changed: Any) -> None:
        """Send values of proxies to their masters. `changed` selects them: a mask of local ids; or a list with one
        value per array, so that rows that differ from it are sent, and possibly others; or None for all."""
        for peer, mark, mine in self._receivers(side, from_masters=False):
            if length_of(mine):
                exact, mask = True, None
                if isinstance(changed, list):
                    exact, mask = False, self.arrays.differing_rows(arrays, mine, changed)
                elif changed is not None:
                    mask = self.arrays.select_flags(changed, mine)
                self._send(peer, REDUCE | mark, self._encoded(peer, mask, arrays, mine, exact))

    def broadcast(self, tag: int, side: str, arrays: Sequence[Any], changed: Any, *, exact: bool = True) -> None:
        """Send values of masters to their proxies. `changed` is a mask, or None for all; unless `exact`, unchanged rows
        may be sent too."""
        for peer, mark, mine in self._receivers(side, from_masters=True):
            if length_of(mine):
                mask = None if changed is None else self.arrays.select_flags(changed, mine)
                self._send(peer, tag | mark, self._encoded(peer, mask, arrays, mine, exact))

    def collect(self, sides: Mapping[int, str], *, joined: bool = False) -> Iterator[ReceivedValues]:
        """Yield the values that arrived under some tags; `sides` maps each tag to the side that takes part. A vertex
        occurs once, unless those of several senders may be `joined`; then they are in their order."""
        arrived: Iterable[tuple[int, int, Positions, list[Any]]] = self.receive(sides)
        if self.free_buffers is None:  # in one order, whether each partition has a worker of its own or not
            arrived = sorted(arrived, key=lambda one: one[:2])
        found = (
            ReceivedValues(tag, self._locals(tag, sides[tag], sender, positions), values)
            for tag, sender, positions, values in arrived
        )
        yield from _joined(found) if joined and self.arrays is IN_PROCESS else found
        if self.shared is None or self.free_buffers is not None:
            return
        in_order = dict(sorted(sides.items()))
        for tag, ids, values, ends in self.shared.take(self.partition.index, in_order, REDUCE):
            for begin, end in [(0, len(ids))] if joined else pairwise([0, *ends]):
                if end > begin:
                    yield ReceivedValues(tag, ids[begin:end], [one[begin:end] for one in values])

    def _locals(self, tag: int, side: str, sender: int, positions: Positions) -> np.ndarray:
        """The local ids of the vertices at some positions of the list that a sender knows, too."""
        if tag == REDUCE:
            return self.masters(side, sender)[positions]
        return listed(self.proxies(side, sender))[positions]

    def send_to(self, peer: int, tag: int, arrays: Sequence[np.ndarray]) -> None:
        """Send arrays of equal length to another partition, or to this one, which receives them by `receive`."""
        self._send(peer, tag, encode(None, arrays))

    def receive(self, tags: Container[int]) -> Iterator[tuple[int, int, Positions, list[Any]]]:
        """Yield what arrived under some tags: the tag, the sender, the positions of the values in the list that both
        partitions know, and the values."""
        if self.free_buffers is not None:
            buffers = [(sender, buffer) for sender, buffer in self.free_buffers if tag_of(buffer) in tags]
        else:
            begun = time.perf_counter()
            buffers = (self.shared or self.exchange).collect(self.step - 1, self.partition.index)
            self.waited += time.perf_counter() - begun
        for sender, buffer in buffers:
            if isinstance(buffer, DeviceBuffer):
                buffer = buffer._replace(values=self.arrays.to_device(buffer.values))
            yield tag_of(buffer), sender, *decode(buffer)

    def use_free_mail(self, buffers: Sequence[tuple[int, Buffer]]) -> None:
        """Switch to free mail: `collect` and `receive` take their values from these buffers, in any step."""
        self.free_buffers = list(buffers)

    def _receivers(self, side: str, *, from_masters: bool) -> Iterator[tuple[int, int, Where]]:
        """Where buffers go, what marks their tags, and the local ids whose values go there: to each partition or, if
        workers have many, to all of a worker's by way of its first."""
        if self.shared is None or self.arrays is not IN_PROCESS or self.free_buffers is not None:
            for peer in self.peers:
                yield peer, 0, self.masters(side, peer) if from_masters else self.proxies(side, peer)
            return
        for group in self.shared.groups:
            key = group[0], from_masters, side
            if key not in self._rows:
                self._rows[key] = rows_for(self.partition, group, side, from_masters=from_masters)
            yield group[0], JOINT, self._rows[key]

    def _encoded(self, peer: int, mask: Any, arrays: Sequence[Any], mine: Any, exact: bool) -> Buffer | None:
        allocate = self.arrays.mail_buffer if peer in self.direct else None
        return encode(mask, arrays, mine, exact=exact, take=self.arrays.take, allocate=allocate)

    def _send(self, peer: int, tag: int, buffer: Buffer | None) -> None:
        if buffer is None:
            return
        if isinstance(buffer, DeviceBuffer):
            self.arrays.wait()  # the transport does not synchronise with the device
        _tag(buffer)[0] = tag
        if self.free_buffers is None:
            self.exchange.send(self.step, self.partition.index, peer, buffer)
        else:
            self.exchange.free.send(self.partition.index, peer, buffer)
        self.buffers += 1
        self.bytes += buffer.nbytes


def _joined(mail: Iterable[ReceivedValues]) -> Iterator[ReceivedValues]:
    """The values under each tag, together if they are small, so that a kernel is called once, not for each sender."""
    by_tag: dict[int, list[ReceivedValues]] = {}
    for one in mail:
        by_tag.setdefault(one.tag, []).append(one)
    for tag, parts in by_tag.items():
        size = sum(value.nbytes for one in parts for value in one.values)
        if len(parts) == 1 or size > JOINED_BYTES:
            yield from parts
        else:
            values = [np.concatenate(field) for field in zip(*(one.values for one in parts), strict=True)]
            yield ReceivedValues(tag, np.concatenate([one.locals for one in parts]), values)


def tag_of(buffer: Buffer) -> int:
    return int(_tag(buffer)[0])


def _tag(buffer: Buffer) -> np.ndarray:
    """The two bytes for a tag in the header of an encoded buffer."""
    return (buffer.header if isinstance(buffer, DeviceBuffer) else buffer)[2:4].view(np.uint16)


def opened(buffer: Buffer) -> JointBuffer | None:
    """What a buffer holds that is for all partitions of a worker; None for others."""
    tag = tag_of(buffer)
    if tag < JOINT or isinstance(buffer, DeviceBuffer):
        return None
    return JointBuffer(tag - JOINT, HEADER.unpack_from(buffer, 0)[4], *decode(buffer))


# -- encoding ----------------------------------------------------------------------------------------------------------


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
        columns = [_column(*FIELD.unpack_from(buffer, HEADER.size + FIELD.size * i)) for i in range(fields)]
    except (struct.error, ValueError, TypeError) as error:
        raise RunError(
            f"a message of {buffer.nbytes} bytes is not an encoded buffer; check that all workers have the same "
            "version of dgraph"
        ) from error
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


def _length(layout: Sequence[int]) -> int:
    """The number of bytes in blocks, including their padding."""
    return sum(map(_padded, layout))


def _blocks(buffer: Any, layout: Sequence[int]) -> list[Any]:
    """The blocks of a buffer, without their padding."""
    starts = accumulate(map(_padded, layout), initial=0)
    return [buffer[start : start + size] for start, size in zip(starts, layout, strict=False)]


@lru_cache(maxsize=256)
def _column(name: bytes, vector: int) -> tuple[np.dtype, int]:
    """The type of a field, and the length of its vectors (0: scalars)."""
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
