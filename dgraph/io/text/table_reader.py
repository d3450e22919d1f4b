"""Reads delimited text into an Arrow table with Arrow's threaded CSV reader, and keeps ids exactly as written.

Ids are 64-bit integers if every id in both columns is written as one (no leading zero, no plus sign), else strings;
numbers with a decimal point are refused. The kinds of columns are "id", "weight" and "other", and in formats that fix
the types "integer", "unsigned" and "number".
"""

from __future__ import annotations

import io
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dgraph.arguments import is_default
from dgraph.errors import FileError, IdError, OptionError
from dgraph.io import files
from dgraph.io.text.diagnosis import check_lines, explain
from dgraph.io.text.dialect import BLANKS, GAPS, MISSING, Dialect, check_text, looks_like_number
from dgraph.phrases.phrases import format_option

# The stream of clean lines for Arrow's CSV reader: without comments, and with single blanks.
# It also detects what Arrow would misread silently: `007` or `0x10` as an integer, a quoted value that contains a
# line break, a NUL byte.

BLOCK = 4 << 20
LONGEST_LINE = 16 << 20  # bytes; Arrow reads no line that is longer than a block
_ODD_INTEGER = re.compile(rb"(?<![0-9.eExX+-])-?0[0-9xX]|(?<![0-9.eExX])-0(?![.0-9])")
_BLANK_RUN = re.compile(rb"  +")


class CleanLines:
    """Reads whole lines of `stream` after the first `skip`; `odd_integers`, `hexadecimal` and `quotes`
    report what it found."""

    def __init__(self, stream: Any, path: str, dialect: Dialect, skip: int, watch_integers: bool):
        self.stream, self.path, self.dialect = stream, path, dialect
        self.watch_integers = watch_integers
        self.odd_integers = self.hexadecimal = self.quotes = False
        self._rest, self._ready, self._at = b"", b"", 0
        self._end = b"\r" if dialect.bare_cr else b"\n"
        comments = "".join(dialect.comments).encode()
        self._comment = re.compile(rb"(?m)^[ \t]*[" + re.escape(comments) + rb"][^\n]*\n?") if comments else None
        self._comment_starts = [sign.encode() for sign in dialect.comments]
        delimiter = re.escape(dialect.delimiter.encode())
        self._trim = re.compile(rb"[ \t]*" + delimiter + rb"[ \t]*") if dialect.trim else None
        self._skip(skip)

    def _skip(self, lines: int) -> None:
        block = self.stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
        while block and lines:
            *skipped, rest = block.split(self._end, lines)
            lines -= len(skipped)
            block = self.stream.read(BLOCK) if lines else rest
        self._rest = block

    def _advance(self) -> bool:
        """Go on to the next block of whole lines; False at the end of the file."""
        pieces, self._rest = [self._rest], b""
        while block := self.stream.read(BLOCK):
            cut = block.rfind(self._end) + 1
            pieces.append(block[:cut] if cut else block)
            if cut:
                self._rest = block[cut:]
                break
            if sum(map(len, pieces)) > LONGEST_LINE:
                problem = f"a line has more than {LONGEST_LINE:,} bytes"
                raise FileError(problem, path=self.path, remedy="check the line ends, or set format=")
        lines = b"".join(pieces)
        self._ready, self._at = self._clean(lines), 0
        return bool(lines)

    def _clean(self, block: bytes) -> bytes:
        check_text(block, self.path)
        if self.dialect.bare_cr:
            block = block.replace(b"\r", b"\n")
        if not self.quotes:
            self.quotes = self.dialect.delimiter != BLANKS and b'"' in block
            block = self._without_comments(block, block.index(b'"') if self.quotes else len(block))
        if self.dialect.delimiter == BLANKS:
            block = _single_blanks(block)
        elif self._trim is not None and not self.quotes:
            block = self._trim.sub(self.dialect.delimiter.encode(), block)
        if self.watch_integers and not self.odd_integers:
            self.odd_integers = _odd_integers(block)
        if self.odd_integers and not self.hexadecimal:
            self.hexadecimal = b"0x" in block or b"0X" in block
        return block

    def _without_comments(self, block: bytes, until: int) -> bytes:
        """Remove comment lines up to the first quote: after it, a line may start inside a quoted value."""
        if self._comment is None or not any(sign in block for sign in self._comment_starts):
            return block
        until = block.rfind(b"\n", 0, until) + 1 if until < len(block) else until
        return self._comment.sub(b"", block[:until]) + block[until:]

    def has_rows(self) -> bool:
        """Whether there are rows, before any is read; blocks of blank lines above them are left out."""
        while not self._ready.strip():
            if not self._advance():
                return False
        return True

    def read(self, size: int) -> bytes:
        while self._at >= len(self._ready):
            if not self._advance():
                return b""
        data = self._ready[self._at : self._at + size]
        self._at += len(data)
        return data


def _single_blanks(block: bytes) -> bytes:
    for sign in (b"\t", b"\r", b"\v", b"\f"):
        block = block.replace(sign, b" ")
    if b"  " in block:
        block = _BLANK_RUN.sub(b" ", block)
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _odd_integers(block: bytes) -> bool:
    """Whether the block may contain an integer with a leading zero, in hexadecimal, or minus zero."""
    signs = np.frombuffer(block, dtype=np.uint8)
    if len(signs) < 2:
        return False
    zero, after = signs[:-1] == ord("0"), signs[1:]
    suspect = zero & ((after - ord("0") < 10) | (after == ord("x")) | (after == ord("X")))
    suspect[1:] &= (signs[:-2] - ord("0") >= 10) & (signs[:-2] != ord("."))
    minus = (signs[:-1] == ord("-")) & (after == ord("0"))
    if not suspect.any() and not minus.any():
        return False
    return _ODD_INTEGER.search(block) is not None


INTEGER_TEXT = r"^(0|-?[1-9][0-9]*)$"
NUMBER_TEXT = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)$"
ID_TYPES = (None, "int64", "string")
_FIXED = {"integer": pa.int64(), "unsigned": pa.uint64(), "number": pa.float64()}


def read_table(
    path: str,
    dialect: Dialect,
    kinds: Mapping[str, str],
    *,
    id_type: str | None = None,
    open_stream: Callable[[], BinaryIO] | None = None,
) -> pa.Table:
    """The columns named in `kinds`, in that order; `id_type` is "int64", "string" or None (see the top of this file).

    `open_stream` opens some of the file's rows instead of all.
    """
    if not any(is_default(id_type, one) for one in ID_TYPES):
        raise OptionError(f"{format_option('id_type', id_type)} must be one of {', '.join(map(repr, ID_TYPES))}")
    fixed = not any(kind == "id" for kind in kinds.values())
    whole_ids = id_type == "int64" or (id_type is None and _sample_is_integer(dialect, kinds, "id"))
    whole_weights = _sample_is_integer(dialect, kinds, "weight")
    id_types = [pa.int64()] if fixed else [pa.int64(), pa.string()] if whole_ids else [pa.string()]
    weight_types = [pa.int64(), pa.float64()] if whole_weights and "weight" in kinds.values() else [pa.float64()]
    attempts = [(ids, weights) for ids in id_types for weights in weight_types]
    for ids, weights in attempts:
        try:
            table, lines = _parse(path, dialect, kinds, ids, weights, open_stream)
        except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
            failure: Exception = error
            continue
        if lines.hexadecimal and fixed:  # Arrow reads hexadecimal numbers as integers
            check_lines(path, dialect, kinds)
        elif lines.odd_integers and not fixed and ids == pa.int64():
            failure = ValueError("an integer is written with a leading zero or in hexadecimal")
            continue
        break
    else:
        explain(path, dialect, _strict(kinds, id_type), failure, integers=True)
    if any(_has_gap(column, kind) for column, kind in zip(table.columns, kinds.values(), strict=True)):
        explain(path, dialect, _strict(kinds, id_type), "a value is missing", integers=True)
    if not fixed:
        table = _settle_ids(path, dialect, kinds, table, id_type)
    columns = zip(kinds.values(), table.columns, strict=True)
    settled = [settle(column) if kind == "other" else column for kind, column in columns]
    return pa.table(settled, names=list(kinds))


def _has_gap(column: pa.ChunkedArray, kind: str) -> bool:
    if kind == "weight" and pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        return True
    return kind != "other" and column.null_count > 0


def _strict(kinds: Mapping[str, str], id_type: str | None) -> dict[str, str]:
    if id_type != "int64":
        return dict(kinds)
    return {name: "integer" if kind == "id" else kind for name, kind in kinds.items()} | {"*": "id"}


def _parse(path, dialect, kinds, ids, weights, open_stream, newlines=False) -> tuple[pa.Table, CleanLines]:
    types = {name: {"id": ids, "weight": weights, "other": pa.string(), **_FIXED}[kind] for name, kind in kinds.items()}
    stream, skip = (open_stream(), 0) if open_stream else (files.open_bytes(path), dialect.skip)
    with closing(stream):
        lines = CleanLines(stream, path, dialect, skip, watch_integers=ids == pa.int64())
        if not lines.has_rows():
            return pa.schema(types).empty_table(), lines
        table = _read_csv(
            lines,
            read_options=pyarrow.csv.ReadOptions(column_names=list(dialect.names), block_size=BLOCK),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=False if dialect.delimiter == BLANKS else '"',
                newlines_in_values=newlines,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types,
                include_columns=list(kinds),
                null_values=list(MISSING),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    if lines.quotes and not newlines:  # a quoted value may contain a line break, which needs the slower mode
        return _parse(path, dialect, kinds, ids, weights, open_stream, newlines=True)
    return table, lines


def _read_csv(lines: CleanLines, **options: Any) -> pa.Table:
    """Read with Arrow, and wait until its threads have released the stream. Otherwise a thread could hold the last
    reference and request the GIL at interpreter shutdown, which aborts the process ("terminate called")."""
    stream, released = _LentLines(lines), threading.Event()
    weakref.finalize(stream, released.set)
    source = pa.PythonFile(stream, mode="r")
    del stream
    try:
        return pyarrow.csv.read_csv(source, **options)
    finally:
        del source
        released.wait(1)


class _LentLines(io.RawIOBase):
    """The lines while only Arrow refers to them."""

    def __init__(self, lines: CleanLines):
        self._lines = lines

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._lines.read(size)


def _sample_is_integer(dialect: Dialect, kinds: Mapping[str, str], kind: str) -> bool:
    numbers = [field.strip().lstrip("-") for field in dialect.sampled(name for name in kinds if kinds[name] == kind)]
    return all(number.isascii() and number.isdigit() for number in numbers)


def _settle_ids(
    path: str, dialect: Dialect, kinds: Mapping[str, str], table: pa.Table, id_type: str | None
) -> pa.Table:
    """Convert all id columns to integers if every id is one, else to strings."""
    names = [name for name, kind in kinds.items() if kind == "id"]
    if all(pa.types.is_integer(table.schema.field(name).type) for name in names):
        return cast_columns(table, names, pa.string()) if id_type == "string" else table
    if any(pc.any(pc.equal(table[name], "")).as_py() for name in names):
        explain(path, dialect, kinds, "an id is missing")
    if id_type == "string" or not all(is_integer_text(table[name]) for name in names):
        if id_type == "int64":
            explain(path, dialect, _strict(kinds, id_type), "an id is not an integer")
        if id_type is None:
            _refuse_numbers(path, dialect, kinds, table, names)
        return table
    for kind in (pa.int64(), pa.uint64()):
        try:
            return cast_columns(table, names, kind)
        except pa.ArrowInvalid as error:
            failure = error
    return explain(path, dialect, _strict(kinds, id_type), failure, integers=True)


def _refuse_numbers(path: str, dialect: Dialect, kinds: Mapping[str, str], table: pa.Table, names: list[str]) -> None:
    """Refuse id columns of numbers if some ids are words like `nan` or have a decimal point. Such columns are weights,
    or pandas wrote 1.0, in a column with missing values, for the vertex that another column calls 1."""
    if not all(looks_like_number(field) or field in GAPS for field in dialect.sampled(names)):
        return
    ids = pa.chunked_array([chunk for name in names for chunk in table[name].chunks], table[names[0]].type)
    is_number, is_gap = pc.match_substring_regex(ids, NUMBER_TEXT), pc.is_in(ids, pa.array(GAPS, ids.type))
    if not pc.any(is_number).as_py() or not pc.all(pc.or_(is_number, is_gap)).as_py():
        return
    if pc.any(is_gap).as_py():
        explain(path, dialect, kinds, "an id is missing", gaps=True)
    with_point = pc.match_substring(ids, ".")
    if pc.any(with_point).as_py():
        id = ids[pc.index(with_point, True).as_py()].as_py()
        problem = f"id {id!r} is not an integer, although all ids are numbers"
        remedy = 'choose the id columns with source= and destination=, or write 1 instead of 1.0 with .astype("Int64")'
        raise IdError(f'{path}: {problem} ({remedy}; id_type="string" reads them unchanged)')


def cast_columns(table: pa.Table, names: list[str], kind: pa.DataType) -> pa.Table:
    for name in names:
        table = table.set_column(table.schema.get_field_index(name), name, pc.cast(table[name], kind))
    return table


def is_integer_text(column: pa.ChunkedArray) -> bool:
    """Whether every string that is not missing is an integer as Python prints it."""
    return pc.all(pc.match_substring_regex(column, INTEGER_TEXT)).as_py() is not False


def settle(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column of text to integers or floats if all values are, else leave it unchanged."""
    kinds = (pa.int64(), pa.uint64(), pa.float64()) if is_integer_text(column) else (pa.float64(),)
    if kinds == (pa.float64(),) and pc.any(pc.match_substring_regex(column, r"^[-+]?0[0-9xX]")).as_py():
        return column
    for kind in kinds:
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    return column


def require_rows(table: pa.Table, path: str, expected: int, what: str) -> None:
    if table.num_rows != expected:
        problem = f"{table.num_rows} {what}, but the header declares {expected}"
        raise FileError(problem, path=path, remedy="the file is truncated or its header is wrong: download it again")


def require_ids(table: pa.Table, path: str, row: str, limits: Mapping[str, int | None]) -> list[np.ndarray]:
    """The ids in the columns that `limits` names; raises a FileError unless they run from 1 to its values. `row` says
    what a row is."""
    columns = [table[name].to_numpy() for name in limits]
    for ids, (name, limit) in zip(columns, limits.items(), strict=True):
        outside = (ids < 1) | (ids > limit if limit is not None else False)
        if outside.any():
            at = int(outside.argmax())
            bounds = "count from 1" if limit is None else f"run from 1 to {limit}"
            raise FileError(f"{row} {at + 1} has {name} {ids[at]}", path=path, remedy=f"{name} ids {bounds}")
    return columns


def write_rows(columns: pa.Table | Mapping[str, Any], stream: Any, header: str = "") -> None:
    """Write blank-separated rows, under a header if the format has one."""
    stream.write(header.encode())
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    pyarrow.csv.write_csv(columns if isinstance(columns, pa.Table) else pa.table(columns), stream, options)
