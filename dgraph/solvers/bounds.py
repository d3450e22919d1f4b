"""Upper bounds of cores: who has fewer neighbours with a bound as high than that is *weak*, and gets the h-index of
theirs, until nobody is. A vertex's support is counted down, so edges are looked at only where a bound falls."""

from __future__ import annotations

from numba import uint64

from dgraph.solvers.team import kernel, part

ONE = uint64(1)


@kernel
def count_support(indptr, neighbours, bound, support, queue, weak):
    """For each owned vertex, how many neighbours have a bound as high; queues the weak, and returns how many."""
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
    """The same when some have a lower bound than was known; of each, `neighbours` are the owned ones."""
    end = uint64(queued)
    for i in range(uint64(ids.size)):
        end = _withdraw(ids[i], bounds[i], bound[ids[i]], indptr, neighbours, bound, support, queue, end, weak)
    return end


@kernel
def lower(indptr, neighbours, bound, support, queue, queued, weak, fallen, room):
    """Those in the queue, a ring, in turn, until it is empty; `fallen` tells whose bound fell. `room` is for a number
    of each bound. Returns how often one fell, and at how many edges it was looked."""
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
    """u no longer supports those whose bound is in between; where the queue ends now."""
    for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
        v = uint64(neighbours[e])
        if v < uint64(support.size) and uint64(now) < uint64(bound[v]) <= uint64(before):
            support[v] -= 1
            if uint64(support[v]) < uint64(bound[v]) and not weak[v]:
                weak[v] = True
                queue[end % uint64(queue.size)] = v
                end += ONE
    return end
