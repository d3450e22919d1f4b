"""Prints everything for commands, because text from data must not control the terminal."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from dgraph.phrases.printable import printable
from dgraph.runs.progress import CLEAR

if TYPE_CHECKING:
    import pandas as pd

LAYOUT = "\n\t"  # the control characters that dgraph's own texts use


def say(text: str, *, err: bool = False, nl: bool = True, clear: bool = False) -> None:
    """Print on standard output, or with `err` on standard error. `clear` first erases the progress line there."""
    if clear and sys.stderr.isatty():
        click.echo(CLEAR, nl=False, err=True)
    click.echo(printable(text, LAYOUT), nl=nl, err=err)


def as_table(frame: pd.DataFrame) -> str:
    """A frame as text, with one line per row whatever its cells hold."""
    frame = frame.rename(columns=printable)
    for place, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufmM":
            frame.isetitem(place, frame.iloc[:, place].map(_cell))
    return frame.to_string(index=False)


def _cell(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def standard_output() -> Any:
    """Standard output, for values and edges as CSV. A pipe receives the bytes unchanged."""
    return _VisibleOutput(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer


class _VisibleOutput:
    """A stream of UTF-8 to a terminal, with control characters escaped."""

    closed = False

    def __init__(self, stream: BinaryIO):
        self._stream, self._letters = stream, getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes, *, last: bool = False) -> int:
        """Write the letters that are complete, or all if these are the last bytes."""
        self._stream.write(printable(self._letters.decode(bytes(data), last), LAYOUT).encode())
        return len(data)

    def flush(self) -> None:
        self.write(b"", last=True)
        self._stream.flush()

    def close(self) -> None:
        self.flush()
