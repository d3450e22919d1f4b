"""`dgraph convert EDGES -o FILE`: convert edges from one format to another, or to a saved graph."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, print_outcome
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import OF_EDGES, OutputPath, as_json, output_option
from dgraph.cli.results import check_format, write_edges
from dgraph.phrases.phrases import format_count


@click.command("convert", cls=Command)
@output_option(OF_EDGES, either=True, required=True)
@click.option("--drop-isolated", is_flag=True, help="Drop vertices without edges if FILE cannot list them.")
@click.option(
    "--renumber",
    type=OutputPath(),
    metavar="IDS",
    help="Number vertices from 1, and write the original ids to this file.",
)
@as_json
@graph_options
def command(edges: GraphArguments, output: str, drop_isolated: bool, renumber: str | None, as_json: bool) -> None:
    """Write the edges of a graph in another format.

    If the format cannot hold something, an error is raised; a note says so if a text file cannot record that edges are
    undirected. Edge columns other than the ends and the weight are kept if --columns names them. Formats that number
    vertices from 1 need ids 0, 1, 2, ...; for other ids, use --renumber.

    \b
    Example:
      $ dgraph generate uniform --vertices 100 --edges 500 --weights 1 9 -o edges.csv
      $ dgraph convert edges.csv --weight weight -o edges.npz
    """
    check_format(output, renumber)
    with edges.graph() as graph:
        write_edges(graph, output, "drop" if drop_isolated else "refuse", renumber)
        outcome = {"vertices": graph.num_vertices, "edges": graph.num_edges, "output": output}
    sizes = f"{format_count(outcome['edges'], 'edge')} of {format_count(outcome['vertices'], 'vertex')}"
    print_outcome(outcome, as_json, f"{sizes} in {output}")
