"""What a user asks for: where checkpoints lie, and how often one is made."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from uuid import uuid4

from dgraph.checkpoint.memory import Memory
from dgraph.errors import OptionError
from dgraph.options import is_number, whole_number

EVERY = 10  # supersteps


@dataclass(frozen=True)
class Checkpoint:
    """`dg.run(..., checkpoint=Checkpoint("s3://bucket/run", every=20))`; a path alone is every 10 supersteps.

    path:    a folder, or a URL of fsspec, that all workers can reach. None: the memory of the workers, each piece on
             two of them: for lost workers; it goes with the cluster and the client.
    every:   supersteps between two checkpoints; None: by `seconds` alone.
    seconds: at most so long between two checkpoints.
    part:    set by operations that run a program several times: which of these runs it is.
    """

    path: Any = None
    every: int | None = EVERY
    seconds: float | None = None
    part: str | None = None

    def __post_init__(self) -> None:
        in_memory = self.path is None or isinstance(self.path, Memory)
        if not in_memory and (not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path)):
            raise OptionError(
                f"checkpoint={self.path!r} is no path: give a folder or a URL; dgraph.Checkpoint() is in memory"
            )
        whole_number("every", self.every, or_none=True)
        if self.seconds is not None and not (is_number(self.seconds) and 0 < self.seconds < inf):
            raise OptionError(f"seconds={self.seconds!r} must be a number above zero, or None")
        if self.every is None and self.seconds is None:
            raise OptionError("every=None and seconds=None: say how often a checkpoint is made")

    @classmethod
    def of(cls, given: Any) -> Checkpoint | None:
        """What `checkpoint=` says: None, a path, or a Checkpoint."""
        return given if given is None or isinstance(given, cls) else cls(given)

    @classmethod
    def for_run(cls, given: Any, client: Any) -> Checkpoint | None:
        """As one run takes it. In this process no worker can be lost: nothing is kept in memory."""
        asked = cls.of(given)
        if asked is None or asked.path is not None:
            return asked
        return None if client is None else replace(asked, path=Memory(f"{client.id}-{uuid4().hex}"))


def for_part(options: dict[str, Any], part: int) -> dict[str, Any]:
    """Options for one of several runs of a program, each of which has checkpoints of its own; such a run may be of
    several, too."""
    option = Checkpoint.of(options.get("checkpoint"))
    if option is None:
        return options
    named = str(part) if option.part is None else f"{option.part}_{part}"
    return {**options, "checkpoint": replace(option, part=named)}
