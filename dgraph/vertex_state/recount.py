"""A partition of a synchronous program that merges a whole neighbourhood at a time, for example to its most frequent
message. A vertex gathers again only if the result could differ.

A vertex's *slack* is how many of its neighbours may change without changing its most frequent message; with other
merges it is 0. A vertex whose slack is below 0 gathers. In later rounds of label propagation few vertices do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from dgraph.native.team import kernel
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.tables.vertex_lists import count_edges
from dgraph.vertex_state.synchronous_state import SynchronousState

KERNEL = "recount"
SPARSE = 16  # changed vertices update their neighbours' slack only if they have at most one in SPARSE of the edges

one = uint64(1)


class RecountState(SynchronousState):
    """Gathers only at vertices whose slack is used up."""

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
