"""Parquet: a file, a folder or a glob; reads only the columns that are needed.

The metadata of a file that dgraph wrote names the id and weight columns, the direction and the vertices.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, FileError, IdError, WeightError
from dgraph.frames.any_frame import is_numeric_type, numeric_column
from dgraph.frames.sources import WEIGHT, NoWeight
from dgraph.io import declared_sizes, files, paths
from dgraph.io.columnar.arrow_tables import WITHOUT_VERTICES, edge_table, refuse_isolated_vertices
from dgraph.io.edge_list import EdgeList, choose_columns, find_column, warn_of_other_ends
from dgraph.native.free_memory import free_memory
from dgraph.partition.ids import id_types

SUFFIXES = (".parquet", ".pq", ".parq")
MAGIC = (b"par1",)
COMPRESSED = True
_NOTE = b"dgraph"
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8}  # bytes of a value
_OFFSET = 4  # bytes per string in addition to its characters
_WHOLE = 2  # bytes of memory per byte of a table that is read at once: decoded, then concatenated
_SMALL = 16 << 20  # bytes of a file; the strings of larger files are never read as categories
BROKEN = (pa.ArrowException, OSError, ValueError, TypeError, KeyError)  # what Arrow and file systems raise


def read(
    path: str | os.PathLike,
    *,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = "auto",
    columns: Sequence[str | int] | str | None = None,
) -> EdgeList:
    """The edges; by default, source and destination are the first two columns. `weight="auto"` takes the column that
    dgraph recorded when it wrote the file, or else a numeric column called `weight`. `columns` names further columns,
    or is "all"."""
    choice: Any = {"source": source, "destination": destination, "weight": weight, "columns": columns}
    names, chosen, label, unweighted, note = describe(path, **choice)
    pieces = []
    for name in names:
        with paths.explain_failure(name, "cannot be read as Parquet", "write or download it again", BROKEN):
            pieces.append(_read_file(name, chosen).replace_schema_metadata(None))
    pa.default_memory_pool().release_unused()  # memory that Arrow used for reading: half the size of the table
    try:
        table = pa.concat_tables(_with_common_types(pieces, chosen[:2]), promote_options="permissive")
        table = table.unify_dictionaries()
    except pa.ArrowException as error:
        problem = f"{path}: the files have incompatible columns: {error}"
        raise ColumnError(f"{problem} (write all files with the same columns)") from error
    for name in chosen[:2]:
        _check_ids(table[name], name, path)
    start, end = chosen[:2]
    return EdgeList(table, start, end, label, note.get("directed"), noted_vertices(path, note), unweighted)


def _read_file(name: str, chosen: Sequence[str] | None = None) -> pa.Table:
    """Some columns of a file (all by default), after checking its footer."""
    metadata = metadata_of(name)
    known = metadata.schema.to_arrow_schema().names
    chosen = known if chosen is None else chosen
    present = set(known)
    if missing := [column for column in chosen if column not in present]:
        problem = f"the first file has a column {missing[0]!r}, but this one only has {', '.join(known)}"
        raise ColumnError(f"{name}: {problem} (write all files with the same columns)")
    texts = check_memory(name, metadata, chosen)
    fs, inner = paths.filesystem(name)
    table = pyarrow.parquet.read_table(inner, filesystem=fs, columns=list(chosen), read_dictionary=texts)
    table = decoded(name, table, texts)
    table.validate(full=True)
    return table


def read_frame(path: Any) -> pd.DataFrame:
    """All columns of a file, a folder or a glob, as pandas wrote them, with the index restored."""
    return pa.concat_tables([_read_file(name) for name in paths.expand(path, SUFFIXES)]).to_pandas()


def noted_vertices(path: Any, note: Mapping[str, Any]) -> range | None:
    """The range of vertices that dgraph recorded in a file, if any."""
    return declared_sizes.vertex_range(path, *note["vertices"]) if "vertices" in note else None


def mixes_signs(kinds: Sequence[pa.DataType]) -> bool:
    """Whether signed ids are mixed with unsigned 64-bit ids; then all become unsigned, if none is negative."""
    return pa.uint64() in kinds and any(map(pa.types.is_signed_integer, kinds))


def _with_common_types(pieces: list[pa.Table], ends: Sequence[str]) -> list[pa.Table]:
    """Tables whose integer ids have one type, and whose columns are categories in all tables or in none."""
    tables: list[list[Any]] = [[] for _ in pieces]
    for place, name in enumerate(pieces[0].column_names):
        columns = [piece.column(place) for piece in pieces]
        if name in ends:
            columns = [
                id_types.to_integers(column, name) if id_types.is_integer_type(column.type) else column
                for column in columns
            ]
            if mixes_signs([column.type for column in columns]):
                columns = [column.cast(pa.uint64()) for column in columns]
        coded = [pa.types.is_dictionary(column.type) for column in columns]
        if any(coded) and not all(coded):
            for k in np.flatnonzero(coded):
                columns[k] = columns[k].cast(columns[k].type.value_type)
        for table, column in zip(tables, columns, strict=True):
            table.append(column)
    return [pa.table(table, names=pieces[0].column_names) for table in tables]


def describe(
    path: Any, *, source, destination, weight, columns
) -> tuple[list[str], list[str], str | None, NoWeight, dict[str, Any]]:
    """Return the files, the columns to read from them, the weight, the columns that may have been meant if there is no
    weight, and what dgraph recorded in the first file if it wrote it."""
    names = paths.expand(path, SUFFIXES)
    schema = schema_of(names[0])
    note, known = _note(schema), schema.names
    name, times = next(iter(Counter(known).most_common(1)), ("", 0))
    if times > 1:
        raise ColumnError(f"{names[0]}: {times} columns are called {name!r} (rename them)")
    if len(known) < 2:
        raise ColumnError(f"{path}: an edge needs two ids, but the only column is {', '.join(known) or 'missing'}")

    def find(what: str, column: Any) -> str:
        if isinstance(column, str) and column not in known and f"/{column}=" in names[0]:
            remedy = "which are not read; use dask.dataframe.read_parquet to make a frame with them"
            raise ColumnError(f"{path}: {what}={column!r} is in the names of folders, {remedy}")
        return find_column(path, known, what, column)

    ends = {"source": source, "destination": destination}
    ends = {name: note.get(name) if column is None else column for name, column in ends.items()}
    if weight is True:
        weight = note.get("weight") or WEIGHT
    noted = is_default(weight, AUTO) and {"source", "destination"} <= set(note)
    choice: Any = {**ends, "weight": note.get("weight") if noted else weight, "columns": columns}
    numbers = dict.fromkeys(field.name for field in schema if is_numeric_type(field.type))
    chosen, label, unweighted = choose_columns(path, known, find, **choice, numeric=numbers.__contains__)
    if noted and label is None:
        unweighted = NoWeight([name for name in numbers if name not in chosen[:2]])
    if set(ends.values()) == {None}:
        warn_of_other_ends(known, (chosen[0], chosen[1]))
    return names, chosen, label, unweighted, note


def schema_of(name: str) -> pa.Schema:
    fs, inner = paths.filesystem(name)
    with paths.explain_failure(name, "not a Parquet file", "give its format with format=", BROKEN):
        if not fs.size(inner):
            raise FileError("the file is empty", path=name, remedy="write or download it again")
        with fs.open(inner, "rb") as stream:
            if stream.read(4) != b"PAR1":
                return pyarrow.parquet.read_schema(stream)
            problem = "starts like a Parquet file but has no valid footer"
            with paths.explain_failure(name, problem, "it was truncated: download it again", BROKEN):
                return pyarrow.parquet.read_schema(stream)


def metadata_of(name: str) -> pyarrow.parquet.FileMetaData:
    """The footer of a file, after a check that its row groups add up to its rows. The metadata of column chunks is not
    read, because corrupt statistics there crash the process."""
    fs, inner = paths.filesystem(name)
    with fs.open(inner, "rb") as stream:
        metadata = pyarrow.parquet.read_metadata(stream)
    rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
        raise ValueError(f"its row groups have {sum(rows)} rows, but the file {metadata.num_rows}")
    return metadata


def check_memory(
    name: str, metadata: pyarrow.parquet.FileMetaData, columns: Sequence[str], groups: Sequence[int] | None = None
) -> list[str]:
    """Refuse columns of some row groups (by default all) for which the footer declares more values than fit in memory,
    because Arrow allocates by these numbers before it reads.

    Returns columns of text that must be read as categories: a small file can refer to a long string in very many rows.
    """
    wanted, leaves = set(columns), range(metadata.num_columns)
    kinds = [metadata.schema.column(place) for place in leaves]
    kinds = [kind for kind in kinds if kind.path in wanted or kind.path.partition(".")[0] in wanted]
    widths = [kind.length if kind.length > 0 else _WIDTHS.get(kind.physical_type, 0) for kind in kinds]
    whole = groups is None
    groups = range(metadata.num_row_groups) if groups is None else groups
    sizes = [(metadata.row_group(group).num_rows, metadata.row_group(group).total_byte_size) for group in groups]
    if min((size for _, size in sizes), default=0) < 0:
        raise ValueError("a row group declares a negative size")
    rows = sum(rows for rows, _ in sizes)
    need = rows * sum(width or _OFFSET for width in widths)
    if len(kinds) == len(leaves):
        need = max(need, sum(size for _, size in sizes))
    if whole:
        need *= _WHOLE
    declared_sizes.memory(name, need, f"the {rows:,} rows that its footer declares")
    most = sum(rows * size for rows, size in sizes)  # the size if every row refers to the longest string
    if all(widths) or most < _SMALL or (files.length(name) or _SMALL) >= _SMALL or most < free_memory():
        return []
    plain = {field.name for field in metadata.schema.to_arrow_schema() if id_types.is_text(field.type)}
    return [kind.path for kind in kinds if kind.path in plain]


def decoded(name: str, table: pa.Table, texts: Sequence[str]) -> pa.Table:
    """Convert categories in a table back to text, if there is memory for them."""
    if not texts:
        return table
    places = [place for place, column in enumerate(table.column_names) if column in set(texts)]
    need = 0
    for place in places:
        for chunk in table.column(place).chunks:
            lengths = np.asarray(pc.fill_null(pc.binary_length(chunk.dictionary), 0), np.int64)
            need += int(lengths[np.asarray(pc.drop_null(chunk.indices))].sum()) + _OFFSET * len(chunk)
    declared_sizes.memory(name, need, f"the texts of its {table.num_rows:,} rows")
    for place in places:
        column = table.column(place)
        table = table.set_column(place, table.column_names[place], column.cast(column.type.value_type))
    return table


def _note(schema: pa.Schema) -> dict[str, Any]:
    try:
        note = json.loads((schema.metadata or {}).get(_NOTE, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in note.items() if _fits(key, value, schema)} if isinstance(note, dict) else {}


def _fits(key: str, value: Any, schema: pa.Schema) -> bool:
    if key == "vertices":
        return isinstance(value, list) and len(value) == 3 and all(type(x) is int for x in value) and value[2] > 0
    return isinstance(value, bool) if key == "directed" else value in schema.names


def check_type(kind: pa.DataType, name: str, path: Any) -> None:
    """Raise an IdError if a column of this type cannot hold ids."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (id_types.is_integer_type(kind) or id_types.is_text(kind) or id_types.is_uuid(kind)):
        remedy = f"{id_types.REMEDY}: cast the column, or name another"
        raise IdError(f"{path}: ids in column {name!r} are of type {kind} ({remedy})")


def _check_ids(column: pa.ChunkedArray, name: str, path: Any) -> None:
    if len(column):
        check_type(column.type, name, path)
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise IdError(f"{path}: the id in row {row} of column {name!r} is missing (fill it in, or drop the row)")


def check_block(table: pa.Table, weight: str | None, where: str) -> None:
    """Raise an error if an id (in the first two columns) or a weight of a row group is missing."""
    for column in table.column_names[:2]:
        if table[column].null_count:
            row = pc.index(pc.is_null(table[column]), True).as_py()
            raise IdError(f"{where}, column {column!r}, row {row}: the id is missing (fill it in, or drop the row)")
    if weight is not None:
        try:
            numeric_column(table, weight, is_weight=True)
        except WeightError as error:
            raise WeightError(f"{where}, {error}") from error


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Write one file with all edge columns. A range of vertices is recorded; other isolated vertices are refused."""
    edge_list = replace(edge_list, edges=edge_table(edge_list)[0])  # converted once
    note = note_of(edge_list, path)
    with files.atomic(path) as stream:
        write_stream(edge_list, stream, path, note)


def note_of(edge_list: EdgeList, path: str | os.PathLike) -> dict[bytes, str]:
    """What a file of these edges records. Isolated vertices are refused unless they can be recorded as a range."""
    table, (source, destination, weight) = edge_table(edge_list)
    ends: dict[str, Any] = {"source": source, "destination": destination}
    note = ends | {"weight": weight, "directed": edge_list.directed}
    if isinstance(edge_list.vertices, range) and edge_list.vertices.step > 0:
        note["vertices"] = [edge_list.vertices.start, edge_list.vertices.stop, edge_list.vertices.step]
    else:
        remedy = f"list them in a second file, {WITHOUT_VERTICES}"
        refuse_isolated_vertices(edge_list, table, path, "a Parquet file", remedy)
    return {_NOTE: json.dumps({key: value for key, value in note.items() if value is not None})}


def write_stream(edge_list: EdgeList, stream: Any, path: str | os.PathLike, note: Mapping[bytes, str]) -> None:
    """Write a file with all edge columns and a note to a stream."""
    table = edge_table(edge_list)[0].replace_schema_metadata(dict(note))
    try:
        pyarrow.parquet.write_table(table, stream, compression="zstd")
    except pa.ArrowException as error:
        raise ColumnError(f"{path}: a column has no Parquet type: {error} (drop or cast it)") from error
