"""`dgraph convert EDGES -o FILE`: edges from one format to another, or to a saved graph."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, print_outcome
from dgraph.cli.graph_argument import GraphArgument, reads_graph
from dgraph.cli.options import WritablePath, as_json
from dgraph.cli.options import output as written
from dgraph.cli.results import check_format, write_edges
from dgraph.phrases import format_count


@click.command("convert", cls=Command)
@written("a file, its format by the suffix; - is CSV on standard output.", required=True)
@click.option("--drop-isolated", is_flag=True, help="Leave out vertices without edges where FILE cannot list them.")
@click.option(
    "--renumber", type=WritablePath(), metavar="IDS", help="Number vertices from 1, and list their ids there."
)
@as_json
@reads_graph
def command(edges: GraphArgument, output: str, drop_isolated: bool, renumber: str | None, as_json: bool) -> None:
    """Write the edges of a graph in another format; what that format cannot say is an error, never dropped; that edges
    have no direction, which text cannot say, is told. Columns beside the ends and the weight are kept where --columns
    names them. Where a format counts vertices from 1, ids that count from 0 are written so; --renumber does it with any
    others.

    \b
    Example:
      $ dgraph generate uniform --vertices 100 --edges 500 --weights 1 9 -o edges.csv
      $ dgraph convert edges.csv --weight weight -o edges.npz
    """
    check_format(output, renumber)
    with edges.graph() as graph:
        write_edges(graph, output, "drop" if drop_isolated else "refuse", renumber)
        told = {"vertices": graph.num_vertices, "edges": graph.num_edges, "output": output}
    print_outcome(
        told,
        as_json,
        f"{format_count(told['edges'], 'edge')} of {format_count(told['vertices'], 'vertex')} in {output}",
    )
