"""The mail between many partitions: one buffer from a partition to all partitions of a worker, not one to each.

The buffer holds the changed values of all proxies, or of all masters, that the partitions of the receiving worker share
with the sender: by receiving partition, and for each in the order that both know (see `proxy_post.py`). The receiving
worker puts the buffers of all senders together, and each of its partitions takes what is its own in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dgraph.exchange.exchange import Exchange
from dgraph.exchange.joint_mail import HeardVertices, JointBuffer, Parcel, Together
from dgraph.exchange.mail import Buffer
from dgraph.partition.partition import Partition
from dgraph.tables.vertex_arrays import Where, listed

JOINT = 1 << 8  # in a buffer's tag: it is for all partitions of a worker
MANY = 4  # partitions of a worker, on average, from which on the tables are worth their memory


class WorkerPost:
    """What has arrived for the partitions of one worker together. All of them have to be in `partitions` before the
    first step. `opened` returns what a buffer for all of them holds, and None for one that is for one partition."""

    def __init__(self, exchange: Exchange, opened: Callable[[Buffer], JointBuffer | None]):
        self.exchange, self.opened = exchange, opened
        self.partitions: dict[int, Partition] = {}
        workers = range(len(exchange.route.workers))
        self.groups = [group for group in map(exchange.route.partitions_of, workers) if group]
        self.first = exchange.partitions[0]  # whose mail this is in the exchange
        self._step = -1
        self._alone: list[tuple[int, Buffer]] = []
        self._waiting: set[int] = set()  # partitions that have not collected in this step
        self._arrived: dict[int, list[tuple[int, JointBuffer]]] = {}  # by tag
        self._together: dict[tuple[int, str], Together] = {}
        self._tables: dict[tuple[bool, str], HeardVertices] = {}

    def collect(self, step: int, receiver: int) -> list[tuple[int, Buffer]]:
        """The buffers of a step that are for this partition alone. Those for all are kept for `take`."""
        if step != self._step:
            buffers = self.exchange.collect(step, self.first)
            self._alone, self._arrived, self._together = [], {}, {}
            for sender, buffer in buffers:
                found = self.opened(buffer)
                if found is None:
                    self._alone.append((sender, buffer))
                else:
                    self._arrived.setdefault(found.tag, []).append((sender, found))
            self._step, self._waiting = step, set(self.partitions)
        if receiver != self.first:
            return self.exchange.collect(step, receiver)
        alone, self._alone = self._alone, []
        return alone

    def take(self, receiver: int, sides: Mapping[int, str], reduce: int) -> list[Parcel]:
        """What has arrived in this step for a partition under some tags, each with a side; only once, as other mail.
        Under the tag `reduce` it is for masters."""
        if receiver not in self._waiting:
            return []
        self._waiting.discard(receiver)
        found = [self._found(receiver, tag, side, tag == reduce) for tag, side in sides.items() if tag in self._arrived]
        if not self._waiting:
            self._arrived, self._together = {}, {}
        return [one for one in found if one is not None]

    def _found(self, receiver: int, tag: int, side: str, to_masters: bool) -> Parcel | None:
        if (to_masters, side) not in self._tables:
            self._tables[to_masters, side] = HeardVertices.of(self.partitions, side, to_masters=to_masters)
        tables = self._tables[to_masters, side]
        if (tag, side) not in self._together:
            self._together[tag, side] = Together.of(self._arrived[tag], tables)
        return self._together[tag, side].for_partition(tag, tables.places[receiver], tables)


def rows_for(partition: Partition, group: Sequence[int], side: str, *, from_masters: bool) -> Where:
    """The local ids of a partition whose values go to a group of partitions."""
    held, others = partition.proxies, [peer for peer in group if peer != partition.index]
    pieces: list[Where] = [held.originals(side, q) if from_masters else held.copies(side, q) for q in others]
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.uint32), *map(listed, pieces)])
