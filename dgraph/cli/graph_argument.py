"""The argument EDGES and the options for reading it, which all commands that read a graph share."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dgraph.cli.command import rename_in_errors
from dgraph.cli.options import FILE, MEMORY, UNDIRECTED, VERTICES, WholeRange, choice_option, completion
from dgraph.cli.place import PLACE, Place, add_options, option_name, pop_place
from dgraph.cli.status_line import show_status
from dgraph.cli.vertex_files import read_vertices
from dgraph.errors import OptionError

POLICIES = ("auto", "outgoing", "incoming", "cartesian", "hybrid", "metis")
ID_TYPES = click.Choice(["int64", "string"])
LOOPS, REPEATS = click.Choice(["keep", "drop"]), click.Choice(["keep", "first", "sum", "min", "max"])


def formats() -> list[str]:
    """Shell completion of --format."""
    from dgraph.io.formats import FORMATS

    return list(FORMATS)


READING = (
    click.argument("edges", metavar="EDGES", type=FILE),
    click.option(
        "--format", shell_complete=completion(formats), help="Format of EDGES.  [default: by suffix, or text]"
    ),
    click.option("--source", metavar="COLUMN", help="Name of the source column, or its number from 0.  [default: 0]"),
    click.option("--destination", metavar="COLUMN", help="Name or number of the destination column.  [default: 1]"),
    click.option(
        "--weight",
        metavar="COLUMN",
        help="Name or number of the weight column.  [default: the weight column that the format defines, or a numeric "
        "column called weight]",
    ),
    click.option("--unweighted", is_flag=True, help="Make a graph without weights."),
    click.option("--columns", multiple=True, metavar="COLUMN", help="Edge column to keep, or 'all'. May be repeated."),
    click.option(
        "--header/--no-header", default=None, help="Whether text starts with column names.  [default: guessed]"
    ),
    click.option("--delimiter", help="Delimiter of columns in text; ' ' means any whitespace.  [default: guessed]"),
    click.option("--id-type", type=ID_TYPES, help="Type of ids in text.  [default: int64 if all ids fit]"),
    UNDIRECTED,
    VERTICES,
    click.option(
        "--vertex-file", type=FILE, metavar="FILE", help="File that lists the vertices, including those without edges."
    ),
    click.option("--loops", type=LOOPS, default="keep", help="What to do with edges from a vertex to itself."),
    click.option("--repeats", type=REPEATS, default="keep", help="What to do with edges that have the same ends."),
    click.option("--symmetrize", is_flag=True, help="Add the reverse of every edge."),
    choice_option("--policy", POLICIES, "Which partition owns a vertex or an edge"),
    click.option("--parts", type=WholeRange(1, 2**16 - 1), help="Number of partitions.  [default: one per worker]"),
    MEMORY,
)
COLUMNS, WEIGHTING = ("source", "destination", "weight"), ("weight", "unweighted")


@dataclass(frozen=True)
class GraphArguments:
    """The file of edges, how to read it, and where the graph will be. Nothing is read before `graph` is called."""

    path: str
    place: Place
    options: dict[str, Any]

    @contextmanager
    def spooled(self) -> Iterator[GraphArguments]:
        """These arguments with a path that can be read several times, for the duration of the block."""
        with _spooled(self.path) as path:
            yield replace(self, path=path)

    def refuse_as_output(self, output: str, **others: str | None) -> None:
        """Refuse an output that would replace a file that is read: of edges, of vertices, or one of the others."""
        read = {"edges": self.path, "vertices": self.options.get("vertex_file"), **others}
        for what, path in read.items():
            if path is not None and "-" not in (output, path) and Path(output).resolve() == Path(path).resolve():
                raise OptionError(f"{output} is the file of {what}; write the output to another file")

    @contextmanager
    def graph(self, *, weight_as_column: bool = False) -> Iterator[Any]:
        """The graph, for the duration of the block, because it may need workers that are started for it.

        A folder with a saved graph is opened; anything else is read as edges. With `weight_as_column`, the weight is
        the last of other columns, in which values may be missing.
        """
        import dgraph as dg
        from dgraph.building.saved_graph import MANIFEST
        from dgraph.frames.sources import WEIGHT

        with self.place.client(self.options.get("memory")) as client, _spooled(self.path) as path:
            how = {name: value for name, value in self.options.items() if value not in (None, ())}
            if "columns" in how:
                how["columns"] = "all" if "all" in how["columns"] else list(how["columns"])
            directed = False if how.pop("undirected") else None
            if (Path(path) / MANIFEST).is_file():
                kept = ("policy", "parts", "memory", *WEIGHTING)
                given = [name for name in how if name not in kept and how[name] not in (False, "keep")]
                if given or directed is False:
                    fixed = ", ".join(given) or "direction"
                    raise OptionError(f"{path} is a saved graph, whose {fixed} cannot be changed")
                policy = None if how["policy"] == "auto" else how["policy"]
                weight = _weight(how)
                where = {name: how.get(name) for name in ("parts", "memory")}
                yield dg.open_graph(path, **weight, policy=policy, **where, client=client)
                return
            if self.path == "-":
                how.setdefault("format", "text")
            how |= _weight(how)
            if "vertex_file" in how:
                if "vertices" in how:
                    raise OptionError("--vertices and --vertex-file are mutually exclusive")
                how["vertices"] = read_vertices(how.pop("vertex_file"))
            how |= {name: int(how[name]) for name in COLUMNS if str(how.get(name)).isdecimal()}
            how |= _format(path, how)
            if weight_as_column:
                how |= {"columns": [how.get("weight") or WEIGHT], "weight": None}
            with show_status(f"reading {'standard input' if self.path == '-' else self.path}"):
                graph = dg.read_edges(path, directed=directed, client=client, **how)
            yield graph


def graph_options(command: Callable) -> Callable:
    """Add the argument EDGES, the options for reading it, and those in PLACE. The command receives `edges`."""

    @wraps(command)
    def with_edges(edges: str, **given: Any) -> Any:
        options = {name: given.pop(name) for name in map(option_name, READING[1:])}
        return command(edges=GraphArguments(edges, pop_place(given), options), **given)

    return add_options(with_edges, (*READING, *PLACE))


@contextmanager
def _spooled(path: str) -> Iterator[str]:
    """A path that can be read twice: `path`, or a copy of standard input that exists during the block."""
    if path != "-":
        yield path
        return
    from dgraph.io.files import compression_of

    first = sys.stdin.buffer.read(1 << 22)
    if not first:
        raise OptionError("standard input is empty; pipe edges into it, or give the path of a file instead of -")
    with tempfile.NamedTemporaryFile(suffix=f".txt{compression_of(first)}") as spool:
        spool.write(first)
        with show_status("reading standard input"):
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 22)
            spool.flush()
        with rename_in_errors(spool.name, "standard input"):
            yield spool.name


def _weight(how: dict[str, Any]) -> dict[str, Any]:
    """Replace --weight and --unweighted in `how` with the option `weight` that they stand for."""
    given = {name: how.pop(name) for name in WEIGHTING if name in how}
    if not given.pop("unweighted"):
        return given
    if given:
        raise OptionError("--weight and --unweighted are mutually exclusive")
    return {"weight": None}


def _format(path: str, how: dict[str, Any]) -> dict[str, Any]:
    """The option `format` with those of text, which are taken out."""
    from dgraph.io.format_options import format_with
    from dgraph.io.formats import format_of, usual_weight

    text: dict[str, Any] = {name: how.pop(name) for name in ("delimiter", "header") if name in how}
    if not text:
        return {}
    named = how.get("format")
    weight = usual_weight(named, how.get("weight", "auto"))
    return {"format": format_with(path, format_of(path, named), text), "weight": weight}
