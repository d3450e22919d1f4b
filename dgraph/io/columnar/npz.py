"""NumPy archives: arrays `source` and `destination`, one for each other column, `vertices`, `directed`; our own layout.

Matrices saved by scipy.sparse.save_npz are read as well: entry (i, j) is an edge from i to j, counted from 0; of a
rectangular one, column j is rows + j.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dgraph.errors import ColumnError, FileError, IdError, WeightError
from dgraph.io import files, paths
from dgraph.io.columnar.arrow_tables import edge_table, to_table, vertex_ids
from dgraph.io.edge_list import EdgeList

SUFFIXES = (".npz",)
_OWN = ("vertices", "vertices_range", "directed", "weight_name")


def read(
    path: str | os.PathLike, *, weight: str | bool | None = None, columns: Sequence[str] | str | None = None
) -> EdgeList:
    """The edges; the weight is the column written as such, or called `weight`. `columns` as in other formats."""
    path = os.fspath(path)
    arrays = _load(path)
    if {"format", "shape", "data"} <= set(arrays):
        return _matrix(path, arrays, weight)
    if not {"source", "destination"} <= set(arrays):
        remedy = "save arrays source and destination, or a matrix by scipy.sparse.save_npz"
        raise FileError(
            f"no arrays source and destination, but {', '.join(arrays) or 'none'}", path=path, remedy=remedy
        )
    rows = arrays["source"].shape
    for name, array in arrays.items():
        if name not in _OWN and (array.ndim != 1 or array.shape != rows):
            problem = f"array {name!r} has shape {array.shape}, source has {rows}"
            raise FileError(problem, path=path, remedy="save columns of one length")
    names = [name for name in arrays if name not in _OWN]
    label: Any = str(arrays["weight_name"]) if "weight_name" in arrays else "weight" if "weight" in names else None
    label = label if label in names else None
    if isinstance(weight, str) and weight not in names:
        raise ColumnError(f"{path}: weight={weight!r}, but there is no such array (there are {', '.join(names)})")
    label = None if weight is False else weight if isinstance(weight, str) else label
    others = names if columns == "all" else list(columns or ())
    for name in others:
        if name not in names:
            raise ColumnError(f"{path}: there is no array {name!r} (there are {', '.join(names)})")
    order = dict.fromkeys(["source", "destination", *([label] if label else []), *others])
    table = pa.table({name: _column(path, name, arrays[name]) for name in order})
    for name in ("source", "destination"):
        if not (pa.types.is_integer(table[name].type) or pa.types.is_string(table[name].type)):
            raise IdError(f"{path}: ids in array {name!r} are of type {arrays[name].dtype} (save integers or strings)")
    directed = bool(arrays["directed"]) if "directed" in arrays and arrays["directed"].size == 1 else None
    return EdgeList(table, "source", "destination", label, directed, _vertices(path, arrays))


def _load(path: str) -> dict[str, np.ndarray]:
    try:
        with files.open_bytes(path) as stream:
            if stream.read(2) != b"PK":
                raise FileError("not a NumPy archive", path=path, remedy="name its format with format=")
        fs, inner = paths.filesystem(path)
        with fs.open(inner, "rb") as raw, np.load(raw, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except FileError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have their own
        raise FileError(f"cannot be read as a NumPy archive: {error}", path=path, remedy="save it again") from error


def _column(path: str, name: str, array: np.ndarray) -> pa.Array:
    try:
        return pa.array(
            array.tolist() if array.dtype.kind == "U" else array, pa.string() if array.dtype.kind == "U" else None
        )
    except (pa.ArrowException, UnicodeError, TypeError, ValueError) as error:
        raise ColumnError(f"{path}: array {name!r} of type {array.dtype} has no column type ({error})") from error


def _vertices(path: str, arrays: dict[str, np.ndarray]) -> Any:
    bounds, ids = arrays.get("vertices_range"), arrays.get("vertices")
    if bounds is not None and bounds.shape == (3,) and bounds.dtype.kind in "iu" and bounds[2] > 0:
        return range(*(int(bound) for bound in bounds))
    if ids is None:
        return None
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise IdError(f"{path}: vertices is a {ids.ndim}-dimensional array of {ids.dtype} (save a list of ids)")
    return pa.table({"id": _column(path, "vertices", ids)})


def _matrix(path: str, arrays: dict[str, np.ndarray], weight: Any) -> EdgeList:
    kind = arrays["format"].item() if arrays["format"].size == 1 else None
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    shape, data = arrays["shape"], arrays["data"]
    if kind not in ("csr", "csc", "coo") or shape.shape != (2,) or shape.dtype.kind not in "iu" or data.ndim != 1:
        raise FileError(f"a sparse matrix of format {kind!r}", path=path, remedy="save it as csr, csc or coo")
    rows, columns = (int(size) for size in shape)
    needed = ("row", "col") if kind == "coo" else ("indices", "indptr")
    if any(name not in arrays or arrays[name].ndim != 1 or arrays[name].dtype.kind not in "iu" for name in needed):
        raise FileError(f"a {kind} matrix without {' and '.join(needed)}", path=path, remedy="save it again")
    if kind == "coo":
        i, j = arrays["row"].astype(np.int64), arrays["col"].astype(np.int64)
    else:
        indptr, minor = arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int64)
        lengths = np.diff(indptr)
        if (
            len(indptr) != (rows if kind == "csr" else columns) + 1
            or (lengths < 0).any()
            or indptr[0] != 0
            or indptr[-1] != len(minor)
        ):
            raise FileError("indptr does not fit the matrix", path=path, remedy="save it again")
        major = np.repeat(np.arange(len(lengths)), lengths)
        i, j = (major, minor) if kind == "csr" else (minor, major)
    if not len(i) == len(j) == len(data) or (
        len(i) and (min(i.min(), j.min()) < 0 or i.max() >= rows or j.max() >= columns)
    ):
        raise FileError("indices do not fit the matrix", path=path, remedy="save it again")
    if data.dtype.kind not in "biuf":
        raise WeightError(f"{path}: values of type {data.dtype} cannot be weights (save real numbers)")
    n = rows if rows == columns else rows + columns
    table = {"source": i, "destination": j if rows == columns else j + rows}
    if weight is not False:
        table["weight"] = data.astype(np.int8) if data.dtype.kind == "b" else data
    return EdgeList(pa.table(table), "source", "destination", None if weight is False else "weight", True, range(n))


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Every column of the edges; ids of vertices, but no other column of theirs."""
    table, (source, destination, weight) = edge_table(edge_list)
    table = table.rename_columns(
        [{source: "source", destination: "destination"}.get(name, name) for name in table.column_names]
    )
    arrays: dict[str, np.ndarray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in _OWN or name in arrays or not name or "/" in name:
            raise ColumnError(f"{path}: an archive cannot hold a column called {name!r} (rename it)")
        arrays[name] = _array(path, name, column)
    if weight:
        arrays["weight_name"] = np.array(weight)
    if edge_list.directed is not None:
        arrays["directed"] = np.array(edge_list.directed)
    vertices = edge_list.vertices
    if isinstance(vertices, range):
        arrays["vertices_range"] = np.array([vertices.start, vertices.stop, vertices.step], np.int64)
    elif vertices is not None:
        if len(names := to_table(vertices).column_names) > 1:
            raise ColumnError(f"{path}: an archive has no place for the vertex column {names[1]!r} (drop it)")
        arrays["vertices"] = _array(path, "vertices", vertex_ids(vertices))
    with files.atomic(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():  # np.savez_compressed keeps some names, such as "file", for itself
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _array(path: Any, name: str, column: pa.ChunkedArray) -> np.ndarray:
    if column.null_count:
        remedy = "fill them in, or write .parquet"
        raise ColumnError(f"{path}: {column.null_count} values of column {name!r} are missing ({remedy})")
    if pa.types.is_string(column.type):
        texts = column.to_pylist()
        if any(text.endswith("\0") for text in texts):
            raise IdError(f"{path}: a string in column {name!r} ends in NUL, which NumPy would drop (write .parquet)")
        return np.array(texts, dtype=np.str_)
    array = column.to_numpy() if len(column) else np.empty(0, column.type.to_pandas_dtype())
    if array.dtype.kind not in "biuf":
        raise ColumnError(
            f"{path}: column {name!r} of type {column.type} has no plain array (drop it, or write .parquet)"
        )
    return array
