"""Values between masters and their proxies: the address tables of a partition put to use.

A *side* says which proxies take part: those with in-edges ("in"), with out-edges ("out"), or all ("any"). Both ends
list them in one order, so values travel without ids, and each buffer carries a tag that says what it is.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dgraph.exchange.encoding import Positions, decode, encode
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import Buffer, DeviceBuffer
from dgraph.partition.partition import Partition
from dgraph.tables.vertex_arrays import IN_PROCESS, VertexArrays

REDUCE, BROADCAST, TARGET = 1, 2, 3  # tags: to masters, to proxies that send, to proxies that are sent to
REPORT, ANSWER = 4, 5  # to another partition, of no vertices that both have


class ReceivedValues(NamedTuple):
    """Values that have come for some vertices."""

    tag: int
    locals: np.ndarray  # whose values these are, by local ids here
    values: list[Any]


class ProxyMail:
    """One partition's mail. The engine sets `step`: values are sent in that step, and those of the step before are
    collected. Values for partitions in `direct` may stay on this partition's device."""

    def __init__(self, exchange: Exchange, partition: Partition, direct: Container[int] = ()):
        self.exchange, self.partition, self.direct, self.step = exchange, partition, direct, 0
        self.arrays: VertexArrays = IN_PROCESS  # which knows where the values are
        self.buffers = self.bytes = 0  # sent so far
        self.waited = 0.0  # seconds, for mail
        self.brought: list[tuple[int, Buffer]] | None = None  # by `bring`; None: mail comes step by step
        self.peers = [q for q in range(partition.parts) if q != partition.index]

    def proxies(self, side: str, peer: int) -> slice:
        """The proxies here, of vertices that `peer` owns, that are on a side: a range of local ids."""
        found = self.partition.proxies
        if side == "in":
            return found.reduce_slice(peer)
        return found.broadcast_slice(peer) if side == "out" else slice(*map(int, found.groups[peer, [0, 3]]))

    def masters(self, side: str, peer: int) -> np.ndarray:
        """The vertices owned here of which `peer` has proxies on a side, in its order."""
        found = self.partition.proxies
        if side == "in":
            return found.masters_reduced_from(peer)
        return found.masters_broadcast_to(peer) if side == "out" else found.masters.get(peer, _NONE)

    def has(self, side: str) -> bool:
        """Whether any proxy here is on this side."""
        ranges = (self.proxies(side, peer) for peer in self.peers)
        return any(s.stop > s.start for s in ranges)

    def reduce(self, side: str, arrays: Sequence[Any], changed: Any) -> None:
        """Send values of proxies to their masters. `changed` is a mask of local ids; or a list with a value for each
        array: rows unlike it are sent, and perhaps others; or None: all."""
        for peer in self.peers:
            mine = self.proxies(side, peer)
            if mine.stop > mine.start:
                exact, mask = not isinstance(changed, Sequence), None
                if not exact:
                    mask = self.arrays.unlike(arrays, mine, changed)
                elif changed is not None:
                    mask = self.arrays.marked(changed, mine)
                self._send(peer, REDUCE, self._encoded(peer, mask, arrays, mine, exact))

    def broadcast(self, tag: int, side: str, arrays: Sequence[Any], changed: Any, *, exact: bool = True) -> None:
        """Send values of masters to their proxies. `changed` is a mask; unless `exact`, rows that have not changed may
        be sent too."""
        for peer in self.peers:
            mine = self.masters(side, peer)
            if len(mine):
                mask = None if changed is None else self.arrays.marked(changed, mine)
                self._send(peer, tag, self._encoded(peer, mask, arrays, mine, exact))

    def collect(self, sides: Mapping[int, str]) -> Iterator[ReceivedValues]:
        """The values that came under some tags, each with the side that takes part."""
        for tag, sender, positions, values in self.opened(sides):
            if tag == REDUCE:
                yield ReceivedValues(tag, self.masters(sides[tag], sender)[positions], values)
            else:
                mine = self.proxies(sides[tag], sender)
                yield ReceivedValues(tag, np.arange(mine.start, mine.stop, dtype=np.uint32)[positions], values)

    def give(self, peer: int, tag: int, arrays: Sequence[np.ndarray]) -> None:
        """Send arrays of one length to another partition, or to this one; `opened` yields them there."""
        self._send(peer, tag, encode(None, arrays))

    def opened(self, tags: Container[int]) -> Iterator[tuple[int, int, Positions, list[Any]]]:
        """What came under some tags: the tag, the sender, the positions of values in the list that both ends know, the
        values."""
        for sender, buffer in self._arrived(tags):
            if isinstance(buffer, DeviceBuffer):
                buffer = buffer._replace(there=self.arrays.moved(buffer.there))
            yield tag_of(buffer), sender, *decode(buffer)

    def bring(self, buffers: Sequence[tuple[int, Buffer]]) -> None:
        """From now on mail is free: these buffers are what `collect` yields next, in whatever step."""
        self.brought = list(buffers)

    def _arrived(self, tags: Container[int]) -> list[tuple[int, Buffer]]:
        if self.brought is not None:
            return [(sender, buffer) for sender, buffer in self.brought if tag_of(buffer) in tags]
        begun = time.perf_counter()
        found = self.exchange.collect(self.step - 1, self.partition.index)
        self.waited += time.perf_counter() - begun
        return found

    def _encoded(self, peer: int, mask: Any, arrays: Sequence[Any], mine: Any, exact: bool) -> Buffer | None:
        room = self.arrays.room_for_mail if peer in self.direct else None
        return encode(mask, arrays, mine, exact=exact, take=self.arrays.take, room=room)

    def _send(self, peer: int, tag: int, buffer: Buffer | None) -> None:
        if buffer is None:
            return
        if isinstance(buffer, DeviceBuffer):
            self.arrays.wait()  # who carries them does not ask the device
        _tag(buffer)[0] = tag
        if self.brought is None:
            self.exchange.send(self.step, self.partition.index, peer, buffer)
        else:
            self.exchange.free.send(self.partition.index, peer, buffer)
        self.buffers += 1
        self.bytes += buffer.nbytes


def tag_of(buffer: Buffer) -> int:
    return int(_tag(buffer)[0])


def _tag(buffer: Buffer) -> np.ndarray:
    """Where the header of an encoded buffer has room for a tag."""
    return (buffer.here if isinstance(buffer, DeviceBuffer) else buffer)[2:4].view(np.uint16)


_NONE = np.empty(0, np.uint32)
