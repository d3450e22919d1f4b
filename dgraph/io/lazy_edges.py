"""Edges too big for one machine: Parquet and delimited text as a Dask DataFrame, a block of bytes a partition.

Every block has the columns and types that the head of the first file (text) or its schema (Parquet) shows. A block that
breaks them raises an IdError or WeightError when it is computed; `id_type="string"` is the way out it names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, BinaryIO, cast

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from dgraph.errors import ColumnError, FileError, IdError, OptionError
from dgraph.frames.any_frame import to_pandas
from dgraph.io import files, paths
from dgraph.io.columnar import parquet
from dgraph.io.edge_list import EdgeList
from dgraph.io.formats import check_options, format_of
from dgraph.io.text import plain_text
from dgraph.io.text.dialect import Dialect, read_head
from dgraph.io.text.table_reader import read_table
from dgraph.options import check_integer
from dgraph.partition.ids.id_types import is_uuid, is_whole

BLOCK_SIZE = 64 << 20
_LINE = 1 << 16


def lazy_edge_list(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = None,
    columns: Sequence[str | int] | str | None = None,
    by: Any = None,
    **options: Any,
) -> EdgeList:
    """Like `read_edge_list`, but nothing beyond the heads is read yet. A quoted value must not hold a line's end.
    `by` is who reads blocks, CPUs by default; text has one option more, the `block_size` in bytes."""
    by = by or CpuBlocks()
    name = format_of(path, format)
    path = paths.from_anywhere(path)
    choice: dict[str, Any] = {"source": source, "destination": destination, "weight": weight, "columns": columns}
    if name == "parquet":
        check_options(path, name, options)
        return _lazy_parquet(path, choice, by)
    if name != "text":
        raise OptionError(f"{path}: {name} cannot be read block by block (convert it to .parquet or .csv first)")
    block_size = check_integer("block_size", options.pop("block_size", BLOCK_SIZE))
    check_options(path, name, options)
    return _lazy_text(path, choice, block_size, by, **options)


class CpuBlocks:
    """How blocks become a lazy frame: a Dask frame of pandas."""

    def parquet(self, pieces: list[tuple[str, int]], weight: str | None, schema: pa.Schema) -> dd.DataFrame:
        empty = _frame(schema.empty_table(), _complete(weight))
        return dd.from_map(_parquet_block, pieces, weight=weight, schema=schema, meta=empty)

    def text(
        self, blocks: list[tuple], wanted: plain_text.WantedColumns, id_type: str, schema: pa.Schema
    ) -> dd.DataFrame:
        empty = _frame(schema.empty_table(), wanted.complete)
        return dd.from_map(text_block, blocks, wanted=wanted, id_type=id_type, schema=schema, meta=empty)


def _lazy_parquet(path: Any, choice: dict[str, Any], by: Any) -> EdgeList:
    names, wanted, note = parquet.describe(path, **choice)
    pieces, schemas, rows = [], [], 0
    for name in names:
        try:
            said = parquet.check_rows(name)
            schemas.append(_plain(said.schema.to_arrow_schema(), wanted))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileError(f"not a Parquet file: {error}", path=name, remedy="write or fetch it again") from error
        pieces += [(name, group) for group in range(said.num_row_groups)]
        rows += said.num_rows
    try:
        common = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise ColumnError(f"{path}: files with columns that do not fit together: {error} (write them alike)") from error
    for place, end in enumerate(wanted["read"][:2]):
        if rows:  # Dask would make strings of dates
            parquet.check_type(common.field(place).type, end, path)
        if parquet.meet([schema.field(end).type for schema in schemas if end in schema.names]):
            common = common.set(place, common.field(place).with_type(pa.uint64()))
    if not pieces:
        frame = dd.from_pandas(_frame(common.empty_table(), _complete(wanted["weight"])), npartitions=1)
    else:
        frame = by.parquet(pieces, wanted["weight"], common)
    vertices = range(*note["vertices"]) if "vertices" in note else None
    start, end = wanted["read"][:2]
    return EdgeList(frame, start, end, wanted["weight"], note.get("directed"), vertices)


def _plain(schema: pa.Schema, wanted: dict[str, Any]) -> pa.Schema:
    """The columns that are read, of the types that they have in frames."""
    fields = []
    for field in (schema.field(name) for name in wanted["read"] if name in schema.names):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name == wanted["weight"] and pa.types.is_decimal(kind):  # an object, of which Dask makes text
            kind = pa.float64()
        elif field.name in wanted["read"][:2] and is_whole(kind) and not pa.types.is_integer(kind):
            kind = pa.int64()
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _parquet_block(piece: tuple[str, int], weight: str | None, schema: pa.Schema) -> pd.DataFrame:
    name, group = piece
    fs, inner = paths.filesystem(name)
    try:
        with fs.open(inner, "rb") as stream:
            table = pyarrow.parquet.ParquetFile(stream).read_row_group(group, columns=schema.names)
        table = table.select(schema.names).replace_schema_metadata(None).cast(schema)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        problem = f"row group {group} does not read as the other files do: {error}"
        raise FileError(problem, path=name, remedy="write the files alike") from error
    parquet.check_block(table, weight, f"{name}: row group {group}")
    return _frame(table, _complete(weight))


def _complete(weight: str | None) -> int:
    """How many columns are checked to lack nothing: the ids, and behind them the weight."""
    return 2 + (weight is not None)


def _lazy_text(path, choice, block_size, by, *, id_type=None, delimiter=None, header=None) -> EdgeList:
    names = plain_text.expand_text(path)
    blocks, heads, first = [], [], None
    for name in names:
        dialect, wanted = plain_text.describe(name, delimiter=delimiter, header=header, **choice)
        if first is not None and wanted.labels != first.labels:
            raise ColumnError(
                f"{name}: columns {wanted.labels} where {names[0]} has {first.labels} (write the files alike)"
            )
        first = first or wanted
        start = _data_start(name, dialect)
        heads.append(_read_block(name, dialect, wanted, id_type, (start, start + _LINE)))
        blocks += [(name, dialect, span) for span in _spans(name, block_size, start)]
    assert first is not None
    types = {"id": _type_of_ids(heads), "weight": pa.float64()}
    columns = zip(first.labels, first.kinds.values(), strict=True)
    schema = pa.schema([(label, types.get(kind) or _type_of_others(heads, label)) for label, kind in columns])
    frame = by.text(blocks, first, "string" if types["id"] == pa.string() else "int64", schema)
    return EdgeList(frame, first.labels[0], first.labels[1], weight=first.weight)


def _type_of_ids(heads: list[pa.Table]) -> pa.DataType:
    found = {kind for head in heads for kind in head.schema.types[:2]}
    return next((kind for kind in (pa.string(), pa.uint64()) if kind in found), pa.int64())


def _type_of_others(heads: list[pa.Table], label: str) -> pa.DataType:
    """Numbers with a point, if where files begin there are only numbers, and all can be told so; else text."""
    found = [head[label] for head in heads if head[label].null_count < len(head)]
    try:
        for one in found:
            if pa.types.is_string(one.type):
                return pa.string()
            one.cast(pa.float64())
    except pa.ArrowInvalid:  # a whole number of so many digits
        return pa.string()
    return pa.float64() if found else pa.string()


def _data_start(name: str, dialect: Dialect) -> int:
    """Where the first row starts, in bytes."""
    at, head = 0, read_head(name)
    for _ in range(dialect.skip):
        at = head.find(b"\r" if dialect.bare_cr else b"\n", at) + 1 or len(head)
    return at


def _spans(name: str, block_size: int, start: int) -> list[tuple[int, int]]:
    """Byte ranges of a file; a compressed one is a single block."""
    if paths.split_suffix(name)[2]:
        return [(start, 1 << 62)]
    fs, inner = paths.filesystem(name)
    size = max(fs.size(inner) or 0, start + 1)
    return [(at, min(at + block_size, size)) for at in range(start, size, block_size)]


def text_block(block: tuple, wanted: plain_text.WantedColumns, id_type: str, schema: pa.Schema) -> pd.DataFrame:
    name, dialect, span = block
    table = _read_block(name, dialect, wanted, id_type, span)
    columns = []
    for column, field, kind in zip(table.columns, schema, wanted.kinds.values(), strict=True):
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowInvalid as error:
            wrong, problem = IdError if kind == "id" else ColumnError, f"{error}, other than where the files begin"
            raise wrong(f"{name}: column {field.name!r}: {problem} (read it at once, with lazy=False)") from error
    return _frame(pa.table(columns, schema=schema), wanted.complete)


def _read_block(
    name: str, dialect: Dialect, wanted: plain_text.WantedColumns, id_type: str | None, span: tuple[int, int]
) -> pa.Table:
    """The rows whose lines start inside the span."""
    how = partial(open_span, name, dialect, span)
    return read_table(name, dialect, wanted.kinds, id_type=id_type, open_stream=how).rename_columns(wanted.labels)


def open_span(name: str, dialect: Dialect, span: tuple[int, int]) -> BinaryIO:
    end = b"\r" if dialect.bare_cr else b"\n"
    return cast(BinaryIO, Span(files.open_bytes(name), *span, end, compressed=bool(paths.split_suffix(name)[2])))


class Span:
    """The lines of a stream that start in a range of bytes; the last one is read to its end."""

    def __init__(self, stream: BinaryIO, start: int, stop: int, end: bytes, *, compressed: bool):
        self._stream, self._end, self._left = stream, end, stop - start
        self._pending = b""
        if start and compressed:
            while start and (data := stream.read(min(start, _LINE))):
                start -= len(data)
        elif start:
            getattr(stream, "stream", stream).seek(start - 1)
            self._to_line_start()

    def _to_line_start(self) -> None:
        """From the byte before the span to the first line that starts inside it."""
        self._left += 1
        while self._left > 0 and (data := self._stream.read(_LINE)):
            at = data.find(self._end) + 1
            self._left -= at or len(data)
            if at:
                self._pending = data[at:]
                return
        self._left = 0

    def read(self, size: int = -1) -> bytes:
        if self._left <= 0:
            return b""
        data = self._pending or self._stream.read(max(size, _LINE))
        self._pending = b""
        if len(data) < self._left:
            self._left = self._left - len(data) if data else 0
            return data
        at = self._left - 1
        while (cut := data.find(self._end, at) + 1) == 0 and (more := self._stream.read(_LINE)):
            at = len(data)
            data += more
        self._left = 0
        return data[:cut] if cut else data

    def close(self) -> None:
        self._stream.close()


def _frame(table: pa.Table, complete: int) -> pd.DataFrame:
    """A block whose first so many columns lack nothing. The others, if they may lack numbers, are of a nullable type in
    every block, whether or not some lack."""
    fields = [field.with_nullable(field.nullable and place >= complete) for place, field in enumerate(table.schema)]
    frame = to_pandas(table.cast(pa.schema(fields)))
    for field in fields:
        if is_uuid(field.type):  # an older Arrow hands out their bytes, of which Dask would make text
            frame[field.name] = pd.Series(table[field.name].to_pylist(), frame.index, dtype=object)
    return frame
