"""`dgraph warmup`: compile kernels ahead, so that no first run waits for the compiler."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from dgraph.cli.command import Command, named
from dgraph.cli.options import as_json
from dgraph.cli.options import operations as known

NEEDS: dict[str, dict[str, Any]] = {"bfs": {"source": 0}, "sssp": {"source": 0}}


@click.command("warmup", cls=Command)
@click.argument("operations", metavar="[OP]...", nargs=-1, shell_complete=known)
@as_json
def command(operations: tuple[str, ...], as_json: bool) -> None:
    """Compile the kernels of operations, by default of all; they are kept on disk for all later processes.

    \b
    Example:
      $ dgraph warmup wcc bfs
    """
    for name, seconds in warm_up(operations):
        told = {"operation": name, "seconds": round(seconds, 4)}
        click.echo(json.dumps(told) if as_json else f"{name:>20}  {seconds:.2f} s")


def warm_up(operations: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """Run operations on tiny graphs, by default all of them; yields each with the seconds that it took."""
    import dgraph as dg

    for name in [named(one) for one in operations] or dg.OPERATIONS:
        begun = time.perf_counter()
        for weights in (None, (1, 9)):
            for parts in (1, 2):  # of one partition the local solver, of two the rounds
                small: dict[str, Any] = {"weights": weights, "parts": parts}
                bipartite = name == "matching"
                graph = dg.bipartite(left=8, right=8, edges=30, **small) if bipartite else dg.rmat(scale=5, **small)
                getattr(dg, name)(graph, **NEEDS.get(name, {}))
        yield name, time.perf_counter() - begun
