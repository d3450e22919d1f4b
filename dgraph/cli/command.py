"""What every command shares: failures in one line without a traceback (--debug shows it), warnings in one, and
--json."""

from __future__ import annotations

import errno
import json
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from dgraph.cli.signatures import OF
from dgraph.errors import DgraphError, InputError, OptionError, ProgramError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # what a disk says, whatever was asked for


class Command(click.Command):
    """A command whose errors are those of the library."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))

    def invoke(self, context: click.Context) -> Any:
        debug = context.params.pop("debug")
        try:
            with self._warnings_in_a_line():
                return super().invoke(context)
        except BrokenPipeError:  # whoever read has read enough
            raise
        except (DgraphError, OSError, MemoryError, Warning) as error:  # a warning: by PYTHONWARNINGS=error
            if debug:
                traceback.print_exc()
            failure = click.ClickException(as_typed(str(error) or type(error).__name__, self.params))
            of_a_disk = getattr(error.__cause__, "errno", None) in FULL
            refused = isinstance(error, InputError | ProgramError) and not of_a_disk
            failure.exit_code = 2 if refused else 1  # type: ignore[misc]
            raise failure from error

    @contextmanager
    def _warnings_in_a_line(self) -> Iterator[None]:
        def told(message: Warning | str, *where: Any, **more: Any) -> None:
            click.echo(f"Warning: {as_typed(str(message), self.params)}", err=True)

        with warnings.catch_warnings():
            warnings.showwarning = told
            yield


class Group(click.Group):
    """Commands of which one is chosen: who asks for another is told them all."""

    def resolve_command(self, context: click.Context, given: list[str]) -> Any:
        if not context.resilient_parsing and given[0][:1] != "-" and self.get_command(context, given[0]) is None:
            context.fail(f"there is no {given[0]!r}; choose one of {', '.join(self.list_commands(context))}")
        return super().resolve_command(context, given)


def operations(context: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """What the shell offers for OP."""
    import dgraph as dg

    return [name for name in (one.replace("_", "-") for one in dg.OPERATIONS) if name.startswith(begun)]


def named(operation: str, known: Iterable[str] | None = None, more: str = "") -> str:
    """What Python calls an operation."""
    import dgraph as dg

    known, name = known or dg.OPERATIONS, operation.replace("-", "_")
    if name not in known:
        raise OptionError(f"{operation!r} is no operation; take {', '.join(known).replace('_', '-')}{more}")
    return name


def among(option: str, words: Sequence[str], about: str = "") -> Any:
    """An option of one of some words, which its help names and the shell offers; the library refuses others."""
    told = f"{about}{', '.join(words[:-1])} or {words[-1]}."
    return click.option(
        option,
        default="auto",
        show_default=True,
        help=told,
        shell_complete=lambda context, param, begun: [word for word in words if word.startswith(begun)],
    )


# what an option of the command line says by itself, and what no option can say
WORDS = {'isolated="drop"': "--drop-isolated", ", or give a function": "", ", or format=)": ")"}


def as_typed(message: str, options: Sequence[click.Parameter]) -> str:
    """A message that names arguments as Python has them, `header=True`, in the spelling of this command's options."""
    for word, option in WORDS.items():
        message = message.replace(word, option)
    named = {str(one.name): one for one in options if isinstance(one, click.Option)}
    known = named | {name.removeprefix(OF): one for name, one in named.items() if name.startswith(OF)}

    def typed(found: re.Match) -> str:
        option, value = known.get(found["name"]), (found["value"] or "").strip("\"'")
        if option is None:
            return found[0]
        if option.secondary_opts and value in ("True", "False"):
            return (option.opts if value == "True" else option.secondary_opts)[0]
        return option.opts[0] if option.is_flag or found["value"] is None else f"{option.opts[0]} {found['value']}"

    return re.sub(r"""(?<![^\s(])(?P<name>[a-z_]+)=(?P<value>"[^"]*"|'[^']*'|[\w.-]*\w|(?=[\[{]))?""", typed, message)


@contextmanager
def called(path: str, name: str) -> Iterator[None]:
    """Errors that are about a file of ours speak of what it stands for."""
    try:
        yield
    except DgraphError as error:
        error.args = (str(error).replace(path, name),)
        raise


as_json = click.option("--json", "as_json", is_flag=True, help="Print the outcome as one line of JSON.")


def tell(told: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    """The outcome as JSON on standard output (on the other, where values go there); else a line on the terminal, and
    nothing in a pipe."""
    if as_json:
        click.echo(json.dumps(told, default=str), err=told.get("output") == "-")
    elif sys.stderr.isatty():
        click.echo(text or ", ".join(f"{name} {value}" for name, value in told.items()), err=True)
