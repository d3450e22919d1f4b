"""The base of all commands: one-line errors and warnings, suggestions for misspelled names, and outcomes."""

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

from dgraph.cli.exits import code_of, error_text
from dgraph.cli.say import say
from dgraph.cli.signatures import PARAMETER_PREFIX
from dgraph.errors import ColumnError, DgraphError, FileError, OptionError
from dgraph.keywords import ENGINE_VALUES
from dgraph.phrases.suggestions import choices, suggestion

EXAMPLE = "\b\nExample:"
OPTION = r"""(?<![^\s(])(?P<name>[a-z_][a-z0-9_]*)=(?P<value>"[^"]*"|'[^']*'|[\w.-]*\w|(?=[\[{(]))?"""  # in errors
FEW = 12  # the number of options up to which help lists them without headings
ALGORITHM, OTHERS = "Algorithm", "Options"  # headings for the options of an operation, and for those not listed below
HEADINGS = {
    "Run": ("engine", "device", "max_rounds", "checkpoint"),
    "Output": ("output", "report", "as_json"),
    "Reading EDGES": (
        *("format", "source", "destination", "weight", "unweighted", "columns", "header", "delimiter", "id_type"),
    ),
    "Graph": ("undirected", "vertices", "vertex_file", "loops", "repeats", "symmetrize", "policy", "parts"),
    "Cluster": ("workers", "cluster", "scheduler_file", "tls_ca_file", "tls_cert", "tls_key"),
    "Help": ("debug", "help"),
}
HEADING_OF = {name: heading for heading, names in HEADINGS.items() for name in names}


class WithExample(click.Command):
    """A command whose help ends with the example of its docstring."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        text, mark, example = inspect.cleandoc(self.help or "").partition(EXAMPLE)
        if mark:
            self.help, self.epilog = text.rstrip(), mark + example

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, under headings if there are many."""
        options = [one for one in self.get_params(context) if isinstance(one, click.Option)]
        records = [("help" if "--help" in one.opts else str(one.name), one.get_help_record(context)) for one in options]
        shown = [(name, record) for name, record in records if record is not None]
        if len(shown) <= FEW:
            super().format_options(context, formatter)
            return
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (ALGORITHM, OTHERS, *HEADINGS)}
        for name, record in shown:
            of_operation = name.startswith(PARAMETER_PREFIX)
            groups[ALGORITHM if of_operation else HEADING_OF.get(name, OTHERS)].append(record)
        for heading, rows in groups.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def get_short_help_str(self, limit: int = 45) -> str:
        """The docstring up to its first punctuation mark, which fits into a list of commands."""
        return " ".join(re.split(r"[.,:;](?:\s|$)|\s\(", self.help or "")[0].split())


class Command(WithExample):
    """A command that turns any error into one line and an exit code (see `exits.py`).

    Every command has `--debug`, which also prints the traceback.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.context_settings["show_default"] = True
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, args)
        except click.NoSuchOption as error:
            flags = [flag.removeprefix("--") for option in self.params for flag in option.opts if flag[:2] == "--"]
            if near := suggestion(error.option_name.lstrip("-"), flags, said="did you mean --{}?".format):
                context.fail(f"there is no {error.option_name}; {near}")
            raise

    def invoke(self, context: click.Context) -> Any:
        debug = context.params.pop("debug")
        try:
            with self._short_warnings():
                return super().invoke(context)
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise  # a broken pipe means that the reader has read enough
        except KeyboardInterrupt as stop:
            raise click.Abort from stop  # click would print a blank line first
        except Exception as error:
            if debug:
                say(traceback.format_exc(), err=True)
            # PYTHONWARNINGS=error raises warnings
            expected = isinstance(error, DgraphError | OSError | MemoryError | Warning)
            fault = "" if expected else f"{type(error).__name__}, a bug in dgraph (--debug shows where): "
            reading = isinstance(error, ColumnError | FileError)
            failure = click.ClickException(fault + in_option_words(error_text(error), self.params, reading=reading))
            failure.exit_code = code_of(error)  # type: ignore[misc]
            raise failure from error

    @contextmanager
    def _short_warnings(self) -> Iterator[None]:
        """Within the block, print each warning as one line, without the source line that raised it."""

        def show(message: Warning | str, *where: Any, **more: Any) -> None:
            text = in_option_words(str(message), self.params, reading=True)
            say(f"Warning: {text}", err=True, clear=True)

        with warnings.catch_warnings():
            warnings.showwarning = show
            yield


class Group(WithExample, click.Group):
    """A group of commands. The error for an unknown name lists all names and suggests the nearest."""

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if not context.resilient_parsing and args[0][:1] != "-" and self.get_command(context, args[0]) is None:
            known = self.suggestions(context)

            def said(near: str) -> str:
                return f"did you mean `{context.command_path} {known[near]}`?"

            meant = suggestion(args[0], known, said=said, operations=True)
            context.fail(f"there is no {args[0]!r}; {choices(args[0], self.choices(context), meant)}")
        return super().resolve_command(context, args)

    def choices(self, context: click.Context) -> list[str]:
        return self.list_commands(context)

    def suggestions(self, context: click.Context) -> dict[str, str]:
        """Words that the user may have meant, each with what to type after the name of this group."""
        return {name: name for name in self.choices(context)}


def operation_name(operation: str, known: Iterable[str] | None = None, more: str = "") -> str:
    """The Python name of an operation as it was typed, perhaps with hyphens.

    `known` lists the accepted names, by default those of all operations. The error for any other name ends in `more`.
    """
    import dgraph as dg

    known, name = known or dg.ALL_OPERATIONS, operation.replace("-", "_")
    if name not in known:
        words = [one.replace("_", "-") for one in known]
        raise OptionError(f"{operation!r} is not an operation; {choices(operation, words, operations=True)}{more}")
    return name


# An engine in a message, such as `engine=dg.Bsp(max_rounds=3)`, and its name on the command line
NAMES = {made.__name__: name for name, made in ENGINE_VALUES.items()}
VALUE = re.compile(rf"(?:engine=)?\bdg\.({'|'.join(NAMES)})\b(?:\([^()]*\))?")
# An option of text in a message, such as `format=dg.Text(header=True)`
OF_TEXT = re.compile(r"format=dg\.Text\((\w+=[^()]*)\)")
# Phrases of the library's messages that have a different form on the command line, or none.
WORDS = {
    'isolated="drop"': "--drop-isolated",
    "weight=None": "--unweighted",
    "renumber=True": "--renumber IDS",
    "make it with directed=True": "leave out --undirected, or convert a file that records undirected edges to .csv",
    ", or give a function": "",
    ", or {vertex: weight}": "",
    ", or format=)": ")",
    ", or None": ", or leave it out",
}


def in_option_words(message: str, options: Sequence[click.Parameter], *, reading: bool = False) -> str:
    """Translate a message of the library, so that arguments such as `header=True` become options of the command.

    If an option of the operation and one for reading the graph have the same name, the message means the operation's,
    unless it is about `reading`.
    """
    for word, option in WORDS.items():
        message = message.replace(word, option)
    message = VALUE.sub(lambda found: f"--engine {NAMES[found[1]]}", message)
    message = OF_TEXT.sub(lambda found: found[1].removesuffix("..."), message)
    named = {str(one.name): one for one in options if isinstance(one, click.Option)}
    own = {name.removeprefix(PARAMETER_PREFIX): one for name, one in named.items() if name.startswith(PARAMETER_PREFIX)}
    known = own | named if reading else named | own

    def typed(found: re.Match) -> str:
        option, value = known.get(found["name"]), (found["value"] or "").strip("\"'")
        if option is None:
            return found[0]
        if option.secondary_opts and value in ("True", "False"):
            return (option.opts if value == "True" else option.secondary_opts)[0]
        return option.opts[0] if option.is_flag or found["value"] is None else f"{option.opts[0]} {found['value']}"

    return re.sub(OPTION, typed, message)


@contextmanager
def rename_in_errors(path: str, name: str) -> Iterator[None]:
    """Within the block, errors refer to the temporary file `path` as `name`, the input that it holds."""
    try:
        yield
    except DgraphError as error:
        error.args = (str(error).replace(path, name),)
        raise


def print_outcome(outcome: Mapping[str, Any], as_json: bool, text: str = "") -> None:
    """Print the outcome of a command.

    JSON goes to standard output, or to standard error if values go to standard output. Without JSON, the line `text` is
    shown on terminals only.
    """
    if as_json:
        say(json.dumps(outcome, default=str), err=outcome.get("output") == "-")
    elif sys.stderr.isatty():
        say(text or ", ".join(f"{name} {value}" for name, value in outcome.items()), err=True)
