"""`dgraph info`: show this machine, versions of packages, and where kernels are cached; or the NetworkX backend."""

from __future__ import annotations

import json
import platform

import click

from dgraph import __version__
from dgraph.cli.command import Command
from dgraph.cli.options import as_json
from dgraph.cli.say import say

PACKAGES = ("numpy", "numba", "pandas", "pyarrow", "dask", "distributed", "scipy", "cupy", "cudf", "numba-cuda")


@click.command("info", cls=Command)
@click.option(
    "--networkx",
    "of_networkx",
    is_flag=True,
    help="Show from which sizes NetworkX is slower than dgraph.",
)
@as_json
def command(of_networkx: bool, as_json: bool) -> None:
    """Show the version of dgraph and its dependencies, this machine, and where kernels are cached.

    With --networkx, show the functions of the NetworkX backend instead, and from how many nodes and edges each is
    faster than NetworkX: when the graph has to be converted, and when it has been.

    \b
    Example:
      $ dgraph info
      $ dgraph info --networkx
    """
    if of_networkx:
        _say_sizes(as_json)
        return
    from dgraph.bench.machine import installed, memory
    from dgraph.native.machine_code import cache_folder
    from dgraph.native.threads import cores

    facts = {
        "dgraph": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cores(),
        "memory": f"{memory() / 2**30:.1f} GiB",
        "kernels": str(cache_folder()),
        **dict.fromkeys(PACKAGES, "not installed"),
        **installed(PACKAGES),
    }
    say(json.dumps(facts) if as_json else "\n".join(f"{name:>12}  {value}" for name, value in facts.items()))


def _say_sizes(as_json: bool) -> None:
    """The functions of the NetworkX backend, and from which sizes they are faster than NetworkX."""
    from dgraph.bench.table import as_text
    from dgraph.networkx_backend.function_table import FUNCTIONS
    from dgraph.networkx_backend.sizes import least_size

    kinds = {"with_conversion": False, "converted": True}
    sizes = {name: {kind: least_size(name, converted=done) for kind, done in kinds.items()} for name in FUNCTIONS}
    if as_json:
        say("\n".join(json.dumps({"function": name, **least}) for name, least in sizes.items()))
        return
    rows = [[name, *map(_size_text, least.values())] for name, least in sizes.items()]
    say(as_text([["function", "from nodes and edges", "if converted"], *rows]))


def _size_text(size: int | None) -> str:
    return "never" if size is None else f"{size:,}"
