"""What a superstep costs a worker besides the work on its vertices and edges, by the number of workers.

`benchmarks/costs.py` measures these costs, and compares what they add up to with runs on up to 32 workers.
"""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.exchange.grid import hops, packets


@dataclass(frozen=True)
class SuperstepCosts:
    """The CPU time of a worker, in seconds."""

    step: float  # for each superstep
    packet: float  # for each packet that it sends, and the one that comes in return
    peer: float  # for each peer to which it has values to send, and from which values come

    def seconds(self, workers: int, peers: int | None = None) -> float:
        """The CPU time of one superstep in which values go to so many peers; by default to all, as in most graphs."""
        if workers == 1:
            return 0.0
        return self.step + self.packet * packets(workers) + self.peer * (workers - 1 if peers is None else peers)

    def elapsed(self, workers: int, latency: float) -> float:
        """The seconds of such a superstep, where a packet takes `latency` from one worker to another."""
        return self.seconds(workers) + hops(workers) * latency


MEASURED = SuperstepCosts(step=100e-6, packet=50e-6, peer=70e-6)  # on two cores of an AMD EPYC
