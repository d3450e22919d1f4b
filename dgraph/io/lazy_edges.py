"""Edges too big for one machine: Parquet and delimited text as a Dask DataFrame, one partition per block of bytes.

The heads of the files (text) or their schemas (Parquet) determine the columns and types of every block. A block that
does not match them raises an IdError, ColumnError or WeightError when it is computed; the message names the remedy.
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

from dgraph.arguments import AUTO
from dgraph.errors import ColumnError, IdError
from dgraph.frames.any_frame import to_pandas
from dgraph.io import files, paths
from dgraph.io.columnar import parquet
from dgraph.io.edge_list import EdgeList
from dgraph.io.format_options import Parquet, Text
from dgraph.io.formats import read_edge_list
from dgraph.io.text import plain_text
from dgraph.io.text.dialect import Dialect, read_head
from dgraph.io.text.table_reader import read_table
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.partition.ids.id_types import is_integer_type, is_uuid

BLOCK_SIZE = 64 << 20
_LINE = 1 << 16


def lazy_edge_list(
    path: str | os.PathLike,
    *,
    format: str | Text | Parquet | None = None,
    by: Any = None,
    block_size: int = BLOCK_SIZE,
    **options: Any,
) -> EdgeList:
    """Like `read_edge_list`, but reads only the heads of files at first. Quoted values must not contain line breaks.

    `by` makes frames from blocks, by default with pandas. `block_size` is for text whose format does not set it.
    """
    by = by or PandasFrames()
    if isinstance(format, Text) and format.block_size != AUTO:
        block_size = int(format.block_size)
    readers = {"parquet": partial(_lazy_parquet, by), "text": partial(_lazy_text, by, block_size)}
    return read_edge_list(paths.absolute_path(path), format=format, readers=readers, **options)


class PandasFrames:
    """Makes a Dask DataFrame from blocks."""

    def parquet(self, pieces: list[tuple[str, int]], weight: str | None, schema: pa.Schema) -> dd.DataFrame:
        empty = _frame(schema.empty_table(), _complete(weight))
        return dd.from_map(_parquet_block, pieces, weight=weight, schema=schema, meta=empty, label="dgraph-read")

    def text(self, blocks: list[tuple], spec: plain_text.ColumnSpec, id_type: str, schema: pa.Schema) -> dd.DataFrame:
        empty = _frame(schema.empty_table(), spec.complete)
        return dd.from_map(
            text_block, blocks, spec=spec, id_type=id_type, schema=schema, meta=empty, label="dgraph-read"
        )


def _lazy_parquet(by: Any, path: str, **choice: Any) -> EdgeList:
    names, chosen, label, unweighted, note = parquet.describe(path, **choice)
    pieces, schemas, rows = [], [], 0
    for name in names:
        with paths.explain_failure(name, "not a Parquet file", "write or download it again", parquet.BROKEN):
            metadata = parquet.metadata_of(name)
            schemas.append(_plain(metadata.schema.to_arrow_schema(), chosen, label))
        pieces += [(name, group) for group in range(metadata.num_row_groups)]
        rows += metadata.num_rows
    try:
        common = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        problem = f"{path}: the files have incompatible columns: {error}"
        raise ColumnError(f"{problem} (write all files with the same columns)") from error
    for place, end in enumerate(chosen[:2]):
        if rows:  # Dask would turn dates into strings
            parquet.check_type(common.field(place).type, end, path)
        if parquet.mixes_signs([schema.field(end).type for schema in schemas if end in schema.names]):
            common = common.set(place, common.field(place).with_type(pa.uint64()))
    if not pieces:
        frame = dd.from_pandas(_frame(common.empty_table(), _complete(label)), npartitions=1)
    else:
        frame = by.parquet(pieces, label, common)
    vertices = parquet.noted_vertices(path, note)
    return EdgeList(frame, chosen[0], chosen[1], label, note.get("directed"), vertices, unweighted)


def _plain(schema: pa.Schema, chosen: Sequence[str], weight: str | None) -> pa.Schema:
    """The chosen columns, with the types that they have in frames."""
    fields = []
    for field in (schema.field(name) for name in chosen if name in schema.names):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name == weight and pa.types.is_decimal(kind):  # pandas would hold objects, which Dask turns into text
            kind = pa.float64()
        elif field.name in chosen[:2] and is_integer_type(kind) and not pa.types.is_integer(kind):
            kind = pa.int64()
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _parquet_block(piece: tuple[str, int], weight: str | None, schema: pa.Schema) -> pd.DataFrame:
    name, group = piece
    fs, inner = paths.filesystem(name)
    problem = f"row group {group} does not match the schema of all files"
    with explain_lack_of_memory(name):
        with paths.explain_failure(name, problem, "write all files with the same columns", parquet.BROKEN):
            with fs.open(inner, "rb") as stream:
                metadata = pyarrow.parquet.read_metadata(stream)
                texts = parquet.check_memory(name, metadata, schema.names, [group])
                file = pyarrow.parquet.ParquetFile(stream, metadata=metadata, read_dictionary=texts)
                table = parquet.decoded(name, file.read_row_group(group, columns=schema.names), texts)
            table = table.select(schema.names).replace_schema_metadata(None).cast(schema)
        parquet.check_block(table, weight, f"{name}: row group {group}")
        return _frame(table, _complete(weight))


def _complete(weight: str | None) -> int:
    """The number of columns, the first ones, in which no value may be missing: the ids and the weight."""
    return 2 + (weight is not None)


def _lazy_text(by: Any, block_size: int, path: str, *, id_type: str | None = None, **choice: Any) -> EdgeList:
    described = plain_text.describe(path, **choice)
    spec = described[0][2]
    blocks, heads = [], []
    for name, dialect, own in described:
        start = _data_start(name, dialect)
        heads.append(_read_block(name, dialect, own, id_type, (start, start + _LINE)))
        blocks += [(name, dialect, span) for span in _spans(name, block_size, start)]
    types = {"id": _type_of_ids(heads), "weight": pa.float64()}
    columns = zip(spec.labels, spec.kinds.values(), strict=True)
    schema = pa.schema([(label, types.get(kind) or _type_of_others(heads, label)) for label, kind in columns])
    frame = by.text(blocks, spec, "string" if types["id"] == pa.string() else "int64", schema)
    return EdgeList(frame, spec.labels[0], spec.labels[1], weight=spec.weight, unweighted=spec.unweighted)


def _type_of_ids(heads: list[pa.Table]) -> pa.DataType:
    kinds = {kind for head in heads for kind in head.schema.types[:2]}
    return next((kind for kind in (pa.string(), pa.uint64()) if kind in kinds), pa.int64())


def _type_of_others(heads: list[pa.Table], label: str) -> pa.DataType:
    """Floats, if the heads of the files hold only numbers that floats can represent; else strings."""
    columns = [head[label] for head in heads if head[label].null_count < len(head)]
    try:
        if not columns or any(pa.types.is_string(column.type) for column in columns):
            return pa.string()
        for column in columns:
            column.cast(pa.float64())
    except pa.ArrowInvalid:  # an integer that no float represents
        return pa.string()
    return pa.float64()


def _data_start(name: str, dialect: Dialect) -> int:
    """The position of the first row in bytes."""
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


def text_block(block: tuple, spec: plain_text.ColumnSpec, id_type: str, schema: pa.Schema) -> pd.DataFrame:
    name, dialect, span = block
    with explain_lack_of_memory(name):
        table = _read_block(name, dialect, spec, id_type, span)
        columns = []
        for column, field, kind in zip(table.columns, schema, spec.kinds.values(), strict=True):
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowInvalid as error:
                problem = f"{name}: column {field.name!r}: {error}, unlike at the start of the files"
                raise (IdError if kind == "id" else ColumnError)(
                    f"{problem} (read it in one piece: format=dg.Text(lazy=False))"
                ) from error
        return _frame(pa.table(columns, schema=schema), spec.complete)


def _read_block(
    name: str, dialect: Dialect, spec: plain_text.ColumnSpec, id_type: str | None, span: tuple[int, int]
) -> pa.Table:
    """The rows whose lines start inside the span."""
    how = partial(open_span, name, dialect, span)
    return read_table(name, dialect, spec.kinds, id_type=id_type, open_stream=how).rename_columns(spec.labels)


def open_span(name: str, dialect: Dialect, span: tuple[int, int]) -> BinaryIO:
    end = b"\r" if dialect.bare_cr else b"\n"
    return cast(BinaryIO, Span(files.open_bytes(name), *span, end, compressed=bool(paths.split_suffix(name)[2])))


class Span:
    """The lines of a stream that start in a range of bytes; the last line is complete."""

    def __init__(self, stream: files.CheckedStream, start: int, stop: int, end: bytes, *, compressed: bool):
        self._stream, self._end, self._left = stream, end, stop - start
        self._pending = b""
        if start and compressed:
            while start and (data := stream.read(min(start, _LINE))):
                start -= len(data)
        elif start:
            stream.stream.seek(start - 1)
            self._to_line_start()

    def _to_line_start(self) -> None:
        """Go from the byte before the span to the first line that starts inside it."""
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
        self._left -= len(data)
        if data and self._left > 0:
            return data
        at = len(data) + self._left - 1  # the last byte of the span
        while (cut := data.find(self._end, at) + 1) == 0 and (more := self._stream.read(_LINE)):
            at = len(data)
            data += more
        self._left = 0
        return data[:cut] if cut else data

    def close(self) -> None:
        self._stream.close()


def _frame(table: pa.Table, complete: int) -> pd.DataFrame:
    """A block as a DataFrame. The first `complete` columns have no missing values; numbers in the others have nullable
    types in every block, whether or not values are missing."""
    fields = [field.with_nullable(field.nullable and place >= complete) for place, field in enumerate(table.schema)]
    frame = to_pandas(table.cast(pa.schema(fields)))
    for field in fields:
        if is_uuid(field.type):  # older Arrow versions return bytes, which Dask turns into text
            frame[field.name] = pd.Series(table[field.name].to_pylist(), frame.index, dtype=object)
    return frame
