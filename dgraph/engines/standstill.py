"""Checkpoints of an asynchronous run: no vertex fires until everything sent has been merged.

When a checkpoint is due, the first worker notifies the others. Every worker continues to merge mail and to pass on what
its proxies have gathered. Repeatedly, all workers compute two blocking sums: how many messages they have sent, and how
many they had received when they last merged. No worker sends while they add, so equal sums mean that nothing is in
transit and all news is in the inboxes of the vertices' owners. Vertices with news then fire, without sending yet (in
block descent they stay in the queue). This corresponds to the moment between two rounds, in which
`checkpoint/keeper.py` copies what matters. No worker can end before that, because the first worker does not ask for a
checkpoint while its vote is for the end of the run, and from then on no worker votes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dgraph.checkpoint.keeper import CheckpointKeeper
from dgraph.exchange.termination import Status

if TYPE_CHECKING:
    from dgraph.engines.free_rounds import FreeRounds

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
        counts = [float(sum(mail.sent.values())), float(received), float(not mail.inbox.empty)]
        sent, taken_in, more = free.exchange.sum(counts)
        if sent == taken_in and not more:
            return False
        mail.wait(news, SUM_INTERVAL)
        return True
