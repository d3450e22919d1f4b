"""`dgraph warmup`: compile kernels in advance, so that the first run need not wait for the compiler."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
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

    for name in [operation_name(one) for one in operations] or dg.ALL_OPERATIONS:
        begun = time.perf_counter()
        if name == "factorize":
            _factorize()
        else:
            _run(name, getattr(dg, name))
        yield name, time.perf_counter() - begun


def _run(name: str, operation: Callable[..., Any]) -> None:
    for weights in (None, (1, 9)):
        for parts in (1, 2):  # one partition runs the solver, two run in rounds
            small: dict[str, Any] = {"weights": weights, "parts": parts}
            operation(_tiny_graph(name, small), **dict.fromkeys(needed(operation), 0))


def _factorize() -> None:
    """Fit ratings in all ways, with a side for the users and without, and recommend items."""
    import dgraph as dg

    updates: list[Any] = ["gradient", "least_squares", dg.LeastSquares(implicit_alpha=1)]
    for update, directed in zip(updates, (True, False, True), strict=True):
        ends = {"user": [0, 0, 1, 1, 2], "item": [7, 8, 7, 9, 9], "rating": [1.0, 2.0, 3.0, 4.0, 5.0]}
        how: dict[str, Any] = {"source": "user", "destination": "item", "weight": "rating", "directed": directed}
        result = dg.factorize(dg.Graph.from_edges(ends, **how), rank=2, update=update, test={"user": [0], "item": [8]})
        result.recommend(k=1).compute()  # type: ignore[attr-defined]  # a FactorResult


def _tiny_graph(name: str, options: dict[str, Any]) -> Any:
    """A graph that an operation accepts."""
    import dgraph as dg

    if name == "matching":
        return dg.bipartite(left=8, right=8, edges=30, **options)
    if name == "topological_generations":  # without cycles
        return dg.Graph.from_edges({"src": range(8), "dst": range(1, 9)}, parts=options["parts"])
    return dg.rmat(scale=5, **options)
