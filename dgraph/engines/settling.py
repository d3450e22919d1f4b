"""Rounds in which each partition goes to its local fixed point, for programs with a `LocalMethod`.

What a partition must tell others travels once, at the end of a round; `states/settling.py` says what that is. So a path
takes as many rounds as it crosses partitions.
"""

from __future__ import annotations

from dgraph.engines.rounds import Rounds, Superstep


class SettlingRounds(Rounds):
    """`Rounds` whose states settle instead of firing once. The order of stages is still the engine's."""

    def send(self) -> Superstep:
        """As in `Rounds`, but the first round needs no exchange: the seed has told each partition what to start
        from."""
        if self.seeded and not self.done:
            self.seeded = False
            return
        yield from super().send()

    def _send(self) -> Superstep:
        """Tell masters and proxies what has been found."""
        before = self.posted
        self._each("tell", *self.sides(self.phase))
        self.waiting = self.posted - before + self._sum("news")
        yield from self.share()

    def _receive(self) -> None:
        self._each("hear", *self.sides(self.phase))

    def _fire(self) -> int:
        """Settle; returns how many vertices have something to tell, or to do in the next round."""
        self._each("settle")
        self.done = self._sum("settled") == len(self.states)
        return self._sum("news")
