"""`dgraph info`: show this machine, versions of packages, and where kernels are cached."""

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
@as_json
def command(as_json: bool) -> None:
    """Show the version of dgraph and its dependencies, this machine, and where kernels are cached.

    \b
    Example:
      $ dgraph info
    """
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
