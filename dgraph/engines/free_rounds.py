"""Local rounds without a common clock: each partition of a worker merges mail whenever it comes, goes on at its own
pace, and waits for nobody. `engines/local_methods/free_local_rounds.py` and `block_descent.py` replace what a partition
does in a local round."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dgraph.engines.rounds import Rounds
from dgraph.engines.standstill import Standstill
from dgraph.exchange.mail import Buffer
from dgraph.exchange.termination import Note, Notes, Termination
from dgraph.tables.vertex_lists import NO_VERTICES
from dgraph.vertex_state.partition_state import PartitionState
from dgraph.vertex_state.sweeps import can_sweep, sweep

LONGEST_SLEEP = (
    0.05  # seconds that a worker at rest sleeps, if nothing wakes it, until it looks whether the run has failed
)
UNLIMITED = 1 << 62  # steps: to the local fixed point


@dataclass
class Clock:
    """Measures how long a partition is busy, waits although it has something to do, or is idle."""

    since: float  # when its last local round ended
    ready: float | None  # since when it has something to do

    def round(self, begun: float, ended: float, more: bool) -> dict[str, float]:
        """The seconds of each kind since the last local round ended; `more`: the partition still has something to
        do."""
        ready = begun if self.ready is None else max(self.ready, self.since)
        seconds = {"busy": ended - begun, "idle": ready - self.since, "wait": begun - ready}
        self.since, self.ready = ended, ended if more else None
        return seconds


class FreeRounds:
    """The partitions of one worker, from the first local round to the end of the run. `local_rounds`: how many steps a
    partition takes before it tells others; None: to its local fixed point, or one where messages do not merge like
    minima."""

    def __init__(self, rounds: Rounds, local_rounds: int | None = None):
        self.rounds, self.phase = rounds, rounds.phase
        self.states: Sequence[Any] = rounds.states
        self.senders, self.targets = rounds.sides(self.phase)
        self.exchange = rounds.states[0].post.exchange
        self.mail = self.exchange.free
        self.limit = local_rounds or (UNLIMITED if self.phase.idempotent else 1)
        self.steps: defaultdict[int, int] = defaultdict(int)  # that each partition has taken
        self.sweeps = all(map(can_sweep, self.states))
        self.end = Termination(self.exchange.worker, len(self.exchange.route.workers))
        self.came: dict[int, dict[int, list[Buffer]]] = defaultdict(lambda: defaultdict(list))
        self.first = rounds.round  # local rounds are counted from there: from a checkpoint, or from nothing
        self.worked = now = time.perf_counter()  # when anything was last done here
        self.ended = 0.0  # when the end was known here
        self.clocks = {one.partition.index: Clock(now, now if self.waiting(one) else None) for one in self.states}
        self.rows: dict[int, list[dict]] = {state.partition.index: [] for state in self.states}
        for state in self.states:
            state.post.use_free_mail([])
            state.prepare_round(self.phase, 1)
        self.standstill = Standstill(self, rounds.keeper) if rounds.keeper is not None else None
        if self.first:
            self.send_on()

    def to_the_end(self) -> None:
        """Take local rounds until the end of the run has been found. Called by the engine."""
        while not self.over:
            if self.standstill is not None:
                self.standstill.look()
            news = self.mail.inbox.events
            if not self.local_round():
                self.rest(news)
        self.close()
        self.rounds.done = True

    @property
    def over(self) -> bool:
        """Whether the run has ended, and the workers that learn this from here have been told."""
        return self.end.over and not self.mail.under_way

    def receive(self) -> int:
        """Take in what has come, mail before notes, because a note may be about mail. Returns the number of the latest
        news."""
        news = self.mail.inbox.events
        buffers, notes = self.mail.inbox.take()
        now = time.perf_counter()
        for sender, receiver, buffer in buffers:
            self.came[receiver][sender].append(buffer)
            clock = self.clocks[receiver]
            clock.ready = now if clock.ready is None else clock.ready
        if buffers:
            self.end.work()
        self.learn(notes if self.standstill is None else [note for note in notes if not self.standstill.takes(note)])
        return news

    def local_round(self) -> bool:
        """Give each partition with something to do one local round, on the mail that has come until its turn. Returns
        whether there is reason to come back at once."""
        found = False
        for state in self.states:
            self.receive()
            begun, came = time.perf_counter(), self.came.pop(state.partition.index, {})
            self.merge(state, came)
            goes_on = self.goes_on(state)
            steps = self.advance(state) if goes_on else 0
            if came or goes_on:
                self.report(state, begun, steps)
                found = True
        self.mail.post()
        return found or any(self.came.values())

    def merge(self, state: PartitionState, came: dict[int, list[Buffer]]) -> None:
        """Merge mail, at most one buffer of each sender at a time: a later buffer would overwrite an earlier one."""
        while any(came.values()):
            state.post.use_free_mail([(sender, buffers.pop(0)) for sender, buffers in came.items() if buffers])
            self.hear(state)

    # -- what a partition does; subclasses do it otherwise -------------------------------------------------------------

    def waiting(self, state: PartitionState) -> int:
        """How many vertices have something to do, or to tell other partitions."""
        return state.waiting

    def goes_on(self, state: PartitionState) -> bool:
        """Whether the partition works now, or first waits for mail."""
        return bool(self.waiting(state)) and not self.mail.crowded

    def hear(self, state: PartitionState) -> None:
        """Merge the mail that `ProxyMail.use_free_mail` was given."""
        state.receive(self.phase, self.targets)
        state.frontier.send(NO_VERTICES)
        state.take(self.phase, self.senders, self.targets)
        if len(state.frontier.senders):
            state.cross(self.phase)

    def advance(self, state: PartitionState) -> int:
        """Take steps here, then tell others what they must know. Returns the number of steps."""
        steps = 0
        while steps < self.limit and len(state.ready()):
            self.exchange.check()  # a local fixed point may be far away, and the run stopped
            self.be_patient(state, steps)
            if self.sweeps:
                sweep(state, self.phase)
                state.frontier.count()
                state.broadcast(self.phase, self.senders, self.targets)
                state.forget_sent(self.phase)
            else:
                state.fire(self.phase)
                state.frontier.count()
                self.send(state)
            steps += 1
        self.pass_on(state)
        return steps

    def be_patient(self, state: PartitionState, steps: int = 0) -> None:
        """Raise an error if a partition has taken so many steps that the run may never end. `steps` are its latest."""
        if self.rounds.patience is not None:
            self.rounds.patience.check(self.steps[state.partition.index] + steps)

    def send(self, state: PartitionState) -> None:
        """Send what the vertices that have fired have to send."""
        state.broadcast(self.phase, self.senders, self.targets)
        state.cross(self.phase)

    def pass_on(self, state: PartitionState) -> None:
        """Send what proxies have gathered to their masters."""
        state.reduce(self.phase, self.targets)
        state.drop_proxies()
        self.mail.post()

    def fire(self, state: PartitionState) -> None:
        """For a checkpoint: fire the vertices with news, but do not send yet."""
        state.frontier.send(NO_VERTICES)
        if len(state.ready()):
            state.fire(self.phase)

    def send_on(self) -> None:
        """Go on after a checkpoint, or from one: those vertices send that had fired for it."""
        for state in self.states:
            if len(state.frontier.senders):
                self.send(state)
            self.pass_on(state)

    @property
    def taken(self) -> int:
        """The number of local rounds of this worker's first partition; checkpoints are numbered by it."""
        return self.first + len(self.rows[self.states[0].partition.index])

    def columns(self, state: PartitionState) -> dict[str, Any]:
        """More columns for the report's row of a local round."""
        return {}

    # -- the end -------------------------------------------------------------------------------------------------------

    def rest(self, news: int) -> None:
        """Nothing to do here: vote for the end once all that was sent has been received, and sleep until more
        `news`."""
        if not self.end.over and self.idle and self.mail.at_rest and self.mail.inbox.empty:
            self.tell(self.end.rest())
        if self.end.over and not self.ended:
            self.ended = time.perf_counter()
        if not self.over:
            self.mail.wait(news, self.pause)

    @property
    def idle(self) -> bool:
        """Whether no partition here has anything to do."""
        return not any(self.waiting(state) for state in self.states)

    @property
    def pause(self) -> float:
        """For how many seconds to sleep at most."""
        return LONGEST_SLEEP

    def begin_next_stage(self) -> bool:
        """Whether the run begins anew from the global values that it has found; asked by the engine."""
        return False

    def learn(self, notes: list[Note]) -> None:
        """Take in what others have noted about the end."""
        self.tell([answer for note in notes for answer in self.end.receive(note)])

    def tell(self, notes: Notes) -> None:
        """Send notes to other workers, all for one worker in one packet: each costs half a millisecond."""
        for peer in {peer for peer, _ in notes}:
            self.mail.note(peer, *(note for whom, note in notes if whom == peer))

    def report(self, state: PartitionState, begun: float, steps: int) -> None:
        """Note the report's row of a local round."""
        part, self.worked = state.partition.index, time.perf_counter()
        self.steps[part] += steps
        self.be_patient(state)
        seconds = self.clocks[part].round(begun, self.worked, bool(self.waiting(state)))
        rows = self.rows[part]
        row = {"superstep": self.first + len(rows) + 1, "partition": part, **state.counted(), **seconds, "steps": steps}
        row["skipped"] = state.partition.parts > 1 and not row["messages"]
        rows.append(row | self.columns(state))

    def close(self) -> None:
        """Hand the rows to the log, with what came after the last local rounds and how long it took to find the end."""
        now = time.perf_counter()
        for state in self.states:
            rows = self.rows[state.partition.index]
            if not rows:
                self.report(state, now, 0)
            rows[-1]["idle"] += now - self.clocks[state.partition.index].since
            self.rounds.log.rows += rows
            self.rounds.round = max(self.rounds.round, self.first + len(rows))
        self.rounds.log.found_end_in = (self.ended or now) - self.worked
