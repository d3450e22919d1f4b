"""EDGES and the options that say how to read them: the same for every command that reads a graph."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dgraph.cli.command import rename_in_errors
from dgraph.cli.options import FILE, UNDIRECTED, VERTICES, WholeNumber, among, offered
from dgraph.cli.place import PLACE, Place, decorated, name_of, take_place
from dgraph.cli.status_line import show_status
from dgraph.errors import FileError, OptionError

POLICIES = ("auto", "outgoing", "incoming", "cartesian", "hybrid", "metis")
LOOPS, REPEATS = click.Choice(["keep", "drop"]), click.Choice(["keep", "first", "sum", "min", "max"])


def formats() -> list[str]:
    """What the shell offers for --format."""
    from dgraph.io.formats import FORMATS

    return list(FORMATS)


READING = (
    click.argument("edges", metavar="EDGES", type=FILE),
    click.option(
        "--format",
        shell_complete=offered(formats),
        help="Format of EDGES, where its suffix does not tell; of standard input: text.",
    ),
    click.option("--source", metavar="COLUMN", help="Column of the edges' sources: a name, or a number, from 0."),
    click.option("--destination", metavar="COLUMN", help="Column of destinations, likewise.  [default: the second]"),
    click.option("--weight", metavar="COLUMN", help="Column of weights, likewise.  [default: none, or the format's]"),
    click.option("--unweighted", is_flag=True, help="Leave out the weights that a file says it has."),
    click.option(
        "--columns",
        multiple=True,
        metavar="COLUMN",
        help="Another edge column to keep; may be repeated; all is every one.  [default: none]",
    ),
    click.option("--header/--no-header", default=None, help="Whether text begins with names of columns.  [guessed]"),
    click.option("--delimiter", metavar="SIGN", help="Between columns of text; ' ' is any run of blanks.  [guessed]"),
    click.option("--id-type", type=click.Choice(["int64", "string"]), help="Of text: by default int64 where all fit."),
    UNDIRECTED,
    VERTICES,
    click.option("--vertex-file", type=FILE, metavar="FILE", help="Lists vertices, for those without edges."),
    click.option("--loops", type=LOOPS, default="keep", show_default=True, help="Edges from a vertex to itself."),
    click.option("--repeats", type=REPEATS, default="keep", show_default=True, help="Edges with the same ends."),
    click.option("--symmetrize", is_flag=True, help="Add the reverse of every edge."),
    among("--policy", POLICIES, "Which partition owns a vertex or an edge: "),
    click.option("--parts", type=WholeNumber(1, 2**16 - 1), help="Partitions.  [default: one for each worker]"),
)
COLUMNS = ("source", "destination", "weight")
HEADS = ("id", "vertex", "node", "name")  # what the one column of a list of vertices may be called
WHOLE = "\x01"  # separates nothing


@dataclass(frozen=True)
class GraphArgument:
    """What a command is told of a graph: the file of its edges, where the graph will be, and how to read it. Nothing is
    read before `graph` is called."""

    path: str
    place: Place
    options: dict[str, Any]

    @contextmanager
    def graph(self) -> Iterator[Any]:
        """The graph; in the block, because the workers that it is on may be started for it. A folder that holds a saved
        graph is opened, and everything else is read as edges."""
        import dgraph as dg
        from dgraph.building.saved_graph import MANIFEST

        with self.place.client() as client, _spooled(self.path) as path:
            how = {name: value for name, value in self.options.items() if value not in (None, ())}
            if "columns" in how:
                how["columns"] = "all" if "all" in how["columns"] else list(how["columns"])
            directed = False if how.pop("undirected") else None
            if (Path(path) / MANIFEST).is_file():
                given = [name for name in how if name not in ("policy", "parts") and how[name] not in (False, "keep")]
                given = ["weight" if name == "unweighted" else name for name in given]
                if given or directed is False:
                    raise OptionError(f"{path} is a saved graph, which has its own {', '.join(given) or 'direction'}")
                policy = None if how["policy"] == "auto" else how["policy"]
                yield dg.open_graph(path, policy=policy, parts=how.get("parts"), client=client)
                return
            if self.path == "-":
                how.setdefault("format", "text")
            if how.pop("unweighted"):
                if "weight" in how:
                    raise OptionError("--weight and --unweighted exclude each other: leave one out")
                how["weight"] = False
            if "vertex_file" in how:
                if "vertices" in how:
                    raise OptionError("--vertices and --vertex-file exclude each other: name one")
                how["vertices"] = _vertices(how.pop("vertex_file"))
            how |= {name: int(how[name]) for name in COLUMNS if str(how.get(name)).isdecimal()}
            with show_status(f"reading {'standard input' if self.path == '-' else self.path}"):
                graph = dg.read_edges(path, directed=directed, client=client, **how)
            yield graph


def reads_graph(command: Callable) -> Callable:
    """The command with the argument EDGES and the options to read it and to say where; it is given these as `edges`, a
    `GraphArgument`."""

    @wraps(command)
    def with_edges(edges: str, **given: Any) -> Any:
        names = [name_of(option) for option in READING[1:]]
        options = {name: given.pop(name) for name in names}
        return command(edges=GraphArgument(edges, take_place(given), options), **given)

    return decorated(with_edges, (*READING, *PLACE))


@contextmanager
def _spooled(path: str) -> Iterator[str]:
    """A path that can be read twice: of the file itself, or of a copy of standard input that goes with the block."""
    if path != "-":
        yield path
        return
    from dgraph.io.files import compression_of

    first = sys.stdin.buffer.read(1 << 22)
    if not first:
        raise OptionError("standard input is empty: pipe edges into it, or name their file instead of -")
    with tempfile.NamedTemporaryFile(suffix=f".txt{compression_of(first)}") as spool:
        spool.write(first)
        with show_status("reading standard input"):
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 22)
            spool.flush()
        with rename_in_errors(spool.name, "standard input"):
            yield spool.name


def _vertices(text: str) -> Any:
    """The frame of vertices in a file: Parquet, CSV whose first line has names, or ids alone, one a line."""
    import pandas as pd

    from dgraph.io.columnar import parquet

    try:
        if text.endswith(parquet.SUFFIXES):
            return pd.read_parquet(text)
        line = str(pd.read_csv(text, header=None, nrows=1, sep=WHOLE, engine="python").iloc[0, 0])
        cells = re.split(r"[,;\s]+", line.strip())
        if cells[0].lstrip("-").isdecimal() or (len(cells) == 1 and cells[0].lower() not in HEADS):
            return pd.read_csv(text, header=None, sep=r"[,;\s]+", engine="python").iloc[:, :1].set_axis(["id"], axis=1)
        return pd.read_csv(text, sep=next((sign for sign in "\t;" if sign in line), ",")).rename(columns=str)
    except (OSError, ValueError) as error:
        problem, remedy = getattr(error, "strerror", None) or error, "name a list of ids, CSV or Parquet"
        raise FileError(f"the vertices cannot be read: {problem}", path=text, remedy=remedy) from error
