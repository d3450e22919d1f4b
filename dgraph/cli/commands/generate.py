"""`dgraph generate KIND -o FILE`: write the edges of a generated graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from dgraph.cli.command import Command, Group, print_outcome
from dgraph.cli.options import MEMORY, OF_EDGES, as_json, output_option
from dgraph.cli.place import Place, place_options
from dgraph.cli.results import check_format, write_edges
from dgraph.cli.signatures import arguments_from_options, options_of, split_docstring
from dgraph.cli.status_line import show_status
from dgraph.phrases.phrases import format_count

EXAMPLES = {
    "rmat": "--scale 10",
    "uniform": "--vertices 1000 --edges 5000",
    "grid": "--rows 30 --cols 40",
    "ratings": "--users 100 --items 40 --ratings 900",
    "bipartite": "--left 50 --right 60 --edges 300",
}
RENAMED = {"directed": "undirected", "permute": "no_permute"}
HELP = {
    "directed": "Each listed edge stands for both directions.",
    "permute": "Do not shuffle the ids: those with few bits set have the most edges.",
}


class Generators(Group):
    """A command for each function that generates a graph."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(EXAMPLES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        import dgraph as dg

        return _command_for(name, getattr(dg, name)) if name in EXAMPLES else None


def _command_for(name: str, generator: Callable) -> click.Command:
    """The command that calls a generator. It has an option for each parameter of the generator."""

    def generate(place: Place, output: str, as_json: bool, memory: int | None, **given: Any) -> None:
        from dgraph.io.columnar.parquet_folder import count, is_folder

        check_format(output)
        with place.client(memory) as client:
            with show_status("generating"):
                graph = generator(**arguments_from_options(generator, given), memory=memory, client=client)
            write_edges(graph, output, "drop")
            edges = count(output) if is_folder(output) else graph.num_edges
            vertices = len(graph.input_edges.vertices.id_range)  # counting would draw all edges once more
        outcome = {"generated": name, "vertices": vertices, "edges": edges, "output": output}
        ids = f"the vertices 0 to {vertices - 1:,}" if vertices else "no vertices"
        print_outcome(outcome, as_json, f"{format_count(edges, 'edge')} of {ids} in {output}")

    example = f"  $ dgraph generate {name} {EXAMPLES[name]} -o edges.parquet"
    generate.__doc__ = f"{split_docstring(generator)[0]}\n\n\b\nExample:\n{example}"
    write_to = output_option(OF_EDGES, either=True, required=True)
    command = click.command(name, cls=Command)(write_to(as_json(MEMORY(place_options(generate)))))
    command.params[:0] = options_of(generator, RENAMED, HELP)
    return command


@click.command("generate", cls=Generators)
def command() -> None:
    """Generate a graph. The same seed gives the same edges on any number of workers.

    A path that ends with a slash, as in -o edges/, is a folder of Parquet files. Edges that do not fit into memory are
    drawn and written piece by piece.

    Text files list only edges. To keep vertices without edges, read the file with --vertices N, or write another
    format.

    \b
    Example:
      $ dgraph generate grid --rows 30 --cols 40 -o roads.parquet
    """
