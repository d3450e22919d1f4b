"""What every command shares: failures in one line without a traceback (--debug shows it), and --json."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from dgraph.errors import DgraphError, InputError, ProgramError


class Command(click.Command):
    """A command whose errors are those of the library."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))

    def invoke(self, context: click.Context) -> Any:
        debug = context.params.pop("debug")
        try:
            return super().invoke(context)
        except (DgraphError, OSError, MemoryError) as error:
            if debug or isinstance(error, BrokenPipeError):
                raise
            failure = click.ClickException(str(error) or type(error).__name__)
            failure.exit_code = 2 if isinstance(error, InputError | ProgramError) else 1  # type: ignore[misc]
            raise failure from error


as_json = click.option("--json", "as_json", is_flag=True, help="Print the outcome as one line of JSON.")


def tell(told: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    """The outcome as JSON on standard output (on the other, where values go there); else a line on the terminal, and
    nothing in a pipe."""
    if as_json:
        click.echo(json.dumps(told, default=str), err=told.get("output") == "-")
    elif sys.stderr.isatty():
        click.echo(text or ", ".join(f"{name} {value}" for name, value in told.items()), err=True)
