"""`dgraph info`: this machine, the versions that matter, and where kernels are kept."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import click

from dgraph import __version__
from dgraph.cli.command import Command
from dgraph.cli.options import as_json

PACKAGES = ("numpy", "numba", "pandas", "pyarrow", "dask", "distributed", "scipy", "cupy", "cudf", "numba-cuda")


@click.command("info", cls=Command)
@as_json
def command(as_json: bool) -> None:
    """Show what runs here: the version, this machine, and the packages that matter.

    \b
    Example:
      $ dgraph info
    """
    import json

    from dgraph.native.machine_code import cache_folder
    from dgraph.native.threads import cores

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = {
        "dgraph": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cores(),
        "memory": f"{memory / 2**30:.1f} GiB",
        "kernels": str(cache_folder()),
        **{name: _version(name) for name in PACKAGES},
    }
    click.echo(json.dumps(found) if as_json else "\n".join(f"{name:>12}  {value}" for name, value in found.items()))


def _version(name: str) -> str:
    """The version of an installed package, in words where there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
