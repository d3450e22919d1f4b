"""Who of a partition takes part in a round: vertices that have a message, and, once these have fired, those that have
something to send. The two lists lie in two arrays as long as the partition, and each round fills one from the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.agents.vertex_arrays import VertexArrays
from dgraph.agents.vertex_lists import NOBODY


class Frontier:
    """Who has a message: the first `queued` of `queue`; or, if `scan`, all whose flag `arrived` is up, for kernels that
    pull list nobody. The senders are in `spare`, or in a list of their own."""

    def __init__(self, size: int):
        self.queue, self.spare = (np.empty(max(size, 1), np.uint32) for _ in range(2))
        self.queued: Any = 0  # on a device, a count that is not known yet
        self.scan = False
        self.senders: Any = NOBODY
        self.edges: Any = None  # along how many edges they send, once that is known

    def move(self, arrays: VertexArrays) -> None:
        """To where kernels run."""
        self.queue, self.spare = arrays.moved(self.queue), arrays.moved(self.spare)

    @property
    def arguments(self) -> dict[str, Any]:
        """Of a kernel that queues more."""
        return {"queue": self.queue, "queued": self.queued}

    def hold(self, arrays: VertexArrays, ids: Any) -> None:
        """These have a message, and nobody else but whom a scan finds."""
        arrays.store(self.queue, ids)
        self.queued = len(ids)

    def clear(self) -> None:
        """Nobody has a message."""
        self.queued, self.scan = 0, False

    def send(self, senders: Any) -> None:
        """These have something to send."""
        self.senders, self.edges = senders, None
