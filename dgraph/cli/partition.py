"""`dgraph partition EDGES -o FOLDER`: the partitions of a graph, saved to be opened in no time."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, as_json, tell
from dgraph.cli.graphs import Edges, reads_graph
from dgraph.errors import OptionError


@click.command("partition", cls=Command)
@click.option("-o", "--output", metavar="FOLDER", required=True, help="Folder of the saved graph.")
@click.option("--overwrite", is_flag=True, help="Replace a graph that is saved there.")
@click.option("--plot", metavar="FILE", help="Bars of vertices, edges and build steps, as PNG or SVG.")
@as_json
@reads_graph
def command(edges: Edges, output: str, overwrite: bool, plot: str | None, as_json: bool) -> None:
    """Partition a graph and save it; a saved graph stands for EDGES in all other commands.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph partition edges.parquet --parts 4 --policy cartesian -o edges.dgraph
      $ dgraph run pagerank edges.dgraph -o ranks.csv
    """
    if output == "-":
        raise OptionError("a saved graph is a folder, which standard output cannot hold: name one")
    with edges.graph() as graph:
        report = graph.partitions.report
        if plot is not None:
            report.plot(plot)
        graph.save(output, overwrite=overwrite)
    tell({**report.summary, "output": output}, as_json, repr(report))
