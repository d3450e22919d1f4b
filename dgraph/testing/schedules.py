"""Schedules of an asynchronous run, to test how its end is found: workers send each other messages with so many hops to
live, and all that is under way waits in a pool. In a random schedule whatever is drawn from the pool happens next, so
that anything may be late or overtaken; in a timed one all takes as long."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dgraph.exchange.termination import Termination

MAIL, WORK, RECEIPT, REST, NOTE = "mail", "work", "receipt", "rest", "note"
Event = tuple  # what, at which worker, and more


@dataclass(frozen=True)
class ScheduleOutcome:
    """What came of a schedule: how many snapshots were taken and how many events there were; and after the last work
    was done and known to be, how many notes, and how many steps of time."""

    snapshots: int
    events: int
    notes: int
    steps: int


class Schedule:
    """The workers of a run, and what is under way between them. `hops`: for each worker, how many hops each of its
    first messages has to live. `peer_of`: a function from a worker to the one that it sends its next message to."""

    def __init__(self, hops: Sequence[Sequence[int]], peer_of: Callable[[int], int]):
        workers = len(hops)
        self.machines = [Termination(worker, workers) for worker in range(workers)]
        self.peer_of = peer_of
        self.inbox = [len(given) for given in hops]  # messages that wait to be worked on
        self.unknown = [0] * workers  # messages sent of which it is not known here that they were received
        self.resting = [False] * workers
        self.alive = sum(self.inbox)  # messages anywhere
        self.owed = 0  # receipts under way
        self.new: list[Event] = [(WORK, worker, hop) for worker, given in enumerate(hops) for hop in given]
        self.new += [(REST, worker) for worker in range(workers) if not self.inbox[worker]]

    def happen(self, event: Event) -> None:
        """Have one event happen; those that it leads to are added to `new`. Raises AssertionError if a worker is told
        of the end too early."""
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
            assert not (machine.over and self.alive), f"worker {worker} is told of the end too early"
        if not (self.inbox[worker] or self.unknown[worker] or self.resting[worker]):
            if what == REST:
                self.resting[worker] = True
                self.new += [(NOTE, peer, note) for peer, note in machine.rest()]
                assert not (machine.over and self.alive), f"worker {worker} is told of the end too early"
            else:
                self.new.append((REST, worker))

    def course(self, events: int, notes: int, steps: int) -> ScheduleOutcome:
        """What came of it, once no event is left. Raises AssertionError if a worker has not been told of the end."""
        assert all(machine.over for machine in self.machines), "nothing is under way, and some are not told of the end"
        return ScheduleOutcome(self.machines[0].ended, events, notes, steps)


def at_random(schedule: Schedule, draw: random.Random, held: str = "") -> ScheduleOutcome:
    """Have events happen in random order until none is left. Those of the kind `held` wait as long as any other can
    happen."""
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
    """Have events happen in the order of time until none is left: mail, receipts and notes take one step each, work
    takes none."""
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
    """How many notes one snapshot takes: a vote of every worker but the roots on its way up, an outcome down, and two
    votes across."""
    return 2 * (workers - 1)
