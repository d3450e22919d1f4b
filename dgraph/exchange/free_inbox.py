"""The free mail that has arrived at a worker: what it says, what was accepted of it, and who has more to come."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from dgraph.exchange.mail import Buffer, Fragment, Packet, join

INBOX_BYTES = 32 << 20  # bytes not yet taken above which a receiver confirms no more packets

Buffers = list[tuple[int, int, Buffer]]  # sending partition, receiving partition, bytes


class FreeInbox:
    """The inbox of one worker. The transport delivers from its own thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.events = 0  # how often anything arrived here, or was confirmed by a peer
        self.received: Counter[int] = Counter()  # packets numbered without a gap, by sending worker
        self.accepted: Counter[int] = Counter()  # those of them for which there was room
        self.said: Counter[int] = Counter()  # how many of these each worker was told of
        self._numbers: defaultdict[int, set[int]] = defaultdict(set)  # numbers of packets that overtook a missing one
        self._parts: defaultdict[tuple[int, int, int], list[Fragment]] = defaultdict(list)
        self._buffers: Buffers = []
        self._notes: list[Any] = []
        self._bytes = 0
        self._unconfirmed: list[tuple[int, Callable[[], None] | None]] = []  # senders, and what confirms their packets
        self.working: set[int] = set()  # workers whose last packet said that they have work to do
        self.heard: set[int] = set()  # workers from which anything came since an engine cleared this
        self._latest: Counter[int] = Counter()  # the highest number of a packet so far, plus 1, by sending worker

    def deliver(self, message: Packet, confirm: Callable[[], None] | None = None) -> None:
        """Accept a packet, unless it is a duplicate, when there is room for it: count it among those `accepted`, and
        call `confirm`. Never call it while holding the lock: `confirm` takes the sender's lock, and the sender may be
        delivering to this worker."""
        with self.changed:
            known = message.number < self.received[message.worker] or message.number in self._numbers[message.worker]
            if not known:
                self._count(message)
                self._hear(message)
                self.put(message.fragments)
                if message.token is not None:
                    self._notes += message.token.values["notes"]
            else:
                self.said[message.worker] = 0  # or the sender would not have sent it again
            has_room = self._bytes <= INBOX_BYTES
            if has_room:
                self.accepted[message.worker] = self.received[message.worker]
            elif not known:
                self._unconfirmed.append((message.worker, confirm))
            if not known:
                self.wake()
        if (has_room or known) and confirm is not None:
            confirm()

    def put(self, fragments: list[Fragment]) -> None:
        """Keep fragments, and join those of each buffer once they are complete."""
        with self.changed:
            for one in fragments:
                place = one.sender, one.receiver, one.number
                parts = self._parts[place]
                parts.append(one)
                if sum(part.data.nbytes for part in parts) == one.size:
                    ((_, data),) = join(self._parts.pop(place))
                    self._buffers.append((one.sender, one.receiver, data))
                self._bytes += one.data.nbytes

    def take(self) -> tuple[Buffers, list[Any]]:
        """All complete buffers, and all notes. Mail that arrived before a note is taken before it or together with
        it."""
        with self.changed:
            buffers, notes, confirms = self._buffers, self._notes, self._unconfirmed
            self._buffers, self._notes, self._unconfirmed = [], [], []
            self._bytes = sum(part.data.nbytes for parts in self._parts.values() for part in parts)
            for worker, _ in confirms:
                self.accepted[worker] = self.received[worker]
        for _, confirm in confirms:
            if confirm is not None:
                confirm()
        return buffers, notes

    @property
    def empty(self) -> bool:
        return not self._buffers and not self._notes

    def wake(self) -> None:
        """Count an event and wake the engine that waits for one, even if it has only just decided to wait."""
        with self.changed:
            self.events += 1
            self.changed.notify_all()

    def _hear(self, message: Packet) -> None:
        """Remember what the latest packet of a worker says of its work; notes say nothing of it."""
        if message.token is None and message.number >= self._latest[message.worker]:
            self._latest[message.worker] = message.number + 1
            self.heard.add(message.worker)
            (self.working.add if message.more else self.working.discard)(message.worker)

    def _count(self, message: Packet) -> None:
        """Remember the packet's number. Consecutive numbers are remembered by their count only."""
        numbers = self._numbers[message.worker]
        numbers.add(message.number)
        while self.received[message.worker] in numbers:
            numbers.remove(self.received[message.worker])
            self.received[message.worker] += 1
