"""Free mail, which belongs to no step: asynchronous engines send it at any time and take whatever has arrived.

A packet counts as received when its receiver has room for it; the receiver then confirms it to the sender. A sender
therefore knows what is in flight, and a slow receiver slows down its senders, which hold back later values and keep
merging them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dgraph.exchange.mail import FRAGMENT_BYTES, Buffer, Fragment, Packet, Token, as_bytes, cut, join

if TYPE_CHECKING:
    from dgraph.exchange.exchange import Exchange

FREE = 1 << 61  # the step number of free mail: later than all others
CONFIRMED = FREE + 1  # that of a packet that says which packet of free mail its sender has accepted
INBOX_BYTES = 32 << 20  # bytes not yet taken above which a receiver confirms no more packets
PACKETS_AHEAD = 2  # packets in flight to each peer: with more, values would be sent one by one instead of merged
OUTGOING_BYTES = 32 << 20  # bytes in flight from one worker above which it sends no more

Buffers = list[tuple[int, int, Buffer]]  # sending partition, receiving partition, bytes


class FreeInbox:
    """The free mail that has arrived at one worker. The transport delivers from its own thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.events = 0  # how often anything arrived here, or was confirmed by a peer
        self.received: Counter[int] = Counter()  # packets numbered without a gap, by sending worker
        self._numbers: defaultdict[int, set[int]] = defaultdict(set)  # numbers of packets that overtook a missing one
        self._parts: defaultdict[tuple[int, int, int], list[Fragment]] = defaultdict(list)
        self._buffers: Buffers = []
        self._notes: list[Any] = []
        self._bytes = 0
        self._unconfirmed: list[Callable[[], None]] = []

    def deliver(self, message: Packet, confirm: Callable[[], None]) -> None:
        """Accept a packet, unless it is a duplicate, and call `confirm` when there is room for it. Never call it while
        holding the lock: `confirm` takes the sender's lock, and the sender may be delivering to this worker."""
        with self.changed:
            known = message.number < self.received[message.worker] or message.number in self._numbers[message.worker]
            if not known:
                self._count(message)
                self.put(message.fragments)
                if message.token is not None:
                    self._notes += message.token.values["notes"]
                self.wake()
            if not known and self._bytes > INBOX_BYTES:
                self._unconfirmed.append(confirm)
                return
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
        for confirm in confirms:
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

    def _count(self, message: Packet) -> None:
        """Remember the packet's number. Consecutive numbers are remembered by their count only."""
        numbers = self._numbers[message.worker]
        numbers.add(message.number)
        while self.received[message.worker] in numbers:
            numbers.remove(self.received[message.worker])
            self.received[message.worker] += 1


class FreeMail:
    """One worker's end of free mail. A packet that its receiver does not confirm is sent again; its number reveals
    duplicates."""

    def __init__(self, exchange: Exchange):
        self.exchange, self.inbox = exchange, FreeInbox()
        self.sent: Counter[int] = Counter()  # packets sent, by receiving worker
        self._buffers: Counter[tuple[int, int]] = Counter()
        self._waiting: defaultdict[int, list[Fragment]] = defaultdict(list)
        self._under_way: dict[tuple[int, int], Packet] = {}  # by receiving worker and number
        self._bytes = 0  # bytes in flight
        self._repeated = time.monotonic()

    def send(self, sender: int, receiver: int, buffer: Any) -> None:
        """Send a buffer with the next `post`."""
        fragments = cut(sender, receiver, self._buffers[sender, receiver], as_bytes(buffer))
        self._buffers[sender, receiver] += 1
        peer = self.exchange.route.homes[receiver]
        if peer == self.exchange.worker:
            self.inbox.put(fragments)
        else:
            self._waiting[peer] += fragments

    def post(self) -> None:
        """Post everything that was sent, in as few packets per peer as possible."""
        for peer, fragments in self._waiting.items():
            message: list[Fragment] = []
            for fragment in fragments:
                if message and _size(message) + fragment.data.nbytes > FRAGMENT_BYTES:
                    self._post(peer, message)
                    message = []
                message.append(fragment)
            self._post(peer, message)
        self._waiting.clear()

    def note(self, peer: int, *notes: Any) -> None:
        """Send notes, which are small values for another worker's engine, in one packet. A worker can be at rest while
        notes are in flight."""
        self._post(peer, [], Token(self.exchange.route.run, FREE, self.exchange.worker, (), {"notes": notes}))

    @property
    def under_way(self) -> int:
        """How many packets, including those with notes, are not confirmed yet."""
        return len(self._under_way)

    @property
    def at_rest(self) -> bool:
        """Whether everything that was sent has been received, apart from notes."""
        with self.inbox.changed:
            return not any(message.fragments for message in self._under_way.values())

    @property
    def crowded(self) -> bool:
        """Whether so much is in flight that further values should wait here, where they merge."""
        return (
            len(self._under_way) > PACKETS_AHEAD * (len(self.exchange.route.workers) - 1)
            or self._bytes > OUTGOING_BYTES
        )

    @property
    def busy(self) -> bool:
        """Whether as many packets are in flight as there are peers, which is a stricter limit than `crowded`."""
        return len(self._under_way) >= max(1, len(self.exchange.route.workers) - 1)

    def wait(self, events: int, seconds: float) -> None:
        """Wait at most `seconds` for an event after the first `events`: mail arrives, or a peer confirms a packet.
        Raises if the run has failed; resends packets that have gone unconfirmed for too long."""
        with self.inbox.changed:
            timed_out = self.inbox.events == events and not self.inbox.changed.wait(seconds)
        if timed_out:
            self.exchange.leave_thread()
        self.exchange.check()
        now = time.monotonic()
        if now - self._repeated > self.exchange.patience:
            self._repeated = now
            for (peer, _), message in list(self._under_way.items()):
                self.exchange.post(peer, message)

    def confirm(self, peer: int, number: int) -> None:
        """Called by the transport when a peer has accepted a packet."""
        with self.inbox.changed:
            message = self._under_way.pop((peer, number), None)
            self._bytes -= 0 if message is None else _size(message.fragments)
            self.inbox.wake()

    def _post(self, peer: int, fragments: list[Fragment], token: Token | None = None) -> None:
        exchange = self.exchange
        message = Packet(exchange.route.run, FREE, exchange.worker, self.sent[peer], fragments, token)
        self.sent[peer] += 1
        with self.inbox.changed:
            self._under_way[peer, message.number] = message
            self._bytes += _size(fragments)
        exchange.post(peer, message)


def _size(fragments: list[Fragment]) -> int:
    return sum(fragment.data.nbytes for fragment in fragments)
