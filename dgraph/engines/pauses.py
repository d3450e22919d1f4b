"""What is done between two rounds, when nothing is under way: a checkpoint, or the end of a run whose edges are to
move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dgraph.checkpoint.keeper import CheckpointKeeper
from dgraph.engines.rebalance_decision import RebalanceDecision

if TYPE_CHECKING:
    from dgraph.engines.rounds import Rounds


class Pauses:
    """One worker's part. `resume`, if there is one, puts the run where an earlier one was: it is called once states
    have begun."""

    def __init__(
        self,
        keeper: CheckpointKeeper | None,
        rebalance: RebalanceDecision | None,
        resume: Callable[[Rounds], None] | None,
    ):
        self.keeper, self.rebalance, self.resume = keeper, rebalance, resume
        self.overdue = False  # whether some worker says that it is time for a checkpoint
        self.keeps = False  # whether a checkpoint is due now
        self.better: list[float] = []  # shares of the edges, if it pays now to have them move to these
        self.shares: list[float] = []  # into which they do move before the run goes on; no shares: they stay

    def tell(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "overdue": self.keeper is not None and self.keeper.overdue,
            "load": None if self.rebalance is None else self.rebalance.tell(rows),
        }

    def learn(self, told: list[dict[str, Any]]) -> None:
        self.overdue = any(one["overdue"] for one in told)
        if self.rebalance is not None:
            self.rebalance.loads = [one["load"] for one in told]

    def due(self, rounds: Rounds) -> bool:
        """Whether there is something to do now; all workers find the same. A checkpoint waits until the one before is
        written."""
        self.keeps = self.keeper is not None and self.keeper.is_due(rounds.round, self.overdue)
        if self.keeper is not None and self.keeps:
            self.keeper.wait()
        self.better = []
        if self.rebalance is not None and not rounds.ahead.quiet:
            self.better = self.rebalance.shares(rounds.round, rounds.limit)
        return self.keeps or bool(self.better)

    def act(self, rounds: Rounds) -> None:
        """Do what is due, once all workers have come here."""
        if self.keeper is not None and self.keeps:
            self.keeper.keep(rounds)
        if self.better:
            self.shares, rounds.done = self.better, True
