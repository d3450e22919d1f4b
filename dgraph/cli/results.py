"""Writes results and edges to a file, in the format of its suffix, or to standard output; shows the first rows; reads
results again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dgraph.cli.command import rename_in_errors
from dgraph.cli.say import as_table, say, standard_output
from dgraph.cli.status_line import show_status
from dgraph.errors import FileError, OptionError

if TYPE_CHECKING:  # imported when something is written, because help texts must not wait for them
    import pandas as pd
    import pyarrow as pa

SHOWN = 10  # the number of rows shown without -o
IDS = ("vertex", "predecessor", "component", "label", "community", "mate")  # columns of ids


def write_result(result: Any, output: str | None, client: Any) -> None:
    """Write the values of all vertices to a file, or to standard output if `output` is "-"; without `output`, show the
    first rows. Rows are sorted by vertex in this process, and ordered by partition on a cluster."""
    if output is None:
        first = result.frame.head(SHOWN, npartitions=-1, compute=False).compute(scheduler=client)
        show_rows(first, "no vertices")
        return
    write_frames(result.pieces(), output)


def show_rows(first: pd.DataFrame, nothing: str = "no rows") -> None:
    """Show some rows."""
    say(as_table(first) if len(first) else nothing)


def write_frames(frames: Iterable[pd.DataFrame], path: str) -> None:
    """Write frames with the same columns, one after the other, to a file or, if `path` is "-", to standard output. The
    file appears only once it is complete."""
    import pandas as pd
    import pyarrow as pa

    from dgraph.io import files

    writer = writer_of(path)
    tables = (pa.Table.from_pandas(pd.DataFrame(frame), preserve_index=False) for frame in frames)
    first = next(tables)
    if path == "-":
        stream = standard_output()
        _write(writer, first, tables, stream)
        stream.flush()
        return
    with files.atomic(path) as stream:
        _write(writer, first, tables, stream)


def check_format(path: str, ids: str | None = None) -> None:
    """Check, before any work, that the suffixes of a file of edges and of a file of `ids` have formats that fit."""
    from dgraph.io.formats import counts_from_one, format_to_write

    if path != "-":
        format_to_write(path)
    if ids is not None:
        writer_of(ids)
        if path == "-" or not counts_from_one(path):
            problem = f"--renumber {ids} is for formats that number vertices from 1"
            raise OptionError(f"{problem}, but {path} keeps the ids; leave it out")


def write_edges(graph: Any, path: str, isolated: str, ids: str | None = None) -> None:
    """Write the edges of a graph to a file, or as CSV to standard output if `path` is "-".

    With `isolated="drop"`, formats that cannot list vertices without edges drop them. With `ids`, vertices are numbered
    from 1, and their ids are written to that file.
    """
    import dgraph as dg
    from dgraph.io import paths
    from dgraph.io.formats import counts_from_one
    from dgraph.io.text import plain_text

    counted, note = path != "-" and counts_from_one(path), ""
    from_zero = counted and ids is None and _counts_from_zero(graph)
    if from_zero:
        note = f"{path} numbers vertices from 1: vertex 0 becomes 1, and so on"
    elif not graph.directed and (path == "-" or paths.split_suffix(path)[1] in plain_text.SUFFIXES):
        note = f"{path} does not record that edges are undirected; read it with --undirected"
    if path == "-":
        _edges_to_stdout(graph, isolated)
    else:
        with show_status(f"writing {path}"):
            dg.write_edges(graph, path, isolated=isolated, renumber=from_zero or ids is not None)
        if ids is not None:
            write_frames([{"vertex": graph.numbering.ids()}], ids)
    if note:
        say(f"Note: {note}", err=True)


def _edges_to_stdout(graph: Any, isolated: str) -> None:
    """Write the edges as CSV to a temporary file, and then to standard output. If that fails, nothing is printed."""
    import dgraph as dg

    with TemporaryDirectory(prefix="dgraph-") as folder:
        file = Path(folder, "edges.csv")
        with rename_in_errors(str(file), "standard output"):
            dg.write_edges(graph, file, isolated=isolated)
        with file.open("rb") as stream:
            shutil.copyfileobj(stream, out := standard_output())
        out.flush()


def _counts_from_zero(graph: Any) -> bool:
    """Whether the ids are 0, 1, 2, ..."""
    ids, size = graph.numbering.ids(), graph.num_vertices
    return graph.numbering.id_type.kind == "integer" and size > 0 and ids[0] == 0 and ids[-1] == size - 1


def writer_of(path: str, vectors: bool = False) -> Callable:
    """The function that opens a writer of Arrow tables for the suffix of a file, or for CSV if `path` is "-".

    Unknown suffixes, and formats that cannot hold `vectors`, are errors, so commands call this before any work.
    """
    import pyarrow as pa
    from pyarrow import csv, parquet

    from dgraph.io.paths import split_suffix

    text = partial(csv.CSVWriter, write_options=csv.WriteOptions(quoting_style="needed"))
    arrow = pa.ipc.new_file
    writers = {".csv": text, ".parquet": parquet.ParquetWriter, ".arrow": arrow, ".feather": arrow}
    suffix, compression = (".csv", "") if path == "-" else split_suffix(path)[1:]
    if suffix not in writers:
        raise OptionError(f"{path}: unknown suffix for values; use {', '.join(writers)}, or -")
    if vectors and suffix == ".csv":
        raise OptionError(f"{path}: the values are vectors, which CSV cannot hold; write .parquet or .arrow")
    if compression and suffix != ".csv":
        raise OptionError(f"{path}: {suffix} files are compressed internally; leave out {compression}")
    return writers[suffix]


def _write(writer: Callable, first: pa.Table, others: Iterator[pa.Table], stream: Any) -> None:
    """Write tables to a stream, with the column types of the first."""
    import pyarrow as pa

    try:
        with writer(pa.PythonFile(stream, mode="w"), first.schema) as sink:
            sink.write_table(first)
            for table in others:
                sink.write_table(table.cast(first.schema))
    except pa.ArrowInvalid as error:
        raise OptionError(f"this format cannot hold a column: {error}; write .parquet or .arrow") from error


def read_pairs(path: str, id_of: Callable[[str], Any], is_vertex: Callable[[Any], bool]) -> Any:
    """The pairs of vertices in a file of any format of edges. The first row of text is a heading if it names no vertex;
    `id_of` makes an id of text."""
    import dgraph as dg
    from dgraph.io.formats import format_of

    if format_of(path, None) != "text":
        return dg.read_edges(path, weight=None).edges.compute()
    pairs = dg.read_edges(path, format=dg.Text(header=False), weight=None, id_type="string").edges.compute()
    heading = len(pairs) > 0 and not any(is_vertex(one) for one in pairs.iloc[0, :2])
    return pairs.iloc[int(heading) :, :2].map(id_of)


def read_values(path: str, kind: str) -> Any:
    """The values of vertices in a file, as `write_result` writes them, or on standard input if `path` is "-".

    If ids are strings, their columns are read as text, because "007" and "NA" may be ids.
    """
    import pandas as pd

    from dgraph.io.paths import split_suffix

    types = dict.fromkeys(IDS, "str") if kind == "string" else None
    csv = partial(pd.read_csv, dtype=types, keep_default_na=False, na_values=[""])
    reading = {".csv": csv, ".parquet": pd.read_parquet, ".arrow": pd.read_feather, ".feather": pd.read_feather}
    reader = csv if path == "-" else reading.get(split_suffix(path)[1])
    if reader is None:
        raise OptionError(f"{path}: unknown suffix for values; use {', '.join(reading)}, or -")
    try:
        return reader(sys.stdin.buffer if path == "-" else path)
    except (OSError, ValueError) as error:
        problem, remedy = getattr(error, "strerror", None) or error, "`dgraph run ... -o` writes such files"
        raise FileError(f"cannot read the values: {problem}", path=path, remedy=remedy) from error
