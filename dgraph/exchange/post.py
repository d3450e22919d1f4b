"""Values between masters and their proxies: the address tables of a partition put to use.

A *side* says which proxies take part: those with in-edges ("in"), with out-edges ("out"), or all ("any"). Both ends
list them in one order, so values travel without ids, and each buffer carries a tag that says what it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dgraph.exchange.encoding import decode, encode
from dgraph.exchange.exchange import Exchange
from dgraph.partition.partition import Partition

REDUCE, BROADCAST, TARGET = 1, 2, 3  # tags: to masters, to proxies that send, to proxies that are sent to


class Mail(NamedTuple):
    tag: int
    locals: np.ndarray  # whose values these are, by local ids here
    values: list[np.ndarray]


class Post:
    """One partition's mail. Whoever drives it sets `epoch`; it sends in that epoch and collects the one before."""

    def __init__(self, exchange: Exchange, partition: Partition):
        self.exchange, self.partition, self.epoch = exchange, partition, 0
        self.buffers = self.bytes = 0  # sent so far
        self.waited = 0.0  # seconds, for mail
        self._peers = [q for q in range(partition.parts) if q != partition.index]

    def proxies(self, side: str, peer: int) -> slice:
        """My proxies of a peer's vertices, as a range of local ids."""
        found = self.partition.proxies
        if side == "in":
            return found.reduce_slice(peer)
        return found.broadcast_slice(peer) if side == "out" else slice(*map(int, found.groups[peer, [0, 3]]))

    def masters(self, side: str, peer: int) -> np.ndarray:
        """My vertices that a peer holds as such proxies, in its order."""
        found = self.partition.proxies
        if side == "in":
            return found.masters_reduced_from(peer)
        return found.masters_broadcast_to(peer) if side == "out" else found.masters.get(peer, _NONE)

    def has(self, side: str) -> bool:
        """Whether any proxy here is of this side."""
        ranges = (self.proxies(side, peer) for peer in self._peers)
        return any(s.stop > s.start for s in ranges)

    def reduce(self, side: str, arrays: Sequence[np.ndarray], changed: np.ndarray | None) -> None:
        """The proxies' values to their masters: those that `changed` (a mask of local ids), or all."""
        for peer in self._peers:
            mine = self.proxies(side, peer)
            if mine.stop > mine.start:
                mask = None if changed is None else changed[mine]
                self._send(peer, REDUCE, encode(mask, [array[mine] for array in arrays]))

    def broadcast(self, tag: int, side: str, arrays: Sequence[np.ndarray], changed: np.ndarray | None) -> None:
        """The masters' values to their proxies."""
        for peer in self._peers:
            mine = self.masters(side, peer)
            if len(mine):
                mask = None if changed is None else changed[mine]
                self._send(peer, tag, encode(mask, [array[mine] for array in arrays]))

    def collect(self, side: str, target_side: str = "") -> Iterator[Mail]:
        """What came: by `side`, but under the tag TARGET by `target_side`."""
        begun = time.perf_counter()
        found = self.exchange.collect(self.epoch - 1, self.partition.index)
        self.waited += time.perf_counter() - begun
        for sender, buffer in found:
            tag = int(buffer[2:4].view(np.uint16)[0])
            positions, values = decode(buffer)
            if tag == REDUCE:
                yield Mail(tag, self.masters(side, sender)[positions], values)
            else:
                mine = self.proxies(target_side if tag == TARGET else side, sender)
                yield Mail(tag, np.arange(mine.start, mine.stop, dtype=np.uint32)[positions], values)

    def _send(self, peer: int, tag: int, buffer: np.ndarray | None) -> None:
        if buffer is None:
            return
        buffer[2:4].view(np.uint16)[0] = tag  # a free field of the header
        self.exchange.send(self.epoch, self.partition.index, peer, buffer)
        self.buffers += 1
        self.bytes += buffer.nbytes


_NONE = np.empty(0, np.uint32)
