"""Distinct ids of a chunk, or of several lists, on a GPU (experimental): the same results in the same order as
`partition/ids/id_tables.py`, which hashes them. That module takes over for ids that are not integers, and if there is
no GPU or not enough memory on it.

The code is written for an array module `xp`: CuPy, or NumPy in tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np
import pyarrow as pa

from dgraph.devices import own_device, probe
from dgraph.devices.sorted_rows import MOST_ROWS, to_gpu, to_host
from dgraph.errors import DeviceError
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.id_tables import EncodedChunk
from dgraph.partition.ids.id_types import IdType

BYTES_PER_ID = 64  # bytes per id while ids are sorted


def encode(chunk: Chunk, id_type: IdType) -> EncodedChunk:
    """Like `id_tables.encode`, on a GPU if possible."""
    sides = chunk.sources, chunk.destinations
    if id_type.kind == "integer" and all(isinstance(side, np.ndarray) for side in sides):
        result = _in_order([id_type.fit(np.asarray(side)) for side in sides])
        if result is not None:
            distinct, (sources, destinations) = result
            return EncodedChunk((sources, destinations), distinct)
    return id_tables.encode(chunk, id_type)


def merge(pieces: Sequence[pa.Array]) -> tuple[pa.Array, list[np.ndarray]]:
    """Like `id_tables.merge`, on a GPU if possible."""
    integers = len(pieces) > 1 and pa.types.is_integer(pieces[0].type)
    result = _in_order([np.asarray(piece) for piece in pieces]) if integers else None
    return id_tables.merge(pieces) if result is None else result


def _in_order(arrays: Sequence[np.ndarray]) -> tuple[pa.Array, list[np.ndarray]] | None:
    """The distinct ids in ascending order, and for each array the places of its ids among them; None without a GPU or
    enough memory on it."""
    lengths = [len(array) for array in arrays]
    if not 0 < sum(lengths) < MOST_ROWS or probe.missing_requirements():
        return None
    memory = own_device.own_memory()
    if memory.fits(BYTES_PER_ID * sum(lengths)):
        with suppress(MemoryError, DeviceError):
            ids = memory.xp.concatenate([to_gpu(memory, array) for array in arrays])
            distinct, places = memory.xp.unique(ids, return_inverse=True)
            places = to_host(memory, places.astype(np.uint32))
            return pa.array(to_host(memory, distinct)), np.split(places, list(accumulate(lengths))[:-1])
    return None
