"""Edges sorted by row on a GPU: the rows that `partition/adjacency.py` makes, in the same order.

Written over an array module, `xp`: CuPy, or in tests NumPy. What is found stays on the GPU, for kernels, and comes to
the host, too.
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

BYTES = 64  # an arc, while it is sorted
FEW = 2**32 - 1  # rows, whose numbers and their end are of 32 bits


def build(edges: Sequence[EdgeSlice], num_rows: int, *, workers: int = 1) -> Adjacency:
    """The same as `adjacency.build`, which does it where this process has no GPU, or no room there."""
    arcs = sum(len(one.keys) for one in edges)
    if arcs and num_rows < FEW and not probe.missing_requirements():
        memory = own_device.own_memory()
        if memory.fits(BYTES * arcs):
            with suppress(MemoryError, DeviceError):
                return _moved_and_sorted(memory, edges, num_rows)
    return adjacency.build(edges, num_rows, workers=workers)


def _moved_and_sorted(memory: Memory, edges: Sequence[EdgeSlice], num_rows: int) -> Adjacency:
    keys: list[Any] = []
    others: list[Any] = []
    columns: dict[str, list[Any]] = {name: [] for name in edges[0].columns}
    for one in edges:
        ends = [to_device(memory, one.ranks.number(end) if one.ranks.size else end) for end in (one.keys, one.others)]
        chosen = ends[0] != ends[1] if one.skip_loops else slice(None)
        for found, end in zip((keys, others), ends, strict=True):
            found.append(end[chosen].astype(np.uint32, copy=False))
        for name, values in one.columns.items():
            columns[name].append(to_device(memory, values)[chosen])
    return sort(memory, keys, others, columns, num_rows)


def sort(
    memory: Memory, keys: list[Any], others: list[Any], columns: Mapping[str, list[Any]], num_rows: int
) -> Adjacency:
    """Sort edges whose arrays are on the device, in pieces. The lists are emptied, because memory is short."""
    xp = memory.xp
    rows = concatenate(xp, keys)
    place = xp.argsort(rows, kind="stable")
    indptr = xp.searchsorted(rows[place], xp.arange(num_rows + 1, dtype=np.uint32)).astype(np.int64, copy=False)
    del rows
    neighbours = concatenate(xp, others)[place]
    values = {name: concatenate(xp, pieces)[place] for name, pieces in columns.items()}
    return Adjacency(
        _kept(memory, indptr), _kept(memory, neighbours), {name: _kept(memory, one) for name, one in values.items()}
    )


def concatenate(xp: Any, pieces: list[Any]) -> Any:
    """The pieces as one array; the list is emptied."""
    found = xp.concatenate(pieces)
    pieces.clear()
    return found


def to_device(memory: Memory, array: np.ndarray) -> Any:
    """An array of the host on the GPU, where it may be already."""
    return (memory.stays(array) if memory.has(array) else memory.moved(array)).raw


def to_host(memory: Memory, raw: Any) -> np.ndarray:
    """An array of the GPU on the host."""
    return memory.get(DeviceArray(memory, raw))


def _kept(memory: Memory, raw: Any) -> np.ndarray:
    """A GPU's array copied to the host; its original stays as the copy there."""
    array = to_host(memory, raw)
    memory.adopt(array, raw)
    return array
