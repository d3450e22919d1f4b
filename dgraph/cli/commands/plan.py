"""`dgraph plan OP EDGES`: time, memory and traffic on a cluster that is not there."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import click

from dgraph.cli.command import Command, named
from dgraph.cli.graph_argument import GraphArgument, reads_graph
from dgraph.cli.options import WholeNumber, as_json, on_workers, operations
from dgraph.errors import OptionError


class NumberList(click.ParamType):
    """A list of numbers with commas between them."""

    name = "number,number"

    def convert(self, value: Any, param: Any, context: Any) -> list[float]:
        try:
            return [float(one) for one in str(value).split(",")]
        except ValueError:
            return self.fail(f"{value!r} is no list of numbers, such as 4,1,1", param, context)


@click.command("plan", cls=Command)
@click.argument("operation", metavar="OP", shell_complete=operations)
@on_workers
@click.option("--cores", type=WholeNumber(0), default=1, show_default=True, help="Cores of each worker.")
@click.option("--devices", type=WholeNumber(0), default=0, show_default=True, help="GPUs of each worker.")
@click.option("--device-cores", type=float, default=20.0, show_default=True, help="Cores that a device is worth.")
@click.option("--bandwidth", default="1.25 GB", show_default=True, help="Bytes a second of each worker.")
@click.option("--latency", default="3 ms", show_default=True, help="What a round takes beside its work.")
@click.option(
    "--split", type=NumberList(), help="Edges, or shares of them, of each worker, as 4,1,1: who needs how much."
)
@as_json
@reads_graph
def command(
    edges: GraphArgument, operation: str, on_workers: int | None, split: Any, as_json: bool, **given: Any
) -> None:
    """Predict how an operation will run on a cluster: its seconds, memory and traffic, under every policy.

    The operation is run on a sample of the edges, here, to measure it. With --split, say also what capacity each worker
    needs so that none waits for another, the busiest being as the other options say.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph plan pagerank edges.parquet --on-workers 16 --cores 8 --bandwidth "3 GB" --split 4,1,1
    """
    import dgraph as dg
    from dgraph.estimates.forecast import Cluster, forecast

    if operation == "factorize":
        raise OptionError("factorize takes all ratings to one worker: time it with `dgraph run`; more do not help")
    name = named(operation)
    cluster = Cluster.described(on_workers or 1, **given)
    needed = None if split is None else dg.daemons_for(split, largest=cluster.capacity)
    with edges.graph() as graph:
        cluster = replace(cluster, workers=on_workers or graph.division.expected_parts)
        found = forecast(graph, name, cluster, lambda sample: run_on(sample, name))
    if as_json:
        policies = json.loads(found.frame.to_json(orient="index"))
        told = {"operation": name, "policy": found.policy, "rounds": found.coefficients.rounds, "policies": policies}
        click.echo(json.dumps({**told, "vertices": found.vertices, "edges": found.edges, "capacities": needed}))
        return
    click.echo(repr(found))
    if needed is not None:
        click.echo("capacities for this split, in cores: " + ", ".join(f"{one:.3g}" for one in needed))


def run_on(graph: Any, name: str) -> Any:
    """The result of an operation on a sample, to measure it: where paths begin somewhere, from the vertex with the most
    edges, and with an `alpha` for which Katz converges."""
    import dgraph as dg

    source = {"source": _hub(graph)} if name in ("bfs", "sssp") else {}
    return getattr(dg, name)(graph, **source, **({"alpha": 1e-4} if name == "katz" else {}))


@cache  # for a sample is run many times, and what finds it is no part of that
def _hub(graph: Any) -> Any:
    """The vertex from which most edges lead: from another one paths may lead nowhere."""
    import dgraph as dg

    degrees = dg.degrees(graph).compute()
    if degrees.empty:
        raise OptionError("there are no edges, and so no paths whose search could be measured")
    return degrees["vertex"][degrees["out_degree"].idxmax()]
