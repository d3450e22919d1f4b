"""Hubs and authorities, all rounds in one compiled call: scores pass along edges and back."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import LINE, atomic_add, barrier, kernel, part, share, stopped, summed, team
from dgraph.solvers.ranks.gather import RowEdges, blocks_of, gather, table_of, total
from dgraph.solvers.solver import Problem, Solution


def hubs_and_authorities(problem: Problem) -> Solution:
    """Solver of `hits`."""
    n, values = problem.vertices, problem.values
    incoming, out = table_of(problem, "out"), table_of(problem, "in")
    hub, authority, found = np.ones(n), np.zeros(n), np.zeros(4)
    cuts = blocks_of(incoming.indptr), blocks_of(out.indptr)
    sums = np.zeros((2, max(map(len, cuts)), 2))
    came = np.empty((problem.threads, max(int(np.diff(one).max(initial=0)) for one in cuts)))
    sides = [
        RowEdges(blocks, table.indptr, table.neighbours, problem.edges.column(table, "weight"))
        for blocks, table in zip(cuts, (incoming, out), strict=True)
    ]
    turns, limits = np.zeros(2 * LINE, np.int64), (values["tol"], values["max_iter"])
    team(_hits, problem.threads, turns, *sides, sums, came, hub, authority, *limits, found)
    rounds, totals = 2 * int(found[0]), dict(zip(("change", "hubs", "authorities"), found[1:].tolist(), strict=True))
    return Solution({"hub": hub, "authority": authority}, rounds, rounds * len(out.neighbours), totals)


@kernel
def _hits(rank, size, signals, turns, incoming, out, sums, came, hub, authority, tolerance, max_iter, found):
    """A round has two passes: authorities gather from hubs, then hubs from authorities. The rounds also end if the sum
    is zero, because there are no edges then."""
    hubs, authorities, rounds, change = float(hub.size), 0.0, 0, np.inf
    while rounds < max_iter and hubs > 0 and not (change < tolerance * hubs or stopped(signals)):
        _pass(rank, size, signals, turns, 0, incoming, sums[0], came[rank], hub, hubs, authority)
        authorities = total(sums[0], 1)
        _pass(rank, size, signals, turns, LINE, out, sums[1], came[rank], authority, authorities, hub)
        rounds, change, hubs = rounds + 1, total(sums[1], 0), total(sums[1], 1)
    low, high = share(rank, size, hub.size)
    for i in range(uint64(low), uint64(high)):
        hub[i] = hub[i] / hubs if hubs > 0 else 0.0
        authority[i] = authority[i] / authorities if authorities > 0 else 0.0
    if rank == 0:
        found[0], found[1], found[2], found[3] = rounds, change, hubs, authorities


@part
def _pass(rank, size, signals, turns, turn, edges, sums, came, sent, of_all, scores):
    """Gather from `sent` and divide by its sum `of_all`. `sums` receives the change and the sum of scores of each
    block."""
    while True:
        b = atomic_add(turns, turn, 1)
        if b >= edges.cuts.size - 1:
            break
        lo, hi = edges.cuts[b], edges.cuts[b + 1]
        gather(edges, sent, lo, hi, came)
        sums[b, 0], sums[b, 1] = _rescale(lo, hi, came, 1 / of_all if of_all > 0 else 0.0, scores)
    barrier(size, signals)
    if rank == 0:
        turns[turn] = 0  # all threads have left this pass, and none returns before rank 0 finishes the other one


@summed
def _rescale(lo, hi, came, scale, scores):
    """Compute the new scores of rows lo:hi; returns the sum of their changes, and their sum."""
    change, summed_up = 0.0, 0.0
    for i in range(uint64(lo), uint64(hi)):
        score = scale * came[i - uint64(lo)]
        change += abs(score - scores[i])
        summed_up += score
        scores[i] = score
    return change, summed_up
