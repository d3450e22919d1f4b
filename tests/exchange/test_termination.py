"""The end is told never too early and always in time: every order of events of small runs, random ones of larger."""

import random
from copy import deepcopy
from functools import partial

import pytest
from schedules import Schedule, at_random, in_time, notes_of

from dgraph.exchange.termination import Note, Status, Termination


class Run:
    """Workers that send each other messages with so many hops to live. A message is under way, then in an inbox (which
    its sender is told by and by), then worked on. Notes are under way, in any order."""

    def __init__(self, workers, hops):
        self.machines = [Termination(worker, workers) for worker in range(workers)]
        self.inboxes = [list(given) for given in hops]  # of each worker: hops of the messages it has, not yet worked on
        self.mail = []  # (sender, receiver, hops)
        self.receipts = []  # senders of what has been received
        self.unknown = [0] * workers  # messages of which their sender does not know that they were received
        self.notes = []  # (receiver, Note)
        self.resting = [False] * workers

    def choices(self):
        """All that may happen next."""
        for worker, inbox in enumerate(self.inboxes):
            for hops in set(inbox):
                if hops:
                    yield from (("pass", worker, hops, peer) for peer in range(len(self.inboxes)) if peer != worker)
                else:
                    yield ("finish", worker)
            if not inbox and not self.unknown[worker] and not self.resting[worker]:
                yield ("rest", worker)
        yield from (("deliver", *mail) for mail in set(self.mail))
        yield from (("receipt", sender) for sender in set(self.receipts))
        yield from (("note", *note) for note in set(self.notes))

    def do(self, what, *how):
        if what == "pass":
            worker, hops, peer = how
            self.inboxes[worker].remove(hops)
            self.unknown[worker] += 1
            self.mail.append((worker, peer, hops - 1))
        elif what == "finish":
            self.inboxes[how[0]].remove(0)
        elif what == "rest":
            self.resting[how[0]] = True
            self.notes += self.machines[how[0]].rest()
        elif what == "deliver":
            self.mail.remove(how)
            sender, receiver, hops = how
            self.machines[receiver].work()
            self.resting[receiver] = False
            self.inboxes[receiver].append(hops)
            self.receipts.append(sender)
        elif what == "receipt":
            self.receipts.remove(how[0])
            self.unknown[how[0]] -= 1
        else:
            self.notes.remove(how)
            receiver, note = how
            self.notes += self.machines[receiver].receive(note)

    def check(self):
        """Nobody is told of the end before there is nothing left to do anywhere."""
        if any(machine.over for machine in self.machines):
            assert not self.mail
            assert not any(self.inboxes)

    @property
    def over(self):
        return all(machine.over for machine in self.machines)

    def key(self):
        machines = tuple(
            (m.status, m.voted, m.ended, tuple(sorted((n, tuple(sorted(v.items()))) for n, v in m.votes.items())))
            for m in self.machines
        )
        piles = (
            *(tuple(sorted(inbox)) for inbox in self.inboxes),
            tuple(sorted(self.mail)),
            tuple(sorted(self.receipts)),
        )
        return machines, piles, tuple(self.unknown), tuple(sorted(self.notes)), tuple(self.resting)


@pytest.mark.parametrize(
    "hops",
    [[[0]], [[], []], [[2], []], [[3], [1]], [[1, 1], []], [[1], [], []], [[2], [], []], [[], [1], [0]]],
    ids=str,
)
def test_every_order_of_events_terminates_correctly(hops):
    """That the search ends shows that no run goes on for ever; that no state is stuck, that each one ends."""
    first = Run(len(hops), hops)
    seen, waiting, ends = {first.key()}, [first], 0
    while waiting:
        run = waiting.pop()
        run.check()
        choices = list(run.choices())
        if not choices:
            assert run.over, "stuck"
            ends += 1
        for choice in choices:
            after = deepcopy(run)
            after.do(*choice)
            if (key := after.key()) not in seen:
                seen.add(key)
                waiting.append(after)
    assert ends


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("held", ["", "mail", "receipt", "note", "rest", "work"])
def test_random_schedules_terminate_correctly(workers, held):
    """All that is under way is delayed and reordered, and one kind of it as long as anything else can happen; `make
    termination` plays millions."""
    for seed in range(40):
        draw = random.Random(f"{seed} {held}")
        hops = [[draw.randrange(5 if workers > 1 else 1) for _ in range(draw.randrange(3))] for _ in range(workers)]
        at_random(Schedule(hops, partial(another, workers, draw)), draw, held)


def another(workers, draw, worker):
    return (worker + 1 + draw.randrange(workers - 1)) % workers


def test_a_schedule_that_ends_too_early_is_seen():
    schedule = Schedule([[3], [2]], partial(another, 2, random.Random(1)))
    schedule.machines[0].receive = lambda note: schedule.machines[0]._learn(note.snapshot, True)
    schedule.machines[0].work = lambda: None
    with pytest.raises(AssertionError, match="too early"):
        at_random(schedule, random.Random(1), held="work")


@pytest.mark.parametrize("workers", [1, 2, 14, 1022])
def test_a_snapshot_costs_two_notes_a_worker(workers):
    course = in_time(Schedule([[]] * workers, partial(another, workers, random.Random(1))))
    assert course.snapshots == 2
    assert course.notes == 2 * 2 * (workers - 1) == 2 * notes_of(workers)
    assert course.steps == 2 * max(0, 2 * workers.bit_length() - 3)  # up one of two full trees, across, and down


def test_a_worker_passes_through_the_states_in_order():
    one, other = Termination(0, 2), Termination(1, 2)
    assert one.rest() == [(1, Note(1, 0, False))]
    assert one.status is Status.READY1
    other.work()
    assert other.receive(Note(1, 0, False)) == []
    assert other.status is Status.ACTIVE
    assert other.rest() == [(0, Note(1, 1, False)), (0, Note(2, 1, True))]  # the other's vote was there
    assert other.status is Status.READY2
    assert one.receive(Note(1, 1, False)) == [(1, Note(2, 0, True))]
    assert one.receive(Note(2, 1, True)) == []
    assert one.over and not other.over
    assert other.receive(Note(2, 0, True)) == []
    assert other.over


def test_work_between_two_votes_cancels_termination():
    one, other = Termination(0, 2), Termination(1, 2)
    (first,), (second,) = one.rest(), other.rest()
    (yes,) = other.receive(first[1])
    assert yes == (0, Note(2, 1, True))
    one.work()
    assert one.receive(second[1]) == []
    assert one.rest() == [(1, Note(2, 0, False))]
    assert one.receive(yes[1]) == [(1, Note(3, 0, True))]
    assert other.receive(Note(2, 0, False)) == [(0, Note(3, 1, True))]
    assert other.status is Status.READY2


def test_notes_travel_along_a_tree_below_the_roots():
    root, leaf = Termination(1, 5), Termination(4, 5)
    assert (root.above, list(root.children), leaf.above) == ([0], [4], [1])
    assert root.rest() == []
    (up,) = leaf.rest()
    assert root.receive(up[1]) == [(0, Note(1, 1, False))]
    (down,) = root.receive(Note(1, 0, False))
    assert down == (4, Note(1, 1, False))
    assert leaf.receive(down[1]) == [(1, Note(2, 4, True))]


def test_a_note_that_comes_twice_changes_nothing():
    one, other = Termination(0, 2), Termination(1, 2)
    one.rest()
    (vote,) = other.rest()
    (again,) = one.receive(vote[1])
    assert one.receive(vote[1]) == []
    assert again == (1, Note(2, 0, True))
    assert other.receive(Note(1, 0, False)) == [(0, Note(2, 1, True))]
    assert other.receive(Note(1, 0, False)) == []


def test_work_after_the_end_raises_an_error():
    alone = Termination(0, 1)
    alone.rest()
    assert alone.over
    with pytest.raises(AssertionError, match="has work after the end"):
        alone.work()
