"""The numbers of the ids that an update names: those that the graph knows, and those that come after them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dgraph.changes.history import History
from dgraph.errors import IdError
from dgraph.partition.ids.chunk import Chunk, Ids
from dgraph.partition.ids.id_tables import EncodedChunk, encode, merge
from dgraph.partition.ids.id_types import IdType

EndNumbers = tuple[np.ndarray, np.ndarray]
NOBODY = np.empty(0, np.int64)


def numbered(history: History, kind: IdType, edges: Chunk, isolated: Chunk | None) -> tuple[pa.Array, EndNumbers]:
    """The ids of edges and of vertices without edges that the graph lacks, in ascending order; and the numbers of the
    ends of each edge. New ids are numbered after all others, in this order."""
    encoded = [_encoded(one, kind) for one in (edges, isolated) if one is not None and len(one.sources)]
    known = [history.find(one.distinct) for one in encoded]
    lists = [one.distinct.filter(pa.array(found < 0)) for one, found in zip(encoded, known, strict=True)]
    if not lists:
        return pa.array([]), (NOBODY.astype(np.uint32), NOBODY.astype(np.uint32))
    new, ranks = merge(lists)
    for found, rank in zip(known, ranks, strict=True):
        found[found < 0] = history.size + rank.astype(np.int64)
    if not len(edges):
        return new, (NOBODY.astype(np.uint32), NOBODY.astype(np.uint32))
    numbers = known[0].astype(np.uint32)
    return new, (numbers[encoded[0].codes[0]], numbers[encoded[0].codes[1]])


def known_numbers(history: History, kind: IdType, edges: Chunk) -> EndNumbers:
    """The numbers of the ends of edges; -1 where the graph lacks the id."""
    if not len(edges):
        return NOBODY, NOBODY
    sides: list[Ids] = [edges.sources, edges.destinations]
    odd = [np.zeros(len(edges), bool)] * 2
    if kind.join(edges.id_type).kind == "integer":
        fits = [_fitted(np.asarray(side), kind) for side in sides]
        sides, odd = [fitted for fitted, _ in fits], [changed for _, changed in fits]
    encoded = encode(Chunk(kind, *sides), kind)
    found = history.find(encoded.distinct)
    return tuple(np.where(changed, -1, found[code]) for changed, code in zip(odd, encoded.codes, strict=True))  # type: ignore[return-value]


def _encoded(chunk: Chunk, kind: IdType) -> EncodedChunk:
    """A chunk with positions in the list of its distinct ids, in the type of the graph's ids."""
    sides: list[Ids] = [chunk.sources, chunk.destinations]
    if kind.join(chunk.id_type).kind == "integer":
        for place, side in enumerate(sides):
            sides[place], changed = _fitted(np.asarray(side), kind)
            if changed.any():
                id = np.asarray(side)[changed].tolist()[0]
                raise IdError(
                    f"id {id} is beyond {kind.dtype}, the type of the graph's ids; make the graph anew from wider ids"
                )
    return encode(Chunk(kind, *sides), kind)


def _fitted(ids: np.ndarray, kind: IdType) -> tuple[np.ndarray, np.ndarray]:
    """Integers in the type of the graph's ids, and which of them have another value in it."""
    fitted = ids.astype(kind.dtype)
    return fitted, (fitted.astype(ids.dtype) != ids) | ((fitted < 0) != (ids < 0))
