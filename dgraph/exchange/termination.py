"""When is an asynchronous run over? Numbered snapshots that nobody waits for (Gluon-Async, Dathathri et al. 2019).

A worker is *at rest* when it has nothing to do and all it ever sent has been received. To a snapshot every worker votes
once, when it is at rest and knows how the one before ended: whether it has rested since its vote in that one. If all
have, there was a moment between the two snapshots when all were at rest at once, and nothing was on its way: the run
was over. Votes go up a tree of workers and outcomes down, in any order of delivery: 2 (workers - 1) notes a snapshot.

    active ──rest──► idle ──vote no──► ready-1 ──vote yes──► ready-2 ──all yes──► terminated
       ▲               │                  │                   │  ▲  │
       └─────work──────┴──────────────────┴───────────────────┘  └──┘ some no: vote again
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

BRANCHES = 2  # children of a worker in the tree


class Status(Enum):
    ACTIVE, IDLE, READY1, READY2, TERMINATED = range(5)


class Note(NamedTuple):
    """A vote on its way up, of a worker and all below it; or an outcome on its way down."""

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
    def parent(self) -> int:
        return (self.worker - 1) // BRANCHES

    @property
    def children(self) -> range:
        first = BRANCHES * self.worker + 1
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
        """A vote from below, or an outcome from above. One that came before is passed over."""
        if note.sender in self.children:
            self.votes[note.snapshot][note.sender] = note.ready
            return self._count(note.snapshot)
        return self._learn(note.snapshot, note.ready)

    def _vote(self) -> Notes:
        if self.status in (Status.ACTIVE, Status.TERMINATED) or self.voted > self.ended:
            return []
        self.voted += 1
        ready = self.status is not Status.IDLE
        self.status = Status.READY2 if ready else Status.READY1
        self.votes[self.voted][self.worker] = ready
        return self._count(self.voted)

    def _count(self, snapshot: int) -> Notes:
        """Pass the votes on once they are complete, up to the root, which knows the outcome then."""
        votes = self.votes[snapshot]
        if snapshot <= self.ended or len(votes) < 1 + len(self.children):
            return []
        ready = all(votes.values())
        if self.worker:
            return [(self.parent, Note(snapshot, self.worker, ready))]
        return self._learn(snapshot, ready)

    def _learn(self, snapshot: int, ready: bool) -> Notes:
        if snapshot <= self.ended:
            return []
        self.ended = snapshot
        self.votes.pop(snapshot, None)
        if ready:
            self.status = Status.TERMINATED
        return [*((child, Note(snapshot, self.worker, ready)) for child in self.children), *self._vote()]
