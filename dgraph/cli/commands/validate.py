"""`dgraph validate EDGES`: show what may be surprising in a graph, and check whether a file of results is right."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from dgraph.cli.command import Command, in_option_words
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import FILE, as_json, completion
from dgraph.cli.results import read_values
from dgraph.cli.say import say
from dgraph.cli.signatures import id_reader, options_of
from dgraph.errors import AnswerError, InputError, OptionError, WeightError
from dgraph.phrases.phrases import format_count

if TYPE_CHECKING:
    from dgraph.building.validation import Validation

BOOLEANS = {"True": "true", "False": "false"}  # from Python to JSON


WORDS = ("direction", "components", "objective")  # options that are words


class OptionValue(click.ParamType):
    """An option of the operation, as NAME=NUMBER, NAME=BOOLEAN, or NAME=WORD."""

    name = "name=number"

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, Any]:
        name, sign, number = str(value).partition("=")
        if not sign:
            self.fail(f"{value!r} is not NAME=NUMBER")
        try:
            name = name.replace("-", "_")
            return name, number if name in WORDS else json.loads(BOOLEANS.get(number, number))
        except ValueError:
            return self.fail(f"{number!r} is not a number, true or false", param, context)


def verified_operations() -> list[str]:
    """Shell completion of --of: the operations that have a verifier."""
    from dgraph.testing.verify import VERIFIERS

    return [name.replace("_", "-") for name in VERIFIERS]


@click.command("validate", cls=Command)
@click.option("--result", type=FILE, metavar="FILE", help="File of values to check; - is CSV on standard input.")
@click.option(
    "--of", "operation", metavar="OP", shell_complete=completion(verified_operations), help="Operation that was run."
)
@click.option("--source-vertex", multiple=True, metavar="VERTEX", help="Where paths start. May be repeated.")
@click.option("--with", "given", multiple=True, type=OptionValue(), help="Option of the run, such as tol=1e-9.")
@as_json
@graph_options
def command(edges: GraphArguments, as_json: bool, **options: Any) -> None:
    """Count what may be surprising in a graph (loops, repeated edges, isolated vertices, weights), and explain what
    each operation does with it.

    With --result, check instead whether values are right. Other, simpler algorithms verify them in this process. The
    exit code is 1 if they are wrong.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph validate edges.parquet
      $ dgraph run wcc edges.parquet -o components.csv
      $ dgraph validate edges.parquet --result components.csv --of wcc
    """
    if (options["result"] is None) != (options["operation"] is None):
        raise OptionError("--result and --of must be used together: values, and the operation that computed them")
    if edges.path == options["result"] == "-":
        raise OptionError("EDGES and --result cannot both be standard input; use a file for one")
    if options["result"] is not None:
        with edges.graph() as graph:
            outcome = _verified(graph, **options)
            all_of = "all" if outcome["vertices"] == graph.num_vertices else "the"
        text = f"{outcome['result']} is right for {all_of} {format_count(outcome['vertices'], 'vertex')}"
        text += "" if all_of == "all" else " that it lists"
        say(json.dumps(outcome) if as_json else text)
        return
    with edges.spooled() as at_hand:
        try:
            with at_hand.graph() as graph:
                validation = graph.validate()
        except WeightError as error:
            validation = _with_missing_weights(at_hand, error)
    validation = _as_typed(validation)
    say(json.dumps(asdict(validation), default=str) if as_json else repr(validation))


def _with_missing_weights(edges: GraphArguments, error: WeightError) -> Validation:
    """The counts of a graph that cannot be read with its weights because some are missing. Any other `error` is raised
    again."""
    from dgraph.building.validation import validate

    try:
        with edges.graph(weight_as_column=True) as graph:
            found = validate(graph, graph.edges.columns[-1])
    except InputError:
        raise error from None
    if not found.counts.missing_weights:  # the error was about something else, or the format has no such column
        raise error
    return found


def _as_typed(validation: Validation) -> Validation:
    """The result of `Graph.validate`, with arguments spelled as options of this command and of the operations."""
    import dgraph as dg
    from dgraph.cli.commands.run import HELP, RENAMED

    options = click.get_current_context().command.params
    options = [*options, *(one for name in dg.OPERATIONS for one in options_of(getattr(dg, name), RENAMED, HELP))]
    rules = [in_option_words(rule, options) for rule in validation.rules]
    operations = {operation: in_option_words(line, options) for operation, line in validation.operations.items()}
    return replace(validation, rules=rules, operations=operations)


def _with_ids(problem: str, ids: Any) -> str:
    """Add the ids of vertices to the text of a verifier, which refers to vertices by number."""
    numbers = re.findall(r"(?:vertex|edge|-|source|component|label|predecessor|mate)(?: is)? (\d+)", problem)
    names = {number: ids[number] for number in sorted(set(map(int, numbers))) if number < len(ids)}
    text = ", ".join(f"{number} is {name}" for number, name in names.items() if name != number)
    return f"{problem} (by position: {text})" if text else problem


def _verified(graph: Any, result: str, operation: str, source_vertex: tuple[str, ...], given: Any) -> dict[str, Any]:
    """Verify the values in the file `result`, and return the outcome. Raise an AnswerError if they are wrong."""
    import numpy as np
    import pandas as pd

    from dgraph.testing.verify import LIST_SOME, OF_SOURCES, verify

    name, options = operation.replace("-", "_"), dict(given)
    if name.replace("_", "-") not in verified_operations():
        raise OptionError(f"{operation!r} has no verifier; choose one of {', '.join(verified_operations())}")
    if source_vertex:
        read = id_reader(graph.numbering.id_type.kind)
        options["source"] = [read(vertex) for vertex in source_vertex]
    frame = read_values(result, graph.numbering.id_type.kind)
    if "vertex" not in frame:
        raise OptionError(f"{result} has no column 'vertex'; it has {', '.join(map(str, frame))}")
    ids = pd.Index(graph.numbering.ids())
    places = ids.get_indexer(frame["vertex"])
    if name in OF_SOURCES and 0 < len(frame) < len(ids):
        options["sources"] = frame["vertex"].tolist()
    elif name not in LIST_SOME and (len(frame) != len(ids) or len(np.unique(places[places >= 0])) < len(ids)):
        raise OptionError(f"{result} must list each vertex of the graph once")
    try:
        verify(name, graph, frame, **options)
    except AnswerError as error:
        raise AnswerError(_with_ids(str(error), ids)) from error
    except OptionError as error:  # an unknown or a missing option
        text = str(error).replace("source= ", "--source-vertex ")
        raise OptionError(f"{text} (--source-vertex, --with)") from error
    return {"result": result, "operation": name, "vertices": len(frame), "right": True}
