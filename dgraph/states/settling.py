"""A partition that goes to its local fixed point in every round, by the program's own algorithm: others hear of it only
what they must, and a graph of long paths takes as many rounds as paths cross partitions, not as they have edges.

For programs whose messages merge like minima. Of each local vertex, owned or proxy, the inbox holds the best message
that it has had. Nothing else travels: to masters what their proxies have found, to proxies what their masters know;
and with the former what the algorithm keeps beside it, a predecessor say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import uint64

from dgraph.agents.vertex_arrays import rows_that_differ
from dgraph.agents.vertex_lists import NOBODY, put
from dgraph.analysis import PhaseAnalysis
from dgraph.codegen.text import inbox
from dgraph.exchange.post import BROADCAST, REDUCE, Mail
from dgraph.monoid import UNREACHED
from dgraph.solvers.solver import Settle, Unsettled
from dgraph.solvers.team import kernel
from dgraph.states.state import State

FLAGS = 8  # in a word


class Settling(State):
    """A State of which `settle` fires whoever it takes; `tell` and `hear` are all its mail."""

    settles = True
    settled = False  # as far as it knows

    def __init__(self, settle: Settle, *arguments: Any):
        super().__init__(*arguments)
        self.settling = settle.take
        self.beside = [] if settle.beside is None else [self.values[settle.beside]]
        self.flags = np.zeros(-(-self.size // FLAGS), np.uint64)  # in words, of which most are empty in most rounds
        self.improved, self.listed = self.flags.view(bool)[: self.size], np.empty(self.size, np.uint32)
        self.found = NOBODY  # proxies with news for their masters
        self.kept: dict[Any, Any] = {}

    def settle(self, phase: PhaseAnalysis) -> None:
        """From all that has come to the local fixed point, or as far as its algorithm goes before others are told."""
        best, improved = self._best(phase), self.improved
        came = self.frontier.queue[: self.frontier.queued].copy()
        put(self.values["arrived"], came, False)
        proxies = came[came >= self.n]
        before = [array[proxies] for array in (best, *self.beside)]
        beside = self.beside[0] if self.beside else best[:0].view(np.int64)
        looked, left = self.settling(Unsettled(self.edges, self.values, best, beside, came, improved, self.kept))
        put(improved, came, True)
        now = [array[proxies] for array in (best, *self.beside)]
        improved[proxies] = rows_that_differ(now, before)  # what they have had from their masters, these know
        found = self.listed[: int(_lowered(self.flags, improved, self.listed))]
        owned = found[: np.searchsorted(found, np.uint32(self.n))]
        self.fire_these(phase, owned)
        self.total["edges"] += looked
        self.found = found[len(owned) :]
        self.frontier.hold(self.arrays, left)
        put(self.values["arrived"], left, True)

    def resume(self, phase: PhaseAnalysis) -> None:
        """Go on from the inboxes of owned vertices alone, as a checkpoint has them: all is told and settled anew."""
        (message,) = phase.messages
        reached = np.flatnonzero(self._best(phase)[: self.n] != message.identity).astype(np.uint32)
        self.frontier.hold(self.arrays, reached)
        put(self.values["arrived"], reached, True)
        self.frontier.send(reached)
        self.found = NOBODY

    def tell(self, phase: PhaseAnalysis, side: str, target_side: str) -> int:
        """Masters what their proxies have found, and proxies what their masters know. Returns how many buffers it
        took."""
        before = self.post.buffers
        told, best, senders = self.values["sending"], [self._best(phase)], self.frontier.senders
        if len(self.found):
            put(told, self.found, True)
            self.post.reduce(target_side, [*best, *self.beside], told)
            put(told, self.found, False)
        if len(senders):
            put(told, senders, True)
            self.post.broadcast(BROADCAST, side, best, told)
            put(told, senders, False)
        self.frontier.send(NOBODY)
        self.found = NOBODY
        return self.post.buffers - before

    def hear(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """What others have told."""
        mail = self.post.collect({BROADCAST: side, REDUCE: target_side})
        self.merge(phase, self._with_beside(phase, mail) if self.beside else mail)

    @property
    def news(self) -> int:
        """For how many vertices there is something to tell, or to do here."""
        return len(self.frontier.senders) + len(self.found) + self.frontier.queued

    def _with_beside(self, phase: PhaseAnalysis, mail: Iterator[Mail]) -> Iterator[Mail]:
        """The same mail without what came beside, which is kept first, while the best messages are what they were."""
        for tag, ids, (messages, *came) in mail:
            beside = came[0] if came else np.broadcast_to(np.int64(UNREACHED), len(ids))
            _keep_beside(ids, messages, beside, self._best(phase), self.beside[0])
            yield Mail(tag, ids, [messages])

    def _best(self, phase: PhaseAnalysis) -> np.ndarray:
        (message,) = phase.messages
        return self.values[inbox(phase, message)]


@kernel
def _keep_beside(ids, messages, came, best, beside):
    for i in range(uint64(ids.size)):
        v = ids[i]
        if messages[i] < best[v]:
            beside[v] = came[i]
        elif messages[i] == best[v]:
            beside[v] = min(beside[v], came[i])


@kernel
def _lowered(words, flags, found):
    """Lists who has a flag, in ascending order, and takes the flags down. Returns how many there were."""
    count = uint64(0)
    for word in range(uint64(words.size)):
        if words[word]:
            for v in range(word * uint64(FLAGS), min((word + uint64(1)) * uint64(FLAGS), uint64(flags.size))):
                found[count] = v
                count += uint64(flags[v])
            words[word] = 0
    return count
