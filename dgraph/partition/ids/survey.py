"""Surveys of ids, which numbering needs first: their type, number and range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dgraph.native import threads
from dgraph.partition.ids import id_kernels
from dgraph.partition.ids.bitmaps import bitmap
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.id_types import IdType

BITMAP_RANGE = 64  # ids that bitmaps may span per edge: they are then at most half as large as the ids themselves


@dataclass(frozen=True)
class Survey:
    """What one pass over a chunk's ids finds."""

    id_type: IdType
    rows: int  # ids listed
    edges: int = 0
    low: int | None = None  # the smallest and largest integer
    high: int | None = None

    def join(self, other: Survey) -> Survey:
        """The survey of both chunks together."""
        lows = [s.low for s in (self, other) if s.low is not None]
        highs = [s.high for s in (self, other) if s.high is not None]
        return Survey(
            self.id_type.join(other.id_type),
            self.rows + other.rows,
            self.edges + other.edges,
            min(lows, default=None),
            max(highs, default=None),
        )

    def with_common_type(self) -> Survey:
        """The same survey with one type for all ids: if columns are both signed and unsigned, ids are unsigned when
        some are too large for signed integers and none is below zero."""
        beyond = self.high is not None and self.high >= 2**63
        if beyond and self.low is not None and self.low >= 0 and self.id_type.dtype == "int64":
            return replace(self, id_type=replace(self.id_type, dtype="uint64"))
        return self

    def fits_bitmaps(self, workers: int) -> bool:
        """Whether the ids are integers, dense enough to be numbered by a bitmap on each worker instead of tables."""
        if self.low is None or self.high is None:
            return self.id_type.kind in ("none", "integer")
        return self.high < 2**63 and self.high - self.low < max(1 << 20, BITMAP_RANGE * self.rows // workers)


def survey(chunk: Chunk) -> Survey:
    """Survey the ids of a chunk in one pass."""
    arrays = [array for array in (chunk.sources, chunk.destinations) if len(array)]
    if chunk.id_type.kind != "integer" or not arrays:
        return Survey(chunk.id_type, len(chunk.sources), len(chunk))
    slices = [a[s] for a in arrays for s in threads.slices(len(a), threads.cores())]
    ends = threads.parallel_map(lambda piece: id_kernels.bounds(piece), slices, len(chunk))
    low, high = min(int(end[0]) for end in ends), max(int(end[1]) for end in ends)
    return Survey(chunk.id_type, len(chunk.sources), len(chunk), low, high)


def survey_of_range(ids: range) -> Survey:
    """The survey of ids that are listed as a range, without edges."""
    if not len(ids):
        return Survey(IdType("none"), 0)
    return Survey(IdType("integer"), len(ids), 0, ids.start, ids.stop - 1)


def bitmap_of_chunks(chunks: Sequence[Chunk], low: int, high: int) -> np.ndarray:
    """A bitmap of the ids of some chunks."""
    return bitmap([ids for chunk in chunks for ids in (chunk.sources, chunk.destinations)], low, high)


def bitmap_of_range(ids: range, low: int, high: int) -> np.ndarray:
    """A bitmap of ids that are listed as a range, which may be far longer than the edges."""
    first, end = ids.start - low, ids.stop - low
    words = np.zeros((high - low) // 64 + 1, np.uint64)
    words[first >> 6 : end >> 6] = ~np.uint64(0)
    if end & 63:
        words[end >> 6] |= np.uint64((1 << (end & 63)) - 1)
    words[first >> 6] &= ~np.uint64((1 << (first & 63)) - 1)
    return words
