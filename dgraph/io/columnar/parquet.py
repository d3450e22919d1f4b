"""Parquet: a file, a folder or a glob; only the columns that are asked for are read.

A file that dgraph wrote says in its metadata which columns are the ids and the weight, the direction and the vertices.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet

from dgraph.errors import ColumnError, FileError, IdError, OptionError, WeightError
from dgraph.frames.any_frame import column_of_numbers
from dgraph.io import files, paths
from dgraph.io.columnar.arrow_tables import WITHOUT_VERTICES, edge_table, no_hidden_vertices
from dgraph.io.edge_list import EdgeList, warn_of_other_ends
from dgraph.options import is_default
from dgraph.partition.ids import id_types
from dgraph.phrases import format_option

SUFFIXES = (".parquet", ".pq", ".parq")
_NOTE = b"dgraph"
_BROKEN = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError)


def read(
    path: str | os.PathLike,
    *,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = None,
    columns: Sequence[str | int] | str | None = None,
) -> EdgeList:
    """The edges; source and destination are the first two columns unless named, `columns` names others or is "all"."""
    names, wanted, note = describe(path, source=source, destination=destination, weight=weight, columns=columns)
    pieces = []
    for name in names:
        try:
            check_rows(name)
            file = _open(name)
            _check_columns(file.schema.names, wanted["read"], name)
            piece = file.to_table(columns=wanted["read"])
            piece.validate(full=True)
        except ColumnError:
            raise
        except _BROKEN as error:
            raise FileError(
                f"cannot be read as Parquet: {error}", path=name, remedy="write or fetch it again"
            ) from error
        pieces.append(piece.replace_schema_metadata(None))
    pa.default_memory_pool().release_unused()  # half as much again as the table, which Arrow took to read it
    try:
        table = pa.concat_tables(_alike(pieces, wanted["read"][:2]), promote_options="permissive").unify_dictionaries()
    except pa.ArrowException as error:
        raise ColumnError(f"{path}: files with columns that do not fit together: {error} (write them alike)") from error
    for name in wanted["read"][:2]:
        _check_ids(table[name], name, path)
    vertices = range(*note["vertices"]) if isinstance(note.get("vertices"), list) else None
    start, end = wanted["read"][:2]
    return EdgeList(table, start, end, weight=wanted["weight"], directed=note.get("directed"), vertices=vertices)


def meet(kinds: Sequence[pa.DataType]) -> bool:
    """Whether signed ids meet unsigned ones of 64 bits: then all are unsigned, if none is below zero."""
    return pa.uint64() in kinds and any(map(pa.types.is_signed_integer, kinds))


def _alike(pieces: list[pa.Table], ends: Sequence[str]) -> list[pa.Table]:
    """Ids are integers of one type where they are whole numbers, and columns that only some files have as categories
    are plain in all."""
    for name in pieces[0].column_names:
        columns = [piece[name] for piece in pieces]
        if name in ends:
            columns = [id_types.whole(column, name) if id_types.is_whole(column.type) else column for column in columns]
            if meet([column.type for column in columns]):
                columns = [column.cast(pa.uint64()) for column in columns]
        coded = [pa.types.is_dictionary(column.type) for column in columns]
        if any(coded) and not all(coded):
            for k in np.flatnonzero(coded):
                columns[k] = columns[k].cast(columns[k].type.value_type)
        pieces = [
            piece.set_column(piece.column_names.index(name), name, column)
            for piece, column in zip(pieces, columns, strict=True)
        ]
    return pieces


def describe(path: Any, *, source, destination, weight, columns) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """The files, the columns to read of them, and what a file of ours says about itself."""
    names = paths.expand(path, SUFFIXES)
    schema = schema_of(names[0])
    note = _note(schema)
    known = schema.names
    if twice := next((name for name in known if known.count(name) > 1), None):
        raise ColumnError(f"{names[0]}: {known.count(twice)} columns are called {twice!r} (rename them)")

    def place(column, what):
        if isinstance(column, int) and not isinstance(column, bool) and -len(known) <= column < len(known):
            return known[column]
        if not isinstance(column, str | int):
            raise ColumnError(f"{path}: {format_option(what, column)} is neither the name of a column nor its position")
        if column in known:
            return column
        if f"/{column}=" in names[0]:
            remedy = "which are not read; dask.dataframe.read_parquet makes a frame with them"
            raise ColumnError(f"{path}: {what}={column!r} is in the names of folders, {remedy}")
        raise ColumnError(
            f"{path}: {what}={column!r}, but there is no such column (its columns are {', '.join(known)})"
        )

    if len(known) < 2:
        raise ColumnError(f"{path}: an edge needs two ids, and there is no more than one column: {', '.join(known)}")
    by_place = not note and source is None and destination is None
    source = place(source, "source") if source is not None else note.get("source")
    destination = place(destination, "destination") if destination is not None else note.get("destination")
    free = [name for name in known if name not in (source, destination)]
    source = source if source in known else free.pop(0)
    destination = destination if destination in known else next(name for name in free if name != source)
    if by_place:
        warn_of_other_ends(known, (source, destination))
    if source == destination:
        raise OptionError(f"{path}: source and destination are both column {source!r}")
    if weight is True:
        weight = note.get("weight") or "weight"
    weight = note.get("weight") if weight is None else None if weight is False else place(weight, "weight")
    if is_default(columns, "all"):
        columns = known
    elif isinstance(columns, str):
        raise OptionError(f'columns={columns!r} is neither a list of columns nor "all"')
    others = [place(column, "columns") for column in columns or ()]
    read_columns = list(dict.fromkeys([source, destination, *([weight] if weight else []), *others]))
    return names, {"read": read_columns, "weight": weight}, note


def _open(name: str) -> pyarrow.dataset.Dataset:
    fs, inner = paths.filesystem(name)
    return pyarrow.dataset.dataset(inner, filesystem=fs, format="parquet")


def schema_of(name: str) -> pa.Schema:
    fs, inner = paths.filesystem(name)
    begun = False
    try:
        if not fs.size(inner):
            raise FileError("the file is empty", path=name, remedy="write or fetch it again")
        with fs.open(inner, "rb") as stream:
            begun = stream.read(4) == b"PAR1"
            return pyarrow.parquet.read_schema(stream)
    except FileError:
        raise
    except _BROKEN as error:
        problem, remedy = "not a Parquet file", "name its true format with format="
        if begun:
            problem, remedy = "its head is that of a Parquet file, its end is not", "it was cut short: fetch it again"
        raise FileError(f"{problem}: {error}", path=name, remedy=remedy) from error


def check_rows(name: str) -> pyarrow.parquet.FileMetaData:
    """What a file says of itself: rows of its row groups are together those of the file, as Arrow makes room for them
    before it looks. What it says of the contents of columns is left alone, for a lie there ends the process."""
    fs, inner = paths.filesystem(name)
    with fs.open(inner, "rb") as stream:
        said = pyarrow.parquet.read_metadata(stream)
    rows = [said.row_group(number).num_rows for number in range(said.num_row_groups)]
    if min(rows, default=0) < 0 or sum(rows) != said.num_rows:
        raise ValueError(f"its row groups have {sum(rows)} rows and the file {said.num_rows}")
    return said


def _note(schema: pa.Schema) -> dict[str, Any]:
    try:
        note = json.loads((schema.metadata or {}).get(_NOTE, b"{}"))
    except ValueError:
        return {}
    return {key: value for key, value in note.items() if _fits(key, value, schema)} if isinstance(note, dict) else {}


def _fits(key: str, value: Any, schema: pa.Schema) -> bool:
    if key == "vertices":
        return isinstance(value, list) and len(value) == 3 and all(type(x) is int for x in value) and value[2] > 0
    return isinstance(value, bool) if key == "directed" else value in schema.names


def _check_columns(known: Sequence[str], wanted: Sequence[str], name: str) -> None:
    for column in wanted:
        if column not in known:
            raise ColumnError(
                f"{name}: there is no column {column!r}, which the first file has; its columns are {', '.join(known)} "
                f"(write the files alike)"
            )


def check_type(kind: pa.DataType, name: str, path: Any) -> None:
    """Whether a column can be one of ids."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (id_types.is_whole(kind) or id_types.is_text(kind) or id_types.is_uuid(kind)):
        raise IdError(
            f"{path}: ids in column {name!r} are of type {kind} ({id_types.REMEDY}: cast the column, or name another)"
        )


def _check_ids(column: pa.ChunkedArray, name: str, path: Any) -> None:
    if len(column):
        check_type(column.type, name, path)
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise IdError(f"{path}: the id in row {row} of column {name!r} is missing (fill it in, or drop the row)")


def check_block(table: pa.Table, weight: str | None, where: str) -> None:
    """No id of a row group is missing, in the first two columns, and no weight."""
    for column in table.column_names[:2]:
        if table[column].null_count:
            row = pc.index(pc.is_null(table[column]), True).as_py()
            raise IdError(f"{where}, column {column!r}, row {row}: the id is missing (fill it in, or drop the row)")
    if weight is not None:
        try:
            column_of_numbers(table, weight, is_weight=True)
        except WeightError as error:
            raise WeightError(f"{where}, {error}") from error


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """One file, all edge columns; vertices without edges only when they are a range."""
    table, (source, destination, weight) = edge_table(edge_list)
    note: dict[str, Any] = {
        "source": source,
        "destination": destination,
        "weight": weight,
        "directed": edge_list.directed,
    }
    if isinstance(edge_list.vertices, range) and edge_list.vertices.step > 0:
        note["vertices"] = [edge_list.vertices.start, edge_list.vertices.stop, edge_list.vertices.step]
    else:
        why = "a Parquet file lists edges only"
        no_hidden_vertices(edge_list, table, path, why, but=f"list them in a second file, {WITHOUT_VERTICES}")
    note = {key: value for key, value in note.items() if value is not None}
    try:
        with files.atomic(path) as stream:
            pyarrow.parquet.write_table(
                table.replace_schema_metadata({_NOTE: json.dumps(note)}), stream, compression="zstd"
            )
    except pa.ArrowException as error:
        raise ColumnError(f"{path}: a column has no Parquet form: {error} (drop or cast it)") from error
