"""Programs whose messages merge like minima: in every round, each partition runs to its local fixed point with a
specialised algorithm. A path then takes as many rounds as it crosses partitions, rather than as it has edges.

The inbox of each local vertex, owned or proxy, holds the best message that it has received. Only best messages travel:
from proxies that improved to their masters, and from masters that improved to their proxies. Messages to masters also
carry the state named by `SettlementMethod.companion`, such as a predecessor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import uint64

from dgraph.engines.local_methods.local_rounds import FreeLocalRounds
from dgraph.exchange.proxy_post import BROADCAST, REDUCE, ProxyMail, ReceivedValues
from dgraph.native.team import kernel
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import by_name, field_name, inbox_name
from dgraph.programs.monoid import UNREACHED
from dgraph.solvers.solver import LocalMethod, SettleProblem
from dgraph.tables.edge_tables import cached_on
from dgraph.tables.vertex_arrays import rows_that_differ
from dgraph.tables.vertex_lists import NO_VERTICES, set_flags
from dgraph.vertex_state.local_state import LocalState

MANY = 32  # news for more than one in 32 vertices is worth waiting for


class SettleState(LocalState):
    """The state of one partition. In each round, only owned vertices with proxies elsewhere fire, to find out whether
    they have something to send. The results of the other vertices are computed from their messages at the end of the
    run; they fire only when their states are read."""

    free_rounds = FreeLocalRounds

    def __init__(self, settle: SettlementMethod, *arguments: Any):
        super().__init__(*arguments)
        self.take_news = settle.take
        (self.phase,) = self.analysis.phases
        (self.message,) = self.phase.messages
        self.companion = [] if settle.companion is None else [self.values[field_name(settle.companion)]]
        self.eights = np.zeros(-(-self.size // 8), np.uint64)  # the flags `improved`, eight at a time
        self.improved = self.eights.view(bool)[: self.size]
        self.shared = cached_on(self.partition, "shared", lambda: _shared(self.post, self.n, self.size))
        self.improved_proxies = NO_VERTICES  # proxies with news for their masters
        self.heard: set[int] = set()  # the partitions that have sent something since this one last settled
        self.told_by = {q for q in self.post.peers if self._shares_with(q)}  # the partitions that ever send to this one
        self.behind = False  # whether some vertices have not fired yet
        self.kept: dict[Any, Any] = {}  # what the algorithm keeps from one call to the next

    def settle(self) -> None:
        """Process all news until the local fixed point, or until the algorithm pauses so that other partitions hear
        from this one. Before this partition has sent anything, the algorithm pauses sooner; it is called again as long
        as there is nothing to send."""
        self.heard = set()
        self._settle()
        while self.frontier.queued and not (self.has_news or self.post.buffers):
            self.post.exchange.check()
            self._settle()

    def _settle(self) -> None:
        """Call the program's algorithm once, and list the vertices with news for other partitions."""
        best, improved = self._best, self.improved
        came = self.frontier.queue[: self.frontier.queued].copy()
        set_flags(self.values["arrived"], came, False)
        proxies = came[came >= self.n]
        before = [array[proxies] for array in (best, *self.companion)]
        companion = self.companion[0] if self.companion else best[:0].view(np.int64)
        unheard = not self.post.buffers
        part = SettleProblem(self.edges, by_name(self.values), best, companion, came, improved, unheard, self.kept)
        edges_read, left = self.take_news(part)
        set_flags(improved, came, True)
        now = [array[proxies] for array in (best, *self.companion)]
        improved[proxies] = rows_that_differ(now, before, len(proxies))  # masters know what they themselves have sent
        shared, unshared = _take_improved(self.eights, self.shared, np.count_nonzero(improved))
        owned = shared[: np.searchsorted(shared, np.uint32(self.n))]
        self.total["fired"] += unshared
        self.total["edges"] += edges_read
        self.fire_vertices(self.phase, owned)
        self.improved_proxies, self.behind = shared[len(owned) :], True
        self.frontier.hold(self.arrays, left)
        set_flags(self.values["arrived"], left, True)

    @property
    def has_news(self) -> bool:
        """Whether there is something to send to other partitions."""
        return bool(len(self.improved_proxies) or len(self.frontier.senders))

    def catch_up(self) -> np.ndarray:
        """Fire all owned vertices that have received a message, so that their states are up to date, and return these
        vertices. The lists of waiting and of sending vertices do not change."""
        reached = self._reached()
        if self.behind:
            senders, fired = self.frontier.senders.copy(), self.total["fired"]
            self.fire_vertices(self.phase, reached)
            self.frontier.send(senders)
            set_flags(self.values["arrived"], self.frontier.queue[: self.frontier.queued], True)
            self.total["fired"], self.behind = fired, False
        return reached

    def halt(self) -> None:
        """Prepare for a checkpoint: all reached vertices send when a run resumes from it by single steps."""
        self.frontier.send(self.catch_up())

    def fold(self, kernel: str = "fold") -> list[tuple]:
        if kernel in self.recipe.source.kernels:
            self.catch_up()
        return super().fold(kernel)

    def results(self, kernel: str = "finish") -> dict[str, np.ndarray]:
        # the kernel `settled` computes results from messages: states need not be stored only to be read once
        return super().results("settled" if self.behind else kernel)

    def resume(self, phase: PhaseAnalysis) -> None:
        """Resume from a checkpoint. It has only the inboxes of owned vertices, so settle and send everything again."""
        reached = self._reached()
        self.frontier.hold(self.arrays, reached)
        set_flags(self.values["arrived"], reached, True)
        self.frontier.send(reached)
        self.improved_proxies = NO_VERTICES

    def tell(self, side: str, target_side: str) -> None:
        """Send the news of proxies to their masters, and the news of masters to their proxies."""
        sending, best, senders = self.values["sending"], [self._best], self.frontier.senders
        if len(self.improved_proxies):
            set_flags(sending, self.improved_proxies, True)
            self.post.reduce(target_side, [*best, *self.companion], sending)
            set_flags(sending, self.improved_proxies, False)
        if len(senders):
            set_flags(sending, senders, True)
            self.post.broadcast(BROADCAST, side, best, sending)
            set_flags(sending, senders, False)
        self.frontier.send(NO_VERTICES)
        self.improved_proxies = NO_VERTICES

    def hear(self, side: str, target_side: str) -> None:
        self.heard |= {sender for sender, _ in self.post.free_buffers or ()}
        mail = self.post.collect({BROADCAST: side, REDUCE: target_side})
        self.merge(self.phase, self._without_companion(mail) if self.companion else mail)

    @property
    def pays(self) -> bool:
        """Whether to settle now. With news for many vertices, it is better to wait until all others have sent theirs:
        they may have reached the same vertices by shorter paths."""
        return self.frontier.queued * MANY < self.size or self.heard >= self.told_by

    @property
    def news(self) -> int:
        """How many vertices have something to send, or to do in this partition."""
        return len(self.frontier.senders) + len(self.improved_proxies) + self.frontier.queued

    def _without_companion(self, mail: Iterator[ReceivedValues]) -> Iterator[ReceivedValues]:
        """Remove the state `companion` from the mail, and merge it first, while the old best messages are still there
        to compare with."""
        for tag, ids, (messages, *came) in mail:
            companion = came[0] if came else np.broadcast_to(np.int64(UNREACHED), len(ids))
            _merge_companion(ids, messages, companion, self._best, self.companion[0])
            yield ReceivedValues(tag, ids, [messages])

    def _reached(self) -> np.ndarray:
        """The owned vertices that have received a message."""
        found = np.empty(self.n, np.uint32)
        return found[: int(_list_others(self._best, self.message.identity, found))]

    def _shares_with(self, peer: int) -> bool:
        """Whether this partition and another have a vertex in common."""
        proxies = self.post.proxies("any", peer)
        return proxies.stop > proxies.start or len(self.post.masters("any", peer)) > 0

    @property
    def _best(self) -> np.ndarray:
        return self.values[inbox_name(self.phase, self.message)]


@dataclass(frozen=True)
class SettlementMethod(LocalMethod):
    """The method for programs whose messages merge like minima.

    take       improves `best` until no edge here can improve it further, and sets the flag `improved` of every vertex
               whose best message it replaced; flags of vertices in the frontier do not matter. It returns the number
               of edges read, and the vertices whose news it leaves for the next round. It may only leave some if it
               has made progress.
    companion  an integer State, such as a predecessor, that `take` keeps up to date with `best`, and that travels to
               masters along with it. Among equal messages, the one with the smallest number counts.
    bound      a Global: `apply` ignores messages that are worse than its value, and so may `take`.
    """

    take: Callable[[SettleProblem], tuple[int, np.ndarray]]
    companion: str | None = None
    bound: str | None = None
    finds_messages = True
    state: ClassVar[type] = SettleState

    @property
    def in_rounds(self) -> bool:  # type: ignore[override]
        return self.bound is not None


def _shared(post: ProxyMail, owned: int, size: int) -> np.ndarray:
    """A flag for each local vertex that says whether other partitions have it too, which is true for all proxies."""
    flags = np.zeros(size, bool)
    flags[owned:] = True
    for peer in post.peers:
        set_flags(flags, post.masters("any", peer), True)
    return flags


@kernel
def _take_improved(eights, shared, most):
    """Clear all flags, of which at most `most` are set. Returns the shared vertices among those that were set, and the
    number of the others."""
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
def _list_others(values, value, found):
    """Write the ids of all values other than `value` to `found`, and return their number. numpy.flatnonzero takes five
    times as long."""
    count = uint64(0)
    for v in range(uint64(found.size)):
        if values[v] != value:
            found[count] = v
            count += uint64(1)
    return count


@kernel
def _merge_companion(ids, messages, came, best, companion):
    """Update `companion` with the numbers that came with the messages: a better message replaces the number, an equal
    one keeps the smaller of the two."""
    for i in range(uint64(ids.size)):
        v = ids[i]
        if messages[i] < best[v]:
            companion[v] = came[i]
        elif messages[i] == best[v]:
            companion[v] = min(companion[v], came[i])
