"""`dgraph run OP EDGES -o OUT`: one command for each operation, with the options of its public function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import click

import dgraph as dg
from dgraph.cli import signatures
from dgraph.cli.command import Command, Group, print_outcome
from dgraph.cli.commands.run_measure import MEASURES, OF_MEASURES, measure_command
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.kept_answers import KEEP, PREVIOUS, KeptAnswers, can_go_on
from dgraph.cli.options import OutputPath, as_json, choice_option, output_option
from dgraph.cli.place import add_options
from dgraph.cli.results import read_values, write_frames, write_result, writer_of
from dgraph.cli.say import say
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_count

HOW = ("engine", "device", "max_rounds", "checkpoint")  # an operation has some of these options
MAX_ROUNDS = click.option("--max-rounds", type=int, help="Stop after this many rounds.")
CHECKPOINT = click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Folder or URL in which to save the run every 10 rounds (communities: each level), and to resume it from.",
)
DASHBOARD = click.option(
    "--dashboard", is_flag=True, help="Print the address of a page that shows the run; with --workers or --cluster."
)
SAMPLE = click.option("--sample", type=int, metavar="N", help="Draw N vertices as sources, instead of --sources.")
OUTPUTS = (
    output_option("the values, as .csv, .parquet or .arrow; - is CSV on standard output.", metavar="OUT"),
    click.option(
        "--report",
        type=OutputPath(),
        metavar="FILE",
        help="Write a report with one row per superstep, in a format chosen by suffix, as for OUT.",
    ),
)
RENAMED = {  # because in other commands --source is a column, and --left a number of vertices
    **{name: f"{name}_vertex" for name in ("source", "target", "left")},
    "random_seed": "seed",
    "weights": "step_weights",  # because --weights of other commands are those of edges
}
HELP = {  # replaces docstrings that describe values which cannot be typed, or the opposite of the option
    "left": "A vertex on the left. By default, the sources of the edges as listed.",
    "previous": "An earlier result to start from: a file of vertices and communities, as -o writes it, perhaps of a "
    "graph with other vertices; or the name under which --keep has saved it with the saved graph EDGES. A community "
    "keeps the name of the earlier one with which it shares the most vertices.",
    "predecessors": "Do not find predecessors, which saves time. With negative weights they are always found.",
    "sources": "A vertex to search from; by default, all vertices. Values are those of these vertices (closeness, "
    "harmonic), or estimates for all vertices (betweenness).",
    "direction": 'Which edges of a directed graph to follow: "out" to where they lead, "in" to where they come from.',
    "k": "The order: the least number of neighbours in the core. By default, that of the innermost core.",
    "wf_improved": "Do not multiply by the share of the other vertices that reach the vertex.",
    "normalized": "Do not divide the scores by the square root of the sum of their squares.",
    "personalization": "Where the surfer jumps to, and with what weight; uniform by default.",
    "dangling": "Where the surfer goes from a vertex without out-edges: to any vertex, where --personalization says, "
    "or nowhere (ranks then sum to less than 1). By default, the same as for any other jump. "
    'One of "uniform", "personalization", "none".',
}
EXAMPLE_GRAPHS = {
    "matching": "bipartite --left 50 --right 60 --edges 300",
    "topological_generations": "uniform --vertices 1000 --edges 300",  # which happens to have no cycle
    "factorize": "ratings --users 100 --items 40 --ratings 900",
}
SUFFIX = {"factorize": "parquet", "fast_rp": "parquet"}  # CSV cannot hold vectors
ERROR_FIGURES = ("mean", "rmse", "held_out")  # the figures that `factorize` reports


class Operations(Group):
    """A command for each operation, and for what else describes a graph."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [name.replace("_", "-") for name in (*dg.ALL_OPERATIONS, *MEASURES)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        name = name.replace("-", "_")
        if name in MEASURES:
            return measure_command(name, getattr(dg, name), RENAMED, {**HELP, **OF_MEASURES})
        return _command_for(name, getattr(dg, name)) if name in dg.ALL_OPERATIONS else None


def _command_for(name: str, operation: Callable) -> click.Command:
    """The command that calls an operation, with an option for each of its parameters, and those in OUTPUTS."""

    def run(
        edges: GraphArguments, output: str | None, report: str | None, dashboard: bool, as_json: bool, **given: Any
    ) -> None:
        options = {option: given.pop(option) for option in HOW if option in given}
        sample = given.pop("sample", None)
        if sample is not None and given[f"{signatures.PARAMETER_PREFIX}sources"]:
            raise OptionError(f"--sample {sample} draws the vertices that --sources lists; leave one of them out")
        if sample is not None and sample < 1:
            raise OptionError(f"--sample {sample} must be at least 1")
        vectors = name in SUFFIX or bool(given.get(f"{signatures.PARAMETER_PREFIX}per_source"))
        for path in filter(None, (output, report)):
            writer_of(path, vectors and path is output)
            edges.refuse_as_output(path)
        if output is not None and output == report:
            where = "standard output" if output == "-" else output
            raise OptionError(f"-o and --report cannot both be {where}; choose another file for one")
        kept = KeptAnswers(edges.path, given.pop("keep"), given.pop("previous", None))
        kept.check()
        if (file := f"{signatures.PARAMETER_PREFIX}previous") in given:
            given[file] = kept.or_file(given[file])
        begun = time.perf_counter()
        with edges.graph() as graph:
            if dashboard:
                say(_where_runs_are_shown(graph.client), err=True)
            with show_status("numbering vertices"):  # this reads files that are read in blocks
                kind = graph.numbering.id_type.kind
            loaded = time.perf_counter()
            if (limit := options.pop("max_rounds", None)) is not None:
                options["engine"] = _limited(options["engine"], limit)
            options = {option: value for option, value in options.items() if not (value is None or value == "auto")}
            with show_status(f"running {name}"):  # engines that run in rounds show their own progress
                read = partial(read_values, kind=kind)
                arguments = signatures.arguments_from_options(operation, given, signatures.id_reader(kind), read)
                if sample is not None:
                    if sample > graph.num_vertices:
                        count = format_count(graph.num_vertices, "vertex")
                        raise OptionError(f"--sample {sample} is more than the {count} of the graph")
                    arguments["sources"] = sample
                if kept.previous is not None:
                    arguments["previous"] = kept.earlier()
                result = operation(graph, **arguments, **options)
            ran = time.perf_counter()
            if output is not None or not as_json:
                with show_status(f"writing {output}" if output else "reading the first rows"):
                    write_result(result, output, graph.client)
            if report is not None:
                write_frames([result.report], report)
            kept.save(graph, result)
            seconds = {"load": loaded - begun, "run": ran - loaded, "write": time.perf_counter() - ran}
            outcome = {
                "operation": name,
                "vertices": graph.num_vertices,
                "edges": graph.num_edges,
                "partitions": (graph if options.get("daemons") else graph.in_runs).num_parts,
                "engine": result.report.options["engine"],
                "rounds": result.rounds,
                **(_errors_of(result) if name == "factorize" else {}),
                "seconds": {step: round(value, 4) for step, value in seconds.items()},
                "output": output,
                **({"previous": went} if (went := result.report.options.get("previous")) else {}),
                **({} if kept.keep is None else {"kept": kept.keep, "version": graph.version}),
            }
        text = f"{name} of {format_count(outcome['vertices'], 'vertex')} and {format_count(outcome['edges'], 'edge')}: "
        text += f"{format_count(result.rounds, 'round')}, "
        text += "".join(f"{what.replace('_', ' ')} {outcome[what]:.6g}, " for what in ERROR_FIGURES if what in outcome)
        text += ", ".join(f"{step} {value:.2f} s" for step, value in seconds.items())
        text += f"; {kept.previous}: {went}" if went else ""
        print_outcome(outcome, as_json, text)

    given = "".join(f" --{RENAMED.get(one, one).replace('_', '-')} 0" for one in signatures.needed(operation))
    example = f"{name.replace('_', '-')} edges.parquet{given} -o {name}.{SUFFIX.get(name, 'csv')}"
    edges_of = EXAMPLE_GRAPHS.get(name, "rmat --scale 10 --weights 1 9")
    example = f"  $ dgraph generate {edges_of} -o edges.parquet\n  $ dgraph run {example}"
    run.__doc__ = f"{signatures.split_docstring(operation)[0]}\n\n\b\nExample:\n{example}"
    options = (*_how(operation), *OUTPUTS, KEEP, *([PREVIOUS] if can_go_on(name) else []), DASHBOARD)
    command = click.command(name.replace("_", "-"), cls=Command)(add_options(as_json(graph_options(run)), options))
    command.params[:0] = signatures.options_of(operation, RENAMED, HELP)
    return command


def _where_runs_are_shown(client: Any) -> str:
    if client is None:
        raise OptionError("--dashboard shows a run on a cluster: add --workers or --cluster, or leave it out")
    from dgraph.cluster.scheduler import live_page

    if (address := live_page(client)) is None:
        return "there is no live page: it needs Bokeh where the scheduler runs (pip install 'dask-dgraph[dashboard]')"
    return f"the run is shown at {address}"


def _how(operation: Callable) -> Iterator[Any]:
    """The options in HOW that an operation takes, with the engines and devices that it takes."""
    hints = signatures.hints_of(operation)
    engines = _words(hints["engine"])
    yield choice_option("--engine", engines, "Engine")
    yield choice_option("--device", _words(hints["device"]), "Where kernels run")
    if "gas" in engines:
        yield MAX_ROUNDS
    if "checkpoint" in hints:
        yield CHECKPOINT
    if "sources" in hints:
        yield SAMPLE


def _words(hint: Any) -> tuple[str, ...]:
    """The words of a Literal, or of the Literal in a union."""
    found = get_args(hint)
    return found if isinstance(found[0], str) else _words(found[0])


def _limited(engine: str, max_rounds: int) -> Any:
    """The engine that stops after this many rounds."""
    engines = {"auto": dg.Gas, "gas": dg.Gas, "bsp": dg.Bsp}
    if engine not in engines:
        raise OptionError(f"max_rounds={max_rounds} is not available with engine={engine}; choose gas or bsp")
    return engines[engine](max_rounds=max_rounds)


def _errors_of(result: Any) -> dict[str, float]:
    """The mean of the ratings, which the factors leave out, and the errors of the factors that `factorize` returned."""
    found = {what: float(result.totals[what]) for what in ERROR_FIGURES}
    return {what: value for what, value in found.items() if value == value}  # NaN: no ratings were held out


@click.command("run", cls=Operations)
def command() -> None:
    """Run an operation on the edges of a file, a folder, a URL, or - for standard input.

    Without -o the first rows are shown. The suffix of OUT gives its format: .csv, .parquet or .arrow. With -o -, values
    are written to standard output as CSV.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph run wcc edges.parquet -o components.parquet
    """
