"""`dgraph run similarity EDGES -o OUT`, and the other commands whose results have no row for each vertex: frames of
pairs or edges, and numbers that describe the whole graph."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any

import click

from dgraph.cli import signatures
from dgraph.cli.command import Command, print_outcome
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import as_json, output_option
from dgraph.cli.place import add_options
from dgraph.cli.results import read_pairs, show_rows, write_frames, writer_of
from dgraph.cli.say import say
from dgraph.cli.status_line import show_status
from dgraph.errors import IdError, OptionError
from dgraph.phrases.phrases import format_count

NUMBERS = ("diameter", "radius")
TABLES = (
    *("similarity", "k_truss", "truss_number", "neighborhood_function", "spanning_forest"),
    *("bridges", "articulation_points", "biconnected_components"),
)
LISTS = ("is_dag", "find_cycle", "shortest_path", "triad_census", "summary")  # printed as text
MEASURES = (*TABLES, *NUMBERS, *LISTS)
NAMED = {"target": "to_vertex"}  # because --target-vertex of searches is where they stop
OF_MEASURES = {  # replaces docstrings, as HELP of `run.py` does
    "minimum": "Find the spanning forest of the largest weight.",
    "k": "The order: 2 more than the least number of triangles of an edge of the truss.",
    "pairs": "A file of pairs of vertices to compare, in any format of EDGES. By default, each vertex is compared with "
    "all others that share a neighbour.",
}
SHOWN = 10  # rows of frames that are shown without -o
OUTPUT = output_option("the rows, as .csv, .parquet or .arrow; - is CSV on standard output.", metavar="OUT")


def measure_command(name: str, function: Callable, renamed: dict[str, str], texts: dict[str, str]) -> click.Command:
    """The command that calls a function of MEASURES, with an option for each of its parameters."""
    renamed = renamed | NAMED

    def run(edges: GraphArguments, as_json: bool, output: str | None = None, **given: Any) -> None:
        pairs = given.get(f"{signatures.PARAMETER_PREFIX}pairs")
        if pairs == "-":
            raise OptionError("--pairs - is not available: standard input is for edges; put the pairs into a file")
        if output is not None:
            writer_of(output)
            edges.refuse_as_output(output, pairs=pairs)
        begun = time.perf_counter()
        with edges.graph() as graph:
            with show_status("numbering vertices"):
                kind = graph.numbering.id_type.kind
            loaded = time.perf_counter()
            with show_status(f"running {name}"):
                id_of = signatures.id_reader(kind)
                read = partial(read_pairs, id_of=id_of, is_vertex=partial(_is_vertex, graph, id_of))
                arguments = signatures.arguments_from_options(function, given, id_of, read)
                result = function(graph, **arguments)
            ran = time.perf_counter()
            outcome = {"operation": name, "vertices": graph.num_vertices, "edges": graph.num_edges}
            outcome |= _figures(name, result)
            if name in TABLES:
                with show_status(f"writing {output}" if output else "computing rows"):
                    outcome["rows"] = _tell_rows(result, output, as_json, graph.client)
        seconds = {"load": loaded - begun, "run": ran - loaded, "write": time.perf_counter() - ran}
        outcome["seconds"] = {step: round(value, 4) for step, value in seconds.items()}
        if not as_json and name in NUMBERS:
            say(f"{result:.0f}")
        if not as_json and name in LISTS and (lines := _lines(name, result)):
            say(lines)
        if not as_json and name == "neighborhood_function" and output is None:
            say(", ".join(f"{key.replace('_', ' ')} {value:.4g}" for key, value in _figures(name, result).items()))
        text = f"{name} of {format_count(outcome['vertices'], 'vertex')} and {format_count(outcome['edges'], 'edge')}: "
        text += ", ".join(f"{step} {value:.2f} s" for step, value in seconds.items())
        print_outcome(outcome | ({"output": output} if name in TABLES else {}), as_json, text)

    given = "".join(f" --{renamed.get(one, one).replace('_', '-')} 3" for one in signatures.needed(function))
    example = f"{name.replace('_', '-')} edges.parquet{given}{f' -o {name}.csv' if name in TABLES else ''}"
    run.__doc__ = (
        f"{signatures.split_docstring(function)[0]}\n\n\b\nExample:\n"
        f"  $ dgraph generate rmat --scale 10 --weights 1 9 -o edges.parquet\n  $ dgraph run {example}"
    )
    outputs = (OUTPUT,) if name in TABLES else ()
    command = click.command(name.replace("_", "-"), cls=Command)(add_options(as_json(graph_options(run)), outputs))
    command.params[:0] = signatures.options_of(function, renamed, texts)
    return command


def _is_vertex(graph: Any, id_of: Callable[[str], Any], text: str) -> bool:
    with suppress(IdError, OptionError):
        return graph.numbering.find(id_of(text)) >= 0
    return False


def _tell_rows(result: Any, output: str | None, as_json: bool, client: Any) -> int:
    """Write the rows of a result, one partition of a frame after the other, or show the first ones; their number."""
    result = getattr(result, "frame", result)  # of a spanning forest
    if not hasattr(result, "dask"):  # a neighbourhood function, which has few
        if output is not None:
            write_frames([result.pairs], output)
        elif not as_json:
            show_rows(result.pairs)
        return len(result.pairs)
    frame = result.persist(scheduler=client) if client is None else client.persist(result)
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
        show_rows(first)
        if rows > SHOWN:
            say(f"... {rows:,} rows")
    return rows


def _lines(name: str, result: Any) -> str:
    """What is printed of a result of LISTS: vertices or types in a line each, none for a path that does not exist."""
    if name == "summary":
        return repr(result)
    if name == "is_dag":
        return "yes" if result else "no"
    if name == "find_cycle":
        return " -> ".join(map(str, [*result, result[0]])) if result else "no cycle"
    return "\n".join(map(str, result) if isinstance(result, list) else (f"{one} {n}" for one, n in result.items()))


def _figures(name: str, result: Any) -> dict[str, Any]:
    """What a result tells about the whole graph, as JSON has it: null for what is infinite or has no value."""
    if name in NUMBERS:
        return {name: _finite(result if math.isinf(result) else int(result))}
    if name == "is_dag":
        return {name: result}
    if name in ("shortest_path", "find_cycle"):
        key = "path" if name == "shortest_path" else name
        return {key: [one if isinstance(one, int) else str(one) for one in result]}
    if name == "triad_census":
        return {"triads": result}
    if name == "summary":
        values = {one.name: getattr(result, one.name) for one in fields(result)}
        return {**values, "degrees": {column: dict(result.degrees[column]) for column in result.degrees}}
    if name == "spanning_forest":
        return {"weight": _finite(result.totals["weight"]), "trees": result.totals["trees"]}
    if name == "neighborhood_function":
        return {key: getattr(result, key) for key in ("effective_diameter", "mean_distance", "error")}
    return {}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
