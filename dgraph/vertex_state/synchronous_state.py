"""A partition of a synchronous program: in each round, every vertex gathers from all its in-neighbours and fires.
Every vertex is therefore a sender, none waits in a queue, and workers exchange how many vertices have changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import uint64

from dgraph.exchange.proxy_post import BROADCAST, TARGET
from dgraph.native.team import kernel
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import inbox_name, phase_name
from dgraph.tables.vertex_lists import count_edges
from dgraph.vertex_state.partition_state import PartitionState

KERNEL = "recount"  # which a program has if vertices may keep what they gathered
SPARSE = 16  # changed vertices update their neighbours' slack only if they have at most one in SPARSE of the edges

one = uint64(1)


class SynchronousState(PartitionState):
    """Overrides what differs from `PartitionState`. It does not use the frontier."""

    lists_senders = False
    waiting = waiting_proxies = 0  # no vertex waits for its turn

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.pulled = True
        self.sent_before: dict[tuple, list[Any]] = {}  # tag and names of arrays -> their values when last sent

    def seed(self) -> None:
        """Do nothing, because messages are sent in every round."""

    def emit(self, phase: PhaseAnalysis) -> None:
        """Compute what each vertex sends, if that is the same along all its edges."""
        if phase.hoisted:
            self.agent.rows(phase_name(phase, "emit"), self.n, self.values)

    def broadcast(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Send the changed values of masters to their proxies."""
        self._tell(BROADCAST, side, phase.broadcast)
        if phase.target_broadcast:
            self._tell(TARGET, target_side, phase.target_broadcast)

    def _tell(self, tag: int, side: str, names: Iterable[str]) -> None:
        arrays, changed = [self.values[name] for name in names], None
        if self.round_options.changed_only:
            key = tag, *names
            changed, self.sent_before[key] = self.arrays.changed_rows(arrays, self.sent_before.get(key), self.n)
        self.post.broadcast(tag, side, arrays, changed, exact=False)

    def take(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Write what masters have sent to the proxies here."""
        for tag, ids, values in self.post.collect({BROADCAST: side, TARGET: target_side}, joined=True):
            names = phase.target_broadcast if tag == TARGET else phase.broadcast
            for name, value in zip(names, values, strict=True):
                self.arrays.write(self.values[name], ids, value)

    def cross_to_proxies(self, phase: PhaseAnalysis) -> None:
        """Gather at proxies, unless vertices need all their edges in one place."""
        if phase.skips_silent:
            self.agent.rows(phase_name(phase, "mark"), self.size, self.values)
        if phase.combines and not self.round_options.whole:
            self._pull(phase, self.n, self.size)

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """Gather at owned vertices."""
        self._pull(phase, 0, self.n)

    def reduce(self, phase: PhaseAnalysis, side: str) -> None:
        """Send what proxies have gathered to their masters."""
        arrays = [self.values[inbox_name(phase, message)] for message in phase.messages]
        nothing = [message.identity for message in phase.messages]
        self.post.reduce(side, arrays, nothing if self.round_options.changed_only else None)

    def fire(self, phase: PhaseAnalysis) -> None:
        """Apply the inboxes of all owned vertices to their states."""
        self.changed += [count for _, count in self.agent.rows(phase_name(phase, "fire"), self.n, self.values)]
        self.total["fired"] += self.n


class RecountState(SynchronousState):
    """A partition whose program merges a whole neighbourhood at a time, for example to its most frequent
    message. A vertex gathers again only if the result could differ.

    A vertex's *slack* is how many of its neighbours may change without changing its most frequent message; with other
    merges it is 0. A vertex whose slack is below 0 gathers. In later rounds of label propagation few vertices do."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.slack = np.full(self.n, -1, np.int32)
        self.seen: list[Any] | None = None  # what vertices sent when messages last crossed edges, if ever

    def resume(self, phase: PhaseAnalysis) -> None:
        super().resume(phase)
        self.seen = None

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """Gather at owned vertices whose slack is used up."""
        (rows,) = self.edges.receivers(phase.along, joined=True)
        arrays = [self.values[name] for name in phase.broadcast]
        changed, self.seen = self.arrays.changed_rows(arrays, self.seen, self.size)
        if changed is None or not self._spent(phase, rows, np.flatnonzero(changed)):
            self.slack.fill(-1)
        self.total["edges"] += int(edges_without_slack(self.slack, rows.indptr))
        self.agent.rows(KERNEL, self.n, {**self.values, **self.edges.arguments(rows), "slack": self.slack})

    def _spent(self, phase: PhaseAnalysis, rows: Adjacency, changed: np.ndarray) -> bool:
        """Reduce the slack of all neighbours of changed vertices, and use up that of the changed vertices if what they
        receive depends on their own state. Returns False, and does nothing, if they have too many edges."""
        owned, proxies = np.split(changed, np.searchsorted(changed, [self.n]))
        few = rows.num_edges // SPARSE
        if count_edges([rows], owned) > few or count_edges([far := self.edges.of_proxies(phase.along)], proxies) > few:
            return False
        reduce_slack(owned, rows.indptr, rows.neighbours, self.slack)
        reduce_slack(proxies, far.indptr, far.neighbours, self.slack)
        if phase.target_broadcast:
            self.slack[owned] = -1
        return True


@kernel
def reduce_slack(ids, indptr, neighbours, slack):
    """Reduce the slack of each neighbour of the vertices `ids` by one per edge. Proxies have no slack."""
    for i in range(uint64(ids.size)):
        for e in range(uint64(indptr[ids[i]]), uint64(indptr[ids[i] + one])):
            v = uint64(neighbours[e])
            if v < uint64(slack.size):
                slack[v] -= 1


@kernel
def edges_without_slack(slack, indptr):
    """The number of edges of the vertices without slack."""
    due = uint64(0)
    for v in range(uint64(slack.size)):
        if slack[v] < 0:
            due += uint64(indptr[v + one] - indptr[v])
    return due
