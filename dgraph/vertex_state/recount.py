"""A partition of a synchronous program that merges a neighbourhood at a time: by the most frequent message, say. A
vertex gathers again only when that could give it something else.

Its *slack* is how many of its neighbours may change before that: as many as leave the most frequent message what it is;
under other merges none. Below 0 it gathers. In later rounds of label propagation hardly anybody does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from dgraph.agents.agent import Connection, DirectConnection
from dgraph.codegen.recipe import Recipe
from dgraph.native.team import kernel
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.tables.vertex_lists import count_edges
from dgraph.vertex_state.switches import RoundOptions
from dgraph.vertex_state.synchronous_state import SynchronousState

KERNEL = "recount"
SPARSE = 16  # vertices that change tell their neighbours, unless they have more than one in so many of the edges

one = uint64(1)


def can_recount(recipe: Recipe, connection: Connection, switches: RoundOptions, directed: bool) -> bool:
    """Whether a partition may be one: on the CPU, of a program with that kernel, whose messages go both ways."""
    both_ways = not directed or recipe.analysis.phases[0].along == "both"
    return (
        both_ways
        and switches.active_only
        and isinstance(connection, DirectConnection)
        and KERNEL in recipe.source.kernels
    )


class RecountState(SynchronousState):
    """It crosses edges where that is needed."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.slack = np.full(self.n, -1, np.int32)
        self.seen: list[Any] | None = None  # what all here had to send when messages last crossed; None: they never did

    def resume(self, phase: PhaseAnalysis) -> None:
        super().resume(phase)
        self.seen = None

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """Have those gather whose slack is used up."""
        (rows,) = self.edges.receivers(phase.along, at_once=True)
        arrays = [self.values[name] for name in phase.broadcast]
        changed, self.seen = self.arrays.news(arrays, self.seen, self.size)
        if changed is None or not self._spent(phase, rows, np.flatnonzero(changed)):
            self.slack.fill(-1)
        self.total["edges"] += int(edges_due(self.slack, rows.indptr))
        self.agent.rows(KERNEL, self.n, {**self.values, **self.edges.arguments(rows), "slack": self.slack})

    def _spent(self, phase: PhaseAnalysis, rows: Adjacency, changed: np.ndarray) -> bool:
        """Take one off the slack of all neighbours of vertices that have changed, and all off their own, if what they
        are sent depends on that; or return that they have too many edges."""
        owned, proxies = np.split(changed, np.searchsorted(changed, [self.n]))
        few = rows.num_edges // SPARSE
        if count_edges([rows], owned) > few or count_edges([far := self.edges.of_proxies(phase.along)], proxies) > few:
            return False
        spend(owned, rows.indptr, rows.neighbours, self.slack)
        spend(proxies, far.indptr, far.neighbours, self.slack)
        if phase.target_broadcast:
            self.slack[owned] = -1
        return True


@kernel
def spend(ids, indptr, neighbours, slack):
    """Take one off the slack of every neighbour of some vertices, for each edge; of proxies there is none."""
    for i in range(uint64(ids.size)):
        for e in range(uint64(indptr[ids[i]]), uint64(indptr[ids[i] + one])):
            v = uint64(neighbours[e])
            if v < uint64(slack.size):
                slack[v] -= 1


@kernel
def edges_due(slack, indptr):
    """The number of edges of the vertices that have none left."""
    due = uint64(0)
    for v in range(uint64(slack.size)):
        if slack[v] < 0:
            due += uint64(indptr[v + one] - indptr[v])
    return due
