"""`dgraph validate EDGES`: what can surprise in a graph; and whether a file of results is right."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from dgraph.cli.command import Command, as_typed
from dgraph.cli.graph_argument import GraphArgument, reads_graph
from dgraph.cli.options import FILE, as_json, offered
from dgraph.cli.signatures import id_reader, options_of
from dgraph.errors import AnswerError, FileError, OptionError

if TYPE_CHECKING:
    from dgraph.building.validation import Validation

IDS = ("vertex", "predecessor", "component", "label", "mate")  # columns that hold ids of vertices
SWITCHES = {"True": "true", "False": "false"}  # as Python has them, and as JSON does


class OptionValue(click.ParamType):
    """An option of the operation, as NAME=NUMBER."""

    name = "name=number"

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, float]:
        name, sign, number = str(value).partition("=")
        if not sign:
            self.fail(f"{value!r} is not NAME=NUMBER")
        try:
            return name.replace("-", "_"), json.loads(SWITCHES.get(number, number))
        except ValueError:
            return self.fail(f"{number!r} is no number, true or false", param, context)


def verified() -> list[str]:
    """What the shell offers for --of: the operations that have a verifier."""
    from dgraph.testing.verify import OPERATIONS, RATINGS

    return [name.replace("_", "-") for name in (*OPERATIONS, *RATINGS)]


@click.command("validate", cls=Command)
@click.option("--result", type=FILE, metavar="FILE", help="Values that `dgraph run` wrote, or somebody else; - is CSV.")
@click.option(
    "--of", "operation", metavar="OP", shell_complete=offered(verified), help="The operation that found them."
)
@click.option("--source-vertex", multiple=True, metavar="VERTEX", help="A vertex where paths begin; may be repeated.")
@click.option(
    "--with", "given", multiple=True, type=OptionValue(), help="Another option that it was given, as tol=1e-9."
)
@as_json
@reads_graph
def command(edges: GraphArgument, as_json: bool, **asked: Any) -> None:
    """Count what can surprise in a graph (loops, repeats, isolated vertices, weights) and say what each operation does
    with it.

    With --result, say instead whether values are right: they are verified by other, simpler algorithms in this process.
    Exit code 1 if they are wrong.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph validate edges.parquet
      $ dgraph run wcc edges.parquet -o components.csv
      $ dgraph validate edges.parquet --result components.csv --of wcc
    """
    if (asked["result"] is None) != (asked["operation"] is None):
        raise OptionError("--result and --of belong together: a file of values, and the operation that found them")
    if edges.path == asked["result"] == "-":
        raise OptionError("EDGES and --result cannot both be standard input: name a file for one")
    with edges.graph() as graph:
        if asked["result"] is not None:
            told = _verified(graph, **asked)
            text = f"{told['result']} is right, at all {told['vertices']:,} vertices"
            click.echo(json.dumps(told) if as_json else text)
            return
        found = _as_typed(graph.validate())
    click.echo(json.dumps(asdict(found), default=str) if as_json else repr(found))


def _as_typed(found: Validation) -> Validation:
    """What `Graph.validate` says, with arguments spelt as options: those of this command, which made the graph, and
    those of the operations that it speaks of."""
    import dgraph as dg
    from dgraph.cli.commands.run import RENAMED, SAID

    options = click.get_current_context().command.params
    options = [*options, *(one for name in dg.OPERATIONS for one in options_of(getattr(dg, name), RENAMED, SAID))]
    told = {operation: as_typed(line, options) for operation, line in found.operations.items()}
    return replace(found, rules=[as_typed(rule, options) for rule in found.rules], operations=told)


def _with_ids(problem: str, ids: Any) -> str:
    """What a verifier says, which calls vertices by their numbers; their ids are added in brackets."""
    found = re.findall(r"(?:vertex|edge|-|source|component|label|predecessor|mate)(?: is)? (\d+)", problem)
    who = {place: ids[place] for place in sorted(set(map(int, found))) if place < len(ids)}
    told = ", ".join(f"{place} is {name}" for place, name in who.items() if name != place)
    return f"{problem} (by position: {told})" if told else problem


def _verified(graph: Any, result: str, operation: str, source_vertex: tuple[str, ...], given: Any) -> dict[str, Any]:
    """Verify the values in the file `result`; returns the outcome. Wrong values raise an AnswerError."""
    import numpy as np
    import pandas as pd

    from dgraph.testing.verify import verify

    name, options = operation.replace("-", "_"), dict(given)
    if name.replace("_", "-") not in verified():
        raise OptionError(f"{operation!r} has no verifier; there are {', '.join(verified())}")
    if source_vertex:
        read = id_reader(graph.numbering.id_type.kind)
        options["source"] = [read(vertex) for vertex in source_vertex]
    frame = _read(result, graph.numbering.id_type.kind)
    if "vertex" not in frame:
        raise OptionError(f"{result} has no column 'vertex'; it has {', '.join(map(str, frame))}")
    ids = pd.Index(graph.numbering.ids())
    places = ids.get_indexer(frame["vertex"])
    if len(frame) != len(ids) or len(np.unique(places[places >= 0])) < len(ids):
        raise OptionError(f"{result} does not list each vertex of the graph once; are these its values?")
    try:
        verify(name, graph, frame, **options)
    except AnswerError as error:
        raise AnswerError(_with_ids(str(error), ids)) from error
    except OptionError as error:  # an option too many, or too few
        told = str(error).replace("source= ", "--source-vertex ")
        raise OptionError(f"{told} (--source-vertex, --with)") from error
    return {"result": result, "operation": name, "vertices": len(frame), "right": True}


def _read(path: str, kind: str) -> Any:
    """The frame of values in a file, or on standard input where `path` is "-". Where ids are strings their columns are
    read as text, because "007" and "NA" may be ids."""
    import pandas as pd

    from dgraph.io.paths import split_suffix

    types = dict.fromkeys(IDS, "str") if kind == "string" else None
    csv = partial(pd.read_csv, dtype=types, keep_default_na=False, na_values=[""])
    reading = {".csv": csv, ".parquet": pd.read_parquet, ".arrow": pd.read_feather, ".feather": pd.read_feather}
    reader = csv if path == "-" else reading.get(split_suffix(path)[1])
    if reader is None:
        raise OptionError(f"{path}: the suffix tells no format for values; use {', '.join(reading)}, or -")
    try:
        return reader(sys.stdin.buffer if path == "-" else path)
    except (OSError, ValueError) as error:
        problem, remedy = getattr(error, "strerror", None) or error, "`dgraph run ... -o` writes such files"
        raise FileError(f"values cannot be read: {problem}", path=path, remedy=remedy) from error
