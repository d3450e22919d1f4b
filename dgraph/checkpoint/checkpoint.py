"""The option `checkpoint=`: where checkpoints are stored, and how often one is written."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from uuid import uuid4

from dgraph.arguments import check_integer, is_number, known_fields
from dgraph.checkpoint.memory_store import MemoryStore
from dgraph.errors import OptionError

DEFAULT_INTERVAL = 10  # supersteps


@known_fields
@dataclass(frozen=True)
class Checkpoint:
    """Where to store the checkpoints of a run, and how often.

    `dg.run(..., checkpoint=Checkpoint("s3://bucket/run", every=20))`; a path alone means every 10 supersteps.

    path:    a folder or an fsspec URL that all workers can reach. None keeps each piece in the memory of two workers:
             a run survives the loss of a worker, but not that of the cluster or the client.
    every:   supersteps between two checkpoints; None leaves it to `seconds`.
    seconds: the longest time between two checkpoints.
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
    """The checkpoints of one run of a program. An operation may make several runs."""

    option: Checkpoint
    part: str = ""  # tells apart the runs of one operation
    memory: MemoryStore | None = None  # the store if there is no path

    @classmethod
    def from_option(cls, option: Any) -> CheckpointSeries | None:
        """The series for the option `checkpoint=`: None, a path, a Checkpoint, or the series that an operation passes
        to one of its runs."""
        if option is None or isinstance(option, cls):
            return option
        return cls(option if isinstance(option, Checkpoint) else Checkpoint(option))

    @classmethod
    def for_run(cls, option: Any, client: Any) -> CheckpointSeries | None:
        """The series for one run. Without a cluster nothing is kept in memory, because no worker can be lost."""
        series = cls.from_option(option)
        if series is None or series.option.path is not None:
            return series
        return None if client is None else replace(series, memory=MemoryStore(f"{client.id}-{uuid4().hex}"))
