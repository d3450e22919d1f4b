"""Local rounds without a common clock: each partition of a worker merges mail whenever it arrives and proceeds at its
own pace, without waiting for the others. `engines/local_methods/local_rounds.py` and `block_descent.py` override
what a partition does in a local round.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dgraph.checkpoint.keeper import CheckpointKeeper
from dgraph.engines.rounds import Rounds
from dgraph.exchange.free_mail import PACKETS_AHEAD
from dgraph.exchange.mail import Buffer
from dgraph.exchange.termination import Note, Notes, Status, Termination
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import before_name, field_name, phase_name
from dgraph.tables.vertex_lists import NO_VERTICES
from dgraph.vertex_state.partition_state import PartitionState

# -- Gauss-Seidel sweeps -----------------------------------------------------------------------------------------------
# Rows fire one after the other and send immediately, so that later rows fire with what earlier
# ones have just sent. Sums converge with about half as many edge traversals.


def can_sweep(state: PartitionState) -> bool:
    """Whether a sweep can replace firing and sending: messages are added up, are the same along all edges of a vertex,
    and only one thread works on the partition. (Several threads are faster if all vertices fire before any sends.)"""
    phase = state.analysis.phases[0]
    able = phase_name(phase, "sweep") in state.recipe.source.kernels and state.agent.one_thread
    by_default = state.round_options.direction == "auto" and state.round_options.active_only
    return able and by_default and len(state.edges.senders(phase.along)) == 1


def sweep(state: PartitionState, phase: PhaseAnalysis) -> None:
    """Sweep once over all rows. Call `broadcast` afterwards to update proxies, and then `forget_sent`."""
    for name in state.analysis.before:
        state.arrays.copy(state.values[before_name(name)], state.values[field_name(name)])
    (side,) = state.edges.senders(phase.along)
    values = {**state.values, **state.edges.arguments(side), "queue": state.frontier.spare}
    fired, count, work = state.agent.once(phase_name(phase, "sweep"), state.n, values)
    state.total["fired"] += int(fired)
    state.total["edges"] += int(work)
    state.frontier.send(state.arrays.first(state.frontier.spare, count))
    state.frontier.queued, state.frontier.scan, state.pulled = 0, True, False


# -- checkpoints: no vertex fires until everything sent has been merged ------------------------------------------------
# When a checkpoint is due, the first worker notifies the others. Every worker continues to merge mail and to pass on
# what its proxies have gathered. Repeatedly, all workers compute two blocking sums: how many messages they have sent,
# and how many they had received when they last merged. No worker sends while they add, so equal sums mean that
# nothing is in transit and all news is in the inboxes of the vertices' owners. Vertices with news then fire, without
# sending yet (in block descent they stay in the queue). This corresponds to the moment between two rounds, in which
# `checkpoint/keeper.py` copies what matters. No worker can end before that, because the first worker does not ask for
# a checkpoint while its vote is for the end of the run, and from then on no worker votes.

SUM_INTERVAL = 0.001  # seconds between two sums


class HaltNote(NamedTuple):
    """A note: come to a standstill, for the checkpoint of this number."""

    number: int


class Standstill:
    """One worker's part in a standstill. `free` is the local rounds that it interrupts."""

    def __init__(self, free: FreeRounds, keeper: CheckpointKeeper):
        self.free, self.keeper = free, keeper
        self.asked = 0  # the number of a checkpoint that the first worker has asked for
        self.held: list[Any] | None = None  # notes about the end of the run that arrive during a checkpoint

    def takes(self, note: Any) -> bool:
        """Whether to withhold a note from termination detection: it asks for a checkpoint, or it is about the end of
        the run and must wait until the current checkpoint has been made."""
        if isinstance(note, HaltNote):
            self.asked = note.number
        elif self.held is not None:
            self.held.append(note)
        return isinstance(note, HaltNote) or self.held is not None

    def look(self) -> None:
        """Make a checkpoint if it is time for one."""
        free = self.free
        asks = free.exchange.worker == 0 and free.end.status not in (Status.READY2, Status.TERMINATED)
        if asks and self.keeper.is_due(free.taken, self.keeper.overdue):
            self.asked = free.taken
            for peer in range(1, len(free.exchange.route.workers)):
                free.mail.note(peer, HaltNote(free.taken))
        if self.asked:
            number, self.asked, self.held = self.asked, 0, []
            self._make(number)
            notes, self.held = self.held, None
            free.learn(notes)

    def _make(self, number: int) -> None:
        free = self.free
        self.keeper.wait()
        while self._under_way():
            continue
        for state in free.states:
            free.fire(state)
        free.rounds.round = number
        self.keeper.keep(free.rounds)
        free.send_on()

    def _under_way(self) -> bool:
        """Merge and pass on what has arrived; returns whether anything is still in transit on any worker."""
        free, mail = self.free, self.free.mail
        received = sum(mail.inbox.received.values())
        news = free.receive()
        for state in free.states:
            free.merge(state, free.came.pop(state.partition.index, {}))
            free.pass_on(state)
        mail.post()
        counts = [float(sum(mail.sent.values())), float(received), float(not mail.inbox.empty)]
        sent, taken_in, more = free.exchange.sum(counts)
        if sent == taken_in and not more:
            return False
        mail.acknowledge()
        mail.wait(news, SUM_INTERVAL)
        return True


SLOW_SHARE = 4  # a worker does not wait for one in so many of those that have work to do
LONGEST_SLEEP = 0.05  # seconds after which an idle worker wakes up by itself to check whether the run has failed
UNLIMITED = 1 << 62  # as a number of steps: run to the local fixed point


@dataclass
class Clock:
    """Measures how long a partition is busy, has work but waits, or is idle."""

    since: float  # when its last local round ended
    ready: float | None  # the time since which it has had something to do

    def round(self, begun: float, ended: float, more: bool) -> dict[str, float]:
        """The busy, idle and waiting seconds since the last local round ended. `more` says whether the partition still
        has something to do."""
        ready = begun if self.ready is None else max(self.ready, self.since)
        seconds = {"busy": ended - begun, "idle": ready - self.since, "wait": begun - ready}
        self.since, self.ready = ended, ended if more else None
        return seconds


class FreeRounds:
    """The partitions of one worker, from the first local round to the end of the run. `local_rounds` is the number of
    steps that a partition takes before it sends to others. With None, it runs to its local fixed point, or takes one
    step if messages do not merge like minima."""

    promises = True  # whether others are told that there is work to do here

    def __init__(self, rounds: Rounds, local_rounds: int | None = None):
        self.rounds, self.phase = rounds, rounds.phase
        self.states: Sequence[Any] = rounds.states
        self.senders, self.targets = rounds.sides(self.phase)
        self.exchange = rounds.states[0].post.exchange
        self.mail = self.exchange.free
        self.mail.prompt = False
        self.limit = local_rounds or (UNLIMITED if self.phase.idempotent else 1)
        self.steps: defaultdict[int, int] = defaultdict(int)  # how many steps each partition has taken
        self.sweeps = all(map(can_sweep, self.states))
        self.end = Termination(self.exchange.worker, len(self.exchange.route.workers))
        self.in_turn = False  # whether partitions work now, one after the other
        self.came: dict[int, dict[int, list[Buffer]]] = defaultdict(lambda: defaultdict(list))
        self.first = rounds.round  # local rounds are counted from here, which is 0 unless resuming from a checkpoint
        self.worked = now = time.perf_counter()  # when this worker last did any work
        self.ended = 0.0  # when this worker learned that the run has ended
        self.clocks = {one.partition.index: Clock(now, now if self.waiting(one) else None) for one in self.states}
        self.rows: dict[int, list[dict]] = {state.partition.index: [] for state in self.states}
        for state in self.states:
            state.post.use_free_mail([])
            state.prepare_round(self.phase, 1)
        self.standstill = Standstill(self, rounds.keeper) if rounds.keeper is not None else None
        if self.first:
            self.send_on()

    def to_the_end(self) -> None:
        """Take local rounds until the run is found to have ended. Called by the engine."""
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
        """Whether the run has ended, and this worker has passed that on to the workers that learn it from here."""
        return self.end.over and not self.mail.under_way

    def receive(self) -> int:
        """Take in what has arrived, mail before notes, because a note may be about mail. Returns the inbox's event
        count from before."""
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
        """Give each partition with something to do one local round, on the mail that has arrived by its turn. Returns
        whether to call again immediately."""
        found = worked = False
        for state in self.states:
            self.receive()
            begun, came = time.perf_counter(), self.came.pop(state.partition.index, {})
            self.merge(state, came)
            goes_on = self.goes_on(state)
            if goes_on and not worked:
                self.in_turn = True
                self.mail.inbox.heard.clear()
            steps = self.advance(state) if goes_on else 0
            if goes_on:
                self.report(state, begun, steps)
            found |= bool(came) or goes_on
            worked |= goes_on
        self.in_turn = False
        more = self.promises and not self.idle
        self.mail.post(more=more if worked or (self.mail.promised and not more) else None)
        if worked:
            self.mail.acknowledge(PACKETS_AHEAD)
        return found or any(self.came.values())

    def merge(self, state: PartitionState, came: dict[int, list[Buffer]]) -> None:
        """Merge mail, one buffer per sender at a time at most, since a later buffer would overwrite an earlier one."""
        while any(came.values()):
            state.post.use_free_mail([(sender, buffers.pop(0)) for sender, buffers in came.items() if buffers])
            self.hear(state)

    # -- what a partition does; subclasses override this ---------------------------------------------------------------

    def waiting(self, state: PartitionState) -> int:
        """How many vertices have something to do, or to send to other partitions."""
        return state.waiting

    def goes_on(self, state: PartitionState) -> bool:
        """Whether the partition works now rather than waiting for mail first."""
        return bool(self.waiting(state)) and not self.mail.crowded and self.has_heard_enough

    @property
    def has_heard_enough(self) -> bool:
        """Whether, since this worker last worked, it has heard from most of those that have work to do. Each of these
        sends to all that wait for it whenever it has worked, so the one that worked longest ago never waits."""
        inbox = self.mail.inbox
        return self.in_turn or len(inbox.working - inbox.heard) <= max(1, len(inbox.working) // SLOW_SHARE)

    def hear(self, state: PartitionState) -> None:
        """Merge the mail that `ProxyMail.use_free_mail` was given."""
        state.receive(self.phase, self.targets)
        state.frontier.send(NO_VERTICES)
        state.take(self.phase, self.senders, self.targets)
        if len(state.frontier.senders):
            state.cross(self.phase)

    def advance(self, state: PartitionState) -> int:
        """Take steps locally, then send what other partitions need. Returns the number of steps."""
        steps = 0
        while steps < self.limit and len(state.ready()):
            self.exchange.check()  # the local fixed point may be far away, and the run may have been stopped
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
        """Send the messages of the vertices that have fired."""
        state.broadcast(self.phase, self.senders, self.targets)
        state.cross(self.phase)

    def pass_on(self, state: PartitionState) -> None:
        """Send what proxies have gathered to their masters."""
        state.reduce(self.phase, self.targets)
        state.drop_proxies()

    def fire(self, state: PartitionState) -> None:
        """Prepare for a checkpoint: fire the vertices with news, but do not send yet."""
        state.frontier.send(NO_VERTICES)
        if len(state.ready()):
            state.fire(self.phase)

    def send_on(self) -> None:
        """Continue after a checkpoint, or resume from one: send for the vertices that fired in preparation for it."""
        for state in self.states:
            if len(state.frontier.senders):
                self.send(state)
            self.pass_on(state)
        self.mail.post()

    @property
    def taken(self) -> int:
        """The number of local rounds of this worker's first partition; checkpoints are numbered by it."""
        return self.first + len(self.rows[self.states[0].partition.index])

    def columns(self, state: PartitionState) -> dict[str, Any]:
        """More columns for the report's row of a local round."""
        return {}

    # -- the end -------------------------------------------------------------------------------------------------------

    def rest(self, news: int) -> None:
        """Wait, because there is nothing to do: vote for the end once everything sent has been received, and sleep
        until the inbox's event count differs from `news`."""
        if not self.end.over and self.idle and self.mail.at_rest and self.mail.inbox.empty:
            self.tell(self.end.rest())
        if self.end.over and not self.ended:
            self.ended = time.perf_counter()
        self.mail.acknowledge()
        if not self.over:
            self.mail.wait(news, self.pause)
            if self.mail.inbox.events == news:  # those that have work to do are slow
                self.mail.inbox.heard |= self.mail.inbox.working

    @property
    def idle(self) -> bool:
        """Whether no partition of this worker has anything to do."""
        return not any(self.waiting(state) for state in self.states)

    @property
    def pause(self) -> float:
        """The maximum number of seconds to sleep."""
        return LONGEST_SLEEP

    def begin_next_stage(self) -> bool:
        """Whether the run restarts from the global values that it has computed; called by the engine."""
        return False

    def learn(self, notes: list[Note]) -> None:
        """Take in notes from other workers about the end of the run."""
        self.tell([answer for note in notes for answer in self.end.receive(note)])

    def tell(self, notes: Notes) -> None:
        """Send notes to other workers, one packet per worker, because each packet costs half a millisecond."""
        for peer in {peer for peer, _ in notes}:
            self.mail.note(peer, *(note for whom, note in notes if whom == peer))

    def report(self, state: PartitionState, begun: float, steps: int) -> None:
        """Record a local round as a row of the report."""
        part, self.worked = state.partition.index, time.perf_counter()
        self.steps[part] += steps
        self.be_patient(state)
        seconds = self.clocks[part].round(begun, self.worked, bool(self.waiting(state)))
        rows = self.rows[part]
        row = {"superstep": self.first + len(rows) + 1, "partition": part, **state.counted(), **seconds, "steps": steps}
        row["skipped"] = state.partition.parts > 1 and not row["messages"]
        rows.append(row | self.columns(state))

    def close(self) -> None:
        """Pass the rows to the log, with the idle time after the last local round and the time to detect the end."""
        self.mail.prompt = True
        self.mail.acknowledge()
        now = time.perf_counter()
        for state in self.states:
            rows = self.rows[state.partition.index]
            if not rows:
                self.report(state, now, 0)
            rows[-1]["idle"] += now - self.clocks[state.partition.index].since
            self.rounds.log.rows += rows
            self.rounds.round = max(self.rounds.round, self.first + len(rows))
        self.rounds.log.found_end_in = (self.ended or now) - self.worked
