"""What a run found, or the edges of a graph, written to a file by its suffix, to standard output, or shown."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from dgraph.cli.command import rename_in_errors
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError

if TYPE_CHECKING:  # loaded when something is written: a help text must not wait for them
    import pandas as pd
    import pyarrow as pa

SHOWN = 10  # rows, where no output is named


def write_result(result: Any, output: str | None, client: Any) -> None:
    """Write the values of all vertices to a file, or to standard output where `output` is "-": sorted by vertex in this
    process, partition after partition on a cluster. Without `output` the first are shown."""
    if output is None:
        first = result.frame.head(SHOWN, npartitions=-1, compute=False).compute(scheduler=client)
        click.echo(first.to_string(index=False) if len(first) else "no vertices")
        return
    write_frames(result.pieces(), output)


def write_frames(frames: Iterable[pd.DataFrame], path: str) -> None:
    """Write frames of the same columns to one file, one after the other, or to standard output where `path` is "-". The
    file appears whole or not at all."""
    import pandas as pd
    import pyarrow as pa

    from dgraph.io import files

    writer = writer_of(path)
    tables = (pa.Table.from_pandas(pd.DataFrame(frame), preserve_index=False) for frame in frames)
    first = next(tables)
    if path == "-":
        _write(writer, first, tables, sys.stdout.buffer)
        return
    with files.atomic(path) as stream:
        _write(writer, first, tables, stream)


def check_format(path: str, ids: str | None = None) -> None:
    """Refuse a file of edges, or one of `ids`, whose suffix tells no format, or does not fit the other. Commands call
    it before their work begins."""
    from dgraph.io.formats import counts_from_one, written_as

    if path != "-":
        written_as(path)
    if ids is not None:
        writer_of(ids)
        if path == "-" or not counts_from_one(path):
            problem = f"--renumber {ids} is for formats that count vertices from 1"
            raise OptionError(f"{problem}, and {path} has ids as they are: leave it out")


def write_edges(graph: Any, path: str, isolated: str, ids: str | None = None) -> None:
    """Write the edges of a graph to a file, or as CSV to standard output where `path` is "-". Of vertices without edges
    `isolated` says whether a format that cannot list them may "drop" them. If `ids` is given, vertices are numbered
    from 1, and their ids go to that file."""
    import dgraph as dg
    from dgraph.io import paths
    from dgraph.io.formats import counts_from_one
    from dgraph.io.text import plain_text

    counted, note = path != "-" and counts_from_one(path), ""
    from_zero = counted and ids is None and _counts_from_zero(graph)
    if from_zero:
        note = f"{path} counts vertices from 1: vertex 0 is its 1, and so on"
    elif not graph.directed and (path == "-" or paths.split_suffix(path)[1] in plain_text.SUFFIXES):
        note = f"{path} does not tell that edges have no direction: read it with --undirected"
    if path == "-":
        _edges_to_stdout(graph, isolated)
    else:
        with show_status(f"writing {path}"):
            dg.write_edges(graph, path, isolated=isolated, renumber=from_zero or ids is not None)
        if ids is not None:
            write_frames([{"vertex": graph.numbering.ids()}], ids)
    if note:
        click.echo(f"Note: {note}", err=True)


def _edges_to_stdout(graph: Any, isolated: str) -> None:
    """Write the edges as CSV to standard output, by way of a file: so nothing is printed if that fails."""
    import dgraph as dg

    with TemporaryDirectory(prefix="dgraph-") as folder:
        file = Path(folder, "edges.csv")
        with rename_in_errors(str(file), "standard output"):
            dg.write_edges(graph, file, isolated=isolated)
        with file.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _counts_from_zero(graph: Any) -> bool:
    """Whether the ids are the numbers 0, 1, 2 ..."""
    found, size = graph.numbering.ids(), graph.num_vertices
    return graph.numbering.id_type.kind == "integer" and size > 0 and found[0] == 0 and found[-1] == size - 1


def writer_of(path: str, vectors: bool = False) -> Callable:
    """The function that opens a writer of Arrow tables for a file, by its suffix; for "-", of CSV. Suffixes that tell
    none, or one that cannot hold `vectors`, are refused; so a run asks it first, to do no work in vain."""
    from dgraph.io.paths import split_suffix

    _, suffix, compression = split_suffix(path)
    writer = _csv if path == "-" else WRITERS.get(suffix)
    if writer is None:
        raise OptionError(f"{path}: the suffix tells no format for values; use {', '.join(WRITERS)}, or -")
    if vectors and writer is _csv:
        raise OptionError(f"{path}: the values are vectors, which CSV cannot hold; write .parquet or .arrow")
    if compression and writer is not _csv:
        raise OptionError(f"{path}: {suffix} is compressed inside, and not by a suffix; leave out {compression}")
    return writer


def _write(writer: Callable, first: pa.Table, others: Iterator[pa.Table], stream: Any) -> None:
    """Write tables to a stream, in the types of the first."""
    import pyarrow as pa

    try:
        with writer(pa.PythonFile(stream, mode="w"), first.schema) as sink:
            sink.write_table(first)
            for table in others:
                sink.write_table(table.cast(first.schema))
    except pa.ArrowInvalid as error:
        raise OptionError(f"a column has no form in this format: {error}; write .parquet or .arrow") from error


def _csv(stream: Any, schema: pa.Schema) -> Any:
    from pyarrow import csv

    return csv.CSVWriter(stream, schema, write_options=csv.WriteOptions(quoting_style="needed"))


def _arrow(stream: Any, schema: pa.Schema) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(stream, schema)


def _parquet(stream: Any, schema: pa.Schema) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(stream, schema)


WRITERS: dict[str, Callable] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
