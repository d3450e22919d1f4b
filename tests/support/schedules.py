"""Simulated schedules of an asynchronous run, which test termination detection.

Workers send each other messages that live for a number of hops, and all pending events wait in a pool. A random
schedule draws the next event from the pool, so that any event may be late or overtaken. In a timed schedule, all events
take the same time.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dgraph.exchange.termination import Termination

MAIL, WORK, RECEIPT, REST, NOTE = "mail", "work", "receipt", "rest", "note"
Event = tuple  # kind, worker, and further values


@dataclass(frozen=True)
class ScheduleOutcome:
    """The outcome of a schedule: the numbers of snapshots and events, and the numbers of notes and time steps after the
    last work was done and acknowledged."""

    snapshots: int
    events: int
    notes: int
    steps: int


class Schedule:
    """The workers of a run, and the events between them.

    `hops` lists, for each worker, the number of hops that each of its first messages lives. `peer_of` maps a worker to
    the receiver of its next message.
    """

    def __init__(self, hops: Sequence[Sequence[int]], peer_of: Callable[[int], int]):
        workers = len(hops)
        self.machines = [Termination(worker, workers) for worker in range(workers)]
        self.peer_of = peer_of
        self.inbox = [len(one) for one in hops]  # messages waiting to be processed
        self.unknown = [0] * workers  # messages sent but not yet acknowledged
        self.resting = [False] * workers
        self.alive = sum(self.inbox)  # all messages
        self.owed = 0  # receipts not yet delivered
        self.new: list[Event] = [(WORK, worker, hop) for worker, first in enumerate(hops) for hop in first]
        self.new += [(REST, worker) for worker in range(workers) if not self.inbox[worker]]

    def happen(self, event: Event) -> None:
        """Let an event happen, and add those that it causes to `new`. Raise an AssertionError if a worker believes too
        early that the run has ended."""
        what, worker, *more = event
        machine = self.machines[worker]
        if what == WORK:
            self.inbox[worker] -= 1
            self.alive -= 1
            (hops,) = more
            if hops:
                self.unknown[worker] += 1
                self.alive += 1
                self.new.append((MAIL, self.peer_of(worker), worker, hops - 1))
        elif what == MAIL:
            sender, hops = more
            machine.work()
            self.resting[worker] = False
            self.inbox[worker] += 1
            self.owed += 1
            self.new += [(WORK, worker, hops), (RECEIPT, sender)]
            return
        elif what == RECEIPT:
            self.unknown[worker] -= 1
            self.owed -= 1
        elif what == NOTE:
            self.new += [(NOTE, peer, note) for peer, note in machine.receive(more[0])]
            assert not (machine.over and self.alive), f"worker {worker} believes too early that the run has ended"
        if not (self.inbox[worker] or self.unknown[worker] or self.resting[worker]):
            if what == REST:
                self.resting[worker] = True
                self.new += [(NOTE, peer, note) for peer, note in machine.rest()]
                assert not (machine.over and self.alive), f"worker {worker} believes too early that the run has ended"
            else:
                self.new.append((REST, worker))

    def course(self, events: int, notes: int, steps: int) -> ScheduleOutcome:
        """The outcome, once no event is left. Raise an AssertionError if a worker does not know of the end."""
        assert all(machine.over for machine in self.machines), "no event is left, but a worker does not know of the end"
        return ScheduleOutcome(self.machines[0].ended, events, notes, steps)


def at_random(schedule: Schedule, draw: random.Random, held: str = "") -> ScheduleOutcome:
    """Let events happen in random order until none is left. Events of kind `held` wait until no others are left."""
    pool: list[Event] = []
    late: list[Event] = []
    events = 0
    while True:
        for event in schedule.new:
            (late if event[0] == held else pool).append(event)
        schedule.new.clear()
        ready = pool or late
        if not ready:
            return schedule.course(events, 0, 0)
        place = draw.randrange(len(ready))
        ready[place], ready[-1] = ready[-1], ready[place]
        schedule.happen(ready.pop())
        events += 1


def in_time(schedule: Schedule) -> ScheduleOutcome:
    """Let events happen in order of time until none is left. Mail, receipts and notes take a time step; work takes
    none."""
    now: deque[Event] = deque()
    events = notes = steps = 0
    coming = schedule.new
    while True:
        now.extend(coming)
        coming = []
        quiet = not schedule.alive and not schedule.owed
        schedule.new = []
        while now:
            event = now.popleft()
            notes += quiet and event[0] == NOTE
            schedule.happen(event)
            events += 1
            for one in schedule.new:
                (now if one[0] in (WORK, REST) else coming).append(one)
            schedule.new = []
        if not coming:
            return schedule.course(events, notes, steps)
        steps += quiet or (not schedule.alive and not schedule.owed)


def notes_of(workers: int) -> int:
    """The number of notes in one snapshot: for every worker but the roots, a vote up the tree and an outcome down, plus
    two votes between the roots."""
    return 2 * (workers - 1)
