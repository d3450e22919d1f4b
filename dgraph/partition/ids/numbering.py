"""The user's ids to numbers 0, 1, 2 ... in ascending order of the ids, and back.

Two ways. Integers whose range is not much larger than the edge list are numbered by distance from the smallest, or by
rank in a bitmap when there are gaps: no id is ever looked up in a table. All other ids have sorted tables
(`id_tables.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.errors import IdError
from dgraph.partition.ids.bitmaps import Ranks
from dgraph.partition.ids.chunk import Chunk, Ids
from dgraph.partition.ids.id_tables import ArrowScalars, encode
from dgraph.partition.ids.id_types import IdType
from dgraph.phrases import format_count


@dataclass(frozen=True, eq=False)
class Numbering:
    """All ids of a graph in ascending order: by `ranks`, or as sorted tables, one a bucket."""

    id_type: IdType
    size: int
    ranks: Ranks | None = None
    tables: tuple[pa.Array, ...] = ()

    @classmethod
    def by_ranks(cls, id_type: IdType, ranks: Ranks) -> Numbering:
        return cls(id_type, ranks.size, ranks)

    @classmethod
    def by_bitmap(cls, id_type: IdType, first: int, words: np.ndarray) -> Numbering:
        return cls.by_ranks(id_type, Ranks.of_bitmap(first, words))

    @classmethod
    def by_tables(cls, id_type: IdType, tables: Sequence[pa.Array]) -> Numbering:
        return cls(id_type, sum(map(len, tables)), tables=tuple(tables))

    def ids(self, start: int = 0, stop: int | None = None) -> Ids:
        """The ids of the numbers start..stop."""
        stop = self.size if stop is None else stop
        if self.ranks is not None:
            if self.ranks.is_dense:
                return np.arange(self.ranks.first + start, self.ranks.first + stop, dtype=np.int64)
            return self.ranks.members()[start:stop]
        pieces, base = [], 0
        for table in self.tables:
            a, z = max(start - base, 0), min(stop - base, len(table))
            if a < z:
                pieces.append(table.slice(a, z - a))
            base += len(table)
        found = pa.concat_arrays(pieces) if pieces else self.tables[0].slice(0, 0)
        return found.to_numpy(zero_copy_only=False) if self.id_type.kind == "integer" else found

    def take(self, numbers: np.ndarray) -> Ids:
        """The ids of any numbers."""
        if self.ranks is not None and self.ranks.is_dense:
            return numbers.astype(np.int64) + self.ranks.first
        ids = self.ids()
        return ids[numbers] if isinstance(ids, np.ndarray) else ids.take(pa.array(numbers))

    def number(self, ids: pa.Array) -> np.ndarray:
        """The numbers of ids, by table."""
        table = pa.chunked_array(self.tables).cast(ids.type)
        found = pc.index_in(ids, value_set=table.combine_chunks())
        if found.null_count:
            self._refuse(ids[pc.index(found.is_null(), True).as_py()].as_py())
        return np.asarray(found).astype(np.uint32)

    def number_of(self, vertices: Chunk) -> np.ndarray:
        """The number of each id of a chunk of vertices of this graph."""
        if self.ranks is not None:
            self.check(vertices)
            return self.ranks.number(np.asarray(vertices.sources))
        encoded = encode(vertices, self.id_type)
        return self.number(encoded.distinct)[encoded.codes[0]]

    def check(self, chunk: Chunk) -> None:
        """A frame that is read again names ids that are known by rank, and no others."""
        if self.ranks is not None:
            for ids in (chunk.sources, chunk.destinations):
                if (missing := self.ranks.missing(np.asarray(ids))) is not None:
                    self._refuse(missing)

    def _refuse(self, id: Any) -> None:
        raise IdError(
            f"the frame now names id {id!r}, and did not when ids were numbered: let it be the same each time it is "
            f"computed; persist() it first"
        )

    def find(self, value: Any) -> int:
        """The number of one id; an IdError if the graph has no such vertex."""
        wanted = self.id_type.scalar(value)
        if self.ranks is not None:
            x = wanted - self.ranks.first
            if self.ranks.is_dense:
                if 0 <= x < self.size:
                    return x
            elif 0 <= x < 64 * len(self.ranks.words) and int(self.ranks.words[x >> 6]) >> (x & 63) & 1:
                return int(self.ranks.number(np.array([wanted], np.int64))[0])
        else:
            base = 0
            for table in self.tables:
                found = ArrowScalars(table)
                k = bisect_left(found, wanted)
                if k < len(found) and found[k] == wanted:
                    return base + k
                base += len(table)
        raise IdError(f"the graph has no vertex {value!r}; it has {format_count(self.size, 'vertex')}{self._example()}")

    def _example(self) -> str:
        return f", the first is {self.id_type.restore(self.ids(0, 1)).tolist()[0]!r}" if self.size else ""
