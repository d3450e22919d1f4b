"""Arrays and tables on disk, one file per block: no pickles, a checksum each, opened by memory map.

The file name of a block is derived from the partition's number and the block's role, and never read from a file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import DTypeLike

from dgraph.errors import StorageError
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.ids.chunk import Ids
from dgraph.partition.manifest import require
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import Proxies

SMALL = 4096  # bytes of a block that is read rather than mapped
LONGEST_HEADER = 1 << 10  # bytes
HEADER = re.compile(  # as NumPy writes it for arrays of numbers
    rb"\x93NUMPY\x01\x00..\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n", re.DOTALL
)
Entry = dict[str, Any]  # a block's entry in the manifest: its size in bytes and its checksum
NUMBERS = np.uint32, np.int64  # the types that numbers of vertices may have


def write_array(folder: Path, name: str, array: np.ndarray) -> Entry:
    """Write an array to a block and sync it to disk. Returns the manifest's entry."""
    path = folder / f"{name}.npy"
    with path.open("wb") as file:
        array = np.ascontiguousarray(array)
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.reshape(-1).view(np.uint8))  # unlike NumPy's own writer, this reports why it failed
        flush(file)
    return {"bytes": path.stat().st_size, "checksum": checksum(array)}


def read_array(
    folder: Path, name: str, entry: Entry, types: Sequence[DTypeLike] | None, dimensions: int | None = 1
) -> np.ndarray:
    """The array of a block, mapped copy-on-write so that kernels see an ordinary array. Any program could have written
    the file, and kernels are compiled for certain types: it must have one of `types` and these dimensions, unless that
    is None."""
    path = _checked_path(folder / f"{name}.npy", entry)
    try:
        with explain_lack_of_memory(path):
            array = _mapped(path, entry["bytes"] > SMALL)
    except (OSError, ValueError, TypeError, OverflowError, SyntaxError) as cause:  # NumPy parses some types as Python
        raise StorageError(f"{path}: not a block of a saved graph ({cause}); save the graph again") from cause
    _check(checksum(array), entry, path)
    if types is not None and array.dtype not in types:
        wanted = " or ".join(str(np.dtype(one)) for one in types)
        raise StorageError(f"{path}: has values of type {array.dtype.str} instead of {wanted}; save the graph again")
    if dimensions is not None and array.ndim != dimensions:
        raise StorageError(f"{path}: has {array.ndim} dimensions instead of {dimensions}; save the graph again")
    return array


def _mapped(path: Path, mapped: bool) -> np.ndarray:
    """The array in a file, mapped into memory or read. NumPy's own reader parses the header with Python's parser, which
    occasionally fails when several threads use it at the same time."""
    with path.open("rb") as file:
        head = file.read(LONGEST_HEADER)
        found = HEADER.match(head)
        if found is None:
            raise ValueError("its header is not that of a block")
        dtype, offset = np.dtype(found[1].decode()), found.end()
        shape = tuple(int(size) for size in found[2].split(b",") if size.strip())
        if mapped:
            return np.memmap(file, dtype, "c", offset, shape).view(np.ndarray)
        file.seek(offset)
        return np.frombuffer(bytearray(file.read()), dtype, math.prod(shape)).reshape(shape)


def write_table(folder: Path, name: str, table: pa.Table) -> Entry:
    """Write a table to a block and sync it to disk. Returns the manifest's entry."""
    path = folder / f"{name}.arrow"
    with path.open("wb") as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            for batch in table.to_batches() or [_without_rows(table)]:
                writer.write_batch(batch)
        flush(file)
    return {"bytes": path.stat().st_size, "checksum": _checksum_of_file(path)}


def _without_rows(table: pa.Table) -> pa.RecordBatch:
    """A batch without rows, which keeps the categories of columns that have them."""
    return pa.RecordBatch.from_arrays([column.chunk(0) for column in table.columns], schema=table.schema)


def read_table(folder: Path, name: str, entry: Entry) -> pa.Table:
    """The table of a block."""
    path = _checked_path(folder / f"{name}.arrow", entry)
    _check(_checksum_of_file(path), entry, path)
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except pa.ArrowInvalid as cause:
        raise StorageError(f"{path}: not a table of a saved graph ({cause}); save the graph again") from cause


def check_sizes(folder: Path, blocks: dict[str, Entry]) -> None:
    """Refuse a folder in which a block is missing or has another size."""
    for name, entry in blocks.items():
        _checked_path(folder / name, entry)


def _checked_path(path: Path, entry: Entry) -> Path:
    try:
        size = path.stat().st_size
    except OSError as cause:
        raise StorageError(f"{path}: this block of the saved graph is missing; save the graph again") from cause
    if size != entry["bytes"]:
        raise StorageError(f"{path}: has {size} bytes instead of {entry['bytes']}; save the graph again")
    return path


def _check(actual: str, entry: Entry, path: Path) -> None:
    if actual != entry["checksum"]:
        raise StorageError(f"{path}: wrong checksum, so the file was changed; save the graph again")


def checksum(array: np.ndarray) -> str:
    """The checksum of an array's type, shape and values."""
    kind = f"{array.dtype.str}{array.shape}".encode()
    return xxhash.xxh3_128_hexdigest(np.ascontiguousarray(array).view(np.uint8).data) + xxhash.xxh3_64_hexdigest(kind)


def _checksum_of_file(path: Path) -> str:
    if not path.stat().st_size:
        return xxhash.xxh3_128_hexdigest(b"")
    return xxhash.xxh3_128_hexdigest(np.memmap(path, np.uint8, "r").data)


def flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


# -- partitions --------------------------------------------------------------------------------------------------------


def write_partition(folder: Path, partition: Partition, columns: Sequence[str]) -> dict[str, Entry]:
    """Write the blocks of a partition with the given columns. Returns {file name: entry}. Ids are saved with the
    numbering, not here."""
    blocks: dict[str, Entry] = {}
    types = partition.column_types(columns)

    def put(role: str, array: np.ndarray) -> None:
        name = f"p{partition.index}.{role}"
        blocks[f"{name}.npy"] = write_array(folder, name, array)

    masters, kinds = partition.proxies.masters, partition.proxies.kinds
    peers = sorted(masters)
    put("numbers", partition.numbers)
    put("groups", partition.proxies.groups)
    put("peers", np.array([(q, len(masters[q]), *kinds[q]) for q in peers], np.int64))
    put("masters", np.concatenate([np.empty(0, np.uint32), *(masters[q] for q in peers)]))
    for order, side in (("out", partition.out), ("incoming", partition.incoming)):
        if side is not None:
            put(f"{order}.indptr", side.indptr)
            put(f"{order}.neighbours", side.neighbours)
            for k, name in enumerate(columns):
                put(f"{order}.column{k}", side.columns[name].astype(types[name], copy=False))
    return blocks


def read_partition(
    folder: Path,
    index: int,
    parts: int,
    num_owned: int,
    blocks: dict[str, Entry],
    columns: Mapping[str, str],
    ids: Ids | None,
) -> Partition:
    """A partition whose arrays are mapped from disk; `columns` has the types of the edge columns. Each block is checked
    when it is opened."""

    def get(role: str, *types: DTypeLike, dimensions: int | None = 1) -> np.ndarray:
        name = f"p{index}.{role}"
        return read_array(folder, name, blocks[f"{name}.npy"], types, dimensions)

    def side(order: str) -> Adjacency | None:
        if f"p{index}.{order}.indptr.npy" not in blocks:
            return None
        values = {name: get(f"{order}.column{k}", dtype) for k, (name, dtype) in enumerate(columns.items())}
        return Adjacency(get(f"{order}.indptr", np.int64), get(f"{order}.neighbours", np.uint32), values)

    peers, masters = get("peers", np.int64, dimensions=None).reshape(-1, 4), get("masters", np.uint32)
    ends = np.cumsum(peers[:, 1])
    proxies = Proxies(
        get("groups", np.int64, dimensions=2),
        {int(q): masters[end - size : end] for (q, size, _, _), end in zip(peers, ends, strict=True)},
        {int(q): (int(broadcast), int(reduce_end)) for q, _, broadcast, reduce_end in peers},
    )
    return Partition(index, parts, num_owned, get("numbers", *NUMBERS), proxies, side("out"), side("incoming"), ids)


def check_partition(partition: Partition, vertices: int) -> None:
    """Refuse a partition with invalid indices. Kernels check no bounds, and any program could have written the files.
    Call this within `refuse_mismatch`."""
    size, owned = partition.num_local, partition.num_owned
    require(owned <= size and _within(partition.numbers, vertices), "numbers beyond the vertices")
    groups, parts = partition.proxies.groups, partition.parts
    require(groups.shape == (parts, 4), "groups of proxies")
    begins, ends = groups[:, :1], groups[:, 3:]
    require((begins <= groups).all() and (groups <= ends).all() and owned <= begins.min(), "proxies out of order")
    require(ends.max() <= size, "proxies beyond the vertices")
    for peer, masters in partition.proxies.masters.items():
        require(0 <= peer < parts and _within(masters, owned), "masters that the partition does not own")
    for side in (partition.out, partition.incoming):
        if side is not None:
            ends, edges = side.indptr, len(side.neighbours)
            require(ends.shape == (size + 1,), "rows of edges")
            require(ends[0] == 0 and ends[-1] == edges and (ends[1:] >= ends[:-1]).all(), "rows of edges")
            require(_within(side.neighbours, size), "edges beyond the vertices")
            require(all(column.shape == (edges,) for column in side.columns.values()), "columns of edges")


def _within(numbers: np.ndarray, limit: int) -> bool:
    """Whether all `numbers` are in 0..limit."""
    return not numbers.size or (int(numbers.max()) < limit and (numbers.dtype.kind == "u" or int(numbers.min()) >= 0))
