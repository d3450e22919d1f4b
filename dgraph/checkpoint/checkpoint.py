"""The checkpoints of one run of a program: the option `checkpoint=`, and where checkpoints are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from dgraph.checkpoint.memory_store import MemoryStore
from dgraph.options import Checkpoint


@dataclass(frozen=True)
class CheckpointSeries:
    """The checkpoints of one run of a program. An operation may make several runs."""

    option: Checkpoint
    part: str = ""  # distinguishes the runs of one operation
    memory: MemoryStore | None = None  # the store if there is no path

    @classmethod
    def for_run(cls, option: Checkpoint, part: str, client: Any) -> CheckpointSeries | None:
        """The series for one run. Without a cluster, nothing is kept in memory, because no worker can be lost."""
        if option.path is not None:
            return cls(option, part)
        return None if client is None else cls(option, part, MemoryStore(f"{client.id}-{uuid4().hex}"))
