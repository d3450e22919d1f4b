"""Mail between workers: buffers are cut into fragments that fill numbered packets, and the mailbox joins them again.

Invariant: within one step the packets from one worker to another are numbered 0, 1, 2, ..., and the token that ends the
step says how many there are. A repeated number reveals a duplicate, and a missing number a loss.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.bundle import Bundle
from dgraph.exchange.grid import WorkerGrid

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
