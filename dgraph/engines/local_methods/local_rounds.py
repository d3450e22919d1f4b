"""Rounds in which each partition goes to its local fixed point, for programs with a `LocalMethod`.

What a partition must tell others travels once, at the end of a round; `settlement.py` says what that is. So a path
takes as many rounds as it crosses partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

from dgraph.engines.local_methods.local_state import LocalState
from dgraph.engines.rounds import Rounds, Superstep


class LocalRounds(Rounds):
    """`Rounds` whose states settle instead of firing once. The order of stages is still the engine's."""

    states: Sequence[LocalState]

    def send(self) -> Superstep:
        """As in `Rounds`, but the first round needs no exchange: the seed has told each partition what to start
        from."""
        if self.seeded and not self.done:
            self.seeded = False
            return
        yield from super().send()

    def _send(self) -> Superstep:
        """Tell masters and proxies what has been found."""
        before, sides = self.posted, self.sides(self.phase)
        self.log.each(self.states, lambda state: state.tell(*sides))
        self.waiting = self.posted - before + self._news
        yield from self.share()

    def _receive(self) -> None:
        sides = self.sides(self.phase)
        self.log.each(self.states, lambda state: state.hear(*sides))

    def _fire(self) -> int:
        """Settle; returns how many vertices have something to tell, or to do in the next round."""
        self.log.each(self.states, lambda state: state.settle())
        self.done = all(state.settled for state in self.states)
        return self._news

    @property
    def _news(self) -> int:
        return sum(state.news for state in self.states)
