"""A partition of a program of h-indices along both directions of a simple graph: bounds of cores fall from degrees on,
as far as the bounds of neighbours here let them (Montresor, De Pellegrini and Miorandi, TPDS, 2013), and masters tell
their proxies which have fallen. An old bound does no harm, because no bound is below the core: so a checkpoint has the
bounds of its moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.engines.local_methods.core_bounds import count_support, lose_support, lower
from dgraph.engines.local_methods.local_state import LocalState
from dgraph.exchange.proxy_post import BROADCAST
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.kernel_names import key
from dgraph.solvers.solver import PeelingMethod
from dgraph.vertex_state.synchronous_state import SynchronousState


class PeelingState(LocalState, SynchronousState):
    """To settle is to lower bounds as far as can be done here."""

    def __init__(self, peel: PeelingMethod, *arguments: Any):
        super().__init__(*arguments)
        self.core = self.values[key(peel.core)]
        self.support: np.ndarray | None = None  # how many neighbours have as high a bound; until all are known, None
        self.fallen, self.weak = np.zeros(self.size, bool), np.zeros(self.n, bool)
        self.queued = 0  # how many are weak, have less support than their bound: the first of the queue

    def settle(self) -> None:
        """Lower the bounds of weak vertices until none is weak."""
        rows, queue, weak = self._rows, self.frontier.queue, self.weak
        edges = rows.indptr, rows.neighbours, self.core
        if self.support is None:
            self.support = np.empty(self.n, np.uint32)
            self.queued = int(count_support(*edges, self.support, queue, weak))
            self.total["edges"] += rows.num_edges
        room = np.empty(int(self.core[: self.n].max(initial=0)) + 1, np.uint32)
        fired, looked = lower(*edges, self.support, queue, self.queued, weak, self.fallen, room)
        self.total["fired"] += int(fired)
        self.total["edges"] += int(looked)
        self.queued = 0
        self.changed = [np.count_nonzero(self.fallen[self.post.masters("any", q)]) for q in self.post.peers]

    def tell(self, side: str, target_side: str) -> None:
        """Tell proxies which bounds have fallen; at first, all bounds."""
        changed = None if self.support is None else self.fallen
        self.post.broadcast(BROADCAST, side, [self.core.astype(np.uint32)], changed)
        self.fallen[:] = False

    def hear(self, side: str, target_side: str) -> None:
        """Take in the bounds that masters elsewhere have told."""
        for _, ids, (bounds,) in self.post.collect({BROADCAST: side}):
            if self.support is not None:
                rows = self.edges.of_proxies(self.analysis.phases[0].along)
                found = rows.indptr, rows.neighbours, self.core, self.support, ids, bounds
                self.queued = int(lose_support(*found, self.frontier.queue, self.queued, self.weak))
            self.core[ids] = bounds

    @property
    def _rows(self) -> Adjacency:
        """All neighbours of each owned vertex."""
        (phase,) = self.analysis.phases
        return self.edges.receivers(phase.along, at_once=True)[0]
