"""What is done between two rounds, when nothing is under way: a checkpoint, or the end of a run whose edges are to
move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dgraph.checkpoint.keeper import Keeper
from dgraph.engines.rebalance import Rebalance

if TYPE_CHECKING:
    from dgraph.engines.rounds import Rounds


class Pauses:
    """One worker's part. `resume`, if there is one, puts the run where an earlier one was: it is called once states
    have begun."""

    def __init__(
        self,
        keeper: Keeper | None = None,
        rebalance: Rebalance | None = None,
        resume: Callable[[Rounds], None] | None = None,
    ):
        self.keeper, self.rebalance, self.resume = keeper, rebalance, resume
        self.overdue = False  # whether some worker says that it is time for a checkpoint
        self.shares: list[float] = []  # into which edges are to move before the run goes on; no shares: they stay

    def tell(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "overdue": self.keeper is not None and self.keeper.overdue,
            "load": None if self.rebalance is None else self.rebalance.tell(rows),
        }

    def learn(self, told: list[dict[str, Any]]) -> None:
        self.overdue = any(one["overdue"] for one in told)
        if self.rebalance is not None:
            self.rebalance.loads = [one["load"] for one in told]

    def due(self, rounds: Rounds) -> list[Callable[[Rounds], None]]:
        """What to do now, in this order; the same on all workers. A checkpoint first waits until the one before is
        written."""
        found: list[Callable[[Rounds], None]] = []
        if self.keeper is not None and self.keeper.is_due(rounds.round, self.overdue):
            self.keeper.wait()
            found.append(self.keeper.keep)
        if self.rebalance is not None and not rounds.ahead.quiet:
            shares = self.rebalance.shares(rounds.round, rounds.limit)
            if shares:
                found.append(lambda rounds: self._end(rounds, shares))
        return found

    def _end(self, rounds: Rounds, shares: list[float]) -> None:
        self.shares, rounds.done = shares, True
