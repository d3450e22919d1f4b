"""NumPy archives in dgraph's layout: arrays `source`, `destination`, one per further column, `vertices`, `directed`.

Matrices saved by scipy.sparse.save_npz can be read as well: entry (i, j) is an edge from i to j, counted from 0. The
column j of a rectangular matrix is vertex rows + j.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, FileError, IdError, WeightError
from dgraph.frames.sources import WEIGHT
from dgraph.io import declared_sizes, files, paths
from dgraph.io.columnar.arrow_tables import edge_table, vertex_ids
from dgraph.io.edge_list import EdgeList, choose_columns

SUFFIXES = (".npz",)
_EACH = 2  # bytes of memory per byte of an array: the array itself, and its columns in Arrow
_TEXTS = 1 << 16  # strings that are converted to Python objects at a time
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
MAGIC = (b"pk\x03\x04",)
COMPRESSED = True
_OWN = ("vertices", "vertices_range", "directed", "weight_name")


def read(
    path: str | os.PathLike, *, weight: str | bool | None = "auto", columns: Sequence[str] | str | None = None
) -> EdgeList:
    """The edges. By default, the weight is the column that was written as weight, or else a numeric one called
    `weight`."""
    path = os.fspath(path)
    arrays = _load(path)
    if {"format", "shape", "data"} <= set(arrays):
        return _matrix(path, arrays, weight)
    if not {"source", "destination"} <= set(arrays):
        problem = f"expected arrays source and destination, got {', '.join(arrays) or 'none'}"
        raise FileError(problem, path=path, remedy="save such arrays, or a matrix with scipy.sparse.save_npz")
    rows = arrays["source"].shape
    for name, array in arrays.items():
        if name not in _OWN and (array.ndim != 1 or array.shape != rows):
            problem = f"array {name!r} has shape {array.shape}, but source has {rows}"
            raise FileError(problem, path=path, remedy="save columns of the same length")
    names = [name for name in arrays if name not in _OWN]
    if is_default(weight, AUTO) and "weight_name" in arrays:
        stored = str(arrays["weight_name"])
        weight = stored if stored in names else None
    elif weight is True:
        weight = str(arrays.get("weight_name", WEIGHT))
    choice: Any = {"source": "source", "destination": "destination", "weight": weight, "columns": columns}
    numbers = [name for name in names if arrays[name].dtype.kind in "iuf"]
    chosen, label, unweighted = choose_columns(path, names, **choice, numeric=numbers.__contains__)
    table = pa.table({name: _column(path, name, arrays[name]) for name in chosen})
    for name in ("source", "destination"):
        if not (pa.types.is_integer(table[name].type) or pa.types.is_string(table[name].type)):
            raise IdError(f"{path}: ids in array {name!r} are of type {arrays[name].dtype} (save integers or strings)")
    directed = bool(arrays["directed"]) if "directed" in arrays and arrays["directed"].size == 1 else None
    return EdgeList(table, "source", "destination", label, directed, _vertices(path, arrays), unweighted)


def _load(path: str) -> dict[str, np.ndarray]:
    # zipfile, zlib and NumPy each raise their own exceptions
    with paths.explain_failure(path, "cannot be read as a NumPy archive", "save it again", (Exception,)):
        with files.open_bytes(path) as stream:
            if stream.read(2) != b"PK":
                raise FileError("not a NumPy archive", path=path, remedy="give its format with format=")
        fs, inner = paths.filesystem(path)
        with fs.open(inner, "rb") as raw, zipfile.ZipFile(raw) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
            size = sum(entry.file_size for entry in entries)
            declared_sizes.memory(path, _EACH * size, f"arrays of {size:,} bytes")
            return {entry.filename.removesuffix(".npy"): _array_of(archive, entry) for entry in entries}


def _array_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """Read an array, after checking that the shape in its header matches the bytes that follow."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"array {entry.filename!r} is compressed in a way that NumPy does not use")
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"array {entry.filename!r} has the unknown version {version}")
        shape, by_columns, dtype = _HEADERS[version](stream)
        size = entry.file_size - stream.tell()
        if dtype.hasobject or math.prod(shape) * max(1, dtype.itemsize) != size:
            raise ValueError(f"array {entry.filename!r} has shape {shape} of {dtype}, which are not {size} bytes")
        return np.ndarray(shape, dtype, stream.read(size), order="F" if by_columns else "C")


def _column(path: str, name: str, array: np.ndarray) -> pa.Array | pa.ChunkedArray:
    try:
        if array.dtype.kind != "U":
            return pa.array(array)
        some = (array[start : start + _TEXTS].tolist() for start in range(0, len(array), _TEXTS))
        return pa.chunked_array([pa.array(texts, pa.string()) for texts in some], pa.string())
    except (pa.ArrowException, UnicodeError, TypeError, ValueError, SystemError) as error:  # the last: odd characters
        raise ColumnError(f"{path}: array {name!r} of type {array.dtype} has no Arrow type ({error})") from error


def _vertices(path: str, arrays: dict[str, np.ndarray]) -> Any:
    bounds, ids = arrays.get("vertices_range"), arrays.get("vertices")
    if bounds is not None and bounds.shape == (3,) and bounds.dtype.kind in "iu" and bounds[2] > 0:
        return declared_sizes.vertex_range(path, *(int(bound) for bound in bounds))
    if ids is None:
        return None
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        problem = f"array vertices must be a list of ids, got {ids.ndim} dimensions of {ids.dtype}"
        raise IdError(f"{path}: {problem} (save it again)")
    return pa.table({"id": _column(path, "vertices", ids)})


def _matrix(path: str, arrays: dict[str, np.ndarray], weight: Any) -> EdgeList:
    kind = arrays["format"].item() if arrays["format"].size == 1 else None
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    shape, data = arrays["shape"], arrays["data"]
    if kind not in ("csr", "csc", "coo") or shape.shape != (2,) or shape.dtype.kind not in "iu" or data.ndim != 1:
        problem = f"sparse matrix format {kind!r} is not supported"
        raise FileError(problem, path=path, remedy="save it as csr, csc or coo")
    rows, columns = (int(size) for size in shape)
    if rows < 0 or columns < 0:
        raise FileError(f"a matrix cannot have {rows} rows and {columns} columns", path=path, remedy="save it again")
    ids = declared_sizes.vertex_range(path, 0, rows if rows == columns else rows + columns)
    needed = ("row", "col") if kind == "coo" else ("indices", "indptr")
    if any(name not in arrays or arrays[name].ndim != 1 or arrays[name].dtype.kind not in "iu" for name in needed):
        raise FileError(f"a {kind} matrix needs arrays {' and '.join(needed)}", path=path, remedy="save it again")
    if kind == "coo":
        i, j = arrays["row"].astype(np.int64), arrays["col"].astype(np.int64)
    else:
        indptr, minor = arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int64)
        lengths = np.diff(indptr)
        size = (rows if kind == "csr" else columns) + 1
        outside = len(indptr) and (indptr.min() < 0 or indptr.max() > len(minor))
        if len(indptr) != size or outside or (lengths < 0).any() or indptr[0] != 0 or indptr[-1] != len(minor):
            raise FileError("indptr does not fit the matrix", path=path, remedy="save it again")
        major = np.repeat(np.arange(len(lengths)), lengths)
        i, j = (major, minor) if kind == "csr" else (minor, major)
    if not len(i) == len(j) == len(data) or (
        len(i) and (min(i.min(), j.min()) < 0 or i.max() >= rows or j.max() >= columns)
    ):
        raise FileError("indices do not fit the matrix", path=path, remedy="save it again")
    if data.dtype.kind not in "biuf":
        raise WeightError(f"{path}: values of type {data.dtype} cannot be weights (save real numbers)")
    table = {"source": pa.array(i), "destination": pa.array(j if rows == columns else j + rows)}
    if weight is not None:
        table[WEIGHT] = _column(path, "data", data.astype(np.int8) if data.dtype.kind == "b" else data)
    return EdgeList(pa.table(table), "source", "destination", None if weight is None else WEIGHT, True, ids)


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Write all edge columns, and the ids of the vertices but not their attributes."""
    table, (source, destination, weight) = edge_table(edge_list)
    names = {source: "source", destination: "destination"}
    table = table.rename_columns([names.get(name, name) for name in table.column_names])
    arrays: dict[str, np.ndarray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in _OWN or name in arrays or not name or "/" in name:
            raise ColumnError(f"{path}: an archive cannot hold a column with the name {name!r} (rename it)")
        arrays[name] = _array(path, name, column)
    if weight or WEIGHT in arrays:
        arrays["weight_name"] = np.array(weight or "")
    if edge_list.directed is not None:
        arrays["directed"] = np.array(edge_list.directed)
    vertices = edge_list.vertices
    if isinstance(vertices, range):
        arrays["vertices_range"] = np.array([vertices.start, vertices.stop, vertices.step], np.int64)
    elif vertices is not None:
        arrays["vertices"] = _array(path, "vertices", vertex_ids(vertices, path, "an archive", "drop it"))
    with files.atomic(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():  # np.savez_compressed reserves some names, such as "file"
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _array(path: Any, name: str, column: pa.ChunkedArray) -> np.ndarray:
    if column.null_count:
        remedy = "fill them in, or write .parquet"
        raise ColumnError(f"{path}: {column.null_count} values of column {name!r} are missing ({remedy})")
    if pa.types.is_string(column.type):
        texts = column.to_pylist()
        if any(text.endswith("\0") for text in texts):
            raise IdError(f"{path}: a string in column {name!r} ends in NUL, which NumPy drops (write .parquet)")
        return np.array(texts, dtype=np.str_)
    array = column.to_numpy() if len(column) else np.empty(0, column.type.to_pandas_dtype())
    if array.dtype.kind not in "biuf":
        problem = f"column {name!r} of type {column.type} cannot be a plain array"
        raise ColumnError(f"{path}: {problem} (drop it, or write .parquet)")
    return array
