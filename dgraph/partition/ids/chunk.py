"""Some edges on their way into a graph: first with the user's ids, then with numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dgraph.frames.any_frame import named
from dgraph.partition.ids import id_types
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks
from dgraph.partition.ids.id_types import IdType

Ids: TypeAlias = np.ndarray | pa.Array  # integers in NumPy, strings and UUIDs in Arrow


@dataclass(frozen=True, eq=False)
class Chunk:
    """Edges as a frame had them, without columns. A chunk of vertices has `sources` only."""

    id_type: IdType
    sources: Ids
    destinations: Ids

    def __len__(self) -> int:
        return len(self.destinations)

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return self.sources.nbytes + self.destinations.nbytes


@dataclass(frozen=True, eq=False)
class NumberedChunk:
    """The same edges by number. `ranks` turns what stands in the arrays into numbers: the identity, or for integer ids
    without copying them, their distance from the first or their rank."""

    sources: np.ndarray
    destinations: np.ndarray
    columns: dict[str, np.ndarray]
    ranks: Ranks
    ours: bool = False  # nobody else reads these numbers, nor will: who takes them may let go of what it has read

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: slice | np.ndarray) -> NumberedChunk:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return NumberedChunk(self.sources[rows], self.destinations[rows], columns, self.ranks)

    def taken(self, rows: int) -> Iterator[NumberedChunk]:
        """All edges, so many at once, the last first; at least one slice. If they are ours, numbers are let go once the
        next slice is asked for: of the last nothing may be kept then. Ids may be the user's, and stay."""
        owned = self.ours and not self.ranks.size and self.sources.base is None and self.destinations.base is None
        for start in reversed(range(0, max(1, len(self)), rows)):
            yield self[start : start + rows]
            for end in (self.sources, self.destinations) if owned else ():
                end.resize(start, refcheck=False)

    @property
    def dtype(self) -> np.dtype:
        """The smallest type that holds every number, or what they are kept in."""
        if self.ranks.size:
            return np.dtype(np.uint32 if self.ranks.size < 2**32 else np.int64)
        return self.sources.dtype

    def compact(self) -> NumberedChunk:
        """The same with the numbers themselves in the arrays."""
        if not self.ranks.size:
            return self
        sources, destinations = (self.ranks.number(end, self.dtype) for end in (self.sources, self.destinations))
        return NumberedChunk(sources, destinations, self.columns, IDENTITY)

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return self.sources.nbytes + self.destinations.nbytes + sum(c.nbytes for c in self.columns.values())


def chunk_of_edges(frame: Any, source: str, destination: str) -> Chunk:
    """The ids of both ends of a frame's edges."""
    left, sources = id_types.column(named(frame, source), source)
    right, destinations = id_types.column(named(frame, destination), destination)
    return Chunk(left.join(right), sources, destinations)


def chunk_of_vertices(frame: Any, name: str) -> Chunk:
    """The ids of a frame that lists vertices."""
    id_type, found = id_types.column(named(frame, name), name)
    return Chunk(id_type, found, found[:0])
