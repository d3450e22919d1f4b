"""`dgraph`: the group of all commands; a module is loaded when its command is called."""

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
    *("run", "generate", "convert", "partition"),
    *("estimate", "plan", "validate", "explain", "bench", "graphalytics", "warmup", "info"),
]


class Commands(Group):
    """The commands of `dgraph`: a module of `commands/` for each, imported when its command is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return import_module(f"dgraph.cli.commands.{name}").command if name in COMMANDS else None

    def typed(self, context: click.Context) -> dict[str, str]:
        """Also the commands of `run` and `generate`, which somebody may type without these."""
        groups = {name: import_module(f"dgraph.cli.commands.{name}").command for name in ("generate", "run")}
        inner = {one: f"{name} {one}" for name, group in groups.items() for one in group.list_commands(context)}
        return inner | super().typed(context)

    def main(self, *given: Any, standalone_mode: bool = True, **more: Any) -> Any:
        """Run a command line. Standing alone it ends the process, as `run_and_exit` says; else click's errors are
        raised."""
        run = partial(super().main, *given, standalone_mode=False, **more)
        return run_and_exit(run) if standalone_mode else run()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="dgraph %(version)s")
def dgraph() -> None:
    """Graph algorithms on Dask: in this process, or on a cluster with --workers or --cluster.

    Exit codes: 0 done; 1 the run failed, or found what was looked for to be wrong; 2 what was asked for cannot be done;
    130 stopped by Ctrl-C, 143 by SIGTERM.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph run pagerank edges.parquet -o ranks.csv
    """


def main() -> None:
    """The entry point of the installed command. Dask's logs are off unless `--debug` is given, because an error is told
    in one line."""
    if "--debug" not in sys.argv:
        logging.disable()
    dgraph(prog_name="dgraph")
