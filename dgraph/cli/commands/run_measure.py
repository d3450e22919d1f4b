"""`dgraph run similarity EDGES -o OUT`, and the other commands whose results have no row for each vertex: frames of
pairs, edges or walks, and numbers that describe the whole graph."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import click

from dgraph.cli import signatures
from dgraph.cli.command import Command, print_outcome
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import as_json, output_option
from dgraph.cli.place import add_options
from dgraph.cli.results import read_pairs, show_rows, write_frames, writer_of
from dgraph.cli.say import say
from dgraph.cli.status_line import show_status
from dgraph.cli.vertex_files import read_ids
from dgraph.errors import IdError, OptionError
from dgraph.phrases.phrases import format_count

NAMED = {"target": "to_vertex", "starts": "start_vertex", "seeds": "seed_vertex"}  # as flags of searches, or of seeds
INPUT_FILES = {"pairs": "pairs", **signatures.LIST_FILES}  # the options that take a file, by what is in it
OF_MEASURES = {  # replaces docstrings, as HELP of `run.py` does
    "fanouts": "Number of edges to sample for each vertex; -1 takes all. Give one for each hop.",
    "minimum": "Find the spanning forest of the largest weight.",
    "k": "The order: 2 more than the least number of triangles of an edge of the truss.",
    "pairs": "A file of pairs of vertices to compare, in any format of EDGES. By default, each vertex is compared with "
    "all others that share a neighbour.",
    "seeds": "A vertex to begin with.",
    "starts": "Where a walk begins; by default, one walk begins at each vertex.",
}
SHOWN = 10  # rows of frames that are shown without -o
OUTPUT = output_option("the rows, as .csv, .parquet or .arrow; - is CSV on standard output.", metavar="OUT")


class Account(NamedTuple):
    """How a command tells a result: the frame that -o writes, the text that is printed otherwise, and what JSON says
    about the whole graph, with null for what is infinite or has no value."""

    frame: Callable[[Any], Any] | None = None
    text: Callable[[Any], str] = lambda result: ""
    figures: Callable[[Any], dict[str, Any]] = lambda result: {}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(name: str) -> Account:
    """Of a length in edges, perhaps infinite."""
    return Account(None, "{:.0f}".format, lambda length: {name: int(length) if math.isfinite(length) else None})


def _as_json(ids: list[Any]) -> list[Any]:
    return [one if isinstance(one, int) else str(one) for one in ids]


def _figures_of_function(found: Any) -> dict[str, float]:
    return {key: getattr(found, key) for key in ("effective_diameter", "mean_distance", "error")}


def _figures_of_summary(found: Any) -> dict[str, Any]:
    values = {one.name: getattr(found, one.name) for one in fields(found)}
    return {**values, "degrees": {column: dict(found.degrees[column]) for column in found.degrees}}


ROWS = Account(lambda result: result)
MEASURES = {
    "similarity": ROWS,
    "k_truss": ROWS,
    "truss_number": ROWS,
    "neighborhood_function": Account(
        lambda found: found.pairs,
        lambda found: ", ".join(f"{key.replace('_', ' ')} {x:.4g}" for key, x in _figures_of_function(found).items()),
        _figures_of_function,
    ),
    "spanning_forest": Account(
        lambda forest: forest.frame,
        figures=lambda forest: {"weight": _finite(forest.totals["weight"]), "trees": forest.totals["trees"]},
    ),
    "bridges": ROWS,
    "articulation_points": ROWS,
    "biconnected_components": ROWS,
    "random_walks": ROWS,
    "sample_neighbors": Account(lambda sample: sample.edges),
    "diameter": _number("diameter"),
    "radius": _number("radius"),
    "is_dag": Account(None, lambda found: "yes" if found else "no", lambda found: {"is_dag": found}),
    "find_cycle": Account(
        None,
        lambda cycle: " -> ".join(map(str, [*cycle, *cycle[:1]])) or "no cycle",
        lambda cycle: {"find_cycle": _as_json(cycle)},
    ),
    "shortest_path": Account(None, lambda path: "\n".join(map(str, path)), lambda path: {"path": _as_json(path)}),
    "triad_census": Account(
        None,
        lambda census: "\n".join(f"{name} {count}" for name, count in census.items()),
        lambda census: {"triads": census},
    ),
    "summary": Account(None, repr, _figures_of_summary),
}


def measure_command(name: str, function: Callable, renamed: dict[str, str], texts: dict[str, str]) -> click.Command:
    """The command that calls a function of MEASURES, with an option for each of its parameters."""
    renamed, account = renamed | NAMED, MEASURES[name]

    def run(edges: GraphArguments, as_json: bool, output: str | None = None, **given: Any) -> None:
        files = _files_of(given)
        if output is not None:
            writer_of(output)
            edges.refuse_as_output(output, **files)
        begun = time.perf_counter()
        with edges.graph() as graph:
            with show_status("numbering vertices"):
                kind = graph.numbering.id_type.kind
            loaded = time.perf_counter()
            with show_status(f"running {name}"):
                id_of = signatures.id_reader(kind)
                pairs = partial(read_pairs, id_of=id_of, is_vertex=partial(_is_vertex, graph, id_of))
                read = pairs if "pairs" in files else read_ids
                result = function(graph, **signatures.arguments_from_options(function, given, id_of, read))
            ran = time.perf_counter()
            outcome = {"operation": name, "vertices": graph.num_vertices, "edges": graph.num_edges}
            outcome |= account.figures(result)
            if account.frame is not None:
                with show_status(f"writing {output}" if output else "computing rows"):
                    outcome["rows"] = _tell_rows(account.frame(result), output, as_json, graph.client)
        seconds = {"load": loaded - begun, "run": ran - loaded, "write": time.perf_counter() - ran}
        outcome["seconds"] = {step: round(value, 4) for step, value in seconds.items()}
        if not as_json and output is None and (text := account.text(result)):
            say(text)
        text = f"{name} of {format_count(outcome['vertices'], 'vertex')} and {format_count(outcome['edges'], 'edge')}: "
        text += ", ".join(f"{step} {value:.2f} s" for step, value in seconds.items())
        print_outcome(outcome | ({"output": output} if account.frame else {}), as_json, text)

    given = "".join(f" --{renamed.get(one, one).replace('_', '-')} 3" for one in signatures.needed(function))
    example = f"{name.replace('_', '-')} edges.parquet{given}{f' -o {name}.csv' if account.frame else ''}"
    run.__doc__ = (
        f"{signatures.split_docstring(function)[0]}\n\n\b\nExample:\n"
        f"  $ dgraph generate rmat --scale 10 --weights 1 9 -o edges.parquet\n  $ dgraph run {example}"
    )
    outputs = (OUTPUT,) if account.frame else ()
    command = click.command(name.replace("_", "-"), cls=Command)(add_options(as_json(graph_options(run)), outputs))
    command.params[:0] = signatures.options_of(function, renamed, texts)
    return command


def _files_of(given: dict[str, Any]) -> dict[str, str | None]:
    """The files that options name, by what is in them; refuses standard input."""
    names = {what: f"{signatures.PARAMETER_PREFIX}{option}" for what, option in INPUT_FILES.items()}
    files = {what: given[name] for what, name in names.items() if name in given}
    for what, path in files.items():
        if path == "-":
            flag = INPUT_FILES[what].replace("_", "-")
            raise OptionError(f"--{flag} - is not available: standard input is for edges; put the {what} into a file")
    return files


def _is_vertex(graph: Any, id_of: Callable[[str], Any], text: str) -> bool:
    with suppress(IdError, OptionError):
        return graph.numbering.find(id_of(text)) >= 0
    return False


def _tell_rows(frame: Any, output: str | None, as_json: bool, client: Any) -> int:
    """Write the rows of a frame, one partition after the other, or show the first ones; their number."""
    if not hasattr(frame, "dask"):
        if output is not None:
            write_frames([frame], output)
        elif not as_json:
            _show(frame[:SHOWN], len(frame))
        return len(frame)
    frame = frame.persist(scheduler=client) if client is None else client.persist(frame)
    rows = 0

    def pieces() -> Iterator[Any]:
        nonlocal rows
        for part in range(frame.npartitions):
            piece = frame.get_partition(part).compute(scheduler=client)
            rows += len(piece)
            yield piece

    if output is not None:
        write_frames(pieces(), output)
        return rows
    first = frame.head(SHOWN, npartitions=-1, compute=False).compute(scheduler=client)
    rows = int(frame.shape[0].compute(scheduler=client))
    if not as_json:
        _show(first, rows)
    return rows


def _show(first: Any, rows: int) -> None:
    show_rows(first)
    if rows > SHOWN:
        say(f"... {rows:,} rows")
