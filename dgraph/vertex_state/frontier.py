"""The vertices of a partition that take part in a round: those with a message and, once these have fired, those with
something to send. Two arrays as long as the partition hold the two lists; each round fills one from the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.tables.vertex_arrays import VertexArrays
from dgraph.tables.vertex_lists import NO_VERTICES


class Frontier:
    """The frontier of a partition. The vertices `queue[:queued]` have a message. If `scan` is true, so do all others
    whose flag `arrived` is set, because kernels that pull set flags without listing vertices. `senders` have something
    to send."""

    def __init__(self, size: int):
        self.queue, self.spare = (np.empty(max(size, 1), np.uint32) for _ in range(2))
        self.queued: Any = 0  # on a device, a count that may not be known yet
        self.scan = False
        self.senders: Any = NO_VERTICES
        self.edges: Any = None  # the number of edges along which they send, once it is known
        self.sent = 0  # the number of senders in all rounds together

    def move(self, arrays: VertexArrays) -> None:
        """Move the arrays to where kernels run."""
        self.queue, self.spare = arrays.to_device(self.queue), arrays.to_device(self.spare)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of a kernel that adds to the queue."""
        return {"queue": self.queue, "queued": self.queued}

    def hold(self, arrays: VertexArrays, ids: Any) -> None:
        """Set the queue to these vertices."""
        arrays.store(self.queue, ids)
        self.queued = len(ids)

    def clear(self) -> None:
        """Empty the queue, so that no vertex has a message."""
        self.queued, self.scan = 0, False

    def send(self, senders: Any) -> None:
        """Set the senders to these vertices."""
        self.senders, self.edges = senders, None

    def count(self) -> int:
        """The number of senders. Engines call this once after all partitions have fired, because a device answers only
        when it has finished firing."""
        self.sent += len(self.senders)
        return len(self.senders)
