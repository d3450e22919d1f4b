"""`dgraph warmup`: compile kernels in advance, so that the first run need not wait for the compiler."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from dgraph.cli.command import Command, operation_name
from dgraph.cli.options import as_json, complete_operations
from dgraph.cli.say import say
from dgraph.cli.signatures import needed


@click.command("warmup", cls=Command)
@click.argument("operations", metavar="[OP]...", nargs=-1, shell_complete=complete_operations)
@as_json
def command(operations: tuple[str, ...], as_json: bool) -> None:
    """Compile the kernels of operations, by default of all. Later processes load them from the cache on disk.

    \b
    Example:
      $ dgraph warmup wcc bfs
    """
    for name, seconds in warm_up(operations):
        outcome = {"operation": name, "seconds": round(seconds, 4)}
        say(json.dumps(outcome) if as_json else f"{name:>20}  {seconds:.2f} s")


def warm_up(operations: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """Run operations, by default all of them, on tiny graphs. Yields each operation and the seconds it took."""
    import dgraph as dg

    for name in [operation_name(one) for one in operations] or dg.OPERATIONS:
        operation = getattr(dg, name)
        begun = time.perf_counter()
        for weights in (None, (1, 9)):
            for parts in (1, 2):  # one partition runs the solver, two run in rounds
                small: dict[str, Any] = {"weights": weights, "parts": parts}
                operation(_tiny_graph(name, small), **dict.fromkeys(needed(operation), 0))
        yield name, time.perf_counter() - begun


def _tiny_graph(name: str, options: dict[str, Any]) -> Any:
    """A graph that an operation accepts."""
    import dgraph as dg

    if name == "matching":
        return dg.bipartite(left=8, right=8, edges=30, **options)
    if name == "topological_generations":  # without cycles
        return dg.Graph.from_edges({"src": range(8), "dst": range(1, 9)}, parts=options["parts"])
    return dg.rmat(scale=5, **options)
