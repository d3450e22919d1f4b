"""When edges move between supersteps: workers tell how long their partitions took, and all come to the same decision.
After GX-Plug's first lemma on balance (Zou et al. 2022), with capacities that the run itself measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dgraph.partition.balance import WorkerLoad, better_split
from dgraph.vertex_state.partition_state import PartitionState

WARMUP_ROUNDS = 2  # rounds whose time is not that of others: kernels are compiled, daemons start
MIN_MEASURED_ROUNDS = 3  # rounds before a measurement counts
MIN_SAVING = 0.05  # of the slowest worker's time: what is less may be noise


class RebalanceDecision:
    """One worker's part. `cost`: the seconds that a move takes; `since`: the round of the last move."""

    def __init__(self, states: Sequence[PartitionState], cost: float, since: int):
        self.states, self.cost, self.since = states, cost, since
        self.held = sum(state.partition.num_edges + state.n for state in states)
        self.edges, self.seconds, self.read = 0, 0.0, 0
        self.loads: list[WorkerLoad] = []

    def tell(self, rows: list[dict[str, Any]]) -> WorkerLoad:
        """The load of the partitions here, from the rows of the report."""
        for row in rows[self.read :]:
            if row["superstep"] > self.since + WARMUP_ROUNDS:
                self.edges += row["edges"]
                self.seconds += row["busy"]
        self.read = len(rows)
        return WorkerLoad(len(self.states), self.held, self.edges, self.seconds)

    def shares(self, round: int, limit: int | None) -> list[float]:
        """The share of the edges that each partition should have, if moving now costs less than going on; else none. A
        run without a limit of rounds is taken to be halfway through."""
        measured = round - 1 - self.since - WARMUP_ROUNDS  # what was told was told before this round
        if measured < MIN_MEASURED_ROUNDS or not all(load.edges and load.seconds and load.size for load in self.loads):
            return []
        split, saved = better_split(self.loads)
        left = round if limit is None else limit - round
        if saved * left / measured < self.cost or saved < MIN_SAVING * max(load.seconds for load in self.loads):
            return []
        homes = self.states[0].post.exchange.route.homes
        return [split[worker] / self.loads[worker].partitions for worker in homes]
