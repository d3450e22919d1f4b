"""Every exception that dgraph raises on a user's input, in one tree.

DgraphError
├── InputError                 what was handed in cannot be used (also a ValueError)
│   ├── FileError              a file: its path, line, the text found there
│   ├── ColumnError            a column is missing, or of a type that cannot be used
│   ├── IdError                a vertex id: missing, not a whole number, beyond 64 bits, unknown
│   ├── WeightError            a weight: missing, text, not finite where that matters
│   ├── OptionError            an argument has a value that is not allowed
│   └── DeviceError            a device that was asked for is not there
├── ProgramError               a vertex program cannot be compiled, or breaks a law
├── StorageError               a saved graph is torn, changed, or of another version
├── AnswerError                an answer is not what its operation means
└── RunError                   a run could not be finished: a lost message, a stop
    ├── LostError              what a worker held went away with it, and cannot be computed again
    └── RoomError              the workers' memory cannot hold what is asked for: told before the work begins

Each message names the value at fault and the remedy. A warning says what is worth knowing of an answer that is given
all the same: UnsettledWarning, UnsentWarning.
"""

from __future__ import annotations


class DgraphError(Exception):
    """The root of the tree."""


class InputError(DgraphError, ValueError):
    """What was handed in cannot be used."""


class FileError(InputError):
    """A file cannot be read as what it claims to be."""

    def __init__(self, problem: str, *, path: object, line: int | None = None, remedy: str | None = None):
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}" + (f" ({remedy})" if remedy else ""))
        self.path, self.line, self.problem, self.remedy = path, line, problem, remedy

    def __reduce__(self):
        return _rebuild_file_error, (type(self), self.problem, self.path, self.line, self.remedy)


def _rebuild_file_error(cls, problem, path, line, remedy):
    return cls(problem, path=path, line=line, remedy=remedy)


class ColumnError(InputError):
    """A column is missing, or of a type that cannot be used."""


class IdError(InputError):
    """A vertex id is missing, not a whole number, beyond 64 bits, or not in the graph."""


class WeightError(InputError):
    """A weight is missing, or is not a number."""


class OptionError(InputError):
    """An argument has a value that is not allowed."""


class DeviceError(InputError):
    """A device that was asked for is not there, or lacks what it takes."""


class ProgramError(DgraphError):
    """A vertex program cannot be compiled, or breaks a law."""


class StorageError(DgraphError):
    """A saved graph is torn, was changed, or has a version that this release cannot read."""


class AnswerError(DgraphError):
    """An answer is not what its operation means."""


class RunError(DgraphError):
    """A run could not be finished."""


class LostError(RunError):
    """What a worker held went away with it, and cannot be computed again."""


class RoomError(RunError):
    """The memory of the workers cannot hold what is asked for."""


class UnsettledWarning(UserWarning):
    """Scores are as `max_iter` left them, not as near to the fixed point as `tol` asks."""


class UnsentWarning(UserWarning):
    """Nobody has sent anything, for what `seed` brings is no news to who has it at the start."""
