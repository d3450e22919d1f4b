"""Distinct ids of a chunk, and of several lists as one, on a GPU: what `partition/ids/id_tables.py` finds by hashing,
in the same order. Ids are integers; others, and where there is no GPU or no room on it, are left to that.

Written over an array module, `xp`: CuPy, or in tests NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np
import pyarrow as pa

from dgraph.devices import own_device, probe
from dgraph.devices.sorted_rows import FEW, to_device, to_host
from dgraph.errors import DeviceError
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.id_tables import EncodedChunk
from dgraph.partition.ids.id_types import IdType

BYTES = 64  # an id, while they are sorted


def encode(chunk: Chunk, id_type: IdType) -> EncodedChunk:
    """The same as `id_tables.encode`."""
    sides = chunk.sources, chunk.destinations
    if id_type.kind == "integer" and all(isinstance(side, np.ndarray) for side in sides):
        found = _in_order([id_type.fit(np.asarray(side)) for side in sides])
        if found is not None:
            distinct, (sources, destinations) = found
            return EncodedChunk((sources, destinations), distinct)
    return id_tables.encode(chunk, id_type)


def merge(pieces: Sequence[pa.Array]) -> tuple[pa.Array, list[np.ndarray]]:
    """The same as `id_tables.merge`."""
    of_integers = len(pieces) > 1 and pa.types.is_integer(pieces[0].type)
    found = _in_order([np.asarray(piece) for piece in pieces]) if of_integers else None
    return id_tables.merge(pieces) if found is None else found


def _in_order(arrays: Sequence[np.ndarray]) -> tuple[pa.Array, list[np.ndarray]] | None:
    """All ids once, ascending, and for each array the places of its ids among these; None without a GPU, or room
    there."""
    lengths = [len(array) for array in arrays]
    if not 0 < sum(lengths) < FEW or probe.missing_requirements():
        return None
    memory = own_device.own_memory()
    if memory.fits(BYTES * sum(lengths)):
        with suppress(MemoryError, DeviceError):
            ids = memory.xp.concatenate([to_device(memory, array) for array in arrays])
            distinct, places = memory.xp.unique(ids, return_inverse=True)
            places = to_host(memory, places.astype(np.uint32))
            return pa.array(to_host(memory, distinct)), np.split(places, list(accumulate(lengths))[:-1])
    return None
