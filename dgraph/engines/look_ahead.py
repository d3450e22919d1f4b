"""Rounds without an exchange, where messages stay within partitions: while workers exchange they agree on how many such
rounds follow, and then take these without waiting for each other. After GX-Plug's synchronisation skipping (Zou et al.
2022)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.tables.border_distances import quiet_rounds
from dgraph.vertex_state.partition_state import PartitionState

PATIENCE = 16  # rounds until it is worth while to know how far vertices are from other partitions


class LookAhead:
    """One worker's part. `quiet` is the number of rounds left until the next exchange. If the run ends in one of them,
    or because what travelled in the last one reached nobody, that is found later, and `last` tells in which."""

    def __init__(self, states: Sequence[PartitionState], analysis: Analysis, limit: int | None):
        one, self.states, self.limit = states[0], states, limit
        # whether exchanges can be skipped at all: only where what vertices do depends on their own messages alone
        self.on = one.lists_senders and one.switches.looks_ahead and one.partition.parts > 1
        self.on &= analysis.stop is None and not analysis.globals_each_round and len(analysis.phases) == 1
        self.counts = one.lists_senders  # whether a vertex that has something to do fires
        self.seen = 0  # rounds, this one first, that concern nobody else as far as is known here
        self.agreed = self.quiet = 0  # as far as all know; and of these, those that are left
        self.last = 0  # the last round in which a vertex has fired, as far as is known here,
        self.fired = 0  # and how many vertices had fired by then

    def look(self, phase: PhaseAnalysis, round: int) -> None:
        """Count the quiet rounds that this worker sees ahead, before the exchange that follows `round`. At most as many
        as there were rounds: a run that is over meanwhile has then wasted next to nothing."""
        if self.on and round >= PATIENCE:
            most = round if self.limit is None else min(round, self.limit - round - 1)
            self.seen = min(most, *(self._quiet_rounds(state, phase) for state in self.states))

    def _quiet_rounds(self, state: PartitionState, phase: PhaseAnalysis) -> int:
        senders = state.frontier.senders
        return quiet_rounds(state.edges, phase.along, state.arrays.brought(senders, len(senders)))

    def tell(self) -> tuple[int, int]:
        return self.seen, self.last

    def learn(self, told: Sequence[tuple[int, int]]) -> None:
        self.agreed, self.last = min(seen for seen, _ in told), max(last for _, last in told)

    def start(self) -> None:
        """All workers have told what they see: the quiet rounds begin."""
        self.quiet = self.agreed

    def fired_in(self, round: int) -> None:
        """Count a round that is done."""
        self.quiet = max(0, self.quiet - 1)
        if self.quiet:
            self.states[0].post.exchange.check()  # there may be thousands, and the run stopped
        fired = sum(state.total["fired"] for state in self.states)
        if fired > self.fired:
            self.fired, self.last = fired, round

    def end(self, rounds: Any) -> None:
        """The run is over: drop the rows of the last rounds, if no vertex fired in them."""
        if self.counts and 0 < self.last < rounds.round:
            rounds.round = rounds.agreed = self.last
            rounds.log.rows = [row for row in rounds.log.rows if row["superstep"] <= self.last]
