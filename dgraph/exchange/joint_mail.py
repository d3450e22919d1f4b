"""The buffers for all partitions of a worker, put together and sorted out by partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from dgraph.errors import RunError
from dgraph.native.team import ONE, kernel
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import Proxies
from dgraph.tables.vertex_arrays import listed


class JointBuffer(NamedTuple):
    """A buffer, decoded."""

    tag: int
    length: int  # of the list in which it has positions
    positions: Any
    values: list[Any]


class Parcel(NamedTuple):
    """What has arrived for a partition under a tag: vertices, by sender, and their values."""

    tag: int
    ids: np.ndarray
    values: list[Any]
    ends: list[int]  # where the vertices of each sender end


@dataclass
class HeardVertices:
    """For each partition of a worker, the vertices of which it hears, by sender; and where its part of each sender's
    buffers begins."""

    places: dict[int, int]  # of partitions, in the following lists
    targets: list[np.ndarray]  # by partition: local ids
    starts: list[np.ndarray]  # by partition: where those of each sender begin
    bounds: np.ndarray  # by sender and partition

    @classmethod
    def of(cls, partitions: Mapping[int, Partition], side: str, *, to_masters: bool) -> HeardVertices:
        lists = [list(_heard(part.proxies, part.parts, side, to_masters)) for _, part in sorted(partitions.items())]
        lengths = np.array([[len(one) for one in mine] for mine in lists])
        zeros = np.zeros((1, lengths.shape[1]), np.int64)
        return cls(
            {index: place for place, index in enumerate(sorted(partitions))},
            [np.concatenate(mine) for mine in lists],
            [np.cumsum([0, *row]) for row in lengths],
            np.concatenate([zeros, np.cumsum(lengths, axis=0)]).T.copy(),
        )


def _heard(proxies: Proxies, parts: int, side: str, to_masters: bool) -> Iterator[np.ndarray]:
    """By sender, the vertices of which a partition hears. It does not hear of itself."""
    for sender in range(parts):
        yield listed(proxies.originals(side, sender) if to_masters else proxies.copies(side, sender))


@dataclass
class Together:
    """The buffers of all senders, one after the other."""

    senders: np.ndarray
    picked: np.ndarray  # positions in the list of each sender's values
    starts: np.ndarray  # by sender, where its positions begin
    ends: np.ndarray  # by sender and partition, how many positions come before those of the partition
    values: list[Any]

    @classmethod
    def of(cls, arrived: Sequence[tuple[int, JointBuffer]], tables: HeardVertices) -> Together:
        arrived = sorted(arrived, key=lambda one: one[0])
        for sender, one in arrived:
            if one.length != tables.bounds[sender, -1]:
                expected = f"{tables.bounds[sender, -1]:,} values from partition {sender}"
                raise RunError(f"expected a message about {expected}, not about {one.length:,}; run again")
        senders = np.array([sender for sender, _ in arrived])
        picked = [listed(one.positions) for _, one in arrived]
        ends = [np.searchsorted(one, tables.bounds[sender]) for sender, one in zip(senders, picked, strict=True)]
        starts = np.cumsum([0, *map(len, picked)])[:-1]
        values = [np.concatenate(field) for field in zip(*(one.values for _, one in arrived), strict=True)]
        return cls(senders, np.concatenate(picked).astype(np.int64), starts, np.array(ends), values)

    def for_partition(self, tag: int, place: int, tables: HeardVertices) -> Parcel | None:
        """What is for a partition."""
        ends = np.cumsum(self.ends[:, place + 1] - self.ends[:, place])
        count = int(ends[-1])
        if not count:
            return None
        ids, rows = np.empty(count, np.uint32), np.empty(count, np.int64)
        parts, heard = (
            (self.senders, self.picked, self.starts, self.ends),
            (tables.starts[place], tables.targets[place]),
        )
        _sort_out(place, *parts, tables.bounds, *heard, ids, rows)
        return Parcel(tag, ids, [np.take(values, rows, axis=0) for values in self.values], ends.tolist())


@kernel
def _sort_out(place, senders, picked, starts, ends, bounds, begins, targets, ids, rows):
    """List the vertices of the partition at this place, and where their values are."""
    count = uint64(0)
    for i in range(uint64(senders.size)):
        sender = uint64(senders[i])
        shift = begins[sender] - bounds[sender, place]
        for j in range(uint64(starts[i] + ends[i, place]), uint64(starts[i] + ends[i, place + 1])):
            ids[count] = targets[picked[j] + shift]
            rows[count] = np.int64(j)
            count += ONE
