"""Free mail, which belongs to no step: asynchronous engines send it when they like, and take what has come.

A packet counts as received when its receiver has room for it: then its sender is told. So a sender knows what is under
way, and a slow receiver slows its senders, who keep later news and go on merging it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dgraph.exchange.mail import FRAGMENT, Buffer, Fragment, Packet, Token, as_bytes, cut, join

if TYPE_CHECKING:
    from dgraph.exchange.exchange import Exchange

FREE = 1 << 61  # the step of free mail: later than all others
ROOM = 32 << 20  # bytes that have come and were not taken, beyond which senders are not told
AHEAD = 2  # messages under way to each peer: with more, news would overtake each other instead of merging
CROWDED = 32 << 20  # bytes under way from one worker, beyond which it sends no more

Buffers = list[tuple[int, int, Buffer]]  # sending partition, receiving partition, bytes


class FreeInbox:
    """What has come to one worker. The transport delivers on its own thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.news = 0  # how often anything came here, or was received elsewhere
        self.received: Counter[int] = Counter()  # messages, by sending worker
        self._numbers: defaultdict[int, set[int]] = defaultdict(set)  # of those beyond the first `received`
        self._parts: defaultdict[tuple[int, int, int], list[Fragment]] = defaultdict(list)
        self._buffers: Buffers = []
        self._notes: list[Any] = []
        self._bytes = 0
        self._unconfirmed: list[Callable[[], None]] = []

    def deliver(self, message: Packet, confirm: Callable[[], None]) -> None:
        """Take a packet in, unless it is a duplicate, and call `confirm` when there is room for it. Never under the
        lock here: `confirm` takes the sender's lock, who may just be delivering to this worker."""
        with self.changed:
            known = message.number < self.received[message.worker] or message.number in self._numbers[message.worker]
            if not known:
                self._count(message)
                self.put(message.fragments)
                if message.token is not None:
                    self._notes += message.token.values["notes"]
                self.tell()
            if not known and self._bytes > ROOM:
                self._unconfirmed.append(confirm)
                return
        confirm()

    def put(self, fragments: list[Fragment]) -> None:
        """Keep fragments, and join those of a buffer once they are complete."""
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
        """All buffers that are complete, and all notes. What came before a note has been taken before it or with it."""
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

    def tell(self) -> None:
        """Wake the engine that waits for news, even if it is only about to wait."""
        with self.changed:
            self.news += 1
            self.changed.notify_all()

    def _count(self, message: Packet) -> None:
        """Remember the packet's number; of numbers that follow one another, only how many there are."""
        numbers = self._numbers[message.worker]
        numbers.add(message.number)
        while self.received[message.worker] in numbers:
            numbers.remove(self.received[message.worker])
            self.received[message.worker] += 1


class FreeMail:
    """One worker's end of free mail. A packet that its receiver does not confirm is sent again; its number tells a
    duplicate."""

    def __init__(self, exchange: Exchange):
        self.exchange, self.inbox = exchange, FreeInbox()
        self.sent: Counter[int] = Counter()  # messages, by receiving worker
        self._buffers: Counter[tuple[int, int]] = Counter()
        self._waiting: defaultdict[int, list[Fragment]] = defaultdict(list)
        self._under_way: dict[tuple[int, int], Packet] = {}  # by receiving worker and number
        self._bytes = 0  # of these
        self._repeated = time.monotonic()

    def send(self, sender: int, receiver: int, buffer: Any) -> None:
        """Send a buffer; it travels with the next `post`."""
        fragments = cut(sender, receiver, self._buffers[sender, receiver], as_bytes(buffer))
        self._buffers[sender, receiver] += 1
        peer = self.exchange.route.homes[receiver]
        if peer == self.exchange.worker:
            self.inbox.put(fragments)
        else:
            self._waiting[peer] += fragments

    def post(self) -> None:
        """Post all that was sent: for each peer as few packets as hold it."""
        for peer, fragments in self._waiting.items():
            message: list[Fragment] = []
            for fragment in fragments:
                if message and _size(message) + fragment.data.nbytes > FRAGMENT:
                    self._post(peer, message)
                    message = []
                message.append(fragment)
            self._post(peer, message)
        self._waiting.clear()

    def note(self, peer: int, *notes: Any) -> None:
        """Send notes, in one packet: small values for another worker's engine. Notes under way do not keep a worker
        from being at rest."""
        self._post(peer, [], Token(self.exchange.route.run, FREE, self.exchange.worker, (), {"notes": notes}))

    @property
    def under_way(self) -> int:
        """How many packets are not confirmed yet, with those that hold notes."""
        return len(self._under_way)

    @property
    def at_rest(self) -> bool:
        """Whether all that was sent has been received; notes do not count."""
        with self.inbox.changed:
            return not any(message.fragments for message in self._under_way.values())

    @property
    def crowded(self) -> bool:
        """Whether so much is under way that further news had better wait here, where it merges."""
        return len(self._under_way) > AHEAD * (len(self.exchange.route.workers) - 1) or self._bytes > CROWDED

    @property
    def busy(self) -> bool:
        """Whether as many packets are under way as there are peers: a stricter limit than `crowded`."""
        return len(self._under_way) >= max(1, len(self.exchange.route.workers) - 1)

    def wait(self, news: int, seconds: float) -> None:
        """Wait until there is more news than number `news`, or for `seconds`: something has come, or was received
        elsewhere. Raises if the run has failed; sends again what was not confirmed for long."""
        with self.inbox.changed:
            nothing = self.inbox.news == news and not self.inbox.changed.wait(seconds)
        if nothing:
            self.exchange.leave_thread()
        self.exchange.check()
        now = time.monotonic()
        if now - self._repeated > self.exchange.patience:
            self._repeated = now
            for (peer, _), message in list(self._under_way.items()):
                self.exchange.post(peer, message)

    def confirm(self, peer: int, number: int) -> None:
        """Called by the transport when a peer has received a packet."""
        with self.inbox.changed:
            message = self._under_way.pop((peer, number), None)
            self._bytes -= 0 if message is None else _size(message.fragments)
            self.inbox.tell()

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
