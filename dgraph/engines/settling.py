"""Rounds in which each partition goes to its local fixed point, for programs whose solver brings `settle`.

What a partition must tell others travels once a round, at the end of it; `states/settling.py` says what that is. A path
takes as many of these rounds as it crosses partitions.
"""

from __future__ import annotations

from dgraph.engines.rounds import Rounds, Superstep


class SettlingRounds(Rounds):
    """The order of stages is the engine's; the states are `Settling`."""

    def send(self) -> Superstep:
        """The first round needs nobody: whoever has something to do knows it."""
        if self.seeded and not self.done:
            self.seeded = False
            return
        yield from super().send()

    def _send(self) -> Superstep:
        """What has been found, to masters and to proxies at once."""
        told = self._each("tell", self.phase, *self.sides(self.phase))
        self.waiting = sum(told) + self._sum("news")
        yield from self.share()

    def _receive(self) -> None:
        self._each("hear", self.phase, *self.sides(self.phase))

    def _fire(self) -> int:
        """Returns for how many vertices there is something to tell, or to do in the next round."""
        self._each("settle", self.phase)
        self.done = self._sum("settled") == len(self.states)
        return self._sum("news")
