"""Chunks of edges that become a graph: first with the user's ids, then with numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dgraph.frames.any_frame import frame_column
from dgraph.partition.ids import id_types
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks
from dgraph.partition.ids.id_types import IdType

Ids: TypeAlias = np.ndarray | pa.Array  # integers in NumPy, strings and UUIDs in Arrow


@dataclass(frozen=True, eq=False)
class Chunk:
    """The ends of edges as ids, without other columns. A chunk of vertices has `sources` only."""

    id_type: IdType
    sources: Ids
    destinations: Ids

    def __len__(self) -> int:
        return len(self.destinations)

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return self.sources.nbytes + self.destinations.nbytes


@dataclass(frozen=True, eq=False)
class NumberedChunk:
    """Edges by number, or by position. `ranks` turns the values of the arrays into numbers: it is the identity, or for
    integer ids, which are not copied, their distance from the first id or their rank."""

    sources: np.ndarray
    destinations: np.ndarray
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    ranks: Ranks = IDENTITY
    exclusive: bool = False  # nothing else reads these arrays, so `take_slices` may free what has been read

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: slice | np.ndarray) -> NumberedChunk:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return NumberedChunk(self.sources[rows], self.destinations[rows], columns, self.ranks)

    def take_slices(self, rows: int) -> Iterator[NumberedChunk]:
        """All edges in slices of `rows`, from last to first; at least one slice. If the chunk is `exclusive`, numbers
        are freed when the next slice is requested, so a slice must not be used after that. Ids are kept, because the
        arrays may be the user's."""
        owned = self.exclusive and not self.ranks.size and self.sources.base is None and self.destinations.base is None
        for start in reversed(range(0, max(1, len(self)), rows)):
            yield self[start : start + rows]
            for end in (self.sources, self.destinations) if owned else ():
                end.resize(start, refcheck=False)

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers: the smallest that fits, or that of the arrays."""
        if self.ranks.size:
            return np.dtype(np.uint32 if self.ranks.size < 2**32 else np.int64)
        return self.sources.dtype

    def compact(self) -> NumberedChunk:
        """The same chunk with the numbers themselves in the arrays."""
        if not self.ranks.size:
            return self
        sources, destinations = (self.ranks.number(end, self.dtype) for end in (self.sources, self.destinations))
        return NumberedChunk(sources, destinations, self.columns)

    def ends(self, order: str) -> tuple[np.ndarray, np.ndarray]:
        """The rows of an order, and their neighbours."""
        return (self.sources, self.destinations) if order == "out" else (self.destinations, self.sources)

    def reversed(self) -> NumberedChunk:
        return NumberedChunk(self.destinations, self.sources, self.columns, self.ranks)

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return self.sources.nbytes + self.destinations.nbytes + sum(c.nbytes for c in self.columns.values())


def chunk_of_edges(frame: Any, source: str, destination: str) -> Chunk:
    """The ids of both ends of a frame's edges."""
    left, sources = id_types.id_column(frame_column(frame, source), source)
    right, destinations = id_types.id_column(frame_column(frame, destination), destination)
    return Chunk(left.join(right), sources, destinations)


def chunk_of_vertices(frame: Any, name: str) -> Chunk:
    """The ids of a frame that lists vertices."""
    id_type, vertices = id_types.id_column(frame_column(frame, name), name)
    return Chunk(id_type, vertices, vertices[:0])


def packed(chunk: Chunk) -> Chunk:
    """A chunk of integers in four bytes each, if they fit."""
    ids = [np.asarray(end) for end in (chunk.sources, chunk.destinations)]
    if any(len(end) and not 0 <= end.min() <= end.max() < 2**32 for end in ids):
        return chunk
    return Chunk(chunk.id_type, *(end.astype(np.uint32) for end in ids))
