"""Edges sorted by row on a GPU (experimental): the same rows in the same order as `partition/adjacency.py` makes.

The code is written for an array module `xp`: CuPy, or NumPy in tests. The result stays on the GPU for kernels and is
copied to the host as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dgraph.devices import own_device, probe
from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.errors import DeviceError
from dgraph.partition import adjacency
from dgraph.partition.adjacency import Adjacency, EdgeSlice

BYTES_PER_ARC = 64  # bytes per arc while arcs are sorted
MOST_ROWS = 2**32 - 1  # row numbers, and the end, must fit in 32 bits


def build(edges: Sequence[EdgeSlice], num_rows: int, *, workers: int = 1) -> Adjacency:
    """Like `adjacency.build`, which takes over if this process has no GPU or not enough memory on it."""
    arcs = sum(len(one.keys) for one in edges)
    if arcs and num_rows < MOST_ROWS and not probe.missing_requirements():
        memory = own_device.own_memory()
        if memory.fits(BYTES_PER_ARC * arcs):
            with suppress(MemoryError, DeviceError):
                return _sort_on_gpu(memory, edges, num_rows)
    return adjacency.build(edges, num_rows, workers=workers)


def _sort_on_gpu(memory: Memory, edges: Sequence[EdgeSlice], num_rows: int) -> Adjacency:
    keys: list[Any] = []
    others: list[Any] = []
    columns: dict[str, list[Any]] = {name: [] for name in edges[0].columns}
    for one in edges:
        ends = [to_gpu(memory, one.ranks.number(end) if one.ranks.size else end) for end in (one.keys, one.others)]
        chosen = ends[0] != ends[1] if one.skip_loops else slice(None)
        for pieces, end in zip((keys, others), ends, strict=True):
            pieces.append(end[chosen].astype(np.uint32, copy=False))
        for name, values in one.columns.items():
            columns[name].append(to_gpu(memory, values)[chosen])
    return sort(memory, keys, others, columns, num_rows)


def sort(
    memory: Memory, keys: list[Any], others: list[Any], columns: Mapping[str, list[Any]], num_rows: int
) -> Adjacency:
    """Sort edges whose arrays are on the device, in pieces. The lists are emptied to free memory early."""
    xp = memory.xp
    rows = concatenate(xp, keys)
    place = xp.argsort(rows, kind="stable")
    indptr = xp.searchsorted(rows[place], xp.arange(num_rows + 1, dtype=np.uint32)).astype(np.int64, copy=False)
    del rows
    neighbours = concatenate(xp, others)[place]
    values = {name: concatenate(xp, pieces)[place] for name, pieces in columns.items()}
    return Adjacency(
        _copy_of_resident(memory, indptr),
        _copy_of_resident(memory, neighbours),
        {name: _copy_of_resident(memory, one) for name, one in values.items()},
    )


def concatenate(xp: Any, pieces: list[Any]) -> Any:
    """The pieces as one array; the list is emptied."""
    array = xp.concatenate(pieces)
    pieces.clear()
    return array


def to_gpu(memory: Memory, array: np.ndarray) -> Any:
    """The GPU copy of a host array, which may already exist."""
    return (memory.resident_copy(array) if memory.has(array) else memory.to_device(array)).raw


def to_host(memory: Memory, raw: Any) -> np.ndarray:
    """A host copy of a GPU array."""
    return memory.get(DeviceArray(memory, raw))


def _copy_of_resident(memory: Memory, raw: Any) -> np.ndarray:
    """A host copy of a GPU array, which stays on the GPU as the device copy of the result."""
    array = to_host(memory, raw)
    memory.adopt(array, raw)
    return array
