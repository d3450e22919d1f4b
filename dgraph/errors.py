"""The exceptions that dgraph raises on a user's input, in one tree.

DgraphError
├── InputError                 the input cannot be used (also a ValueError)
│   ├── FileError              a file cannot be read: its path, line, and the text found there
│   ├── ColumnError            a column is missing, or has an unsupported type
│   ├── IdError                a vertex id is missing, not an integer, beyond 64 bits, or unknown
│   ├── WeightError            a weight is missing, not a number, or not finite where that matters
│   ├── OptionError            an argument has a value that is not allowed
│   └── DeviceError            the requested device is not available
├── ProgramError               a vertex program cannot be compiled, or breaks a law
├── StorageError               a saved graph is damaged, changed, or of another version
├── AnswerError                a result is not what its operation defines
└── RunError                   a run could not finish: a message was lost, it was stopped, or it seems endless
    ├── LostError              a worker left with data that cannot be computed again
    ├── SumError               a sum of a program's messages does not fit into its type
    └── RoomError              there is not enough memory, on the workers or in this process

Each message names the value at fault and the remedy. Warnings accompany a result that is returned all the same:
UnsettledWarning, UnsentWarning, UnweightedWarning, EndlessWarning, SilentWorkerWarning.
"""

from __future__ import annotations

import functools

from dgraph.phrases.printable import message


class DgraphError(Exception):
    """The base class of all errors that dgraph raises on a user's input.

    Messages quote ids, names and text from files, so their control characters are shown escaped.
    """

    def __str__(self) -> str:
        return message(super().__str__())


class InputError(DgraphError, ValueError):
    """The input cannot be used."""


class FileError(InputError):
    """A file cannot be read in its format."""

    def __init__(self, problem: str, *, path: object, line: int | None = None, remedy: str | None = None):
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}" + (f" ({remedy})" if remedy else ""))
        self.path, self.line, self.problem, self.remedy = path, line, problem, remedy

    def __reduce__(self):
        return functools.partial(type(self), path=self.path, line=self.line, remedy=self.remedy), (self.problem,)


class ColumnError(InputError):
    """A column is missing, or has an unsupported type."""


class IdError(InputError):
    """A vertex id is missing, not an integer, beyond 64 bits, or not in the graph."""


class WeightError(InputError):
    """A weight is missing, not a number, or not finite where that matters."""


class OptionError(InputError):
    """An argument has a value that is not allowed."""


class DeviceError(InputError):
    """The requested device is not available, or lacks a capability."""


class ProgramError(DgraphError):
    """A vertex program cannot be compiled, or breaks a law."""

    def __str__(self) -> str:  # may quote lines of the program
        return message(Exception.__str__(self), keep="\n\t")


class StorageError(DgraphError):
    """A saved graph is damaged, was changed, or has a version that this release cannot read."""


class AnswerError(DgraphError):
    """A result is not what its operation defines."""


class RunError(DgraphError):
    """A run could not finish."""


class LostError(RunError):
    """A worker left with data that cannot be computed again."""


class SumError(RunError):
    """The sum of whole numbers that a program sends to a vertex does not fit into the type of its message."""

    def __init__(self, program: str, number: int, vertex: object = None):
        super().__init__(program, number, vertex)
        self.program, self.number, self.vertex = program, number, vertex

    def __str__(self) -> str:
        which = f"vertex number {self.number}" if self.vertex is None else f"vertex {self.vertex!r}"
        return (
            f"{self.program}: the sum of the messages to {which} does not fit into its type; declare the message as a "
            "float, dgraph.Message(float, dgraph.SUM), for a rounded sum, or give it a merge of your own"
        )


class RoomError(RunError):
    """There is not enough memory, on the workers or in this process."""


class UnsettledWarning(UserWarning):
    """The iteration stopped at `max_iter`, before the scores were within `tol` of the fixed point."""


class EndlessWarning(UserWarning):
    """A run takes more rounds than there are vertices, or very long, and may never end."""


class UnsentWarning(UserWarning):
    """No vertex sent a message: what `seed` returns equals the initial state."""


class UnweightedWarning(UserWarning):
    """A graph has no weights, although one of its columns looks like them."""


class SilentWorkerWarning(UserWarning):
    """A worker has not answered the scheduler for some time, and the call waits for it."""
