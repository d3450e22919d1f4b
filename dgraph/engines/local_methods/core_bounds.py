"""Upper bounds of core numbers. A vertex is *weak* if fewer neighbours than its bound have a bound as high; it gets the
h-index of theirs, until no vertex is weak. Each vertex counts its *support*, the neighbours with a bound as high, so
edges are looked at only where a bound falls."""

from __future__ import annotations

from numba import uint64

from dgraph.native.team import ONE, kernel, part


@kernel
def count_support(indptr, neighbours, bound, support, queue, weak):
    """Count the support of each owned vertex, and queue the weak; returns how many are queued."""
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
def lose_support(indptr, neighbours, bound, support, ids, bounds, queue, queued, weak):
    """The same after bounds of proxies `ids` have fallen to `bounds`; `neighbours` are the owned vertices beside each
    proxy."""
    end = uint64(queued)
    for i in range(uint64(ids.size)):
        end = _withdraw(ids[i], bounds[i], bound[ids[i]], indptr, neighbours, bound, support, queue, end, weak)
    return end


@kernel
def lower(indptr, neighbours, bound, support, queue, queued, weak, fallen, room):
    """Lower the bounds of the vertices in the queue, which is a ring, until it is empty; sets `fallen` where a bound
    fell. `room` is scratch, a number for each bound. Returns how often a bound fell, and the number of edges looked
    at."""
    begin, end, looked = uint64(0), uint64(queued), uint64(0)
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
        looked += uint64(2) * uint64(indptr[u + ONE] - indptr[u])
        end = _withdraw(u, h, before, indptr, neighbours, bound, support, queue, end, weak)
    return begin, looked


@part
def _withdraw(u, now, before, indptr, neighbours, bound, support, queue, end, weak):
    """u no longer supports neighbours whose bound lies between `now` and `before`; returns where the queue ends."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
        v = uint64(neighbours[e])
        if v < uint64(support.size) and uint64(now) < uint64(bound[v]) <= uint64(before):
            support[v] -= 1
            if uint64(support[v]) < uint64(bound[v]) and not weak[v]:
                weak[v] = True
                queue[end % uint64(queue.size)] = v
                end += ONE
    return end
