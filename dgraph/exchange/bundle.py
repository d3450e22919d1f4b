"""Bundles: small buffers for many partitions in one array, which are sent, passed on and sorted out together.

A step that has something for each of many partitions would otherwise make an array, a fragment and a few calls for each
of them. In a bundle, Python handles one array and one table, and compiled code handles the buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.errors import RunError
from dgraph.native.addresses import address_of, longs_at, numbers_at
from dgraph.native.team import kernel, part

SENDER, RECEIVER, NUMBER, SIZE = range(4)  # columns of a table: two partitions, the buffer's number, and its bytes
COLUMNS = 4
TABLE, ROWS, DATA = range(3)  # columns of `places`: the address of a bundle's table, its rows, the address of its data


class Bundle:
    """Whole buffers, one after the other, each padded to 8 bytes, and a table (int64) with a row for each. Nobody
    changes either, so kernels find them where they were when the bundle was made."""

    __slots__ = ("data", "place", "table")

    def __init__(self, table: np.ndarray, data: np.ndarray, place: tuple[int, int, int] | None = None):
        self.table, self.data = table, data
        self.place = place or (address_of(table), len(table), address_of(data))

    def __reduce__(self) -> Any:
        return Bundle.received, (self.table, self.data)

    @classmethod
    def received(cls, table: np.ndarray, data: np.ndarray) -> Bundle:
        """A bundle that has travelled as bytes. What is not aligned for kernels is copied."""
        table = table.reshape(-1, COLUMNS)
        if len(data) != padded(table[:, SIZE]).sum() or (table < 0).any():
            raise RunError(f"a bundle of {data.nbytes} bytes does not hold what it says; run again")
        table, data = (one.copy() if address_of(one) % 8 else one for one in (table, data))
        return cls(table, data)

    @classmethod
    def of(cls, bundles: Sequence[Bundle]) -> Bundle | None:
        """Several bundles as one; None if there are none."""
        if len(bundles) < 2:
            return bundles[0] if bundles else None
        return cls(np.concatenate([one.table for one in bundles]), np.concatenate([one.data for one in bundles]))

    def cut(self, cuts: np.ndarray, bounds: np.ndarray) -> Iterator[Bundle]:
        """Bundles of the rows between cuts, at which the data has these bounds."""
        table, _, data = self.place
        for (first, last), (begin, end) in zip(pairwise(cuts.tolist()), pairwise(bounds.tolist()), strict=True):
            place = table + 8 * COLUMNS * first, last - first, data + begin
            yield Bundle(self.table[first:last], self.data[begin:end], place)

    def buffers(self, receiver: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """The buffers for a partition, each with its sender and number."""
        begin = 0
        for sender, to, number, size in self.table.tolist():
            if to == receiver:
                yield sender, number, self.data[begin : begin + size]
            begin += size + 7 & ~7


def places_of(bundles: Sequence[Bundle]) -> np.ndarray:
    """Where bundles are in memory, which holds as long as they do."""
    return np.array([one.place for one in bundles], np.int64).reshape(-1, 3)


def by_worker(bundles: Sequence[Bundle], homes: np.ndarray, workers: int, here: int) -> dict[int, Bundle]:
    """The buffers for partitions of other workers, by worker: the same bytes in new bundles."""
    places = places_of(bundles)
    rows, bounds = np.empty(workers + 1, np.int64), np.empty(workers + 1, np.int64)
    count_for_workers(places, homes, here, rows, bounds)
    table, data = np.empty((rows[-1], COLUMNS), np.int64), np.empty(bounds[-1], np.uint8)
    copy_for_workers(places, homes, here, rows.copy(), bounds.copy(), table, address_of(data))
    found = np.flatnonzero(np.diff(rows))
    cuts = np.append(rows[found], rows[-1:])
    return dict(zip(found.tolist(), Bundle(table, data).cut(cuts, np.append(bounds[found], bounds[-1:])), strict=True))


def padded(sizes: np.ndarray) -> np.ndarray:
    return (sizes + 7) & ~7


# -- kernels -----------------------------------------------------------------------------------------------------------


@part
def up(size):
    return (size + 7) & ~7


@kernel
def lay_out(sender, receivers, sizes, homes, hops, counts, ridden, heavy, table, cuts, bounds):
    """Fill the table of buffers from a partition, and say where they go first and where that changes. `counts` has how
    many buffers there were for each partition, and `ridden` how many bytes for each worker: those for a worker with
    more than `heavy` take no other way. Returns the number of cuts, of which each is at the place of its number in
    `cuts` and `bounds`; the first column of `cuts` has the row, the second where the rows before go first."""
    found, begin, last = 0, 0, -2
    for i in range(receivers.size):
        receiver, size = receivers[i], sizes[i]
        hop = hops[receiver]
        if hop >= 0:
            ridden[homes[receiver]] += size
            if ridden[homes[receiver]] > heavy:
                hop = homes[receiver]
        table[i, SENDER], table[i, RECEIVER], table[i, NUMBER], table[i, SIZE] = (
            sender,
            receiver,
            counts[receiver],
            size,
        )
        counts[receiver] += 1
        if hop != last:
            cuts[found, 0], cuts[found, 1], bounds[found] = i, hop, begin
            found, last = found + 1, hop
        begin += up(size)
    cuts[found, 0], bounds[found] = receivers.size, begin
    return found


@kernel
def count_for_workers(places, homes, here, rows, bounds):
    """Count the buffers for each other worker, and their bytes, from which those of its predecessors are counted."""
    rows[:] = 0
    bounds[:] = 0
    for b in range(places.shape[0]):
        table = numbers_at(places[b, TABLE])
        for i in range(places[b, ROWS]):
            home = homes[table[COLUMNS * i + RECEIVER]]
            if home != here:
                rows[home + 1] += 1
                bounds[home + 1] += up(table[COLUMNS * i + SIZE])
    for worker in range(1, rows.size):
        rows[worker] += rows[worker - 1]
        bounds[worker] += bounds[worker - 1]


@kernel
def copy_for_workers(places, homes, here, rows, bounds, out, target):
    """Copy the rows and the buffers for other workers, by worker, to the places where those of each begin."""
    for b in range(places.shape[0]):
        table, source = numbers_at(places[b, TABLE]), places[b, DATA]
        for i in range(places[b, ROWS]):
            home, size = homes[table[COLUMNS * i + RECEIVER]], up(table[COLUMNS * i + SIZE])
            if home != here:
                for column in range(COLUMNS):
                    out[rows[home], column] = table[COLUMNS * i + column]
                copy_longs(source, target + bounds[home], size // 8)
                rows[home] += 1
                bounds[home] += size
            source += size


@part
def copy_longs(source, target, count):
    """Copy words of 8 bytes from one address to another."""
    given, taken = longs_at(source), longs_at(target)
    for i in range(count):
        taken[i] = given[i]
