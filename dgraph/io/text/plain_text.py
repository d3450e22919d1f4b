"""Delimited text: CSV, TSV and blank-separated edge lists, with or without a header, ids of numbers or strings.

Lines that start with `#` or `%` are comments; an empty field and `\\N` mean "missing", which an id may not be.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dgraph.errors import ColumnError, FileError, IdError, OptionError
from dgraph.io import files, paths
from dgraph.io.columnar.arrow_tables import concatenate, edge_table, no_hidden_vertices, weight_and_others
from dgraph.io.edge_list import EdgeList, warn_of_first_row, warn_of_other_ends
from dgraph.io.text.diagnosis import refuse_arrows
from dgraph.io.text.dialect import Dialect, has_header, looks_like_number, sniff
from dgraph.io.text.table_reader import is_integer_text, read_table
from dgraph.options import is_default
from dgraph.phrases import format_option

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".el", ".wel", ".edges", ".edgelist", ".snap", ".dat", ".ncol")
_UNSAFE = r'[\x00-\x20\x7f,;|"]|^[#%]|^\\N$'  # in an id, for a list without quotes
_QUOTED = (".csv", ".tsv", ".tab")

ColumnName = str | int


def read(
    path: str | os.PathLike,
    *,
    source: ColumnName | None = None,
    destination: ColumnName | None = None,
    weight: ColumnName | bool | None = None,
    columns: Sequence[ColumnName] | str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    id_type: str | None = None,
) -> EdgeList:
    """The edges of a file, a glob or a folder of them; columns by name or position, the first two being the default.

    A third column is a weight when asked for, and always in `.wel`. `columns` names others to keep, or is "all".
    `delimiter=" "` stands for any run of blanks; `id_type` is "int64", "string" or None: integers when all ids are.
    """
    names = expand_text(path)
    choice: Any = {"source": source, "destination": destination, "weight": weight, "columns": columns}
    tables = []
    for name in names:
        dialect, wanted = describe(name, delimiter=delimiter, header=header, **choice)
        tables.append(read_table(name, dialect, wanted.kinds, id_type=id_type).rename_columns(wanted.labels))
    first = tables[0].column_names
    for name, table in zip(names, tables, strict=True):
        if table.column_names != first:
            problem = f"columns {table.column_names} where {names[0]} has {first}"
            raise ColumnError(f"{name}: {problem} (files that are read together need the same columns)")
    start, end = wanted.labels[:2]
    return EdgeList(concatenate(tables, [start, end]), start, end, weight=wanted.weight)


def expand_text(path: str | os.PathLike) -> list[str]:
    """The files to read: of several, those that hold something. Hadoop writes a file for each of its partitions."""
    names = paths.expand(path, SUFFIXES)
    return [name for name in names if not files.is_empty(name)] or names if len(names) > 1 else names


class WantedColumns:
    """The columns to read of a file: what each is, and its label in the edge table."""

    def __init__(self, path: str, dialect: Dialect, source, destination, weight, columns):
        names = list(dialect.names)
        if len(names) < 2:
            raise ColumnError(f"{path}: one column only, {names[0]!r} (an edge needs two ids; name the delimiter=)")
        if weight is None and paths.split_suffix(path)[1] == ".wel":
            weight = 2
        if weight is True:
            weight = "weight" if "weight" in names else 2
        self._path, self._dialect = path, dialect
        at_source = None if source is None else self._place(source, "source")
        at_destination = None if destination is None else self._place(destination, "destination")
        free = [place for place in range(len(names)) if place not in (at_source, at_destination)]
        if at_source is None:
            at_source = free.pop(0)
        if at_destination is None:
            at_destination = free.pop(0)
        if source is None and destination is None:
            refuse_arrows(path, dialect, (at_source, at_destination))
            if dialect.header:
                warn_of_other_ends(names, (names[at_source], names[at_destination]))
        if at_source == at_destination:
            raise OptionError(f"{path}: source and destination are both column {names[at_source]!r}")
        at_weight = None if weight is None or weight is False else self._place(weight, "weight")
        if at_weight in (at_source, at_destination):
            raise OptionError(f"{path}: weight={weight!r} is an id column (name the column that holds the weights)")
        self.kinds = {names[at_source]: "id", names[at_destination]: "id"}
        labels = {} if dialect.header else {at_source: "source", at_destination: "destination"}
        if at_weight is not None:
            self.kinds[names[at_weight]] = "weight"
            labels |= {} if dialect.header else {at_weight: "weight"}
        if is_default(columns, "all"):
            columns = names
        elif isinstance(columns, str):
            raise OptionError(f'columns={columns!r} is neither a list of columns nor "all"')
        for column in columns or ():
            self.kinds.setdefault(names[self._place(column, "columns")], "other")
        self.labels = [labels.get(names.index(name), name) for name in self.kinds]
        self.weight = None if at_weight is None else labels.get(at_weight, names[at_weight])

    @property
    def complete(self) -> int:
        """How many columns, the first ones, lack nothing: the ids and the weight."""
        return sum(kind != "other" for kind in self.kinds.values())

    def _place(self, column: Any, what: str) -> int:
        names = list(self._dialect.names)
        if isinstance(column, int) and not isinstance(column, bool):
            if -len(names) <= column < len(names):
                return column % len(names)
            raise ColumnError(
                f"{self._path}: {what}={column}, but there are only {len(names)} columns (0 is the first)"
            )
        if not isinstance(column, str):
            raise ColumnError(
                f"{self._path}: {format_option(what, column)} is neither the name of a column nor its position"
            )
        if column in names:
            return names.index(column)
        defaults = {"source": 0, "destination": 1, "weight": 2}
        if not self._dialect.header and defaults.get(column, len(names)) < len(names):
            return defaults[column]
        if self._dialect.header:
            remedy = f"its columns are {', '.join(names)}; a file without header takes header=False and positions"
        else:
            remedy = f"the file has no header: give a position from 0 to {len(names) - 1}, or header=True"
        raise ColumnError(f"{self._path}: {what}={column!r}, but there is no such column ({remedy})")


def describe(path: str, *, delimiter, header, source, destination, weight, columns) -> tuple[Dialect, WantedColumns]:
    """How the file is written, and which of its columns to read."""
    listed = () if columns is None or isinstance(columns, str) else columns
    asked = (source, destination, weight, *listed)
    dialect = sniff(path, delimiter=delimiter, header=header, wanted=tuple(c for c in asked if isinstance(c, str)))
    if dialect.doubtful:
        warn_of_first_row(dialect.doubtful)
    return dialect, WantedColumns(path, dialect, source, destination, weight, columns)


def write(edge_list: EdgeList, path: str | os.PathLike, *, suffix: str | None = None) -> None:
    """`.csv` and `.tsv` with a header and quoted strings; `.wel` and other lists blank-separated, without either.

    Text says neither the direction nor which vertices have no edge: the first is given when the file is read, and a
    graph that has the second is refused.
    """
    table, (source, destination, weight) = edge_table(edge_list)
    suffix = paths.split_suffix(path)[1] if suffix is None else suffix
    no_hidden_vertices(edge_list, table, path, "text lists edges only")
    for name in (source, destination):
        check_text_ids(table[name], path, quoted=suffix in _QUOTED)
    warn_of_whole_numbers([table[source], table[destination]], path)
    if suffix in _QUOTED:
        order = [source, destination, *(name for name in table.column_names if name not in (source, destination))]
        _write_quoted(_with_plain_header(table.select(order), path), path, "," if suffix == ".csv" else "\t")
        return
    weight_and_others(table, (source, destination, weight), path)
    if suffix == ".wel" and weight is None:
        raise ColumnError(f"{path}: .wel needs a weight, and the edge list names none (write .el, or name its weight)")
    if suffix == ".el" and weight is not None:
        raise ColumnError(f"{path}: .el has no place for the weight {weight!r} (write .wel, or drop the weight)")
    order = [source, destination] + ([weight] if weight else [])
    with files.atomic(path) as stream:
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        if not table.num_rows or pa.types.is_string(table[source].type):
            stream.write(b"# source destination weight\n" if weight else b"# source destination\n")
        pyarrow.csv.write_csv(table.select(order), stream, options)


def _with_plain_header(table: pa.Table, path: str | os.PathLike) -> pa.Table:
    """The table with its names, or with `source` and `destination` where a reader could take the names for a row."""
    for name in table.column_names:
        if (
            looks_like_number(name)
            or not name.strip()
            or name != name.strip()
            or any(sign in name for sign in '"\n\r\0')
        ):
            raise ColumnError(f"{path}: a header cannot hold the column name {name!r} (rename the column)")
    rows = [["" if value is None else str(value) for value in row.values()] for row in table.slice(0, 100).to_pylist()]
    if has_header([table.column_names, *rows]):
        return table
    return table.rename_columns(["source", "destination", *table.column_names[2:]])


def _write_quoted(table: pa.Table, path: str | os.PathLike, delimiter: str) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            raise ColumnError(
                f"{path}: column {name!r} of type {column.type} has no text form (drop it, or write .parquet)"
            )
        if pa.types.is_string(column.type) and (bad := _first_match(column, "\0")) is not None:
            raise ColumnError(f"{path}: {bad!r} in column {name!r} holds a NUL (replace it, or write .parquet)")
    with files.atomic(path) as stream:
        options = pyarrow.csv.WriteOptions(include_header=True, delimiter=delimiter, quoting_style="needed")
        pyarrow.csv.write_csv(table, stream, options)


def check_text_ids(column: pa.ChunkedArray, path: str | os.PathLike, *, quoted: bool) -> None:
    """Refuse ids that would come back as others: empty ones, and those that a blank-separated list would split."""
    if not pa.types.is_string(column.type):
        return
    if pc.any(pc.equal(column, "")).as_py():
        raise IdError(
            f"{path}: an id is the empty string, which text reads as missing (name the vertex, or write .parquet)"
        )
    bad = _first_match(column, "\0") if quoted else _first_match(column, _UNSAFE)
    if bad is not None:
        remedy = "write .parquet" if quoted else "write .csv or .parquet"
        raise IdError(f"{path}: id {bad!r} holds a blank, a delimiter, a quote or a comment sign ({remedy})")


def warn_of_whole_numbers(columns: Sequence[pa.ChunkedArray], path: str | os.PathLike) -> None:
    """Tell of strings that are all whole numbers, as which they would be read, how to read them as strings."""
    if all(pa.types.is_string(column.type) and is_integer_text(column) for column in columns) and len(columns[0]):
        warnings.warn(
            f"{path}: ids are strings, all whole numbers, as {columns[0][0].as_py()!r} is, and text tells no types: "
            f'read it with id_type="string"',
            stacklevel=2,
        )


def _first_match(column: pa.ChunkedArray, pattern: str) -> str | None:
    try:
        found = pc.index(pc.match_substring_regex(column, pattern), True).as_py()
    except pa.ArrowInvalid as error:
        raise FileError(f"a string cannot be written as UTF-8: {error}", path="the edge list") from error
    return None if found < 0 else column[found].as_py()
