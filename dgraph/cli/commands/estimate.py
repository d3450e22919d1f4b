"""`dgraph estimate OP EDGES`: what an operation will need, before any work."""

from __future__ import annotations

import click

from dgraph.cli.command import Command, named
from dgraph.cli.graph_argument import GraphArgument, reads_graph
from dgraph.cli.options import as_json, offered, on_workers


def estimated() -> list[str]:
    """What the shell offers for OP: the operations whose memory is known."""
    from dgraph.estimates.footprints import FOOTPRINTS

    return [name.replace("_", "-") for name in FOOTPRINTS]


@click.command("estimate", cls=Command)
@click.argument("operation", metavar="OP", shell_complete=offered(estimated))
@click.option("--memory", help='What each worker may use, as "4 GiB".')
@on_workers
@as_json
@reads_graph
def command(edges: GraphArgument, operation: str, memory: str | None, on_workers: int | None, as_json: bool) -> None:
    """Tell what an operation will need under every policy: memory of a worker, and bytes exchanged in a round. OP may
    be "build", too: making the graph alone.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph estimate pagerank edges.parquet --on-workers 8 --memory "2 GiB"
    """
    import json

    from dgraph.estimates.footprints import FOOTPRINTS

    name = named(operation, FOOTPRINTS)
    with edges.graph() as graph:
        found = graph.estimate(name, workers=on_workers, memory=memory)
    if as_json:
        policies = json.loads(found.frame.to_json(orient="index"))
        told = {"operation": operation, "workers": found.workers, "policy": found.policy, "policies": policies}
        click.echo(json.dumps({**told, "vertices": int(found.vertices), "edges": int(found.edges)}))
    else:
        click.echo(repr(found))
