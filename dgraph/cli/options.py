"""Options that several commands share, so that a flag means the same everywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from dgraph.native.free_memory import parse_bytes

FILE = click.Path()  # the shell completes files


def completion(words: Sequence[str] | Callable[[], Sequence[str]]) -> Callable[..., list[str]]:
    """The `shell_complete` of an option that takes one of some words.

    Pass a function if looking up the words takes time. It is called only when the shell completes.
    """

    def complete(context: click.Context, param: click.Parameter, begun: str) -> list[str]:
        return [word for word in (words() if callable(words) else words) if word.startswith(begun)]

    return complete


EXPERIMENTAL = ("cugraph", "cuda")


def choice_option(option: str, words: Sequence[str], about: str) -> Any:
    """An option that takes one of some words, which its help lists and the shell completes.

    Other words are rejected when the command line is parsed, before any work.
    """

    def known(context: click.Context, param: click.Parameter, value: str) -> str:
        if value not in words:
            context.fail(f"{option} {value!r} is not known; choose one of {', '.join(words)}")
        return value

    text = f"{about}: {', '.join(words[:-1])} or {words[-1]}."
    text += "".join(f" ({word} is experimental.)" for word in words if word in EXPERIMENTAL)
    return click.option(option, default="auto", help=text, callback=known, shell_complete=completion(words))


class OutputPath(click.Path):
    """The path of a file to write or, with `folder`, of a folder; with `either`, a path that ends with a slash is a new
    folder.

    Whether it can be written is checked when the command line is parsed, before any work. "-" and URLs are not checked.
    """

    def __init__(self, *, folder: bool = False, either: bool = False):
        super().__init__(file_okay=not folder)
        self.either = either
        self.name = FILE.name

    def convert(self, value: Any, param: Any, context: Any) -> str:
        path = str(value)
        if path == "-" or "://" in path:
            return path
        if self.either and path.endswith("/"):
            if Path(path).is_dir() and any(Path(path).iterdir()):
                self.fail(f"{path} is there already; choose another folder, or remove it", param, context)
        elif self.file_okay and Path(path).is_dir():
            self.fail(f"{path} is a folder; give the path of a file", param, context)
        if not self.file_okay and Path(path).exists() and not Path(path).is_dir():
            self.fail(f"{path} is a file; give the path of a folder", param, context)
        folder = Path(path).absolute() if not self.file_okay else Path(path).absolute().parent
        while not folder.exists():  # missing folders are created when the file is written
            folder = folder.parent
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            self.fail(f"{path}: cannot write to {folder}: {error.strerror}; choose another folder", param, context)
        return path


class WholeRange(click.IntRange):
    """An integer in a range, called N in help texts."""

    name = "n"


class Bytes(click.ParamType):
    """A number of bytes, such as "6 GiB"."""

    name = "size"

    def convert(self, value: Any, param: Any, context: Any) -> int:
        size = parse_bytes(str(value))
        if not size:
            self.fail(f"{value!r} is not a number of bytes, such as 4096 or '4 GiB'", param, context)
        return size


class VertexCount(click.types.IntParamType):
    """A number of vertices. If it is the path of a file, the error suggests --vertex-file."""

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if Path(str(value)).is_file():
            self.fail(f"{value!r} is not a number; to read vertices from a file, use --vertex-file", param, context)
        return super().convert(value, param, context)


def output_option(
    what: str, *, metavar: str = "FILE", folder: bool = False, either: bool = False, required: bool = False
) -> Any:
    """The option -o of a command; `what` describes what is written."""
    kind = OutputPath(folder=folder, either=either)
    return click.option("-o", "--output", metavar=metavar, type=kind, required=required, help=f"Output: {what}")


OF_EDGES = "the edges, in the format of the suffix; DIR/ is a folder of Parquet files, - is CSV on standard output."
ENGINES = ("auto", "local", "bsp", "gas", "bulk_async", "block_descent", "cugraph")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON, one object per line.")
engine = choice_option("--engine", ENGINES, "Engine")
on_workers = click.option("--on-workers", type=WholeRange(1), help="Number of workers.  [default: those that run now]")
MEMORY = click.option(
    "--memory",
    type=Bytes(),
    metavar="SIZE",
    help="Memory that each process may use, such as '6 GiB'.  [default: what is free]",
)
UNDIRECTED = click.option("--undirected", is_flag=True, help="Each listed edge stands for both directions.")
VERTICES = click.option(
    "--vertices", type=VertexCount(), metavar="N", help="Number of vertices; their ids are 0 to N-1."
)


RANK = click.option("--rank", type=int, help="Length of the factor vectors, for factorize.  [default: 8]")


def _operations() -> list[str]:
    import dgraph as dg

    return [name.replace("_", "-") for name in dg.ALL_OPERATIONS]


complete_operations = completion(_operations)  # shell completion of OP
