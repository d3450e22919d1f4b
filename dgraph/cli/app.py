"""`dgraph`, the group of all commands. A command's module is imported when the command is called."""

from __future__ import annotations

import logging
import sys
from functools import partial
from importlib import import_module
from typing import Any

import click

from dgraph import __version__
from dgraph.cli.command import Group
from dgraph.cli.exits import run_and_exit

COMMANDS = [
    *("run", "generate", "convert", "partition", "update"),
    *("estimate", "plan", "validate", "explain", "bench", "graphalytics", "warmup", "info"),
]


class Commands(Group):
    """The commands of `dgraph`, each in a separate module in `commands/`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return COMMANDS

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return import_module(f"dgraph.cli.commands.{name}").command if name in COMMANDS else None

    def suggestions(self, context: click.Context) -> dict[str, str]:
        """Also suggest `run` or `generate` when one of their commands is typed without it."""
        groups = {name: import_module(f"dgraph.cli.commands.{name}").command for name in ("generate", "run")}
        inner = {one: f"{name} {one}" for name, group in groups.items() for one in group.list_commands(context)}
        return inner | super().suggestions(context)

    def main(self, *arguments: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run a command line. In standalone mode this ends the process (see `run_and_exit`); otherwise it raises
        click's errors."""
        run = partial(super().main, *arguments, standalone_mode=False, **options)
        return run_and_exit(run) if standalone_mode else run()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="dgraph %(version)s")
def dgraph() -> None:
    """Graph algorithms on Dask: in this process, or on a cluster with --workers or --cluster.

    Exit codes: 0 success; 1 the run failed, or a check found errors; 2 the command line or the input is invalid; 130
    stopped by Ctrl-C; 143 stopped by SIGTERM.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph run pagerank edges.parquet -o ranks.csv
    """


def main() -> None:
    """The entry point of the installed command.

    Each error is printed as one line, so Dask's logs are off unless `--debug` is given.
    """
    if "--debug" not in sys.argv:
        logging.disable()
    dgraph(prog_name="dgraph")
