"""Delimited text: CSV, TSV and blank-separated edge lists, with or without a header; ids are integers or strings.

Lines that start with `#` or `%` are comments. An empty field or `\\N` is a missing value, which ids must not have.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, IdError
from dgraph.frames.sources import NoWeight
from dgraph.io import files, paths
from dgraph.io.columnar.arrow_tables import concatenate, edge_table, refuse_isolated_vertices, refuse_other_columns
from dgraph.io.edge_list import EdgeList, choose_columns, find_column, warn_of_other_ends
from dgraph.io.text.diagnosis import refuse_arrows
from dgraph.io.text.dialect import Dialect, has_header, looks_like_number, sniff
from dgraph.io.text.table_reader import is_integer_text, read_table, write_rows
from dgraph.phrases.phrases import warn

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".el", ".wel", ".edges", ".edgelist", ".snap", ".dat", ".ncol")
ONLY_EDGES = True
_UNSAFE = r'[\x00-\x20\x7f,;|"]|^[#%]|^\\N$'  # not allowed in ids of a list without quotes
_QUOTED = (".csv", ".tsv", ".tab")

ColumnName = str | int


def read(
    path: str | os.PathLike,
    *,
    source: ColumnName | None = None,
    destination: ColumnName | None = None,
    weight: ColumnName | bool | None = "auto",
    columns: Sequence[ColumnName] | str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    id_type: str | None = None,
) -> EdgeList:
    """The edges of a file, a glob or a folder; columns by name or position, by default the first two.

    `weight="auto"` takes a numeric column that the header calls `weight`. Without a header, a third column is a weight
    only if `weight` says so or the suffix is `.wel`. `columns` names others to keep, or is "all". `delimiter=" "` means
    any run of blanks. `id_type` is "int64", "string" or None, which means integers if all ids are integers.
    """
    choice: Any = {"source": source, "destination": destination, "weight": weight, "columns": columns}
    tables = []
    for name, dialect, spec in describe(path, delimiter=delimiter, header=header, **choice):
        tables.append(read_table(name, dialect, spec.kinds, id_type=id_type).rename_columns(spec.labels))
    start, end = spec.labels[:2]
    table = concatenate(tables, [start, end])
    return EdgeList(table, start, end, weight=spec.weight, unweighted=spec.unweighted)


class ColumnSpec:
    """The columns to read from a file: the kind of each, and its label in the edge table."""

    def __init__(self, path: str, dialect: Dialect, source, destination, weight, columns):
        names, defaults = list(dialect.names), ("source", "destination", "weight")
        if len(names) < 2:
            remedy = "an edge needs two ids; set format=dg.Text(delimiter=...)"
            raise ColumnError(f"{path}: there is only one column, {names[0]!r} ({remedy})")

        def find(what: str, column: Any) -> str:
            if dialect.header:
                without = "a file without header takes positions and format=dg.Text(header=False)"
                remedy = f"its columns are {', '.join(names)}; {without}"
            else:
                position = f"give a position from 0 to {len(names) - 1}"
                remedy = f"the file has no header: {position}, or format=dg.Text(header=True)"
                if isinstance(column, str) and column not in names and column in defaults[: len(names)]:
                    column = defaults.index(column)
            return find_column(path, names, what, column, remedy)

        if is_default(weight, AUTO) and paths.split_suffix(path)[1] == ".wel":
            weight = 2
        if weight is True:
            weight = "weight" if "weight" in names else 2
        choice = {"source": source, "destination": destination, "weight": weight, "columns": columns}
        chosen, label, self.unweighted = choose_columns(path, names, find, **choice, numeric=dialect.looks_numeric)
        if not dialect.header:
            places = [dialect.places[str(name)] for name in self.unweighted.instead or ()]
            self.unweighted = NoWeight(places)
        if source is None and destination is None:
            refuse_arrows(path, dialect, (names.index(chosen[0]), names.index(chosen[1])))
            if dialect.header:
                warn_of_other_ends(names, (chosen[0], chosen[1]))
        self.complete = 2 if label is None else 3  # how many columns must have no missing values: ids and weight
        kinds = ["id", "id", "weight"][: self.complete] + ["other"] * (len(chosen) - self.complete)
        self.kinds = dict(zip(chosen, kinds, strict=True))
        self.labels = chosen if dialect.header else [*defaults[: self.complete], *chosen[self.complete :]]
        self.weight = None if label is None else self.labels[2]


def describe(
    path: str | os.PathLike, *, source, destination, weight, columns, delimiter=None, header=None
) -> list[tuple[str, Dialect, ColumnSpec]]:
    """The files to read, each with its dialect and the columns to read, which have the same labels in all files.

    If there are several files, empty ones are skipped: Hadoop writes a file for every partition.
    """
    names = paths.expand(path, SUFFIXES)
    if len(names) > 1:
        names = [name for name in names if not files.is_empty(name)] or names
    listed = () if columns is None or isinstance(columns, str) else columns
    named = (source, destination, None if is_default(weight, AUTO) else weight, *listed)
    expected = tuple(column for column in named if isinstance(column, str))
    described = []
    for name in names:
        dialect = sniff(name, delimiter=delimiter, header=header, expected=expected)
        if dialect.doubtful:
            _warn_of_first_row(dialect.doubtful)
        spec = ColumnSpec(name, dialect, source, destination, weight, columns)
        if dialect.header and is_default(weight, AUTO):
            weight = spec.weight  # the first file decides
        described.append((name, dialect, spec))
    first = described[0][2].labels
    for name, _, spec in described:
        if spec.labels != first:
            problem = f"{name}: columns {spec.labels}, but {names[0]} has {first}"
            raise ColumnError(f"{problem} (write all files with the same columns)")
    return described


def _warn_of_first_row(first: Sequence[str]) -> None:
    """Warn that the first row may be a header: text above text can be column names or an edge."""
    warn(
        f"the first row, {', '.join(map(repr, first[:2]))}, is read as an edge because it looks like the rows below; "
        "give format=dg.Text(header=True) if it holds column names, format=dg.Text(header=False) if not"
    )


def write(edge_list: EdgeList, path: str | os.PathLike, *, suffix: str | None = None) -> None:
    """`.csv` and `.tsv` get a header and quoted strings; `.wel` and other lists are blank-separated, without either.

    Text holds neither the direction, which is given when the file is read, nor isolated vertices, which are refused.
    """
    table, (source, destination, weight) = edge_table(edge_list)
    suffix = paths.split_suffix(path)[1] if suffix is None else suffix
    refuse_isolated_vertices(edge_list, table, path, "text")
    for name in (source, destination):
        check_text_ids(table[name], path, quoted=suffix in _QUOTED)
    warn_of_whole_numbers([table[source], table[destination]], path)
    if suffix in _QUOTED:
        order = [source, destination, *(name for name in table.column_names if name not in (source, destination))]
        _write_quoted(_with_plain_header(table.select(order), path), path, "," if suffix == ".csv" else "\t")
        return
    refuse_other_columns(table, (source, destination, weight), path)
    if suffix == ".wel" and weight is None:
        raise ColumnError(f"{path}: .wel needs a weight, but the edges have none (write .el, or name a weight)")
    if suffix == ".el" and weight is not None:
        raise ColumnError(f"{path}: .el cannot hold the weight {weight!r} (write .wel, or drop the weight)")
    order, header = [source, destination] + ([weight] if weight else []), ""
    if not table.num_rows or pa.types.is_string(table[source].type):
        header = "# source destination weight\n" if weight else "# source destination\n"
    with files.atomic(path) as stream:
        write_rows(table.select(order), stream, header)


def _with_plain_header(table: pa.Table, path: str | os.PathLike) -> pa.Table:
    """The table, with the ends renamed to `source` and `destination` if its header could be read as a row."""
    for name in table.column_names:
        if looks_like_number(name) or not name or name != name.strip() or any(sign in name for sign in '"\n\r\0'):
            raise ColumnError(f"{path}: a header cannot hold the column name {name!r} (rename the column)")
    rows = [["" if value is None else str(value) for value in row.values()] for row in table.slice(0, 100).to_pylist()]
    if has_header([table.column_names, *rows]):
        return table
    return table.rename_columns(["source", "destination", *table.column_names[2:]])


def _write_quoted(table: pa.Table, path: str | os.PathLike, delimiter: str) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            problem = f"column {name!r} of type {column.type} cannot be written as text"
            raise ColumnError(f"{path}: {problem} (drop it, or write .parquet)")
        if pa.types.is_string(column.type) and (bad := _first_match(column, "\0")) is not None:
            problem = f"{bad!r} in column {name!r} contains a NUL character"
            raise ColumnError(f"{path}: {problem} (replace it, or write .parquet)")
    with files.atomic(path) as stream:
        options = pyarrow.csv.WriteOptions(include_header=True, delimiter=delimiter, quoting_style="needed")
        pyarrow.csv.write_csv(table, stream, options)


def check_text_ids(column: pa.ChunkedArray, path: str | os.PathLike, *, quoted: bool) -> None:
    """Refuse ids that would be read back differently: empty ones, and those that a blank-separated list would split."""
    if not pa.types.is_string(column.type):
        return
    if pc.any(pc.equal(column, "")).as_py():
        problem = "an id is the empty string, which would be read back as missing"
        raise IdError(f"{path}: {problem} (give the vertex a name, or write .parquet)")
    bad = _first_match(column, "\0" if quoted else _UNSAFE)
    if bad is not None:
        remedy = "write .parquet" if quoted else "write .csv or .parquet"
        raise IdError(f"{path}: id {bad!r} contains a blank, a delimiter, a quote or a comment sign ({remedy})")


def warn_of_whole_numbers(columns: Sequence[pa.ChunkedArray], path: str | os.PathLike) -> None:
    """Warn if all ids are strings that would be read back as integers."""
    if all(pa.types.is_string(column.type) and is_integer_text(column) for column in columns) and len(columns[0]):
        warn(
            f"{path}: all ids are strings that look like integers, such as {columns[0][0].as_py()!r}, and text "
            'files do not record types; read the file with id_type="string"'
        )


def _first_match(column: pa.ChunkedArray, pattern: str) -> str | None:
    with paths.explain_failure("the edge list", "a string cannot be written as UTF-8", None, (pa.ArrowInvalid,)):
        at = pc.index(pc.match_substring_regex(column, pattern), True).as_py()
    return None if at < 0 else column[at].as_py()
