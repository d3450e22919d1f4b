"""Matrix Market: an edge a stored entry, ids 1..n as in the file (Boisvert, Pozo, Remington, NIST 1996).

`symmetric` is undirected, each entry once; `skew-symmetric` is directed, with the negated weight the other way.
Columns of a rectangular matrix are vertices after the rows: row i is i, column j is rows + j.
A repeated entry is a parallel edge, except under a `%%GraphBLAS type` line, where it is refused.
SciPy's reader is not used: it takes `1 1 1.5` for the integer 1 and lets a fourth field pass.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from dgraph.errors import FileError, WeightError
from dgraph.io import files
from dgraph.io.columnar.arrow_tables import numbered
from dgraph.io.edge_list import EdgeList
from dgraph.io.text.dialect import plain
from dgraph.io.text.table_reader import read_table, require_rows

SUFFIXES = (".mtx",)
_FORMATS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_TYPES = {"bool": (0, 1), "float": None, "double": None, "int64_t": (-(2**63), 2**63 - 1), "uint64_t": (0, 2**64 - 1)}
_TYPES |= {f"int{bits}_t": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32)}
_TYPES |= {f"uint{bits}_t": (0, 2**bits - 1) for bits in (8, 16, 32)}
_COMMENT_LIMIT = 1 << 24


class MatrixHeader(NamedTuple):
    """The first lines of a file: what its entries are, and how many; `lines` is how many these take."""

    layout: str
    field: str
    symmetry: str
    type: str | None  # of a %%GraphBLAS line
    rows: int
    columns: int
    entries: int
    lines: int


def read(path: str | os.PathLike, *, weight: bool | str | None = None) -> EdgeList:
    """The entries as edges from row to column; `weight=False` leaves the values out."""
    path = os.fspath(path)
    header = read_header(path)
    i, j, values = _coordinates(path, header) if header.layout == "coordinate" else _dense(path, header)
    if header.type and values is not None:
        _check_values(path, header, values)
    if header.rows == header.columns:
        _check_triangle(path, header, i, j, values)
    if header.type:
        _refuse_repeats(path, header, i, j)
    n = header.rows
    if header.rows != header.columns:
        j, n = j + header.rows, header.rows + header.columns
    if header.symmetry == "skew-symmetric":
        off = i != j
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = None if values is None else np.concatenate([values, -values[off]])
    data: dict[str, Any] = {"source": i, "destination": j}
    named = values is not None and weight is not False
    if named:
        data["weight"] = values
    elif weight not in (None, False):
        raise WeightError(f"{path}: a pattern matrix has no values to be the weight (leave weight= out)")
    directed = header.symmetry != "symmetric"
    label = "weight" if named else None
    return EdgeList(pa.table(data), "source", "destination", label, directed, vertices=range(1, n + 1))


def read_header(path: str) -> MatrixHeader:
    """The checked first lines: banner, type, sizes."""
    with files.open_bytes(path) as stream:
        head = stream.read(1 << 16)
        while (found := _header_lines(head)) is None and len(head) < _COMMENT_LIMIT and (more := stream.read(1 << 20)):
            head += more
    banner, kind, sizes, line = found or _header_lines(head + b"\n") or ("", None, "", 1)
    words = banner.lower().split()
    if not words or words[0] != "%%matrixmarket":
        raise _refused(path, 1, f"no %%MatrixMarket banner but {banner[:60]!r}", 'if it lists edges, say format="txt"')
    if len(words) != 5:
        raise _refused(
            path, 1, f"the banner has {len(words)} words, not 5", "%%MatrixMarket matrix coordinate real general"
        )
    what, layout, field, symmetry = words[1:]
    if what != "matrix":
        raise _refused(path, 1, f"the banner says {what!r}, not 'matrix'", "write matrix")
    if layout not in _FORMATS:
        raise _refused(path, 1, f"unknown format {layout!r}", "it is one of coordinate, array")
    if field == "complex" or symmetry == "hermitian" or (kind and "complex" in kind):
        said = field if field == "complex" else symmetry if symmetry == "hermitian" else kind
        raise _refused(path, 2 if said == kind else 1, f"{said} values cannot be weights", "write their real parts")
    if field not in _FIELDS:
        raise _refused(path, 1, f"unknown type of values {field!r}", f"it is one of {', '.join(_FIELDS)}")
    if symmetry not in _SYMMETRIES:
        raise _refused(path, 1, f"unknown symmetry {symmetry!r}", f"it is one of {', '.join(_SYMMETRIES)}")
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        raise _refused(
            path, 1, f"pattern cannot be {layout} {symmetry}", "a pattern is coordinate, general or symmetric"
        )
    if kind is not None and kind not in _TYPES:
        raise _refused(path, None, f"unknown GraphBLAS type {kind!r}", f"it is one of {', '.join(_TYPES)}")
    if symmetry == "skew-symmetric" and (field == "unsigned-integer" or (kind and kind[0] in "ub")):
        raise _refused(path, None, f"skew-symmetric values of the unsigned type {kind or field}", "they need a sign")
    numbers = sizes.split()
    expected = 3 if layout == "coordinate" else 2
    if len(numbers) != expected or not all(re.fullmatch(r"[0-9]{1,18}", number) for number in numbers):
        said = "rows, columns and entries" if expected == 3 else "rows and columns"
        raise _refused(
            path, line, f"{sizes.strip()[:60]!r} where {said} are expected", f"give {expected} whole numbers"
        )
    rows, columns = int(numbers[0]), int(numbers[1])
    if symmetry != "general" and rows != columns:
        raise _refused(path, line, f"a {symmetry} matrix of {rows} rows and {columns} columns", "it must be square")
    return MatrixHeader(layout, field, symmetry, kind, rows, columns, int(numbers[2]) if expected == 3 else -1, line)


def _refused(path: str, line: int | None, problem: str, remedy: str) -> FileError:
    return FileError(problem, path=path, line=line, remedy=remedy)


def _header_lines(head: bytes) -> tuple[str, str | None, str, int] | None:
    """(banner, GraphBLAS type, line of sizes, its number), or None when the sizes lie beyond this head."""
    kind = None
    lines = head.split(b"\n")
    banner = lines[0].decode("utf-8", errors="replace").strip("\ufeff \r")
    for number, line in enumerate(lines[1:-1], start=2):
        text = line.decode("utf-8", errors="replace").strip()
        if text.lower().startswith("%%graphblas"):
            words = text.lower().split()[1:]
            kind = " ".join(words[1:]) if words[:1] == ["type"] else kind
        elif text and not text.startswith("%"):
            return banner, kind, text, number
    return None if banner.lower().startswith("%%matrixmarket") and len(lines) > 1 else (banner, kind, "", 1)


def _value_kind(header: MatrixHeader) -> str:
    if header.type in ("float", "double"):
        return "number"  # GraphBLAS writes `integer` with an entry of `inf` here and there
    if header.field == "unsigned-integer" or (header.field == "integer" and header.type == "uint64_t"):
        return "unsigned"
    return "integer" if header.field == "integer" else "number"


def _coordinates(path: str, header: MatrixHeader) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    kinds = {"row": "integer", "column": "integer"}
    if header.field != "pattern":
        kinds["value"] = _value_kind(header)
    table = read_table(path, plain(tuple(kinds), header.lines, comments=("%",)), kinds)
    require_rows(table, path, header.entries, "entries")
    i, j = table["row"].to_numpy(), table["column"].to_numpy()
    for ids, limit, name in ((i, header.rows, "row"), (j, header.columns, "column")):
        outside = (ids < 1) | (ids > limit)
        if outside.any():
            at = int(outside.argmax())
            problem = f"entry {at + 1} is in {name} {ids[at]} of {limit}"
            raise FileError(problem, path=path, remedy=f"{name}s are numbered from 1 to {limit}")
    return i, j, table["value"].to_numpy() if "value" in kinds else None


def _dense(path: str, header: MatrixHeader) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every position of an array, column by column; of a symmetric one the lower triangle."""
    n = header.rows
    kinds = {"value": _value_kind(header)}
    table = read_table(path, plain(("value",), header.lines, comments=("%",)), kinds)
    diagonal = {"symmetric": 0, "skew-symmetric": 1}.get(header.symmetry)
    count = n * header.columns if diagonal is None else n * (n + 1) // 2 - diagonal * n
    require_rows(table, path, count, "values")
    if diagonal is None:
        i = np.tile(np.arange(1, n + 1), header.columns)
        j = np.repeat(np.arange(1, header.columns + 1), n)
    else:
        j, i = np.triu_indices(n, k=diagonal)
        i, j = i + 1, j + 1
    return i.astype(np.int64), j.astype(np.int64), table["value"].to_numpy()


def _check_values(path: str, header: MatrixHeader, values: np.ndarray) -> None:
    limits = _TYPES[header.type or "double"]
    if limits is None or not len(values):
        return
    outside = (values < limits[0]) | (values > limits[1]) | (values != np.floor(values))
    if outside.any():
        at = int(outside.argmax())
        remedy = f"{header.type} holds whole numbers from {limits[0]} to {limits[1]}"
        raise FileError(f"entry {at + 1} has value {values[at]}, no {header.type}", path=path, remedy=remedy)


def _check_triangle(path: str, header: MatrixHeader, i: np.ndarray, j: np.ndarray, values: np.ndarray | None) -> None:
    """A symmetric file lists one triangle: an entry and its mirror image would be one edge, listed twice."""
    if header.symmetry == "general":
        return
    if header.symmetry == "skew-symmetric" and values is not None and (values[i == j] != 0).any():
        at = int(((i == j) & (values != 0)).argmax())
        raise FileError(
            f"entry {at + 1} on the diagonal is {values[at]}", path=path, remedy="skew-symmetric: it must be 0"
        )
    above = i < j
    if above.any() and (i > j).any():
        mirrored = np.isin(j[above] * (header.rows + 1) + i[above], (i * (header.rows + 1) + j)[i > j])
        if mirrored.any():
            u, v = i[above][mirrored][0], j[above][mirrored][0]
            problem = f"entries ({u}, {v}) and ({v}, {u}) in a {header.symmetry} file"
            raise FileError(problem, path=path, remedy="list the lower triangle only, or say general")


def _refuse_repeats(path: str, header: MatrixHeader, i: np.ndarray, j: np.ndarray) -> None:
    if header.symmetry != "general":
        i, j = np.maximum(i, j), np.minimum(i, j)
    order = np.lexsort((j, i))
    same = (np.diff(i[order]) == 0) & (np.diff(j[order]) == 0)
    if same.any():
        at = order[int(same.argmax())]
        raise FileError(
            f"entry ({i[at]}, {j[at]}) is listed twice", path=path, remedy="a matrix has one value a position"
        )


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Coordinates; symmetric when the edges are undirected, general otherwise. Ids must be 1..n."""
    source, destination, weights, n = numbered(edge_list, path, "Matrix Market")
    symmetry = "symmetric" if edge_list.directed is False else "general"
    if symmetry == "symmetric":
        source, destination = np.maximum(source, destination), np.minimum(source, destination)
    field = "pattern"
    if weights is not None:
        weights = weights.astype(np.int8) if weights.dtype.kind == "b" else weights
        field = "integer" if weights.dtype.kind in "iu" else "real"
        field = "unsigned-integer" if weights.dtype == np.uint64 else field
    data = {"i": source, "j": destination} | ({} if weights is None else {"v": weights})
    with files.atomic(path) as stream:
        stream.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n{n} {n} {len(source)}\n".encode())
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        pyarrow.csv.write_csv(pa.table(data), stream, options)
