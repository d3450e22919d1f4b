"""Matrix Market: each stored entry is an edge, with ids 1..n as in the file (Boisvert, Pozo, Remington, NIST 1996).

`symmetric` is undirected, each entry once; `skew-symmetric` is directed, with the negated weight in the other
direction. The columns of a rectangular matrix are vertices after the rows: row i is i, column j is rows + j.
A repeated entry is a parallel edge, but an error in a file with a `%%GraphBLAS type` line.
SciPy's reader is not used because it reads `1 1 1.5` as the integer 1 and accepts a fourth field.
"""

from __future__ import annotations

import io
import os
import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dgraph.errors import FileError
from dgraph.io import declared_sizes, files
from dgraph.io.columnar.arrow_tables import one_based_edges
from dgraph.io.edge_list import EdgeList, keep_weight
from dgraph.io.text.dialect import BLANKS, Dialect
from dgraph.io.text.table_reader import read_table, require_ids, require_rows, write_rows

SUFFIXES = (".mtx",)
MAGIC = (b"%%matrixmarket",)
COUNTS_FROM_ONE = True
_FORMATS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_TYPES = {"bool": (0, 1), "float": None, "double": None, "int64_t": (-(2**63), 2**63 - 1), "uint64_t": (0, 2**64 - 1)}
_TYPES |= {f"int{bits}_t": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32)}
_TYPES |= {f"uint{bits}_t": (0, 2**bits - 1) for bits in (8, 16, 32)}
_COMMENT_LIMIT, _HEAD = 1 << 24, 1 << 10  # the most bytes of comments, and of a line, that are read
_MOST_COMMENTS = 1 << 20  # lines
_EACH = 16  # bytes of memory per number of an entry: parsed, then as an array


class MatrixHeader(NamedTuple):
    """The contents of the first lines of a file; `lines` is their number."""

    layout: str
    field: str
    symmetry: str
    type: str | None  # from a %%GraphBLAS line
    rows: int
    columns: int
    entries: int
    lines: int


def read(path: str | os.PathLike, *, weight: bool | str | None = "auto") -> EdgeList:
    """The entries as edges from row to column; `weight=None` leaves out the values."""
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
    weighted = keep_weight(path, weight, values is not None, "a pattern matrix has no values to use as weights")
    data: dict[str, Any] = {"source": i, "destination": j} | ({"weight": values} if weighted else {})
    label, directed = "weight" if weighted else None, header.symmetry != "symmetric"
    vertices = declared_sizes.vertex_range(path, 1, n + 1)
    return EdgeList(pa.table(data), "source", "destination", label, directed, vertices)


def read_header(path: str) -> MatrixHeader:
    """Read and check the first lines: banner, type, sizes."""
    with files.open_bytes(path) as stream:
        banner, kind, sizes, line = _header_lines(io.BufferedReader(stream))
    words = banner.lower().split()
    if not words or words[0] != "%%matrixmarket":
        problem = f"expected a %%MatrixMarket banner, got {banner[:60]!r}"
        raise _refused(path, 1, problem, 'if it lists edges, pass format="txt"')
    if len(words) != 5:
        remedy = "for example %%MatrixMarket matrix coordinate real general"
        raise _refused(path, 1, f"the banner must have 5 words, got {len(words)}", remedy)
    what, layout, field, symmetry = words[1:]
    if what != "matrix":
        raise _refused(path, 1, f"the banner says {what!r}", "it must be 'matrix'")
    if layout not in _FORMATS:
        raise _refused(path, 1, f"unknown format {layout!r}", "it must be coordinate or array")
    if field == "complex" or symmetry == "hermitian" or (kind and "complex" in kind):
        bad = next(word for word in (field, symmetry, kind or "") if word == "hermitian" or "complex" in word)
        raise _refused(path, 2 if bad == kind else 1, f"{bad} values cannot be weights", "write their real parts")
    if field not in _FIELDS:
        raise _refused(path, 1, f"unknown type of values {field!r}", f"it must be one of {', '.join(_FIELDS)}")
    if symmetry not in _SYMMETRIES:
        raise _refused(path, 1, f"unknown symmetry {symmetry!r}", f"it must be one of {', '.join(_SYMMETRIES)}")
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        remedy = "a pattern must be coordinate, and general or symmetric"
        raise _refused(path, 1, f"pattern cannot be {layout} {symmetry}", remedy)
    if kind is not None and kind not in _TYPES:
        raise _refused(path, None, f"unknown GraphBLAS type {kind!r}", f"it must be one of {', '.join(_TYPES)}")
    if symmetry == "skew-symmetric" and (field == "unsigned-integer" or (kind and kind[0] in "ub")):
        raise _refused(path, None, f"skew-symmetric values have the unsigned type {kind or field}", "use a signed type")
    numbers = sizes.split()
    expected = 3 if layout == "coordinate" else 2
    if len(numbers) != expected or not all(re.fullmatch(r"[0-9]{1,18}", number) for number in numbers):
        what = "rows, columns and entries" if expected == 3 else "rows and columns"
        raise _refused(path, line, f"expected {what}, got {sizes.strip()[:60]!r}", f"give {expected} whole numbers")
    rows, columns = int(numbers[0]), int(numbers[1])
    if symmetry != "general" and rows != columns:
        raise _refused(path, line, f"a {symmetry} matrix must be square, got {rows} rows and {columns} columns", None)
    if expected == 3:
        each = 4 if field == "pattern" else 6  # a blank or line break after each number
        entries, columns_read = int(numbers[2]), 2 if field == "pattern" else 3
        declared_sizes.items(path, entries, "entries", files.length(path), each=each, line=line)
        declared_sizes.memory(path, _EACH * columns_read * entries, f"the {entries:,} entries that its header declares")
    return MatrixHeader(layout, field, symmetry, kind, rows, columns, int(numbers[2]) if expected == 3 else -1, line)


def _refused(path: str, line: int | None, problem: str, remedy: str | None) -> FileError:
    return FileError(problem, path=path, line=line, remedy=remedy)


def _header_lines(stream: io.BufferedReader) -> tuple[str, str | None, str, int]:
    """(banner, GraphBLAS type, line of sizes, its number); no sizes if there is no such line near the start."""
    kind, read = None, 0
    banner = stream.readline(_HEAD).decode("utf-8", errors="replace").strip("\ufeff \r\n")
    if not banner.lower().startswith("%%matrixmarket"):
        return banner, None, "", 1
    number = 1
    while read < _COMMENT_LIMIT and number < _MOST_COMMENTS and (line := stream.readline(_COMMENT_LIMIT)):
        number, read, text = number + 1, read + len(line), line.strip()
        if text[:11].lower() == b"%%graphblas":
            words = text.decode("utf-8", errors="replace").lower().split()[1:]
            kind = " ".join(words[1:]) if words[:1] == ["type"] else kind
        elif text and not text.startswith(b"%"):
            return banner, kind, text[:_HEAD].decode("utf-8", errors="replace"), number
    return banner, kind, "", 1


def _value_kind(header: MatrixHeader) -> str:
    if header.type in ("float", "double"):
        return "number"  # GraphBLAS sometimes writes `integer` with entries of `inf`
    if header.field == "unsigned-integer" or (header.field == "integer" and header.type == "uint64_t"):
        return "unsigned"
    return "integer" if header.field == "integer" else "number"


def _coordinates(path: str, header: MatrixHeader) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    kinds = {"row": "integer", "column": "integer"}
    if header.field != "pattern":
        kinds["value"] = _value_kind(header)
    table = read_table(path, Dialect(BLANKS, tuple(kinds), skip=header.lines, comments=("%",)), kinds)
    require_rows(table, path, header.entries, "entries")
    i, j = require_ids(table, path, "entry", {"row": header.rows, "column": header.columns})
    return i, j, table["value"].to_numpy() if "value" in kinds else None


def _dense(path: str, header: MatrixHeader) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All positions of an array, column by column; only the lower triangle if it is symmetric."""
    n = header.rows
    kinds = {"value": _value_kind(header)}
    table = read_table(path, Dialect(BLANKS, ("value",), skip=header.lines, comments=("%",)), kinds)
    diagonal = {"symmetric": 0, "skew-symmetric": 1}.get(header.symmetry)
    count = n * header.columns if diagonal is None else n * (n + 1) // 2 - diagonal * n
    require_rows(table, path, count, "values")
    if not count:  # a matrix without columns may have any number of rows
        i = j = np.empty(0, np.int64)
    elif diagonal is None:
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
        problem = f"entry {at + 1} has value {values[at]}, which is not of type {header.type}"
        raise FileError(problem, path=path, remedy=remedy)


def _check_triangle(path: str, header: MatrixHeader, i: np.ndarray, j: np.ndarray, values: np.ndarray | None) -> None:
    """A symmetric file must list one triangle: an entry and its mirror image would be the same edge twice."""
    if header.symmetry == "general":
        return
    if header.symmetry == "skew-symmetric" and values is not None and (values[i == j] != 0).any():
        at = int(((i == j) & (values != 0)).argmax())
        problem = f"entry {at + 1} on the diagonal is {values[at]}"
        raise FileError(problem, path=path, remedy="it must be 0 in a skew-symmetric matrix")
    above = i < j
    if above.any() and (i > j).any():
        mirrored = np.isin(j[above] * (header.rows + 1) + i[above], (i * (header.rows + 1) + j)[i > j])
        if mirrored.any():
            u, v = i[above][mirrored][0], j[above][mirrored][0]
            problem = f"a {header.symmetry} file lists both entries ({u}, {v}) and ({v}, {u})"
            raise FileError(problem, path=path, remedy="list only the lower triangle, or write general in the banner")


def _refuse_repeats(path: str, header: MatrixHeader, i: np.ndarray, j: np.ndarray) -> None:
    if header.symmetry != "general":
        i, j = np.maximum(i, j), np.minimum(i, j)
    order = np.lexsort((j, i))
    same = (np.diff(i[order]) == 0) & (np.diff(j[order]) == 0)
    if same.any():
        at = order[int(same.argmax())]
        problem = f"entry ({i[at]}, {j[at]}) is listed twice"
        raise FileError(problem, path=path, remedy="a matrix has one value per position")


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Coordinates; symmetric if the edges are undirected, else general. Ids must be 1..n."""
    source, destination, weights, n = one_based_edges(edge_list, path, "Matrix Market")
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
        write_rows(data, stream, f"%%MatrixMarket matrix coordinate {field} {symmetry}\n{n} {n} {len(source)}\n")
