"""Numbers the user's ids 0, 1, 2 ... in ascending order, and translates numbers back into ids.

Integers whose range is not much larger than the edge list are numbered by their distance from the smallest, or by rank
in a bitmap if there are gaps; no id is looked up in a table. All other ids have sorted tables (`id_tables.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from dgraph.errors import IdError
from dgraph.partition.ids.bitmaps import Ranks, bitmap
from dgraph.partition.ids.chunk import Chunk, Ids
from dgraph.partition.ids.id_tables import encode, place_in, places_of
from dgraph.partition.ids.id_types import UUID_BYTES, IdType
from dgraph.phrases.phrases import format_count


@dataclass(frozen=True, eq=False)
class Numbering:
    """All ids of a graph in ascending order: as `ranks`, or as sorted tables, one per bucket."""

    id_type: IdType
    ranks: Ranks | None = None
    tables: Sequence[pa.Array] = ()

    @classmethod
    def by_bitmap(cls, id_type: IdType, first: int, words: np.ndarray) -> Numbering:
        return cls(id_type, Ranks.of_bitmap(first, words))

    def of(self, chosen: Ranks) -> Numbering:
        """The numbering of the vertices whose numbers are in `chosen`."""
        if self.ranks is None:
            mask = np.zeros(self.size, bool)
            mask[chosen.members()] = True
            cuts = np.split(mask, np.cumsum([len(table) for table in self.tables])[:-1])
            tables = [table.filter(pa.array(cut)) for table, cut in zip(self.tables, cuts, strict=True)]
            return Numbering(self.id_type, None, tables)
        if self.ranks.is_dense:
            return Numbering(self.id_type, replace(chosen, first=self.ranks.first + chosen.first))
        ids = self.ranks.members()[chosen.members()]
        if not len(ids):
            return Numbering(self.id_type, Ranks(self.ranks.first, 0))
        low, high = int(ids[0]), int(ids[-1])
        return Numbering.by_bitmap(self.id_type, low, bitmap([ids], low, high))

    def numbers_of(self, vertices: Chunk) -> np.ndarray:
        """The number of each id of a chunk of vertices that the user lists; refuses an id that the graph lacks."""
        kind, ids = self.id_type.kind, vertices.sources
        if kind == vertices.id_type.kind == "integer":
            fitted, changed = self._fitted(np.asarray(ids))
            if changed.any():
                self.find(ids[changed].tolist()[0])
            vertices = replace(vertices, sources=fitted)
        if kind == vertices.id_type.kind:
            with suppress(IdError):  # `find` says which id it is
                return self.number_of(vertices)
        given = np.asarray(vertices.id_type.restore(ids)).tolist()  # may be UUIDs as text
        return np.array([self.find(one) for one in given], np.int64)

    def numbers_if_known(self, vertices: Chunk) -> np.ndarray:
        """The number of each id of a chunk of vertices that the user lists; -1 for ids that the graph lacks."""
        kind, ids = self.id_type.kind, vertices.sources
        numbers, known = np.full(len(ids), -1), np.arange(len(ids))
        if kind == "uuid" and vertices.id_type.kind == "string":
            given = [_as_uuid(one) for one in np.asarray(ids).tolist()]  # Dask's frames turn UUIDs into strings
            known = known[[one is not None for one in given]]
            ids = pa.array([one.bytes for one in given if one is not None], UUID_BYTES)
            vertices = Chunk(self.id_type, ids, ids[:0])
        if kind != vertices.id_type.kind:
            return numbers
        if kind == "integer":
            fitted, changed = self._fitted(np.asarray(ids))
            known, ids = known[~changed], fitted[~changed]
        if self.ranks is not None:
            numbers[known] = self.ranks.find(np.asarray(ids))
        elif len(known):
            encoded = encode(replace(vertices, sources=ids), self.id_type)
            numbers[known] = self.found(encoded.distinct)[encoded.codes[0]]
        return numbers

    def _fitted(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Integers in the type of the graph's ids, and which of them have another value in it."""
        fitted = ids.astype(self.id_type.dtype)
        return fitted, (fitted.astype(ids.dtype) != ids) | ((fitted < 0) != (ids < 0))

    @cached_property
    def size(self) -> int:
        return self.ranks.size if self.ranks is not None else sum(map(len, self.tables))

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
        ids = pa.concat_arrays(pieces) if pieces else self.tables[0].slice(0, 0)
        return ids.to_numpy(zero_copy_only=False) if self.id_type.kind == "integer" else ids

    def take(self, numbers: np.ndarray) -> Ids:
        """The ids of the given numbers."""
        if self.ranks is not None and self.ranks.is_dense:
            return numbers.astype(np.int64) + self.ranks.first
        ids = self.ids()
        return ids[numbers] if isinstance(ids, np.ndarray) else ids.take(pa.array(numbers))

    def restored(self, numbers: np.ndarray) -> Any:
        """The ids of the given numbers, as a column of the user's type."""
        return self.id_type.restore(self.take(numbers))

    def number(self, ids: pa.Array) -> np.ndarray:
        """The numbers of ids in ascending order, if ids have tables."""
        numbers = self.found(ids)
        if (numbers < 0).any():
            self._refuse(ids[int(np.argmin(numbers))].as_py())
        return numbers.astype(np.uint32)

    def found(self, ids: pa.Array) -> np.ndarray:
        """The numbers of ids in ascending order; -1 for ids that the graph lacks."""
        if self.ranks is not None:
            return self.ranks.find(np.asarray(ids))
        numbers, base = np.full(len(ids), -1), 0
        for table in self.tables:
            places = places_of(table.cast(ids.type), ids)
            numbers[places >= 0] = base + places[places >= 0]
            base += len(table)
        return numbers

    def number_of(self, vertices: Chunk) -> np.ndarray:
        """The number of each id of a chunk of vertices of this graph."""
        if self.ranks is not None:
            self.check(vertices)
            return self.ranks.number(np.asarray(vertices.sources))
        encoded = encode(vertices, self.id_type)
        return self.number(encoded.distinct)[encoded.codes[0]]

    def check(self, chunk: Chunk) -> None:
        """Refuse a chunk, read again from a lazy frame, that names an id without a rank."""
        if self.ranks is not None:
            for ids in (chunk.sources, chunk.destinations):
                if (missing := self.ranks.missing(np.asarray(ids))) is not None:
                    self._refuse(missing)

    def _refuse(self, id: Any) -> None:
        raise IdError(
            f"the frame now names id {id!r}, which was missing when ids were numbered: a lazy frame must give the same "
            f"rows each time it is computed; persist() it first"
        )

    def find(self, value: Any) -> int:
        """The number of an id; raises an IdError if the graph has no such vertex."""
        id_ = self.id_type.scalar(value)
        if self.ranks is not None:
            x = id_ - self.ranks.first
            if self.ranks.is_dense:
                if 0 <= x < self.size:
                    return x
            elif 0 <= x < 64 * len(self.ranks.words) and int(self.ranks.words[x >> 6]) >> (x & 63) & 1:
                return int(self.ranks.number(np.array([id_], np.int64))[0])
        else:
            base = 0
            for table in self.tables:
                k = place_in(table, id_)
                if k < len(table) and table[k].as_py() == id_:
                    return base + k
                base += len(table)
        example = f", the first is {self.id_type.restore(self.ids(0, 1)).tolist()[0]!r}" if self.size else ""
        raise IdError(f"the graph has no vertex {value!r}; it has {format_count(self.size, 'vertex')}{example}")


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
