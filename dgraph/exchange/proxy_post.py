"""Sends values between masters and their proxies, by the address tables of a partition.

A *side* says which proxies take part: those with in-edges ("in"), those with out-edges ("out"), or all ("any"). Both
ends list them in the same order, so values travel without ids. Each buffer carries a tag that says what it is for.

A buffer holds the changed values of one list (see `mail.py`). Those in main memory are encoded for all receivers in
one call, and small ones travel in bundles; what has arrived of these is decoded in one call.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from dgraph.exchange.bundle_decoding import ArrivedBuffers
from dgraph.exchange.bundle_encoding import AddressTable, FieldColumns, encode_lists, fit, measure
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.joint_mail import JointBuffer
from dgraph.exchange.mail import (
    FRAGMENT_BYTES,
    HEADER,
    NEARLY_ALL,
    Buffer,
    DeviceBuffer,
    Positions,
    decode,
    encode,
    tag_bytes,
    tag_of,
)
from dgraph.exchange.worker_post import JOINT, WorkerPost, rows_for
from dgraph.partition.partition import Partition
from dgraph.tables.vertex_arrays import IN_PROCESS, VertexArrays, Where, length_of, listed

REDUCE, BROADCAST, TARGET = 1, 2, 3  # tags: to masters, to proxies with out-edges, to proxies with in-edges
BORDER_REPORT, BORDER_ANSWER = 4, 5  # to another partition, about vertices that need not have copies in both

JOINED_BYTES = 256 << 10  # the most that is worth a copy
SMALL_BUFFER = 64 << 10  # bytes up to which a buffer is opened together with others, which copies its values
FEW_PEERS = 3  # partitions to which values are encoded one by one, which is as fast
NEVER = 2.0  # in place of `NEARLY_ALL`: unchanged values do not travel


class ReceivedValues(NamedTuple):
    """Values that arrived for some vertices."""

    tag: int
    locals: np.ndarray  # the vertices' local ids here
    values: list[Any]


class ReceiverLists(NamedTuple):
    """Where the values of a side go."""

    partitions: np.ndarray  # in the order of the exchange
    mark: int  # of their tags
    table: AddressTable


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
        self._receiving: dict[tuple[str, bool], ReceiverLists] = {}  # by side, and whether masters send
        self._heard: dict[tuple[str, bool], AddressTable] = {}  # by side, and whether masters hear
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
        if self._fit(arrays, changed):
            self._send_all(REDUCE, side, arrays, changed, from_masters=False, exact=not isinstance(changed, list))
            return
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
        if self._fit(arrays, changed):
            self._send_all(tag, side, arrays, changed, from_masters=True, exact=exact)
            return
        for peer, mark, mine in self._receivers(side, from_masters=True):
            if length_of(mine):
                mask = None if changed is None else self.arrays.select_flags(changed, mine)
                self._send(peer, tag | mark, self._encoded(peer, mask, arrays, mine, exact))

    def collect(self, sides: Mapping[int, str], *, joined: bool = False) -> Iterator[ReceivedValues]:
        """Yield the values that arrived under some tags; `sides` maps each tag to the side that takes part. A vertex
        occurs once, unless those of several senders may be `joined`; then they are in their order."""
        if self._has_bundles and self.shared is None:
            found = self._opened(sides, joined)
            yield from _joined(found) if joined else found
            return
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

    def _opened(self, sides: Mapping[int, str], joined: bool) -> Iterator[ReceivedValues]:
        """The mail of a step, by tag and sender. Small buffers are opened together, as far as no other one stands
        between them."""
        begun = time.perf_counter()
        buffers, bundles = self.exchange.collect_bundles(self.step - 1, self.partition.index)
        self.waited += time.perf_counter() - begun
        single = [((tag_of(buffer), sender), buffer) for sender, buffer in buffers]
        single.sort(key=itemgetter(0), reverse=True)
        small, begin = ArrivedBuffers(bundles, self.partition.index), 0
        while begin < len(small) or single:
            before = single[-1][0] if single else None
            if begin < len(small) and (before is None or small.key(begin) <= before):
                end, tag = small.run(begin, before), small.key(begin)[0]
                ids, values, ends = small.open(begin, end, self._lists_of(tag, sides[tag]).rows)
                begin = end
                for first, last in pairwise([0, len(ids)] if joined else [0, *ends.tolist()]):
                    if last > first:
                        yield ReceivedValues(tag, ids[first:last], [one[first:last] for one in values])
            else:
                (tag, sender), buffer = single.pop()
                positions, values = decode(buffer)
                yield ReceivedValues(tag, self._locals(tag, sides[tag], sender, positions), values)

    def _lists_of(self, tag: int, side: str) -> AddressTable:
        """The vertices of which each partition sends values under a tag."""
        key = side, tag == REDUCE
        if key not in self._heard:
            of = self.masters if tag == REDUCE else self.proxies
            self._heard[key] = AddressTable.of([of(side, sender) for sender in range(self.partition.parts)])
        return self._heard[key]

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

    @property
    def _has_bundles(self) -> bool:
        return self.arrays is IN_PROCESS and self.free_buffers is None and len(self.peers) > FEW_PEERS

    def _fit(self, arrays: Sequence[Any], changed: Any) -> bool:
        """Whether values can be encoded for all receivers at once."""
        if not self._has_bundles:
            return False
        masks = [changed] if isinstance(changed, np.ndarray) else []
        return fit(arrays) and all(mask.dtype == bool and mask.flags.c_contiguous for mask in masks)

    def _send_all(
        self, tag: int, side: str, arrays: Sequence[Any], changed: Any, *, from_masters: bool, exact: bool
    ) -> None:
        """Encode values for all receivers, and send them: small buffers together, large ones one by one."""
        (partitions, mark, (lists, _)), first = self._all_receivers(side, from_masters), 0
        if isinstance(changed, list):
            first, last = self.partition.num_owned, self.partition.num_local
            changed = self.arrays.differing_rows(arrays, slice(first, last), changed)
        columns = FieldColumns.of(arrays)
        measured = measure(lists, changed, first, NEVER if exact else NEARLY_ALL, columns)
        small = np.flatnonzero((measured.sizes > 0) & (measured.sizes <= SMALL_BUFFER))
        packs = np.cumsum(measured.sizes[small]) // FRAGMENT_BYTES
        for some in np.split(small, np.flatnonzero(np.diff(packs)) + 1) if len(small) else ():
            data = encode_lists(lists[some], changed, first, columns, measured.of(some), tag | mark)
            sizes = measured.sizes[some]
            self.exchange.send_bundle(self.step, self.partition.index, partitions[some], sizes, data)
            self._count(len(some), data)
        for one in np.flatnonzero(measured.sizes > SMALL_BUFFER).tolist():
            it = slice(one, one + 1)
            data = encode_lists(lists[it], changed, first, columns, measured.of(it), tag | mark)
            self.exchange.send(self.step, self.partition.index, int(partitions[one]), data)
            self._count(1, data)

    def _count(self, buffers: int, data: Buffer) -> None:
        self.buffers += buffers
        self.bytes += data.nbytes

    def _all_receivers(self, side: str, from_masters: bool) -> ReceiverLists:
        key = side, from_masters
        if key not in self._receiving:
            found = {peer: (mark, mine) for peer, mark, mine in self._receivers(side, from_masters=from_masters)}
            peers = [peer for peer in self.exchange.order.tolist() if peer in found and length_of(found[peer][1])]
            mark = JOINT if self.shared is not None else 0
            lists = AddressTable.of([found[peer][1] for peer in peers])
            self._receiving[key] = ReceiverLists(np.array(peers, np.int64), mark, lists)
        return self._receiving[key]

    def _encoded(self, peer: int, mask: Any, arrays: Sequence[Any], mine: Any, exact: bool) -> Buffer | None:
        allocate = self.arrays.mail_buffer if peer in self.direct else None
        return encode(mask, arrays, mine, exact=exact, take=self.arrays.take, allocate=allocate)

    def _send(self, peer: int, tag: int, buffer: Buffer | None) -> None:
        if buffer is None:
            return
        if isinstance(buffer, DeviceBuffer):
            self.arrays.wait()  # the transport does not synchronise with the device
        tag_bytes(buffer)[0] = tag
        if self.free_buffers is None:
            self.exchange.send(self.step, self.partition.index, peer, buffer)
        else:
            self.exchange.free.send(self.partition.index, peer, buffer)
        self._count(1, buffer)


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


def opened(buffer: Buffer) -> JointBuffer | None:
    """What a buffer holds that is for all partitions of a worker; None for others."""
    tag = tag_of(buffer)
    if tag < JOINT or isinstance(buffer, DeviceBuffer):
        return None
    return JointBuffer(tag - JOINT, HEADER.unpack_from(buffer, 0)[4], *decode(buffer))
