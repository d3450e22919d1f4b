"""What every command shares: failures in one line without a traceback (--debug shows it), warnings in one, and how
an outcome is told."""

from __future__ import annotations

import inspect
import json
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from dgraph import phrases
from dgraph.cli.exits import code_of, error_text
from dgraph.cli.signatures import OF
from dgraph.cli.status_line import CLEAR
from dgraph.errors import ColumnError, DgraphError, FileError, OptionError

EXAMPLE = "\b\nExample:"


class ExampleCommand(click.Command):
    """A command whose help ends in the example of its docstring."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        text, mark, example = inspect.cleandoc(self.help or "").partition(EXAMPLE)
        if mark:
            self.help, self.epilog = text.rstrip(), mark + example

    def get_short_help_str(self, limit: int = 45) -> str:
        """The docstring up to its first stop: a list of commands has room for that."""
        return " ".join(re.split(r"[.,:;](?:\s|$)|\s\(", self.help or "")[0].split())


class Command(ExampleCommand):
    """A command that runs, and turns whatever is raised meanwhile into one line and an exit code (`exits.py`). Every
    command has `--debug`, which prints the traceback, too."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))

    def parse_args(self, context: click.Context, given: list[str]) -> list[str]:
        try:
            return super().parse_args(context, given)
        except click.NoSuchOption as error:
            flags = [flag.removeprefix("--") for option in self.params for flag in option.opts if flag[:2] == "--"]
            if near := nearest(error.option_name.lstrip("-"), flags):
                context.fail(f"there is no {error.option_name}; did you mean --{near}?")
            raise

    def invoke(self, context: click.Context) -> Any:
        debug = context.params.pop("debug")
        try:
            with self._warnings_in_a_line():
                return super().invoke(context)
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise  # a broken pipe: whoever read has read enough
        except KeyboardInterrupt as stop:
            raise click.Abort from stop  # click itself would add a blank line
        except Exception as error:
            if debug:
                traceback.print_exc()
            expected = isinstance(error, DgraphError | OSError | MemoryError | Warning)  # by PYTHONWARNINGS=error
            fault = "" if expected else f"{type(error).__name__}, a fault of dgraph (--debug shows where): "
            reading = isinstance(error, ColumnError | FileError)
            failure = click.ClickException(fault + as_typed(error_text(error), self.params, reading=reading))
            failure.exit_code = code_of(error)  # type: ignore[misc]
            raise failure from error

    @contextmanager
    def _warnings_in_a_line(self) -> Iterator[None]:
        """Warnings are told in one line each, without the place in the source that raised them."""

        def told(message: Warning | str, *where: Any, **more: Any) -> None:
            click.echo(
                f"{CLEAR if sys.stderr.isatty() else ''}Warning: {as_typed(str(message), self.params, reading=True)}",
                err=True,
            )

        with warnings.catch_warnings():
            warnings.showwarning = told
            yield


class Group(ExampleCommand, click.Group):
    """A command of commands. A name that is none is refused with the nearest and with all of them."""

    def resolve_command(self, context: click.Context, given: list[str]) -> Any:
        if not context.resilient_parsing and given[0][:1] != "-" and self.get_command(context, given[0]) is None:
            typed = self.typed(context)
            near = nearest(given[0], typed)
            meant = f"did you mean `{context.command_path} {typed[near]}`? " if near else ""
            context.fail(f"there is no {given[0]!r}; {meant}choose one of {', '.join(self.choices(context))}")
        return super().resolve_command(context, given)

    def choices(self, context: click.Context) -> list[str]:
        """The names that are known."""
        return self.list_commands(context)

    def typed(self, context: click.Context) -> dict[str, str]:
        """Each word that may be meant, and what to type for it after this group's own name."""
        return {name: name for name in self.choices(context)}


def nearest(given: str, known: Iterable[str]) -> str:
    """The known word, which may have hyphens, that a word that is not known may mean; "" if none is near."""
    words = {one.replace("-", "_"): one for one in known}
    return words.get(phrases.nearest(given.lower().replace("-", "_"), words, 0.7), "")


def named(operation: str, known: Iterable[str] | None = None, more: str = "") -> str:
    """The name in Python of an operation that was typed, which may have hyphens. Unless it is `known` (by default, one
    of `dgraph.OPERATIONS`) it is refused, and the error ends in `more`."""
    import dgraph as dg

    known, name = known or dg.OPERATIONS, operation.replace("-", "_")
    if name not in known:
        words = [one.replace("_", "-") for one in known]
        near = nearest(operation, words)
        meant = f"did you mean {near}? " if near else ""
        raise OptionError(f"{operation!r} is no operation; {meant}take {', '.join(words)}{more}")
    return name


# what an option of the command line says by itself, and what no option can say
WORDS = {
    'isolated="drop"': "--drop-isolated",
    "renumber=True": "--renumber IDS",
    ", or give a function": "",
    ", or {vertex: weight}": "",
    ", or format=)": ")",
    ", or None": ", or leave it out",
}


def as_typed(message: str, options: Sequence[click.Parameter], *, reading: bool = False) -> str:
    """A message of the library in the words of a command: arguments that it names, as `header=True`, become the options
    that set them. Where an option of the operation and one of reading the graph have the same name, the operation's is
    meant, unless the message is about `reading`."""
    for word, option in WORDS.items():
        message = message.replace(word, option)
    named = {str(one.name): one for one in options if isinstance(one, click.Option)}
    own = {name.removeprefix(OF): one for name, one in named.items() if name.startswith(OF)}
    known = own | named if reading else named | own

    def typed(found: re.Match) -> str:
        option, value = known.get(found["name"]), (found["value"] or "").strip("\"'")
        if option is None:
            return found[0]
        if option.secondary_opts and value in ("True", "False"):
            return (option.opts if value == "True" else option.secondary_opts)[0]
        return option.opts[0] if option.is_flag or found["value"] is None else f"{option.opts[0]} {found['value']}"

    return re.sub(r"""(?<![^\s(])(?P<name>[a-z_]+)=(?P<value>"[^"]*"|'[^']*'|[\w.-]*\w|(?=[\[{(]))?""", typed, message)


@contextmanager
def rename_in_errors(path: str, name: str) -> Iterator[None]:
    """Errors raised in the block that name the file `path`, which we made, call it by `name`: what it stands for."""
    try:
        yield
    except DgraphError as error:
        error.args = (str(error).replace(path, name),)
        raise


def print_outcome(told: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    """Print the outcome of a command: as JSON on standard output, or on standard error where values go to standard
    output; without JSON as the line `text` on a terminal, and not at all in a pipe."""
    if as_json:
        click.echo(json.dumps(told, default=str), err=told.get("output") == "-")
    elif sys.stderr.isatty():
        click.echo(text or ", ".join(f"{name} {value}" for name, value in told.items()), err=True)
