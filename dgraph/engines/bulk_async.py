"""Bulk-asynchronous order (Gluon-Async, Dathathri et al. 2019): a partition takes local rounds at its own pace and
waits for nobody. Mail is sent in bulk, only when there is any, and merged in whenever it comes."""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np

from dgraph.engines.rounds import SIDES, Rounds, Superstep
from dgraph.exchange.termination import Note, Termination
from dgraph.settling import Settling
from dgraph.state import NOBODY, State

LOOK = 0.05  # seconds that a worker at rest sleeps, if nothing wakes it, until it looks whether the run has failed
TO_THE_END = 1 << 62  # steps: to the local fixed point


def bulk_async(rounds: Rounds) -> Superstep:
    """All of it is one superstep, in which workers tell each other only of the end."""
    yield from rounds.begin()
    free = FreeRounds(rounds)
    while not free.over:
        news = free.receive()
        if not free.local_round():
            free.rest(news)
    rounds.done = True
    yield from rounds.finish()


class FreeRounds:
    """The partitions of one worker between the first round and the end."""

    def __init__(self, rounds: Rounds):
        self.rounds, self.phase = rounds, rounds.phase
        self.senders, self.targets = SIDES[self.phase.along if rounds.directed else "out"]
        self.exchange = rounds.states[0].post.exchange
        self.mail = self.exchange.free
        self.limit = rounds.local_rounds or (TO_THE_END if self.phase.idempotent else 1)
        self.end = Termination(self.exchange.worker, len(self.exchange.route.workers))
        self.came: dict[int, dict[int, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
        self.counts = {state.partition.index: 0 for state in rounds.states}
        self.opened = time.perf_counter()
        for state in rounds.states:
            state.post.bring([])
            state.aim(self.phase, 1)

    @property
    def over(self) -> bool:
        """Whether the run is, and those below in the tree have been told."""
        return self.end.over and not self.mail.under_way

    def receive(self) -> int:
        """Take in what has come, mail first: it may belong to what the notes say. Returns how much news there was."""
        news = self.mail.inbox.news
        buffers, notes = self.mail.inbox.take()
        for sender, receiver, buffer in buffers:
            self.came[receiver][sender].append(buffer)
        if buffers:
            self.end.work()
        for note in notes:
            self.tell(self.end.receive(note))
        return news

    def local_round(self) -> bool:
        """One for each partition that has something to do; whether there was any, and nothing to wait for."""
        found = False
        for state in self.rounds.states:
            begun, came = time.perf_counter(), self.came.pop(state.partition.index, {})
            self.merge(state, came)
            goes_on = bool(state.waiting) and not self.mail.crowded
            steps = self.advance(state) if goes_on else 0
            if came or goes_on:
                self.report(state, time.perf_counter() - begun, steps)
                found = True
        return found

    def merge(self, state: State, came: dict[int, list[np.ndarray]]) -> None:
        """Take in what has come; of each partition a buffer at a time: a later one would overwrite an earlier."""
        while any(came.values()):
            state.post.bring([(sender, buffers.pop(0)) for sender, buffers in came.items() if buffers])
            if isinstance(state, Settling):
                state.hear(self.phase, self.senders, self.targets)
                continue
            state.receive(self.phase, self.targets)
            state.senders = NOBODY
            state.take(self.phase, self.senders, self.targets)
            if len(state.senders):
                state.cross(self.phase)

    def advance(self, state: State) -> int:
        """Go on here, and at the end tell others what they must know."""
        if isinstance(state, Settling):
            state.settle(self.phase)
            state.tell(self.phase, self.senders, self.targets)
            self.mail.post()
            return 1
        steps = 0
        while steps < self.limit and len(state.frontier()):
            self.exchange.check()  # a local fixed point may be far away, and the run stopped
            state.fire(self.phase)
            state.broadcast(self.phase, self.senders, self.targets)
            state.cross(self.phase)
            steps += 1
        state.reduce(self.phase, self.targets)
        state.drop_proxies()
        self.mail.post()
        return steps

    def rest(self, news: int) -> None:
        """Nothing to do here: say so once all that was sent has been received, and sleep until there is more news."""
        idle = not any(state.waiting for state in self.rounds.states)
        if not self.end.over and idle and self.mail.at_rest and self.mail.inbox.empty:
            self.tell(self.end.rest())
        if not self.over:
            self.mail.wait(news, LOOK)

    def tell(self, notes: list[tuple[int, Note]]) -> None:
        for peer, note in notes:
            self.mail.note(peer, note)

    def report(self, state: State, busy: float, steps: int) -> None:
        """A row a local round."""
        part = state.partition.index
        self.counts[part] += 1
        self.rounds.round = max(self.rounds.round, self.counts[part])
        now = time.perf_counter()
        row = {"superstep": self.counts[part], "partition": part, **state.counted(), "busy": busy}
        self.rounds.rows.append({**row, "idle": max(0.0, now - self.opened - busy), "steps": steps})
        self.opened = now
