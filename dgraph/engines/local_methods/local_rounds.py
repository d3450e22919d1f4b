"""Rounds in which each partition runs to its local fixed point, for programs with a `LocalMethod`.

Partitions exchange news once, at the end of a round, so a path takes as many rounds as it crosses partitions. See
`engines/local_methods/settlement.py` for what they exchange.
"""

from __future__ import annotations

from collections.abc import Sequence

from dgraph.engines.rounds import Rounds, Superstep
from dgraph.vertex_state.local_state import LocalState


class LocalRounds(Rounds):
    """`Rounds` whose states settle instead of firing once. The engine still determines the order of stages."""

    states: Sequence[LocalState]

    def send(self) -> Superstep:
        """As in `Rounds`, but the first round needs no exchange, because each partition starts from its own seed."""
        if self.seeded and not self.done:
            self.seeded = False
            return
        yield from super().send()

    def _send(self) -> Superstep:
        before, sides = self.buffers_sent, self.sides(self.phase)
        self.log.each(self.states, lambda state: state.tell(*sides))
        self.waiting = self.buffers_sent - before + self._news
        yield from self.share()

    def _receive(self) -> None:
        sides = self.sides(self.phase)
        self.log.each(self.states, lambda state: state.hear(*sides))

    def _fire(self) -> int:
        """Settle, and return how many vertices have something to send, or to do in the next round."""
        self.log.each(self.states, lambda state: state.settle())
        self.done = all(state.settled for state in self.states)
        return self._news

    @property
    def _news(self) -> int:
        return sum(state.news for state in self.states)
