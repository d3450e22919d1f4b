"""Options that several commands have, each defined once: the same flag means the same everywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

FILE = click.Path()  # the shell offers files


def offered(words: Sequence[str] | Callable[[], Sequence[str]]) -> Callable[..., list[str]]:
    """The `shell_complete` of an option that takes one of some words. A function in place of the words is called when
    the shell asks, because to look them up takes time."""

    def complete(context: click.Context, param: click.Parameter, begun: str) -> list[str]:
        return [word for word in (words() if callable(words) else words) if word.startswith(begun)]

    return complete


def among(option: str, words: Sequence[str], about: str = "") -> Any:
    """An option that takes one of some words, which its help names and the shell offers. Others are refused when the
    command line is read, before any work."""

    def known(context: click.Context, param: click.Parameter, value: str) -> str:
        if value not in words:
            context.fail(f"{option} {value!r} is not known; choose one of {', '.join(words)}")
        return value

    told = f"{about}{', '.join(words[:-1])} or {words[-1]}."
    complete = offered(words)
    return click.option(option, default="auto", show_default=True, help=told, callback=known, shell_complete=complete)


class WritablePath(click.Path):
    """A path of a file, or with `folder` of a folder, that can be written. It is tried when the command line is read,
    so that no work is in vain; "-" and URLs are taken as they are."""

    def __init__(self, *, folder: bool = False):
        super().__init__(file_okay=not folder)
        self.name = FILE.name

    def convert(self, value: Any, param: Any, context: Any) -> str:
        path = str(value)
        if path == "-" or "://" in path:
            return path
        if self.file_okay and Path(path).is_dir():
            self.fail(f"{path} is a folder; name a file, in it or beside it", param, context)
        if not self.file_okay and Path(path).exists() and not Path(path).is_dir():
            self.fail(f"{path} is a file; name a folder", param, context)
        folder = Path(path).absolute() if not self.file_okay else Path(path).absolute().parent
        while not folder.exists():  # made when it is written
            folder = folder.parent
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            self.fail(
                f"{path}: nothing can be written to {folder}: {error.strerror}; name a place elsewhere", param, context
            )
        return path


class WholeNumber(click.IntRange):
    """A whole number of a range, which a help text calls N."""

    name = "n"


class VertexCount(click.types.IntParamType):
    """A number of vertices. Who names a file is told of the option that takes one."""

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if Path(str(value)).is_file():
            self.fail(f"{value!r} is no number; a file of vertices is for --vertex-file", param, context)
        return super().convert(value, param, context)


def output(what: str, *, metavar: str = "FILE", folder: bool = False, required: bool = False) -> Any:
    """The option -o of a command, whose help says `what` is written."""
    kind = WritablePath(folder=folder)
    return click.option("-o", "--output", metavar=metavar, type=kind, required=required, help=f"Where to write: {what}")


as_json = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON: an object a line.")
engine = among("--engine", ("auto", "local", "bsp", "gas", "bulk_async", "block_descent", "cugraph"))
on_workers = click.option(
    "--on-workers", type=WholeNumber(1), help="Workers there will be.  [default: those there are]"
)
UNDIRECTED = click.option("--undirected", is_flag=True, help="Each listed edge stands for both directions.")
VERTICES = click.option(
    "--vertices", type=VertexCount(), metavar="N", help="How many vertices there are: the ids 0 to N-1."
)


def _operations() -> list[str]:
    import dgraph as dg

    return [name.replace("_", "-") for name in dg.OPERATIONS]


operations = offered(_operations)  # what the shell offers for OP
