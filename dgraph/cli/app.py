"""`dgraph`: the group of all commands; a module is loaded when its command is called.

Exit codes: 0 done; 1 the run failed or was stopped; 2 what was asked for cannot be done.
"""

from __future__ import annotations

from importlib import import_module

import click

from dgraph import __version__
from dgraph.cli.command import Group

COMMANDS = [
    *("run", "generate", "convert", "partition"),
    *("estimate", "plan", "validate", "explain", "bench", "graphalytics", "warmup", "info"),
]


class Commands(Group):
    """One command a module of this folder."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return import_module(f"dgraph.cli.{name}").command if name in COMMANDS else None


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="dgraph %(version)s")
def dgraph() -> None:
    """Graph algorithms on Dask: in this process, or on a cluster with --workers or --cluster.

    Exit codes: 0 done; 1 the run failed or was stopped; 2 what was asked for cannot be done.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph run pagerank edges.parquet -o ranks.csv
    """


def main() -> None:
    """What the installed command calls."""
    dgraph(prog_name="dgraph")
