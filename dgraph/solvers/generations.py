"""Topological generations of one partition, level by level (Kahn: Topological sorting of large networks, Communications
of the ACM 5, 1962)."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.interruptible_calls import EDGES_PER_LOOK
from dgraph.native.team import ONE, STOP, atomic_load, kernel, team
from dgraph.solvers.solver import Problem, Solution

UNPLACED = -1


def place(problem: Problem) -> Solution:
    """Solver of `topological_generations`."""
    (rows,), n = problem.edges.senders("out"), problem.vertices
    left = problem.columns["in_degree"].astype(np.uint32 if rows.num_edges < 1 << 32 else np.uint64)
    generation, queue = np.full(n, UNPLACED), np.empty(n, np.uint32)
    placed, generations = team(_place, 1, rows.indptr, rows.neighbours, left, generation, queue)
    return Solution({"generation": generation}, generations, rows.num_edges, {"unplaced": n - placed})


@kernel
def _place(rank, size, signals, indptr, neighbours, left, generation, queue):
    """Give each vertex its generation once no in-edge is left whose start has none. Returns the numbers of vertices
    that have one, and of generations."""
    end = uint64(0)
    for v in range(uint64(left.size)):
        if left[v] == 0:
            queue[end] = v
            end += ONE
    begin, generations, edges_read = uint64(0), 0, uint64(0)
    while begin < end:
        last = end
        for i in range(begin, last):
            u = uint64(queue[i])
            generation[u] = generations
            for e in range(uint64(indptr[u]), uint64(indptr[u + ONE])):
                v = uint64(neighbours[e])
                left[v] -= ONE
                if left[v] == 0:
                    queue[end] = v
                    end += ONE
            edges_read += uint64(indptr[u + ONE] - indptr[u]) + ONE
            if edges_read >= EDGES_PER_LOOK:
                if atomic_load(signals, STOP) != 0:
                    return int(end), generations
                edges_read = uint64(0)
        begin = last
        generations += 1
    return int(end), generations
