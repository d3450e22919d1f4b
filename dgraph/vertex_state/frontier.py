"""The vertices of a partition that take part in a round: those that have a message, and, once these have fired, those
that have something to send. Two arrays as long as the partition hold the two lists; each round fills one from the
other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.tables.vertex_arrays import VertexArrays
from dgraph.tables.vertex_lists import NOBODY


class Frontier:
    """`queue[:queued]` have a message. If `scan`, so have all others whose flag `arrived` is set: kernels that pull set
    flags and list nobody. `senders` have something to send."""

    def __init__(self, size: int):
        self.queue, self.spare = (np.empty(max(size, 1), np.uint32) for _ in range(2))
        self.queued: Any = 0  # on a device, a count that is not known yet
        self.scan = False
        self.senders: Any = NOBODY
        self.edges: Any = None  # along how many edges they send, once that is known
        self.sent = 0  # how many had something to send, in all rounds

    def move(self, arrays: VertexArrays) -> None:
        """Move the arrays to where kernels run."""
        self.queue, self.spare = arrays.moved(self.queue), arrays.moved(self.spare)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of a kernel that adds to the queue."""
        return {"queue": self.queue, "queued": self.queued}

    def hold(self, arrays: VertexArrays, ids: Any) -> None:
        """Let the queue be these vertices."""
        arrays.store(self.queue, ids)
        self.queued = len(ids)

    def clear(self) -> None:
        """No vertex has a message."""
        self.queued, self.scan = 0, False

    def send(self, senders: Any) -> None:
        """Let the senders be these vertices."""
        self.senders, self.edges = senders, None

    def count(self) -> int:
        """How many have something to send. Engines ask once after each firing, and apart from it, because a device
        answers when it is done with that."""
        self.sent += len(self.senders)
        return len(self.senders)
