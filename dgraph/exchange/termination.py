"""Detects the end of an asynchronous run by numbered non-blocking snapshots (Gluon-Async, Dathathri et al. 2019).

A worker is *at rest* when it has nothing to do and everything it ever sent has been received. Every worker votes once
in each snapshot, when it is at rest and knows the outcome of the previous one. It votes yes if it has been at rest ever
since its previous vote. If all vote yes, then all workers were at rest at one moment between the two snapshots and
nothing was in transit, so the run was over. Votes go up two trees of workers, whose roots exchange theirs, and outcomes
go down, in any order of delivery. A snapshot takes 2 (workers - 1) notes.

    active ──rest──► idle ──vote no──► ready-1 ──vote yes──► ready-2 ──all yes──► terminated
       ▲               │                  │                   │  ▲  │
       └─────work──────┴──────────────────┴───────────────────┘  └──┘ some no: vote again
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

BRANCHES = 2  # children of a worker in its tree
ROOTS = 2  # the first workers are the roots


class Status(Enum):
    ACTIVE, IDLE, READY1, READY2, TERMINATED = range(5)


class Note(NamedTuple):
    """Either a vote of a worker and all workers below it, which travels up or across, or an outcome, which travels
    down."""

    snapshot: int
    sender: int
    ready: bool


Notes = list[tuple[int, Note]]  # each with its receiving worker


@dataclass
class Termination:
    """One worker's part, independent of the transport: its methods are called on events and return notes to send."""

    worker: int
    workers: int
    status: Status = Status.ACTIVE
    voted: int = 0  # the last snapshot in which this worker has voted
    ended: int = 0  # the last snapshot whose outcome this worker knows
    votes: defaultdict[int, dict[int, bool]] = field(default_factory=lambda: defaultdict(dict))  # by snapshot, worker

    @property
    def above(self) -> list[int]:
        """The worker to which this one sends votes: its parent, or for a root the other root, if there is one."""
        if self.worker < ROOTS:
            return [root for root in range(min(ROOTS, self.workers)) if root != self.worker]
        return [(self.worker - ROOTS) // BRANCHES]

    @property
    def children(self) -> range:
        first = ROOTS + BRANCHES * self.worker
        return range(min(first, self.workers), min(first + BRANCHES, self.workers))

    @property
    def over(self) -> bool:
        return self.status is Status.TERMINATED

    def work(self) -> None:
        """Called when there is something to do again."""
        if self.over:
            raise AssertionError(f"worker {self.worker} has work after the end, which all workers agreed on at rest")
        self.status = Status.ACTIVE

    def rest(self) -> Notes:
        """Called when there is nothing to do, and everything that was sent has been received."""
        if self.status is Status.ACTIVE:
            self.status = Status.IDLE
        return self._vote()

    def receive(self, note: Note) -> Notes:
        """Accept a vote from below or from the other root, or an outcome from above. Duplicates are ignored."""
        if self.worker >= ROOTS and note.sender in self.above:
            return self._learn(note.snapshot, note.ready)
        return self._count(note)

    def _vote(self) -> Notes:
        if self.status in (Status.ACTIVE, Status.TERMINATED) or self.voted > self.ended:
            return []
        self.voted += 1
        ready = self.status is not Status.IDLE
        self.status = Status.READY2 if ready else Status.READY1
        return self._count(Note(self.voted, self.worker, ready))

    def _count(self, vote: Note) -> Notes:
        """Pass the votes on once those of this worker and its children are complete. A root that also has the other
        root's vote knows the outcome."""
        snapshot = vote.snapshot
        if snapshot <= self.ended or vote.sender in self.votes[snapshot]:
            return []
        votes = self.votes[snapshot]
        votes[vote.sender] = vote.ready
        below = [votes.get(worker) for worker in (self.worker, *self.children)]
        if None in below:
            return []
        notes: Notes = []
        if vote.sender not in self.above:
            notes = [(worker, Note(snapshot, self.worker, all(below))) for worker in self.above]
        if self.worker < ROOTS and len(votes) > len(self.children) + len(self.above):
            notes += self._learn(snapshot, all(votes.values()))
        return notes

    def _learn(self, snapshot: int, ready: bool) -> Notes:
        if snapshot <= self.ended:
            return []
        self.ended = snapshot
        self.votes.pop(snapshot, None)
        if ready:
            self.status = Status.TERMINATED
        return [*((child, Note(snapshot, self.worker, ready)) for child in self.children), *self._vote()]
