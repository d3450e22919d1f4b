"""`dgraph partition EDGES -o FOLDER`: the partitions of a graph, saved to be opened in no time."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, print_outcome
from dgraph.cli.graph_argument import GraphArgument, reads_graph
from dgraph.cli.options import WritablePath, as_json
from dgraph.cli.options import output as written
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError


@click.command("partition", cls=Command)
@written("a folder, for the saved graph.", metavar="FOLDER", folder=True, required=True)
@click.option("--overwrite", is_flag=True, help="Replace a graph that is saved there.")
@click.option(
    "--plot", type=WritablePath(), metavar="FILE", help="Bars of vertices, edges and build steps, as PNG or SVG."
)
@as_json
@reads_graph
def command(edges: GraphArgument, output: str, overwrite: bool, plot: str | None, as_json: bool) -> None:
    """Partition a graph and save it; a saved graph stands for EDGES in all other commands.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph partition edges.parquet --parts 4 --policy cartesian --overwrite -o edges.dgraph
      $ dgraph run pagerank edges.dgraph -o ranks.csv
    """
    if output == "-":
        raise OptionError("a saved graph is a folder, which standard output cannot hold: name one")
    from dgraph.building.graph_writer import free_folder

    free_folder(output, overwrite)  # before the work begins
    with edges.graph() as graph:
        with show_status("partitioning"):
            report = graph.partitions.report
            graph.save(output, overwrite=overwrite)
        if plot is not None:
            report.plot(plot)
    told = {name.replace(" ", "_"): value for name, value in report.summary.items()}
    print_outcome({**told, "output": output}, as_json, repr(report))
