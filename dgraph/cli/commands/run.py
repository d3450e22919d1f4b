"""`dgraph run OP EDGES -o OUT`: one command for each operation, its options those of the function users call."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import dgraph as dg
from dgraph.cli.command import Command, Group, print_outcome
from dgraph.cli.graph_argument import GraphArgument, reads_graph
from dgraph.cli.options import WritablePath, among, as_json, engine
from dgraph.cli.options import output as written
from dgraph.cli.place import decorated
from dgraph.cli.results import write_frames, write_result, writer_of
from dgraph.cli.signatures import OF, described, id_reader, options_of, values_of
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError
from dgraph.phrases import format_count

RUNNING = (
    engine,
    among("--device", ("auto", "cpu", "cuda")),
    click.option("--max-rounds", type=int, help="Stop after so many rounds."),
    click.option(
        "--checkpoint",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        help="A folder or URL: write the run there every 10 rounds, and go on from there.",
    ),
    written("a file for the values, .csv, .parquet or .arrow; - is CSV on standard output.", metavar="OUT"),
    click.option("--report", type=WritablePath(), metavar="FILE", help="What happened, a row a superstep, like OUT."),
)
RENAMED = {  # --source is the column everywhere, and --left a number of vertices
    **{name: f"{name}_vertex" for name in ("source", "target", "left")},
    "random_seed": "seed",
}
SAID = {  # where a call can say more
    "source": "A vertex where paths begin; repeat the option for several, and they begin at the nearest.",
    "left": "A vertex on the left; repeat the option for each. By default, the edges' sources.",
    "predecessors": "Leave out that column, and the time that it takes; with negative weights it is always there.",
    "normalized": "Do not divide by the root of the sum of squares.",
    "per_source": "Tell the distances from each source, as a vector for each vertex, and no predecessors.",
    "remove": "List only the vertices that stay.",
    "personalization": "Where to jump; repeat the option for each vertex. By default everywhere alike.",
    "dangling": 'Where those go who come to a vertex without out-edges: "uniform", anywhere; "personalization", where '
    'one jumps; "none", nowhere: ranks sum to less than 1. By default, as jumps.',
}
NEEDS = {"bfs": " --source-vertex 0", "sssp": " --source-vertex 0", "katz": " --alpha 0.001"}  # in the example
EDGES = {
    "matching": "bipartite --left 50 --right 60 --edges 300",
    "factorize": "ratings --users 100 --items 40 --ratings 900",
}
SUFFIX = {"factorize": "parquet"}  # CSV cannot hold vectors
ERRORS = ("mean", "rmse", "held_out")  # of factorize
NAMES = (*dg.OPERATIONS, "factorize")  # for any graph, and for ratings


class Operations(Group):
    """A command for each operation that `import dgraph` offers."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [name.replace("_", "-") for name in NAMES]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        name = name.replace("-", "_")
        if name not in NAMES:
            return None
        return _command_for(name, getattr(dg, name))


def _command_for(name: str, operation: Callable) -> click.Command:
    """The command that calls an operation; its options are the operation's parameters, and RUNNING."""

    def run(edges: GraphArgument, output: str | None, report: str | None, as_json: bool, **given: Any) -> None:
        asked = {option: given.pop(option) for option in ("engine", "device", "max_rounds", "checkpoint")}
        vectors = name == "factorize" or bool(given.get(f"{OF}per_source"))
        for path in filter(None, (output, report)):
            writer_of(path, vectors and path is output)
            if "-" not in (path, edges.path) and Path(path).resolve() == Path(edges.path).resolve():
                raise OptionError(f"{path} has the edges: name another file for what is found")
        if output is not None and output == report:
            where = "standard output" if output == "-" else output
            raise OptionError(f"-o and --report cannot both be {where}: name another file for one")
        begun = time.perf_counter()
        with edges.graph() as graph:
            with show_status("numbering vertices"):  # of a file that is read in blocks, reading them
                kind = graph.numbering.id_type.kind
            loaded = time.perf_counter()
            asked = {option: value for option, value in asked.items() if value not in (None, "auto")}
            with show_status(f"running {name}"):  # a run in rounds says more
                result = operation(graph, **values_of(operation, given, id_reader(kind)), **asked)
            ran = time.perf_counter()
            if output is not None or not as_json:
                with show_status(f"writing {output}" if output else "looking at the first"):
                    write_result(result, output, graph.client)
            if report is not None:
                write_frames([result.report], report)
            seconds = {"load": loaded - begun, "run": ran - loaded, "write": time.perf_counter() - ran}
            told = {
                "operation": name,
                "vertices": graph.num_vertices,
                "edges": graph.num_edges,
                "partitions": graph.num_parts,
                "engine": result.report.options["engine"],
                "rounds": result.rounds,
                **_errors_of(result, name),
                "seconds": {step: round(value, 4) for step, value in seconds.items()},
                "output": output,
            }
        text = f"{name} of {format_count(told['vertices'], 'vertex')} and {format_count(told['edges'], 'edge')}: "
        text += f"{format_count(result.rounds, 'round')}, "
        text += "".join(f"{what.replace('_', ' ')} {told[what]:.6g}, " for what in ERRORS if what in told)
        print_outcome(told, as_json, text + ", ".join(f"{step} {value:.2f} s" for step, value in seconds.items()))

    example = f"{name.replace('_', '-')} edges.parquet{NEEDS.get(name, '')} -o {name}.{SUFFIX.get(name, 'csv')}"
    edges_of = EDGES.get(name, "rmat --scale 10 --weights 1 9")
    example = f"  $ dgraph generate {edges_of} -o edges.parquet\n  $ dgraph run {example}"
    run.__doc__ = f"{described(operation)[0]}\n\n\b\nExample:\n{example}"
    command = click.command(name.replace("_", "-"), cls=Command)(decorated(as_json(reads_graph(run)), RUNNING))
    command.params[:0] = options_of(operation, RENAMED, SAID)
    return command


def _errors_of(result: Any, name: str) -> dict[str, float]:
    """What the outcome tells of the factors that `factorize` has found: the mean of the ratings, which they leave out,
    and the errors. Of other operations it is empty."""
    if name != "factorize":
        return {}
    found = {**result.totals, **result.report.iloc[-1]}
    return {what: float(found[what]) for what in ERRORS if found[what] == found[what]}  # NaN: nothing was held out


@click.command("run", cls=Operations)
def command() -> None:
    """Run an operation on the edges of a file, a folder, a URL, or - for standard input.

    Without -o the first rows are shown. The suffix of OUT tells its format: .csv, .parquet or .arrow; - is CSV on
    standard output.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph run wcc edges.parquet -o components.parquet
    """
