"""A set of whole numbers as a bitmap that also gives the rank of each: 1.5 bits per number of the range.

It numbers ids that have gaps, and finds the local ids of proxies. Unlike a hash table or a plain array of the same
range, it is small enough to stay in cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from dgraph.native import threads
from dgraph.partition.ids import id_kernels


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ids `first`, `first + 1`, ... are numbered by distance; with `words`, by rank among the ids whose bit is set."""

    first: int
    size: int
    words: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint64))
    before: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint32))

    @classmethod
    def of_bitmap(cls, first: int, words: np.ndarray) -> Ranks:
        """The ids whose bit is set; bit 0 stands for `first`."""
        before = np.empty(len(words), np.uint32)
        size = int(id_kernels.count_before(words, before))
        full = size and int(words[-1]).bit_length() + 64 * (len(words) - 1) == size
        return cls(first, size) if full or not size else cls(first, size, words, before)

    @property
    def arguments(self) -> tuple[int, np.ndarray, np.ndarray]:
        """The arguments of the kernels' `number_of`."""
        return self.first, self.words, self.before

    @property
    def is_dense(self) -> bool:
        return not len(self.words)

    def members(self) -> np.ndarray:
        """All ids in ascending order: `members()[number]` is the id."""
        if self.is_dense:
            return np.arange(self.first, self.first + self.size, dtype=np.int64)
        out = np.empty(self.size, np.int64)
        id_kernels.set_bits(self.words, out)
        out += self.first
        return out

    def missing(self, ids: np.ndarray) -> int | None:
        """The first of `ids` that is not a member, if any."""
        place = int(id_kernels.find_missing(ids, self.first, self.size, self.words))
        return None if place == len(ids) else int(ids[place])

    def number(self, ids: np.ndarray, dtype: np.dtype | type = np.int64) -> np.ndarray:
        """The numbers of ids, which must be members."""
        out = np.empty(len(ids), dtype)
        threads.parallel_map(
            lambda s: id_kernels.numbers(ids[s], *self.arguments, out[s]), threads.slices(len(ids), threads.cores())
        )
        return out

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The number of each id; -1 for those that are not members."""
        numbers, span = np.full(len(ids), -1), self.size if self.is_dense else 64 * len(self.words)
        known = np.flatnonzero((ids >= self.first) & (ids < self.first + span))
        if not self.is_dense:
            bits = ids[known].astype(np.int64) - self.first
            known = known[self.words[bits >> 6] >> (bits & 63).astype(np.uint64) & np.uint64(1) == 1]
        numbers[known] = self.number(ids[known])
        return numbers


IDENTITY = Ranks(0, 0)


def bitmap(columns: Sequence[np.ndarray], low: int, high: int) -> np.ndarray:
    """The ids of all columns as bits over low..high. Each thread fills its own bitmap."""
    size = (high - low) // 64 + 1
    workers = max(1, min(threads.cores(), sum(map(len, columns)) // max(threads.FEWEST_ENTRIES, size)))
    pieces = [
        [column[s] for column in columns for s in threads.slices(len(column), workers)][k::workers]
        for k in range(workers)
    ]

    def fill(mine: list[np.ndarray]) -> np.ndarray:
        words = np.zeros(size, np.uint64)
        for ids in mine:
            id_kernels.mark(ids, low, words)
        return words

    return union(threads.parallel_map(fill, pieces))


def union(bitmaps: Iterable[np.ndarray]) -> np.ndarray:
    """The union of bitmaps over the same range."""
    return reduce(np.bitwise_or, bitmaps)


class GrowingBitmap:
    """The ids of chunks as bits over a range that grows with them. Only one thread may add to it."""

    def __init__(self) -> None:
        self.first, self.words = 0, np.empty(0, np.uint64)

    def add(self, ids: np.ndarray, low: int, high: int) -> None:
        """Set the bits of ids, none of which is outside low..high."""
        if not len(self.words):
            self.first = low
        before = max(0, -(-(self.first - low) // 64))  # words to put in front
        after = max(0, (high - self.first) // 64 + 1 - len(self.words))
        if before or after:
            after = max(after, len(self.words) // 2) if after else 0  # seldom, because it copies
            self.words = np.concatenate([np.zeros(before, np.uint64), self.words, np.zeros(after, np.uint64)])
            self.first -= 64 * before
        id_kernels.mark(ids, self.first, self.words)

    def over(self, low: int, high: int) -> np.ndarray:
        """The bits of low..high, a range around all ids: bit 0 stands for `low`."""
        out = np.zeros((high - low) // 64 + 1, np.uint64)
        if not len(self.words):
            return out
        start, shift = divmod(self.first - low, 64)  # where the first bit goes
        words = self.words
        if shift:
            words = np.append(words << np.uint64(shift), np.uint64(0))
            words[1:] |= self.words >> np.uint64(64 - shift)
        words, start = words[max(0, -start) :], max(0, start)  # bits before `low` are not set
        kept = min(len(out) - start, len(words))
        out[start : start + kept] = words[:kept]
        return out
