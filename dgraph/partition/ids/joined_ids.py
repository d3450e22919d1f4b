"""The numbering of a graph that gets more ids. Old vertices keep their order, so their numbers only move up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.partition.ids.bitmaps import GrowingBitmap, Ranks
from dgraph.partition.ids.id_tables import place_in
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.ids.survey import BITMAP_RANGE, bitmap_of_range

SMALL_RANGE = 1 << 20  # ids that a bitmap may span, however few there are


def with_ids(old: Numbering, ids: pa.Array) -> tuple[Numbering, np.ndarray]:
    """The numbering of the ids of a graph and of others, which ascend and which it lacks; and for each of these, how
    many old ids are smaller."""
    if not len(ids):
        return old, np.empty(0, np.int64)
    if old.id_type.kind != "integer":
        return _with_texts(old, ids)
    new = np.asarray(ids)
    if old.ranks is None:
        known = old.ids()
        places = np.searchsorted(known, new)
        return Numbering(old.id_type, None, [pa.array(np.insert(known, places, new))]), places
    places = _below(old.ranks, new.astype(np.int64))
    first, last = old.ranks.first, old.ranks.first + _span(old.ranks) - 1
    low, high, size = min(first, int(new[0])), max(last, int(new[-1])), old.size + len(new)
    if high - low >= max(SMALL_RANGE, BITMAP_RANGE * size):
        known = np.insert(old.ranks.members(), places, new.astype(np.int64))
        return Numbering(old.id_type, None, [pa.array(known.astype(old.id_type.dtype))]), places
    if old.ranks.is_dense and high - low + 1 == size:
        return Numbering(old.id_type, Ranks(low, size)), places
    bits = GrowingBitmap()
    if old.ranks.is_dense:
        bits.first, bits.words = first, bitmap_of_range(range(first, last + 1), first, last)
    else:
        bits.first, bits.words = first, old.ranks.words.copy()
    bits.add(new, low, high)
    return Numbering.by_bitmap(old.id_type, low, bits.over(low, high)), places


def moved_up(places: np.ndarray, size: int) -> np.ndarray | None:
    """The new number of each of `size` old vertices, if new ones come after so many old ones each; None if all come
    last, so that numbers stay."""
    if not len(places) or places[0] >= size:
        return None
    step = np.bincount(places, minlength=size + 1)[:size]
    return (np.arange(size) + np.cumsum(step)).astype(np.uint32 if size + len(places) < 2**32 else np.int64)


def _span(ranks: Ranks) -> int:
    """The distance from the first id to the end of the last one."""
    return ranks.size if ranks.is_dense else 64 * (len(ranks.words) - 1) + int(ranks.words[-1]).bit_length()


def _below(ranks: Ranks, ids: np.ndarray) -> np.ndarray:
    """How many members are below each of some ids that are none."""
    span = _span(ranks)
    places = np.where(ids < ranks.first, 0, ranks.size)
    inside = (ids >= ranks.first) & (ids < ranks.first + span)
    places[inside] = ranks.number(ids[inside])
    return places


def _with_texts(old: Numbering, ids: pa.Array) -> tuple[Numbering, np.ndarray]:
    tables = [table.cast(ids.type) for table in old.tables]
    places, base = np.zeros(len(ids), np.int64), 0
    for table in tables:
        low, high = table[0].as_py() if len(table) else None, table[-1].as_py() if len(table) else None
        for k, id in enumerate(ids.to_pylist()):
            if low is not None and id > low:
                places[k] = base + (len(table) if id > high else place_in(table, id))
        base += len(table)
    order = np.insert(np.arange(old.size), places, old.size + np.arange(len(ids)))
    joined = pc.take(pa.chunked_array([*tables, ids]), pa.array(order))
    return Numbering(old.id_type, None, [pa.concat_arrays(joined.chunks)]), places
