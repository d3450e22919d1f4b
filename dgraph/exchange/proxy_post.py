"""Sends values between masters and their proxies, by the address tables of a partition.

A *side* says which proxies take part: those with in-edges ("in"), those with out-edges ("out"), or all ("any"). Both
ends list them in the same order, so values travel without ids. Each buffer carries a tag that says what it is for.
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

REDUCE, BROADCAST, TARGET = 1, 2, 3  # tags: to masters, to proxies with out-edges, to proxies with in-edges
BORDER_REPORT, BORDER_ANSWER = 4, 5  # to another partition, about vertices that need not have copies in both


class ReceivedValues(NamedTuple):
    """Values that arrived for some vertices."""

    tag: int
    locals: np.ndarray  # the vertices' local ids here
    values: list[Any]


class ProxyMail:
    """One partition's mail. The engine sets `step`: values are sent in that step, and values of the previous step are
    collected. Values for partitions in `direct` may stay on this partition's device."""

    def __init__(self, exchange: Exchange, partition: Partition, direct: Container[int] = ()):
        self.exchange, self.partition, self.direct, self.step = exchange, partition, direct, 0
        self.arrays: VertexArrays = IN_PROCESS  # reads and copies values, wherever they are
        self.buffers = self.bytes = 0  # how much was sent so far
        self.waited = 0.0  # seconds spent waiting for mail
        self.free_buffers: list[tuple[int, Buffer]] | None = (
            None  # set by `use_free_mail`; None if mail arrives step by step
        )
        self.peers = [q for q in range(partition.parts) if q != partition.index]

    def proxies(self, side: str, peer: int) -> slice:
        """The local ids of this partition's proxies on a side, for vertices that `peer` owns."""
        proxies = self.partition.proxies
        if side == "in":
            return proxies.reduce_slice(peer)
        return proxies.broadcast_slice(peer) if side == "out" else slice(*map(int, proxies.groups[peer, [0, 3]]))

    def masters(self, side: str, peer: int) -> np.ndarray:
        """The vertices owned here that have a proxy in partition `peer` on a side, in the order of `peer`."""
        proxies = self.partition.proxies
        if side == "in":
            return proxies.masters_reduced_from(peer)
        return proxies.masters_broadcast_to(peer) if side == "out" else proxies.masters.get(peer, _NO_VERTICES)

    def has(self, side: str) -> bool:
        """Whether this partition has any proxy on this side."""
        return any(s.stop > s.start for s in (self.proxies(side, peer) for peer in self.peers))

    def reduce(self, side: str, arrays: Sequence[Any], changed: Any) -> None:
        """Send values of proxies to their masters. `changed` selects them: a mask of local ids; or a list with one
        value per array, so that rows that differ from it are sent, and possibly others; or None for all."""
        for peer in self.peers:
            mine = self.proxies(side, peer)
            if mine.stop > mine.start:
                exact, mask = not isinstance(changed, Sequence), None
                if not exact:
                    mask = self.arrays.differing_rows(arrays, mine, changed)
                elif changed is not None:
                    mask = self.arrays.select_flags(changed, mine)
                self._send(peer, REDUCE, self._encoded(peer, mask, arrays, mine, exact))

    def broadcast(self, tag: int, side: str, arrays: Sequence[Any], changed: Any, *, exact: bool = True) -> None:
        """Send values of masters to their proxies. `changed` is a mask, or None for all; unless `exact`, unchanged rows
        may be sent too."""
        for peer in self.peers:
            mine = self.masters(side, peer)
            if len(mine):
                mask = None if changed is None else self.arrays.select_flags(changed, mine)
                self._send(peer, tag, self._encoded(peer, mask, arrays, mine, exact))

    def collect(self, sides: Mapping[int, str]) -> Iterator[ReceivedValues]:
        """Yield the values that arrived under some tags; `sides` maps each tag to the side that takes part."""
        for tag, sender, positions, values in self.receive(sides):
            if tag == REDUCE:
                yield ReceivedValues(tag, self.masters(sides[tag], sender)[positions], values)
            else:
                mine = self.proxies(sides[tag], sender)
                yield ReceivedValues(tag, np.arange(mine.start, mine.stop, dtype=np.uint32)[positions], values)

    def send_to(self, peer: int, tag: int, arrays: Sequence[np.ndarray]) -> None:
        """Send arrays of equal length to another partition, or to this one, which receives them by `receive`."""
        self._send(peer, tag, encode(None, arrays))

    def receive(self, tags: Container[int]) -> Iterator[tuple[int, int, Positions, list[Any]]]:
        """Yield what arrived under some tags: the tag, the sender, the positions of the values in the list that both
        partitions know, and the values."""
        for sender, buffer in self._arrived(tags):
            if isinstance(buffer, DeviceBuffer):
                buffer = buffer._replace(values=self.arrays.to_device(buffer.values))
            yield tag_of(buffer), sender, *decode(buffer)

    def use_free_mail(self, buffers: Sequence[tuple[int, Buffer]]) -> None:
        """Switch to free mail: `collect` and `receive` take their values from these buffers, in any step."""
        self.free_buffers = list(buffers)

    def _arrived(self, tags: Container[int]) -> list[tuple[int, Buffer]]:
        if self.free_buffers is not None:
            return [(sender, buffer) for sender, buffer in self.free_buffers if tag_of(buffer) in tags]
        begun = time.perf_counter()
        buffers = self.exchange.collect(self.step - 1, self.partition.index)
        self.waited += time.perf_counter() - begun
        return buffers

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


def tag_of(buffer: Buffer) -> int:
    return int(_tag(buffer)[0])


def _tag(buffer: Buffer) -> np.ndarray:
    """The two bytes for a tag in the header of an encoded buffer."""
    return (buffer.header if isinstance(buffer, DeviceBuffer) else buffer)[2:4].view(np.uint16)


_NO_VERTICES = np.empty(0, np.uint32)
