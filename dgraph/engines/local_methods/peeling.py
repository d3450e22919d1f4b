"""Core numbers over several partitions, by peeling: upper bounds start at the degrees and fall as far as the bounds of
neighbours allow (Montresor, De Pellegrini and Miorandi, TPDS, 2013).

A vertex is *weak* if its *support*, the number of neighbours with a bound as high as its own, is less than its bound. A
weak vertex gets the h-index of its neighbours' bounds, until no vertex is weak. Masters then send the bounds that have
fallen to their proxies. Because support is kept up to date, edges are read only where a bound falls.

No bound is ever below the core number, so an outdated one does no harm, and a checkpoint stores the current bounds.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numba import uint64

from dgraph.exchange.proxy_post import BROADCAST
from dgraph.native.team import ONE, kernel, part
from dgraph.partition.adjacency import Adjacency
from dgraph.programs.kernel_names import field_name
from dgraph.solvers.solver import LocalMethod
from dgraph.vertex_state.local_state import LocalState
from dgraph.vertex_state.synchronous_state import SynchronousState


class PeelState(LocalState, SynchronousState):
    def __init__(self, _: LocalMethod, *arguments: Any):
        super().__init__(*arguments)
        self.core = self.values[field_name("core")]
        self.support: np.ndarray | None = None  # None until the bounds of all proxies are known
        self.fallen, self.weak = np.zeros(self.size, bool), np.zeros(self.n, bool)
        self.queued = 0  # the number of weak vertices; they are the first of the queue

    def settle(self) -> None:
        """Lower the bounds of weak vertices until none is weak."""
        rows, queue, weak = self._rows, self.frontier.queue, self.weak
        edges = rows.indptr, rows.neighbours, self.core
        if self.support is None:
            self.support = np.empty(self.n, np.uint32)
            self.queued = int(_count_support(*edges, self.support, queue, weak))
            self.total["edges"] += rows.num_edges
        room = np.empty(int(self.core[: self.n].max(initial=0)) + 1, np.uint32)
        fired, edges_read = _lower(*edges, self.support, queue, self.queued, weak, self.fallen, room)
        self.total["fired"] += int(fired)
        self.total["edges"] += int(edges_read)
        self.queued = 0
        self.changed = [np.count_nonzero(self.fallen[self.post.masters("any", q)]) for q in self.post.peers]

    def tell(self, side: str, target_side: str) -> None:
        """Send proxies the bounds that have fallen; the first time, all bounds."""
        changed = None if self.support is None else self.fallen
        self.post.broadcast(BROADCAST, side, [self.core.astype(np.uint32)], changed)
        self.fallen[:] = False

    def hear(self, side: str, target_side: str) -> None:
        for _, ids, (bounds,) in self.post.collect({BROADCAST: side}):
            if self.support is not None:
                rows = self.edges.of_proxies(self.analysis.phases[0].along)
                fallen = rows.indptr, rows.neighbours, self.core, self.support, ids, bounds
                self.queued = int(_lose_support(*fallen, self.frontier.queue, self.queued, self.weak))
            self.core[ids] = bounds

    @property
    def _rows(self) -> Adjacency:
        """All neighbours of each owned vertex."""
        (phase,) = self.analysis.phases
        return self.edges.receivers(phase.along, joined=True)[0]


class PeelingMethod(LocalMethod):
    """The method for programs that compute h-indices in a simple graph, over both directions of its edges, and start at
    the degrees. The state is `core`."""

    in_rounds = True
    state: ClassVar[type] = PeelState

    def memory(self, edge_columns: int) -> tuple[int, int]:
        return 14, 4  # support, flags, and the rows of proxies


@kernel
def _count_support(indptr, neighbours, bound, support, queue, weak):
    """Count the support of each owned vertex, and queue the weak ones; returns the length of the queue."""
    queued = uint64(0)
    for u in range(uint64(support.size)):
        count = uint64(0)
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            count += uint64(bound[neighbours[e]] >= bound[u])
        support[u] = count
        if count < uint64(bound[u]):
            weak[u] = True
            queue[queued] = u
            queued += ONE
    return queued


@kernel
def _lose_support(indptr, neighbours, bound, support, ids, bounds, queue, queued, weak):
    """Update support and queue after the bounds of the proxies `ids` have fallen to `bounds`; `neighbours` are the
    owned neighbours of each proxy. Returns the length of the queue."""
    end = uint64(queued)
    for i in range(uint64(ids.size)):
        end = _withdraw(ids[i], bounds[i], bound[ids[i]], indptr, neighbours, bound, support, queue, end, weak)
    return end


@kernel
def _lower(indptr, neighbours, bound, support, queue, queued, weak, fallen, room):
    """Lower the bounds of the vertices in the queue, a ring buffer, until it is empty. Sets `fallen` where a bound
    fell. `room` is scratch: a counter for each possible bound. Returns how often a bound fell, and how many edges were
    read."""
    begin, end, edges_read = uint64(0), uint64(queued), uint64(0)
    while begin < end:
        u = uint64(queue[begin % uint64(queue.size)])
        begin += ONE
        weak[u] = False
        before = uint64(bound[u])
        room[: before + ONE] = 0
        for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
            room[min(uint64(bound[neighbours[e]]), before)] += 1
        h, count = before, uint64(room[before])
        while count < h:
            h -= ONE
            count += uint64(room[h])
        bound[u], support[u], fallen[u] = h, count, True
        edges_read += uint64(2) * uint64(indptr[u + ONE] - indptr[u])
        end = _withdraw(u, h, before, indptr, neighbours, bound, support, queue, end, weak)
    return begin, edges_read


@part
def _withdraw(u, now, before, indptr, neighbours, bound, support, queue, end, weak):
    """Take back u's support from the neighbours whose bound is above `now` and at most `before`; returns the end of the
    queue."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
        v = uint64(neighbours[e])
        if v < uint64(support.size) and uint64(now) < uint64(bound[v]) <= uint64(before):
            support[v] -= 1
            if uint64(support[v]) < uint64(bound[v]) and not weak[v]:
                weak[v] = True
                queue[end % uint64(queue.size)] = v
                end += ONE
    return end
