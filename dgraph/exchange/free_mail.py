"""Free mail, which belongs to no step: asynchronous engines send it at any time and take whatever has arrived.

A packet counts as received when its receiver has room for it; the receiver then confirms it to the sender, at once or
with the next packet that it sends there. A sender therefore knows what is in flight, and a slow receiver slows down its
senders, which hold back later values and keep merging them.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from dgraph.exchange.free_inbox import FreeInbox
from dgraph.exchange.mail import FRAGMENT_BYTES, Fragment, Packet, Token, as_bytes, cut

if TYPE_CHECKING:
    from dgraph.exchange.exchange import Exchange

FREE = 1 << 61  # the step number of free mail: later than all others
ACCEPTED = FREE + 1  # that of packets that only say how much free mail their sender has accepted
PACKETS_AHEAD = 2  # packets in flight to each peer: with more, values would be sent one by one instead of merged
OUTGOING_BYTES = 32 << 20  # bytes in flight from one worker above which it sends no more


class FreeMail:
    """One worker's end of free mail. A packet that its receiver does not confirm is sent again; its number reveals
    duplicates."""

    def __init__(self, exchange: Exchange):
        self.exchange, self.inbox = exchange, FreeInbox()
        self.sent: Counter[int] = Counter()  # packets sent, by receiving worker
        self._buffers: Counter[tuple[int, int]] = Counter()
        self._waiting: defaultdict[int, list[Fragment]] = defaultdict(list)
        self._under_way: dict[tuple[int, int], Packet] = {}  # by receiving worker and number
        self._bytes, self._full = 0, 0  # bytes in flight, and the packets that are more than notes
        self._expecting: set[int] = set()  # workers that were told of more
        self._confirmed: Counter[int] = Counter()  # packets confirmed without a gap, by receiving worker
        self._repeated = time.monotonic()
        self.prompt = True  # whether what is accepted is acknowledged at once, because no engine is there that would

    def send(self, sender: int, receiver: int, buffer: Any) -> None:
        """Send a buffer with the next `post`."""
        fragments = cut(sender, receiver, self._buffers[sender, receiver], as_bytes(buffer))
        self._buffers[sender, receiver] += 1
        peer = self.exchange.route.homes[receiver]
        if peer == self.exchange.worker:
            self.inbox.put(fragments)
        else:
            self._waiting[peer] += fragments

    def post(self, more: bool | None = None) -> None:
        """Post everything that was sent, in as few packets per peer as possible. After it has worked, a worker says
        whether there is `more` to come; workers that were told so before hear of it even if nothing was sent to
        them."""
        told = set() if more is None else self._expecting - self._waiting.keys()
        for peer in [*self._waiting, *told]:
            message: list[Fragment] = []
            for fragment in self._waiting.pop(peer, ()):
                if message and _size(message) + fragment.data.nbytes > FRAGMENT_BYTES:
                    self._post(peer, message, more=True)
                    message = []
                message.append(fragment)
            self._post(peer, message, more=peer in self._expecting if more is None else more)
            if more is not None:
                (self._expecting.add if more else self._expecting.discard)(peer)

    def note(self, peer: int, *notes: Any) -> None:
        """Send notes, which are small values for another worker's engine, in one packet. A worker can be at rest while
        notes are in flight."""
        self._post(peer, [], Token(self.exchange.route.run, FREE, self.exchange.worker, (), {"notes": notes}))

    @property
    def promised(self) -> bool:
        """Whether some workers were told that more will come."""
        return bool(self._expecting)

    @property
    def under_way(self) -> int:
        """How many packets, including those with notes, are not confirmed yet."""
        return len(self._under_way)

    @property
    def at_rest(self) -> bool:
        """Whether everything that was sent has been received, apart from notes."""
        return not self._full

    @property
    def crowded(self) -> bool:
        """Whether so much is in flight that further values should wait here, where they merge."""
        most = PACKETS_AHEAD * (len(self.exchange.route.workers) - 1)
        return self._bytes > OUTGOING_BYTES or self._full > most

    @property
    def busy(self) -> bool:
        """Whether as many packets are in flight as there are peers, which is a stricter limit than `crowded`."""
        return self._full >= max(1, len(self.exchange.route.workers) - 1)

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
            self._landed(peer, number)
            self.inbox.wake()

    def _landed(self, peer: int, number: int) -> None:
        if (message := self._under_way.pop((peer, number), None)) is not None:
            self._bytes -= _size(message.fragments)
            self._full -= bool(message.fragments)

    def take(self, message: Packet) -> None:
        """Accept a packet of a transport that does not confirm each."""
        self.confirm_all(message.worker, message.accepted)
        if message.step == FREE:
            self.inbox.deliver(message)
            if self.prompt:
                self.acknowledge()

    def confirm_all(self, peer: int, accepted: int) -> None:
        """Called by the transport when a peer says that it has accepted so many packets."""
        with self.inbox.changed:
            if accepted <= self._confirmed[peer]:
                return
            for number in range(self._confirmed[peer], accepted):
                self._landed(peer, number)
            self._confirmed[peer] = accepted
            self.inbox.wake()

    def acknowledge(self, least: int = 1) -> None:
        """Tell each worker how much was accepted, if that is at least so many packets more than it knows. Packets tell,
        too, so this is for a worker that will send nothing for a while, or nothing to some."""
        inbox = self.inbox
        for peer, accepted in list(inbox.accepted.items()):
            if accepted >= inbox.said[peer] + least:
                inbox.said[peer] = accepted
                self.exchange.acknowledge(peer, accepted)

    def _post(self, peer: int, fragments: list[Fragment], token: Token | None = None, *, more: bool = False) -> None:
        exchange, inbox = self.exchange, self.inbox
        inbox.said[peer] = accepted = inbox.accepted[peer]
        number, route = self.sent[peer], exchange.route
        message = Packet(route.run, FREE, exchange.worker, number, fragments, token, (), more, accepted)
        self.sent[peer] += 1
        with inbox.changed:
            self._under_way[peer, message.number] = message
            self._bytes += _size(fragments)
            self._full += bool(fragments)
        exchange.post(peer, message)


def _size(fragments: list[Fragment]) -> int:
    return sum(fragment.data.nbytes for fragment in fragments)
