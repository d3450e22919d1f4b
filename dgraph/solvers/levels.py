"""Breadth-first search on one partition of several: levels in ascending order from what others have told, so that no
vertex goes twice in a round. Before a large level the round ends, because what others know may spare it."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.solvers.solver import Unsettled
from dgraph.solvers.team import kernel, prefetch

LARGE = 1 << 17  # edges out of a level, from which on a round of all workers costs less than they do
AHEAD = uint64(8)  # vertices whose row, and edges whose end, is asked for before its turn
ONE = uint64(1)


def settle(part: Unsettled) -> tuple[int, np.ndarray]:
    """Messages are level * (vertices + 1) + sender + 1."""
    (out,), size = part.edges.senders("out"), len(part.best)
    if not part.kept:
        part.kept |= {name: np.empty(size, np.uint32) for name in ("now", "next")}
    span = part.values["vertices"] + 1
    levels = part.best[part.frontier] // span
    order = np.argsort(levels, kind="stable")
    frontier, levels = part.frontier[order], levels[order]
    now, next_ = part.kept["now"], part.kept["next"]
    numbers, limit = part.edges.numbers(), part.values["depth_limit"]
    found = np.zeros(3, np.int64)
    rows, lists = (out.indptr, out.neighbours, numbers), (frontier, levels, now, next_)
    _settle(*rows, part.best, part.improved, span, limit, LARGE, *lists, found)
    looked, length, rest = found.tolist()
    waits = part.best[frontier[rest:]] // span == levels[rest:]  # it has gone, or is in the list, if it is lower now
    return looked, np.concatenate([now[:length], frontier[rest:][waits]])


@kernel
def _settle(
    indptr, neighbours, numbers, best, improved, span, limit, large, frontier, levels, now, next_, found
):  # fmt: skip
    """`now` holds the level in hand; found: edges looked at, how many vertices of `now` and from where on those of the
    frontier have not gone."""
    rest, length, level, looked = uint64(0), uint64(0), np.int64(0), np.int64(0)
    while True:
        if length == 0:
            if rest == frontier.size:
                break
            level = levels[rest]
        while rest < frontier.size and levels[rest] == level:
            v = uint64(frontier[rest])
            if best[v] // span == level:  # else a lower one has been found meanwhile, and it has gone
                now[length] = v
                length += ONE
            rest += ONE
        ahead = np.int64(0)
        for i in range(length):
            ahead += indptr[uint64(now[i]) + ONE] - indptr[uint64(now[i])]
        if looked and ahead > large:
            break
        if level < limit:
            looked += ahead
            length = _push(indptr, neighbours, numbers, best, span, level + 1, now, length, next_, improved)
            now[:length] = next_[:length]
            level += 1
        else:
            length = uint64(0)
    found[0], found[1], found[2] = looked, length, rest


@kernel
def _push(indptr, neighbours, numbers, best, span, level, now, length, next_, improved):
    """Those in `now` tell their neighbours of a level; who had none so low goes next. Returns how many these are."""
    count, above = uint64(0), (level + 1) * span
    for i in range(length):
        if i + AHEAD < length:
            prefetch(indptr, uint64(now[i + AHEAD]))
        u = uint64(now[i])
        message = level * span + numbers[u] + 1
        first, last = uint64(indptr[u]), uint64(indptr[u + ONE])
        for e in range(first, last):
            v = uint64(neighbours[e])
            old = best[v]
            if message < old:
                best[v], improved[v] = message, True
                if old >= above:
                    next_[count] = v
                    count += ONE
    return count
