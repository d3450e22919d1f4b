"""Decides when edges move between supersteps: workers share how long their partitions took, and all reach the same
decision. It follows GX-Plug's first lemma on balance (Zou et al. 2022), with capacities measured by the run itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dgraph.partition.balance import WorkerLoad, better_split
from dgraph.vertex_state.partition_state import PartitionState

WARMUP_ROUNDS = 2  # rounds that are not representative, because kernels are compiled and daemons start
MIN_MEASURED_ROUNDS = 3  # rounds before a measurement counts
MIN_SAVING = 0.05  # as a share of the slowest worker's time; a smaller saving may be noise


class RebalanceDecision:
    """One worker's part in the decision. A move takes `cost` seconds; `since` is the round of the last move."""

    def __init__(self, states: Sequence[PartitionState], cost: float, since: int):
        self.states, self.cost, self.since = states, cost, since
        self.held = sum(state.partition.num_edges + state.n for state in states)
        self.edges, self.seconds, self.read = 0, 0.0, 0
        self.loads: list[WorkerLoad] = []

    def tell(self, rows: list[dict[str, Any]]) -> WorkerLoad:
        """The load of this worker's partitions, from the rows of the report."""
        for row in rows[self.read :]:
            if row["superstep"] > self.since + WARMUP_ROUNDS:
                self.edges += row["edges"]
                self.seconds += row["busy"]
        self.read = len(rows)
        return WorkerLoad(len(self.states), self.held, self.edges, self.seconds)

    def shares(self, round: int, limit: int | None) -> list[float]:
        """The share of the edges that each partition should have, or an empty list if moving them now does not pay. A
        run without a limit on rounds is assumed to be halfway through."""
        measured = round - 1 - self.since - WARMUP_ROUNDS  # the loads were shared before this round
        if measured < MIN_MEASURED_ROUNDS or not all(load.edges and load.seconds and load.size for load in self.loads):
            return []
        split, saved = better_split(self.loads)
        left = round if limit is None else limit - round
        if saved * left / measured < self.cost or saved < MIN_SAVING * max(load.seconds for load in self.loads):
            return []
        homes = self.states[0].post.exchange.route.homes
        return [split[worker] / self.loads[worker].partitions for worker in homes]
