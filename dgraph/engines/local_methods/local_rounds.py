"""Rounds of partitions with a `LocalMethod`, with or without a common clock: in each, a partition goes as far as it can
with the method's algorithm.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dgraph.engines.free_rounds import FreeRounds
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.vertex_state.local_state import LocalState


class LocalRounds(Rounds):
    """`Rounds` whose states settle instead of firing once. The engine still determines the order of stages.

    Partitions exchange news once, at the end of a round, so a path takes as many rounds as it crosses partitions. See
    `settlement.py` for what they exchange."""

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


SHORTEST_WAIT = 0.003  # seconds: the minimum wait for mail that may save a partition work ...
LONGEST_WAIT_FACTOR = (
    4.0  # ... but at most this multiple of the time to settle, because settling a small partition again is cheap
)


class FreeLocalRounds(FreeRounds):
    """Local rounds that each run to the local fixed point. A run that resumes from a checkpoint settles again from the
    contents of its inboxes."""

    patience = 1.0  # how long a partition waits for mail, as a multiple of the time that it last took to settle

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.due: defaultdict[int, float] = defaultdict(float)  # by partition: when to settle without more mail

    def goes_on(self, state: Any) -> bool:
        return super().goes_on(state) and self.pays(state)

    def pays(self, state: Any) -> bool:
        """Whether to settle now rather than wait a little for mail that may save work."""
        return state.pays or (self.has_heard_enough and time.perf_counter() >= self.due[state.partition.index])

    @property
    def pause(self) -> float:
        now = time.perf_counter()
        left = [self.due[state.partition.index] - now for state in self.states if self.waiting(state)]
        if any(map(self.goes_on, self.states)):  # a partition has become due in the meantime
            return 0.0
        return min([super().pause, *(seconds for seconds in left if seconds > 0)])

    def hear(self, state: Any) -> None:
        state.hear(self.senders, self.targets)

    def advance(self, state: Any) -> int:
        self.settle(state)
        state.tell(self.senders, self.targets)
        return 1

    def settle(self, state: Any) -> None:
        """Settle, and set how long to wait for mail before settling again."""
        begun = time.perf_counter()
        state.settle()
        ended = time.perf_counter()
        took = ended - begun
        least = min(SHORTEST_WAIT, LONGEST_WAIT_FACTOR * took)
        wait = len(self.states) * max(self.patience * took, least)  # the partitions of a worker take turns
        self.due[state.partition.index] = ended if self.rounds.alone else ended + wait

    def pass_on(self, state: Any) -> None:
        """Do nothing, because what proxies have gathered is sent when the partition has settled."""

    def fire(self, state: Any) -> None:
        """Do nothing for a checkpoint, because the inboxes contain everything."""

    def send(self, state: Any) -> None:
        """Do nothing, because the next local round sends everything."""
