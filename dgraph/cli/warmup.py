"""`dgraph warmup`: compile kernels ahead, so that no first run waits for the compiler."""

from __future__ import annotations

import time
from typing import Any

import click

from dgraph.cli.command import Command
from dgraph.errors import OptionError

NEEDS: dict[str, dict[str, Any]] = {"bfs": {"source": 0}, "sssp": {"source": 0}, "k_core": {"k": 2}}


@click.command("warmup", cls=Command)
@click.argument("operations", metavar="[OP]...", nargs=-1)
def command(operations: tuple[str, ...]) -> None:
    """Compile the kernels of operations, by default of all; they are kept on disk for all later processes.

    \b
    Example:
      $ dgraph warmup wcc bfs
    """
    import dgraph as dg

    names = [name.replace("-", "_") for name in operations] or list(dg.OPERATIONS)
    for name in names:
        if name not in dg.OPERATIONS:
            raise OptionError(f"{name!r} is no operation; take {', '.join(dg.OPERATIONS)}")
    for name in names:
        begun = time.perf_counter()
        for weights in (None, (1, 9)):
            for parts in (1, 2):  # of one partition the local solver, of two the rounds
                small: dict[str, Any] = {"weights": weights, "parts": parts}
                graph = (
                    dg.bipartite(left=8, right=8, edges=30, **small)
                    if name == "matching"
                    else dg.rmat(scale=5, **small)
                )
                getattr(dg, name)(graph, **NEEDS.get(name, {}))
        click.echo(f"{name:>20}  {time.perf_counter() - begun:.2f} s")
