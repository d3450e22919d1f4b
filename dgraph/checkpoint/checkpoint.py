"""What a user asks for: where checkpoints lie, and how often one is made."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from uuid import uuid4

from dgraph.checkpoint.memory_store import MemoryStore
from dgraph.errors import OptionError
from dgraph.options import check_integer, is_number, known_fields

DEFAULT_INTERVAL = 10  # supersteps


@known_fields
@dataclass(frozen=True)
class Checkpoint:
    """`dg.run(..., checkpoint=Checkpoint("s3://bucket/run", every=20))`; a path alone is every 10 supersteps.

    path:    a folder, or a URL of fsspec, that all workers can reach. None: the memory of the workers, each piece on
             two of them: for lost workers; it goes with the cluster and the client.
    every:   supersteps between two checkpoints; None: by `seconds` alone.
    seconds: at most so long between two checkpoints.
    """

    path: Any = None
    every: int | None = DEFAULT_INTERVAL
    seconds: float | None = None

    def __post_init__(self) -> None:
        is_path = isinstance(self.path, str | os.PathLike) and bool(os.fspath(self.path))
        if self.path is not None and not is_path:
            raise OptionError(
                f"checkpoint={self.path!r} is no path: give a folder or a URL; dgraph.Checkpoint() is in memory"
            )
        check_integer("every", self.every, or_none=True)
        if self.seconds is not None and not (is_number(self.seconds) and 0 < self.seconds < inf):
            raise OptionError(f"seconds={self.seconds!r} must be a number above zero, or None")
        if self.every is None and self.seconds is None:
            raise OptionError("every=None and seconds=None: say how often a checkpoint is made")


@dataclass(frozen=True)
class CheckpointSeries:
    """The checkpoints of one run of a program; an operation may make several runs."""

    option: Checkpoint
    part: str = ""  # which of several runs it is
    memory: MemoryStore | None = None  # where they lie, if there is no path

    @classmethod
    def of(cls, given: Any) -> CheckpointSeries | None:
        """From the option `checkpoint=`: None, a path, a Checkpoint; or a Series, which an operation gives to one of
        its runs."""
        if given is None or isinstance(given, cls):
            return given
        return cls(given if isinstance(given, Checkpoint) else Checkpoint(given))

    @classmethod
    def for_run(cls, given: Any, client: Any) -> CheckpointSeries | None:
        """The same, as one run takes it. In this process no worker can be lost, so nothing is kept in memory."""
        asked = cls.of(given)
        if asked is None or asked.option.path is not None:
            return asked
        return None if client is None else replace(asked, memory=MemoryStore(f"{client.id}-{uuid4().hex}"))
