"""`dgraph generate KIND -o FILE`: the edges of a generated graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from dgraph.cli.command import Command, Group, print_outcome
from dgraph.cli.options import as_json
from dgraph.cli.options import output as written
from dgraph.cli.place import Place, runs_somewhere
from dgraph.cli.results import check_format, write_edges
from dgraph.cli.signatures import described, options_of, values_of
from dgraph.cli.status_line import show_status
from dgraph.phrases import format_count

EXAMPLES = {
    "rmat": "--scale 10",
    "uniform": "--vertices 1000 --edges 5000",
    "grid": "--rows 30 --cols 40",
    "ratings": "--users 100 --items 40 --ratings 900",
    "bipartite": "--left 50 --right 60 --edges 300",
}
RENAMED = {"directed": "undirected", "permute": "no_permute"}
SAID = {
    "directed": "Each listed edge stands for both directions.",
    "permute": "Leave the numbers as they are drawn: those with few bits set have the most edges.",
}


class Generators(Group):
    """A command for each generator that `import dgraph` offers."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(EXAMPLES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        import dgraph as dg

        return _command_for(name, getattr(dg, name)) if name in EXAMPLES else None


def _command_for(name: str, generator: Callable) -> click.Command:
    """The command that calls a generator; its options are the generator's parameters."""

    def generate(place: Place, output: str, as_json: bool, **given: Any) -> None:
        check_format(output)
        with place.client() as client:
            with show_status("generating"):
                graph = generator(**values_of(generator, given), client=client)
            write_edges(graph, output, "drop")
            told = {"generated": name, "vertices": graph.num_vertices, "edges": graph.num_edges, "output": output}
        who = f"the vertices 0 to {told['vertices'] - 1:,}" if told["vertices"] else "no vertices"
        print_outcome(told, as_json, f"{format_count(told['edges'], 'edge')} of {who} in {output}")

    example = f"  $ dgraph generate {name} {EXAMPLES[name]} -o edges.parquet"
    generate.__doc__ = f"{described(generator)[0]}\n\n\b\nExample:\n{example}"
    decorated = as_json(runs_somewhere(generate))
    decorated = written("a file, its format by the suffix; - is CSV on standard output.", required=True)(decorated)
    command = click.command(name, cls=Command)(decorated)
    command.params[:0] = options_of(generator, RENAMED, SAID)
    return command


@click.command("generate", cls=Generators)
def command() -> None:
    """Generate a graph: the same edges for the same seed, however many workers.

    Text lists edges only: to have the vertices without any, too, read it with --vertices N, or generate another format.

    \b
    Example:
      $ dgraph generate grid --rows 30 --cols 40 -o roads.parquet
    """
