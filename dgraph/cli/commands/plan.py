"""`dgraph plan OP EDGES`: predict time, memory and traffic on a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import click

from dgraph.cli.command import Command, operation_name
from dgraph.cli.graph_argument import GraphArguments, graph_options
from dgraph.cli.options import RANK, WholeRange, as_json, complete_operations, on_workers
from dgraph.cli.say import say
from dgraph.errors import OptionError


class NumberList(click.ParamType):
    """A comma-separated list of numbers."""

    name = "number,number"

    def convert(self, value: Any, param: Any, context: Any) -> list[float]:
        try:
            return [float(one) for one in str(value).split(",")]
        except ValueError:
            return self.fail(f"{value!r} is not a list of numbers such as 4,1,1", param, context)


@click.command("plan", cls=Command)
@click.argument("operation", metavar="OP", shell_complete=complete_operations)
@on_workers
@click.option("--cores", type=WholeRange(0), default=1, help="Number of cores per worker.")
@click.option("--devices", type=WholeRange(0), default=0, help="Number of GPUs (experimental) per worker.")
@click.option("--device-cores", type=float, default=20.0, help="Number of cores that one GPU (experimental) replaces.")
@click.option("--bandwidth", default="1.25 GB", help="Network bandwidth of each worker per second.")
@click.option("--latency", default="50 us", help="Time that a packet takes from one worker to another.")
@click.option("--split", type=NumberList(), help="Number or share of the edges of each worker, such as 4,1,1.")
@RANK
@as_json
@graph_options
def command(
    edges: GraphArguments,
    operation: str,
    on_workers: int | None,
    split: Any,
    rank: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Predict how an operation will run on a cluster: its seconds, memory and traffic, under every policy.

    The operation is measured in this process, on a sample of the edges; factorize takes all of its 30 epochs. With
    --split, also compute the capacity that each worker needs so that none waits for another; the other options describe
    the worker with the most edges.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph plan pagerank edges.parquet --on-workers 16 --cores 8 --bandwidth "3 GB" --split 4,1,1
    """
    import dgraph as dg
    from dgraph.cli.forecast import Cluster, forecast
    from dgraph.estimates.footprints import FOOTPRINTS

    name = operation_name(operation)
    if FOOTPRINTS[name].gathered is not None:
        raise OptionError(f"{name} runs on one worker, and more do not help; time it with `dgraph run`")
    if not FOOTPRINTS[name].planned:
        problem = f"{name} has no rounds to forecast the time on several workers from"
        raise OptionError(f"{problem}; time it with `dgraph run`")
    cluster = Cluster.described(on_workers or 1, **given)
    needed = None if split is None else dg.daemons_for(split, largest=cluster.capacity)
    with edges.graph() as graph:
        cluster = replace(cluster, workers=on_workers or graph.asked.parts or graph.workers.number)
        result = forecast(graph, name, cluster, lambda sample: run_on_sample(sample, name, rank), rank=rank)
    if as_json:
        policies = json.loads(result.frame.to_json(orient="index"))
        outcome = {"operation": name, "policy": result.policy, "rounds": result.coefficients.rounds}
        outcome |= {"policies": policies, "vertices": result.vertices, "edges": result.edges, "capacities": needed}
        say(json.dumps(outcome))
        return
    say(repr(result))
    if needed is not None:
        say("capacities for this split, in cores: " + ", ".join(f"{one:.3g}" for one in needed))


def run_on_sample(graph: Any, name: str, rank: int | None = None) -> Any:
    """Run an operation on a sample. Paths start at the vertex with the most out-edges, `alpha` is low enough for Katz
    centrality to converge, and a fit of factors does not stop early, because the weights are not the true ratings."""
    import dgraph as dg

    if name == "factorize":
        asked: dict[str, Any] = {} if rank is None else {"rank": rank}
        return dg.factorize(graph, stop=None, **asked)
    source = {"source": _hub(graph)} if name in ("bfs", "sssp") else {}
    return getattr(dg, name)(graph, **source, **({"alpha": 1e-4} if name == "katz" else {}))


@cache  # a sample runs many times, and the search for its hub must not be measured
def _hub(graph: Any) -> Any:
    """The vertex with the most out-edges. Paths from other vertices may lead nowhere."""
    import dgraph as dg

    degrees = dg.degrees(graph).compute()
    if degrees.empty:
        raise OptionError("the graph has no edges, so a search for paths cannot be measured")
    return degrees["vertex"][degrees["out_degree"].idxmax()]
