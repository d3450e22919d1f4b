"""Local rounds without a common clock, of partitions with a `LocalMethod`: each goes as far as it can by the program's
own algorithm. One class for each LocalState that runs so."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from dgraph.engines.free_rounds import FreeRounds

AT_LEAST = 0.003  # seconds that a partition waits for mail where more of that may spare it work ...
OF_WORK = 4.0  # ... but no more often than it took to settle: a small one had better do it again than wait


class FreeLocalRounds(FreeRounds):
    """A local round goes to the local fixed point (`SettlementState`). A run that resumes from a checkpoint settles
    anew from what is in its inboxes."""

    patience = 1.0  # as often as it took to settle, it waits for mail

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.due: defaultdict[int, float] = defaultdict(float)  # by partition: when to settle without more mail

    def goes_on(self, state: Any) -> bool:
        return super().goes_on(state) and self.pays(state)

    def pays(self, state: Any) -> bool:
        """Whether to settle now, rather than to wait a little for mail that may spare work."""
        return state.pays or time.perf_counter() >= self.due[state.partition.index]

    @property
    def pause(self) -> float:
        now = time.perf_counter()
        left = [self.due[state.partition.index] - now for state in self.states if self.waiting(state)]
        if any(map(self.goes_on, self.states)):  # its time has come since it was asked
            return 0.0
        return min([super().pause, *(seconds for seconds in left if seconds > 0)])

    def hear(self, state: Any) -> None:
        state.hear(self.senders, self.targets)

    def advance(self, state: Any) -> int:
        self.settle(state)
        state.tell(self.senders, self.targets)
        self.mail.post()
        return 1

    def settle(self, state: Any) -> None:
        """Settle, and note until when it pays to wait for mail before settling again."""
        begun = time.perf_counter()
        state.settle()
        ended = time.perf_counter()
        took = ended - begun
        least = min(AT_LEAST, OF_WORK * took)
        wait = len(self.states) * max(self.patience * took, least)  # partitions of a worker take turns
        self.due[state.partition.index] = ended if self.rounds.alone else ended + wait

    def pass_on(self, state: Any) -> None:
        self.mail.post()

    def fire(self, state: Any) -> None:
        """For a checkpoint, nothing: what is in the inboxes says all."""

    def send(self, state: Any) -> None:
        """Nothing: the next local round tells everything."""


class FreeContractionRounds(FreeLocalRounds):
    """Partitions that know by themselves when they have their answer (`ContractionState`), so a worker leaves without a
    vote. Only where another worker may ask for a checkpoint does it stay until the vote."""

    @property
    def over(self) -> bool:
        if self.still is None and all(state.settled for state in self.states):
            return self.mail.at_rest
        return super().over

    @property
    def idle(self) -> bool:
        return self.still is not None and super().idle

    def goes_on(self, state: Any) -> bool:
        """Whether it has something to do. Mail under way does not hold it back: nothing would merge with what it
        tells."""
        return bool(self.waiting(state))

    def advance(self, state: Any) -> int:
        state.settle()
        state.tell(self.senders, self.targets)
        if not state.together:
            self.mail.post()
        return 1


class FreeDiffusionRounds(FreeLocalRounds):
    """A local round is one look at all edges (`DiffusionState`). A look waits until all others have told something
    since the last one, or have been silent for a while."""

    patience = 2.0

    def goes_on(self, state: Any) -> bool:
        return self.looks(state) or (state.untold and not self.mail.busy)

    def looks(self, state: Any) -> bool:
        """Whether to look at the edges now."""
        return state.looks and self.pays(state)

    def advance(self, state: Any) -> int:
        looks = self.looks(state)
        if looks:
            self.settle(state)
        if not self.mail.busy:
            state.tell(self.senders, self.targets)
            self.mail.post()
        return int(looks)

    def close(self) -> None:
        for state in self.states:
            state.conclude()
        super().close()

    def again(self) -> bool:
        begun = [state.next_stage(self.rounds.globals.values) for state in self.states]  # of each of them
        return any(begun)
