"""`dgraph validate EDGES`: what can surprise in a graph."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, as_json
from dgraph.cli.graphs import Edges, reads_graph


@click.command("validate", cls=Command)
@as_json
@reads_graph
def command(edges: Edges, as_json: bool) -> None:
    """Count what can surprise (loops, repeats, isolated vertices, weights) and say what is done with it.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph validate edges.parquet
    """
    import json
    from dataclasses import asdict

    with edges.graph() as graph:
        found = graph.validate()
    click.echo(json.dumps(asdict(found), default=str) if as_json else repr(found))
