"""Files that list vertices: those of the graph, or those that an option names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dgraph.errors import ColumnError, DgraphError, FileError, IdError

ID_HEADERS = ("id", "vertex", "node", "name")  # headings of a file that lists only ids
ID_COLUMNS = ("vertex", "id")  # of a table with other columns
NO_SEPARATOR = "\x01"


def read_ids(path: str) -> list[str]:
    """The ids of vertices in a file as text: whole lines, or the column `vertex` or `id` of CSV or Parquet."""
    from dgraph.io.columnar import parquet
    from dgraph.partition.ids.chunk import chunk_of_vertices

    with _explain_failure(path):
        if not path.endswith(parquet.SUFFIXES):
            return _ids_of_text(path)
        frame = parquet.read_frame(path)
        name = next((one for one in ID_COLUMNS if one in frame.columns), None)
        if name is None and len(frame.columns) != 1:
            problem = f"{path} has the columns {', '.join(map(str, frame.columns))}"
            raise ColumnError(f"{problem}, and none is called vertex or id; rename the column of vertices")
        name = str(frame.columns[0]) if name is None else name
        try:
            chunk = chunk_of_vertices(frame.rename(columns=str), name)
        except IdError as error:
            raise IdError(f"{path}: {error}") from error
        return list(map(str, chunk.id_type.restore(chunk.sources).tolist()))


def _ids_of_text(path: str) -> list[str]:
    """One id per line; or, if the first line names the column of ids among others, CSV."""
    from dgraph.io import files

    with files.open_bytes(path) as stream:
        text = io.StringIO(stream.read().decode("utf-8-sig"), newline=None)  # any ends of lines
    first, *lines = [line for line in text if line.strip()] or [""]
    sign = _separator(first)
    heading = [cell.strip() for cell in next(csv.reader([first], delimiter=sign), [])]
    place = next((heading.index(one) for one in ID_COLUMNS if one in heading), None)
    if place is None:
        return [_unquoted(line) for line in (first, *lines) if line]
    if len(heading) == 1:
        return [_unquoted(line) for line in lines]
    rows = list(csv.reader(lines, delimiter=sign))
    for number, row in enumerate(rows):
        if len(row) != len(heading):
            problem = f"row {number} has another number of columns than the heading: {sign.join(row)!r}"
            raise FileError(problem, path=path, remedy=f"put values that contain {sign!r} in quotes")
        if not row[place].strip():
            raise IdError(f"{path}: column {heading[place]!r}, row {number}: the id is missing; drop such rows first")
    return [row[place].strip() for row in rows]


def _unquoted(line: str) -> str:
    line = line.strip()
    return line[1:-1].replace('""', '"') if len(line) > 1 and line[0] == line[-1] == '"' else line


def _separator(line: str) -> str:
    return next((sign for sign in "\t;" if sign in line), ",")


def read_vertices(path: str) -> Any:
    """The vertices in a file: Parquet, CSV with a heading, or one id per line; text may be compressed."""
    from dgraph.io.columnar import parquet

    with _explain_failure(path):
        return parquet.read_frame(path) if path.endswith(parquet.SUFFIXES) else _vertices_of_text(path)


def _vertices_of_text(path: str) -> Any:
    import pandas as pd

    from dgraph.io import files

    def read(**options: Any) -> Any:
        with files.open_bytes(path) as stream:
            return pd.read_csv(stream, **options)

    line = str(read(header=None, nrows=1, sep=NO_SEPARATOR, engine="python").iloc[0, 0]).strip()
    if re.split(r"[,;\s]+", line)[0].lstrip("-").isdecimal():
        return read(header=None, sep=r"[,;\s]+", engine="python").iloc[:, :1].set_axis(["id"], axis=1)
    sign = _separator(line)
    if sign in line or line.lower() in ID_HEADERS:
        return read(sep=sign).rename(columns=str)
    return pd.DataFrame({"id": _ids_of_text(path)})


@contextmanager
def _explain_failure(path: str) -> Iterator[None]:
    import pyarrow as pa

    from dgraph.native.free_memory import explain_lack_of_memory

    try:
        with explain_lack_of_memory(path, "read the vertices"):
            yield
    except DgraphError:
        raise
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        problem, remedy = getattr(error, "strerror", None) or error, "expected one id per line, CSV or Parquet"
        raise FileError(f"cannot read the vertices: {problem}", path=path, remedy=remedy) from error
