"""When is an asynchronous run over? Numbered snapshots that nobody waits for (Gluon-Async, Dathathri et al. 2019).

A worker is *at rest* when it has nothing to do and all it ever sent has been received. To a snapshot every worker votes
once, when it is at rest and knows how the one before ended: whether it has rested since its vote in that one. If all
have, there was a moment between the two snapshots when all were at rest at once, and nothing was on its way: the run
was over. Votes go up two trees of workers, whose roots tell each other, and outcomes go down, in any order of delivery:
2 (workers - 1) notes a snapshot.

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
ROOTS = 2  # the first workers


class Status(Enum):
    ACTIVE, IDLE, READY1, READY2, TERMINATED = range(5)


class Note(NamedTuple):
    """A vote on its way up, or across, of a worker and all below it; or an outcome on its way down."""

    snapshot: int
    sender: int
    ready: bool


Notes = list[tuple[int, Note]]  # with the worker that each is for


@dataclass
class Termination:
    """One worker's part, without any transport: it is told what happens, and answers with the notes to be sent."""

    worker: int
    workers: int
    status: Status = Status.ACTIVE
    voted: int = 0  # the last snapshot that this worker has voted in
    ended: int = 0  # the last one whose outcome it knows
    votes: defaultdict[int, dict[int, bool]] = field(default_factory=lambda: defaultdict(dict))  # by snapshot, of whom

    @property
    def above(self) -> list[int]:
        """The worker that hears how those below have voted: the parent; of a root, the other root."""
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
        """There is something to do again."""
        if self.over:
            raise AssertionError(
                f"worker {self.worker} has work after the end: it was at rest and nothing was under way"
            )
        self.status = Status.ACTIVE

    def rest(self) -> Notes:
        """There is nothing to do, and all that was sent has been received."""
        if self.status is Status.ACTIVE:
            self.status = Status.IDLE
        return self._vote()

    def receive(self, note: Note) -> Notes:
        """A vote from below, or from the other root; or an outcome from above. One that came before is passed over."""
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
        """Pass the votes on once those from here and below are complete. A root that has the other's, too, knows the
        outcome."""
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
