"""Two hops over a grid of workers: among many, each sends to the peers of its row and of its columns alone.

At the end of a step a worker sends each peer of its row one packet: its token, the peer's mail, and mail that the peer
is to pass on. Once a worker has the packets of its whole row it passes on, in one packet for each worker of other rows
that it serves, the row's tokens and mail. So everybody has all tokens after two hops, with about twice the square root
as many packets as there are workers. Large pieces go straight to their receivers.
"""

from __future__ import annotations

from math import isqrt

FEW_WORKERS = 8  # up to so many send to each other directly, which takes one hop
RIDING_BYTES = 32 << 10  # bytes for a worker of another row up to which mail is passed on


def hops(workers: int) -> int:
    """How many packets follow one another until all workers have the tokens of a step."""
    return 0 if workers == 1 else 1 if workers <= FEW_WORKERS else 2


def packets(workers: int) -> int:
    """How many packets a worker sends in a step, if its mail is small: at most so many in a grid."""
    if workers <= FEW_WORKERS:
        return workers - 1
    columns = isqrt(workers - 1) + 1
    rows = -(-workers // columns)
    return columns - 1 + rows - 1


class WorkerGrid:
    """The place of one worker in the grid. The last row may be shorter than others."""

    def __init__(self, worker: int, workers: int):
        self.workers, self.columns = workers, isqrt(workers - 1) + 1
        self.first = worker - worker % self.columns
        self.row = range(self.first, min(self.first + self.columns, workers))
        others = (peer for peer in range(workers) if peer not in self.row)
        self.served = [peer for peer in others if self.relay(peer) == worker]

    def senders(self, peer: int) -> range:
        """The workers that must have posted everything before what a peer has told can be lost on its way here."""
        first = peer - peer % self.columns
        return range(peer, peer + 1) if peer in self.row else range(first, min(first + self.columns, self.workers))

    def first_hop(self, peer: int) -> int:
        """The worker to which small mail for a peer goes first."""
        return peer if peer in self.row else self.relay(peer)

    def relay(self, peer: int) -> int:
        """The worker of this row that passes on what goes to a worker of another row."""
        return self.first + peer % self.columns % len(self.row)
