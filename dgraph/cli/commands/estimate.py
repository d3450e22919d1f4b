"""`dgraph estimate OP EDGES`: estimate what an operation will need, before any work."""

from __future__ import annotations

import json

import click

from dgraph.cli.command import Command, operation_name
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import RANK, as_json, completion, on_workers
from dgraph.cli.say import say


def estimated_operations() -> list[str]:
    """Shell completion of OP: the operations whose memory can be estimated."""
    from dgraph.estimates.footprints import FOOTPRINTS

    return [name.replace("_", "-") for name in FOOTPRINTS]


@click.command("estimate", cls=Command)
@click.argument("operation", metavar="OP", shell_complete=completion(estimated_operations))
@click.option("--quick", is_flag=True, help="Read only a few pieces of large files; the vertices may be far off.")
@RANK
@on_workers
@as_json
@graph_options
def command(
    edges: GraphArguments, operation: str, quick: bool, rank: int | None, on_workers: int | None, as_json: bool
) -> None:
    """Estimate what an operation will need under every policy: memory per worker, and bytes exchanged per round.

    OP may also be "build", which means building the graph only.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph estimate pagerank edges.parquet --on-workers 8 --memory "2 GiB"
    """
    from dgraph.estimates.footprints import FOOTPRINTS

    name = operation_name(operation, FOOTPRINTS)
    memory = edges.options.pop("memory")  # of the workers that are asked about, not of this process
    with edges.graph() as graph:
        result = graph.estimate(name, workers=on_workers, memory=memory, quick=quick, rank=rank)
    if as_json:
        policies = json.loads(result.frame.to_json(orient="index"))
        outcome = {"operation": operation, "workers": result.workers, "policy": result.policy, "policies": policies}
        say(json.dumps({**outcome, "vertices": int(result.vertices), "edges": int(result.edges)}))
    else:
        say(repr(result))
