"""`dgraph partition EDGES -o FOLDER`: partition a graph and save it, so that it opens instantly."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, print_outcome
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import OutputPath, as_json, output_option
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError


@click.command("partition", cls=Command)
@output_option("the saved graph.", metavar="FOLDER", folder=True, required=True)
@click.option("--overwrite", is_flag=True, help="Replace a saved graph in that folder.")
@click.option("--plot", type=OutputPath(), metavar="FILE", help="Plot vertices, edges and build steps as PNG or SVG.")
@as_json
@graph_options
def command(edges: GraphArguments, output: str, overwrite: bool, plot: str | None, as_json: bool) -> None:
    """Partition a graph and save it. Other commands accept the saved graph as EDGES.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph partition edges.parquet --parts 4 --policy cartesian --overwrite -o edges.dgraph
      $ dgraph run pagerank edges.dgraph -o ranks.csv
    """
    if output == "-":
        problem = "a saved graph is a folder, which cannot be written to standard output"
        raise OptionError(f"{problem}; give the path of a folder")
    from dgraph.building.graph_writer import free_folder

    free_folder(output, overwrite)  # before any work
    with edges.graph() as graph:
        with show_status("partitioning"):
            report = graph.partitions.report
            graph.save(output, overwrite=overwrite)
        if plot is not None:
            report.plot(plot)
    summary = {name.replace(" ", "_"): value for name, value in report.summary.items()}
    print_outcome({**summary, "output": output}, as_json, repr(report))
