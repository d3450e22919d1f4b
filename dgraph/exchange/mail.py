"""Mail between workers: buffers are cut into fragments that fill numbered packets, and the mailbox joins them again.
At the end of this file stands what a buffer contains.

Invariant: within one step the packets from one worker to another are numbered 0, 1, 2, ..., and the token that ends the
step says how many there are. A repeated number reveals a duplicate, and a missing number a loss.
"""

from __future__ import annotations

import re
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.bundle import Bundle
from dgraph.exchange.grid import WorkerGrid
from dgraph.tables.vertex_arrays import IN_PROCESS, Where

FRAGMENT_BYTES = 4 << 20  # bytes: enough for full bandwidth; Dask serialises 10 MiB or more in a pool of one thread
PASSED_ON = -1  # the number of packets that hold what other workers have sent; nobody counts them
START_STEP = -1  # the step that creates the states, which has no mail, and whose tokens carry no values


@dataclass(frozen=True)
class Route:
    """The workers that take part in a run, and the worker that holds each partition."""

    run: str
    workers: tuple[str, ...]  # addresses on a cluster, thread names in one process
    homes: tuple[int, ...]  # the index of each partition's worker

    def partitions_of(self, worker: int) -> list[int]:
        return [partition for partition, home in enumerate(self.homes) if home == worker]


StepReport = dict[str, Any]  # what a worker tells all others after a step


class Token(NamedTuple):
    """A worker's message to all others at the end of a step: how many packets it sent, and `values`."""

    run: str
    step: int
    worker: int
    messages: tuple[int, ...]  # how many packets of this step went to each worker
    values: StepReport = {}  # noqa: RUF012  (counts and reductions that all workers use in the next step; never changed)
    seconds: float = 0.0  # how long the step took


class Fragment(NamedTuple):
    """A piece of a buffer and its position in the buffer."""

    sender: int  # a partition, as is `receiver`
    receiver: int
    number: int  # the number of the buffer, counted per sender, receiver and step
    size: int  # bytes of the whole buffer
    start: int  # where this fragment begins in the buffer
    data: Any  # bytes: a NumPy array, or an array on a device


class Packet(NamedTuple):
    """What one worker sends to another in one message: fragments, and at the end of a step also its token."""

    run: str
    step: int
    worker: int  # the index of the sending worker
    number: int
    fragments: list[Fragment]
    token: Token | None = None
    row: tuple[Token, ...] = ()  # in a packet that is `PASSED_ON`, the tokens of a row of the grid
    more: bool = False  # of free mail: whether the sender has work to do, so that more mail will come
    accepted: int = 0  # of free mail: how many packets from the receiver the sender has accepted, without a gap
    bundle: Bundle | None = None  # small buffers, whole

    @property
    def nbytes(self) -> int:
        """The bytes of all data."""
        size = 0 if self.bundle is None else self.bundle.data.nbytes
        return size + sum(fragment.data.nbytes for fragment in self.fragments)

    @property
    def on_host(self) -> bool:
        """Whether all data is in main memory."""
        return all(isinstance(one.data, np.ndarray) for one in self.fragments)


class DeviceBuffer(NamedTuple):
    """A buffer of bytes whose header is in main memory and whose values are in the memory of a device."""

    header: np.ndarray
    values: Any

    @property
    def nbytes(self) -> int:
        return self.header.nbytes + self.values.nbytes


Buffer = np.ndarray | DeviceBuffer


def as_bytes(buffer: Any) -> Buffer:
    """Any contiguous buffer as an array of bytes, without copying."""
    if isinstance(buffer, DeviceBuffer):
        return buffer
    if isinstance(buffer, np.ndarray):
        return np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)
    return np.frombuffer(buffer, np.uint8)


def cut(sender: int, receiver: int, number: int, data: Buffer) -> list[Fragment]:
    """Split a buffer into fragments of at most `FRAGMENT_BYTES` bytes; the part on a device is one fragment."""
    on_host, on_device = data if isinstance(data, DeviceBuffer) else (data, None)
    place = sender, receiver, number, data.nbytes
    starts = range(0, max(on_host.nbytes, 1), FRAGMENT_BYTES)
    fragments = [Fragment(*place, start, on_host[start : start + FRAGMENT_BYTES]) for start in starts]
    return fragments if on_device is None else [*fragments, Fragment(*place, on_host.nbytes, on_device)]


def join(fragments: list[Fragment]) -> list[tuple[int, Buffer]]:
    """Join fragments to buffers with their senders, ordered by sender and number regardless of the order of arrival.
    Buffers are aligned for kernels."""
    buffers: list[tuple[int, Buffer]] = []
    for (sender, number), group in groupby(sorted(fragments, key=lambda f: f[:5]), key=lambda f: (f.sender, f.number)):
        parts = list(group)
        size, first = parts[0].size, parts[0].data
        if sum(part.data.nbytes for part in parts) != size:
            raise RunError(
                f"buffer {number} from partition {sender} arrived incomplete; run again, and report this if it recurs"
            )
        on_device = None if isinstance(parts[-1].data, np.ndarray) else parts.pop().data
        on_host = first
        if len(parts) > 1 or first.ctypes.data % 8:
            on_host = np.empty(size if on_device is None else size - on_device.nbytes, np.uint8)
            for part in parts:
                on_host[part.start : part.start + part.data.nbytes] = part.data
        buffers.append((sender, on_host if on_device is None else DeviceBuffer(on_host, on_device)))
    return buffers


@dataclass
class Arrivals:
    """What has arrived in one step, by sending worker. Fragments are stored by receiving partition."""

    numbers: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # the packets' numbers
    announced: dict[int, int] = field(default_factory=dict)  # how many packets to expect
    fragments: defaultdict[int, list[Fragment]] = field(default_factory=lambda: defaultdict(list))
    bundles: list[Bundle] = field(default_factory=list)  # with buffers for partitions here and of workers of other rows
    taken: set[int] = field(default_factory=set)  # the partitions that have taken theirs
    tokens: dict[int, Token] = field(default_factory=dict)
    passed_on: set[int] = field(default_factory=set)  # the workers of other rows that have passed on mail of theirs
    riding: defaultdict[int, list[Fragment]] = field(default_factory=lambda: defaultdict(list))  # to be passed on
    of_row: list[Bundle] = field(default_factory=list)  # those of the bundles that may have something to be passed on
    served: bool = False  # whether it has been

    def missing(self) -> set[int]:
        """Workers that have announced more packets than have arrived."""
        return {worker for worker, count in self.announced.items() if len(self.numbers[worker]) < count}


def nobody(step: int, row: tuple[Token, ...], riding: dict[int, list[Fragment]], bundles: Sequence[Bundle]) -> None:
    """There are no other rows."""


class Mailbox:
    """The inbox of one worker in one run. The transport delivers from its own thread; steps wait in theirs.

    It is unbounded on purpose: a receiver that refused mail of the current step could block the sender it waits for.
    """

    def __init__(self, worker: int, homes: Sequence[int] = (), grid: WorkerGrid | None = None) -> None:
        self.failure: str | None = None
        # called when the row is complete, with a step, the row's tokens, its mail for each worker, and its bundles
        self.pass_on: Callable[[int, tuple[Token, ...], dict[int, list[Fragment]], Sequence[Bundle]], None] = nobody
        self._worker, self._homes, self._grid = worker, homes, grid
        self._changed = threading.Condition()
        self._steps: defaultdict[int, Arrivals] = defaultdict(Arrivals)
        self._oldest = -(1 << 62)  # mail of steps before this one has been used, so it can only be a duplicate
        self._deliveries = 0
        self._tokens_needed = 0  # how many tokens of a step the thread needs that waits for its mail

    def deliver(self, message: Packet) -> None:
        """Accept a packet, unless it is a duplicate."""
        with self._changed:
            if message.step < self._oldest:
                return
            arrivals = self._steps[message.step]
            known = arrivals.passed_on if message.number == PASSED_ON else arrivals.numbers[message.worker]
            number = message.worker if message.number == PASSED_ON else message.number
            if number in known:
                return
            known.add(number)
            self._sort(arrivals, message.fragments)
            if message.bundle is not None:
                arrivals.bundles.append(message.bundle)
                if message.number != PASSED_ON:
                    arrivals.of_row.append(message.bundle)
            for token in message.row if message.token is None else (message.token,):
                self._accept(token)
            self._deliveries += 1
            if len(arrivals.tokens) >= self._tokens_needed:
                self._changed.notify_all()
        self._serve(message.step)

    def put(self, step: int, fragments: Sequence[Fragment] = (), bundles: Sequence[Bundle] = ()) -> None:
        """Accept mail from this worker itself."""
        with self._changed:
            self._steps[step].bundles += bundles
            for fragment in fragments:
                self._steps[step].fragments[fragment.receiver].append(fragment)

    def announce(self, token: Token, riding: Sequence[Fragment] = (), bundles: Sequence[Bundle] = ()) -> None:
        """Accept a token, which says how many packets its worker sent here. With the worker's own token come the
        fragments and bundles that it is to pass on itself."""
        with self._changed:
            if token.step >= self._oldest:
                self._accept(token)
                self._sort(self._steps[token.step], riding)
                self._steps[token.step].of_row += bundles
        self._serve(token.step)

    def _sort(self, arrivals: Arrivals, fragments: Sequence[Fragment]) -> None:
        for fragment in fragments:
            home = self._worker if self._grid is None else self._homes[fragment.receiver]
            if home == self._worker:
                arrivals.fragments[fragment.receiver].append(fragment)
            else:
                arrivals.riding[home].append(fragment)

    def _serve(self, step: int) -> None:
        """Pass on what workers of other rows are to get from this row, once it is all here."""
        if self._grid is None or step == START_STEP:
            return
        with self._changed:
            if step < self._oldest or (arrivals := self._steps[step]).served:
                return
            if not all(worker in arrivals.tokens for worker in self._grid.row):
                return
            arrivals.served = True
            tokens, riding = tuple(arrivals.tokens[worker] for worker in self._grid.row), dict(arrivals.riding)
            bundles, arrivals.of_row = arrivals.of_row, []
        self.pass_on(step, tokens, riding, bundles)

    def wait(self, step: int, tokens_from: set[int], patience: float) -> set[int]:
        """Wait for announced packets and for the tokens of some workers; returns the workers whose mail is missing.

        That set is not empty only if nothing at all arrived for `patience` seconds.
        """
        with self._changed:
            self._tokens_needed = len(tokens_from)
            while True:
                if self.failure is not None:
                    raise RunError(self.failure)
                arrivals = self._steps[step]
                missing = arrivals.missing() | (tokens_from - arrivals.tokens.keys())
                before = self._deliveries
                if not missing:
                    return missing
                if not self._changed.wait(patience) and self._deliveries == before and self.failure is None:
                    return missing

    def collect(self, step: int, receiver: int) -> tuple[list[Fragment], list[Bundle]]:
        """The mail for a partition here, only once; bundles have some for others, too."""
        with self._changed:
            arrivals = self._steps[step]
            bundles = arrivals.bundles if receiver not in arrivals.taken else []
            arrivals.taken.add(receiver)
            return arrivals.fragments.pop(receiver, []), list(bundles)

    def tokens(self, step: int) -> dict[int, Token]:
        with self._changed:
            return dict(self._steps[step].tokens)

    def forget(self, before: int) -> None:
        """Drop all mail of earlier steps, including any that is still to come."""
        with self._changed:
            self._oldest = max(self._oldest, before)
            for step in [step for step in self._steps if step < before]:
                del self._steps[step]

    def fail(self, reason: str) -> None:
        """Make all waiting threads raise an error. The first reason is kept."""
        with self._changed:
            self.failure = self.failure or reason
            self._changed.notify_all()

    def _accept(self, token: Token) -> None:
        arrivals = self._steps[token.step]
        arrivals.tokens[token.worker] = token
        arrivals.announced[token.worker] = token.messages[self._worker]


# -- the encoding of buffers -------------------------------------------------------------------------------------------
# A buffer holds the changed values of a slice of proxies, in the smallest of three encodings. Both ends hold the slice
# in the same order, so a position in the slice is a sufficient address. Every encoding decodes to exactly the positions
# that changed. In blocks padded to 8 bytes it has the header, with one entry per field; the positions (bits or
# integers); and the values of each field. Values may be on a device; even then, what precedes them is in main memory,
# because the host reads it at both ends.

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
