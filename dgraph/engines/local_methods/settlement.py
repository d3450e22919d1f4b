"""A partition that goes to its local fixed point in every round, by the program's own algorithm (`SettlementMethod`). A
path then takes as many rounds as it crosses partitions, and not as it has edges.

For programs whose messages merge like minima. The inbox of each local vertex, owned or proxy, holds the best message
that it has had. What travels are best messages alone: from proxies that improved to their masters, and from masters
that improved to their proxies; to masters also what the algorithm keeps beside them, such as predecessors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import uint64

from dgraph.engines.local_methods.local_state import LocalState
from dgraph.exchange.proxy_post import BROADCAST, REDUCE, ProxyMail, ReceivedValues
from dgraph.native.team import kernel
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import by_name, inbox, key
from dgraph.programs.monoid import UNREACHED
from dgraph.solvers.solver import LocalProblem, SettlementMethod
from dgraph.tables.edge_tables import cached_on
from dgraph.tables.vertex_arrays import rows_that_differ
from dgraph.tables.vertex_lists import NOBODY, put

MANY = 32  # of so many vertices one is many


class SettlementState(LocalState):
    """In each round only those owned vertices fire that have proxies elsewhere, to learn whether they have something to
    send. The results of all others are computed from their messages at the end of the run; they fire only where
    somebody asks for states."""

    def __init__(self, settle: SettlementMethod, *arguments: Any):
        super().__init__(*arguments)
        self.settling = settle.take
        (self.phase,) = self.analysis.phases
        (self.message,) = self.phase.messages
        self.beside = [] if settle.beside is None else [self.values[key(settle.beside)]]
        self.eights = np.zeros(-(-self.size // 8), np.uint64)  # the flags `improved`, eight at a time
        self.improved = self.eights.view(bool)[: self.size]
        self.shared = cached_on(self.partition, "shared", lambda: _shared(self.post, self.n, self.size))
        self.found = NOBODY  # proxies with news for their masters
        self.heard: set[int] = set()  # who has told something since it last settled,
        self.told_by = {q for q in self.post.peers if self._shares_with(q)}  # of all who ever do
        self.behind = False  # whether some have not fired yet
        self.kept: dict[Any, Any] = {}  # by the program's algorithm, from one call to the next

    def settle(self) -> None:
        """Go on from all that has come, to the local fixed point or until the algorithm pauses so that others are told.
        Before this partition has told anything it pauses sooner, but goes on while there is nothing to tell."""
        self.heard = set()
        self._settle()
        while self.frontier.queued and not (self.tells or self.post.buffers):
            self.post.exchange.check()
            self._settle()

    def _settle(self) -> None:
        """Call the program's algorithm once, and note who has news for other partitions."""
        best, improved = self._best, self.improved
        came = self.frontier.queue[: self.frontier.queued].copy()
        put(self.values["arrived"], came, False)
        proxies = came[came >= self.n]
        before = [array[proxies] for array in (best, *self.beside)]
        beside = self.beside[0] if self.beside else best[:0].view(np.int64)
        unheard = not self.post.buffers
        part = LocalProblem(self.edges, by_name(self.values), best, beside, came, improved, unheard, self.kept)
        looked, left = self.settling(part)
        put(improved, came, True)
        now = [array[proxies] for array in (best, *self.beside)]
        improved[proxies] = rows_that_differ(now, before, len(proxies))  # what came from their masters, these know
        found, alone = _take_improved(self.eights, self.shared, np.count_nonzero(improved))
        owned = found[: np.searchsorted(found, np.uint32(self.n))]
        self.total["fired"] += alone
        self.total["edges"] += looked
        self.fire_these(self.phase, owned)
        self.found, self.behind = found[len(owned) :], True
        self.frontier.hold(self.arrays, left)
        put(self.values["arrived"], left, True)

    @property
    def tells(self) -> bool:
        """Whether there is something to tell other partitions."""
        return bool(len(self.found) or len(self.frontier.senders))

    def catch_up(self) -> np.ndarray:
        """Fire all owned vertices that have had a message, so that states are up to date; returns them. The lists of
        who waits and who sends stay as they were."""
        reached = self._reached()
        if self.behind:
            senders, fired = self.frontier.senders.copy(), self.total["fired"]
            self.fire_these(self.phase, reached)
            self.frontier.send(senders)
            put(self.values["arrived"], self.frontier.queue[: self.frontier.queued], True)
            self.total["fired"], self.behind = fired, False
        return reached

    def halt(self) -> None:
        """For a checkpoint: a run that resumes from it by single steps has all reached vertices send."""
        self.frontier.send(self.catch_up())

    def fold(self, kernel: str = "fold") -> list[tuple]:
        if kernel in self.recipe.source.kernels:
            self.catch_up()
        return super().fold(kernel)

    def results(self, kernel: str = "finish") -> dict[str, np.ndarray]:
        return super().results("settled" if self.behind else kernel)  # else they would be stored to be read once

    def resume(self, phase: PhaseAnalysis) -> None:
        """Go on from a checkpoint, which has the inboxes of owned vertices alone: settle and tell everything anew."""
        reached = self._reached()
        self.frontier.hold(self.arrays, reached)
        put(self.values["arrived"], reached, True)
        self.frontier.send(reached)
        self.found = NOBODY

    def tell(self, side: str, target_side: str) -> None:
        """Send what proxies have found to masters, and what masters have found to proxies."""
        told, best, senders = self.values["sending"], [self._best], self.frontier.senders
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

    def hear(self, side: str, target_side: str) -> None:
        """Merge what other partitions have told."""
        self.heard |= {sender for sender, _ in self.post.brought or ()}
        mail = self.post.collect({BROADCAST: side, REDUCE: target_side})
        self.merge(self.phase, self._with_beside(mail) if self.beside else mail)

    @property
    def pays(self) -> bool:
        """Whether to settle now. With news for many vertices it is better first to hear of all others, who may have
        reached these vertices by shorter ways."""
        return self.frontier.queued * MANY < self.size or self.heard >= self.told_by

    @property
    def news(self) -> int:
        """How many vertices have something to tell, or to do here."""
        return len(self.frontier.senders) + len(self.found) + self.frontier.queued

    def _with_beside(self, mail: Iterator[ReceivedValues]) -> Iterator[ReceivedValues]:
        """Strip from the mail what is kept beside messages, and merge that first, while the old best messages are there
        to compare with."""
        for tag, ids, (messages, *came) in mail:
            beside = came[0] if came else np.broadcast_to(np.int64(UNREACHED), len(ids))
            _keep_beside(ids, messages, beside, self._best, self.beside[0])
            yield ReceivedValues(tag, ids, [messages])

    def _reached(self) -> np.ndarray:
        """The owned vertices that have had a message."""
        found = np.empty(self.n, np.uint32)
        return found[: int(_list_unlike(self._best, self.message.identity, found))]

    def _shares_with(self, peer: int) -> bool:
        """Whether this partition and another have a vertex in common."""
        proxies = self.post.proxies("any", peer)
        return proxies.stop > proxies.start or len(self.post.masters("any", peer)) > 0

    @property
    def _best(self) -> np.ndarray:
        return self.values[inbox(self.phase, self.message)]


def _shared(post: ProxyMail, owned: int, size: int) -> np.ndarray:
    """A flag for each local vertex: whether other partitions know it, as they do all proxies."""
    found = np.zeros(size, bool)
    found[owned:] = True
    for peer in post.peers:
        put(found, post.masters("any", peer), True)
    return found


@kernel
def _take_improved(eights, shared, most):
    """Clear the flags of at most so many vertices. Returns which of these are shared, and how many are not."""
    improved, found = eights.view(np.bool_), np.empty(most + 1, np.uint32)
    count, alone = uint64(0), uint64(0)
    for eight in range(uint64(eights.size)):
        if eights[eight] == 0:
            continue
        start = eight * uint64(8)
        for v in range(start, min(start + uint64(8), uint64(shared.size))):
            found[count] = v
            count += uint64(improved[v] and shared[v])
            alone += uint64(improved[v] and not shared[v])
        eights[eight] = 0
    return found[:count], np.int64(alone)


@kernel
def _list_unlike(values, value, found):
    """Write the ids of all values unlike `value` to `found`; returns how many. numpy.flatnonzero takes five times as
    long."""
    count = uint64(0)
    for v in range(uint64(found.size)):
        if values[v] != value:
            found[count] = v
            count += uint64(1)
    return count


@kernel
def _keep_beside(ids, messages, came, best, beside):
    """Keep what came beside messages: of a better message it replaces, of an equal one the smaller number stays."""
    for i in range(uint64(ids.size)):
        v = ids[i]
        if messages[i] < best[v]:
            beside[v] = came[i]
        elif messages[i] == best[v]:
            beside[v] = min(beside[v], came[i])
