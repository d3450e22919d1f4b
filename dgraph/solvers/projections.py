"""Random vectors of vertices, and repeated means over neighbours: the sums of FastRP (Chen and others, CIKM 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, uint64

from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, barrier, kernel, prefetch, share, stopped, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.compiled_draws import uniform, word_of_round

GRAIN = 256  # rows that a thread takes at a time
BLOCK = uint64(1024)  # neighbours whose vectors are added up at a time
NEXT = 2  # neighbours ahead, whose vectors are fetched
LINE = 16  # float32 on a cache line
SPARSENESS = 3  # one in so many random numbers is not 0


def random_vectors(numbers: np.ndarray, dimensions: int, random_seed: int, threads: int) -> np.ndarray:
    """A vector for each of these vertices: numbers are √3 or -√3, each with a chance of a sixth, or 0 (Achlioptas, J.
    Comput. Syst. Sci. 66, 2003)."""
    if not has_room(need := len(numbers) * dimensions * 4):
        refuse_beyond_memory(f"{len(numbers):,} vectors of {dimensions} dimensions", need)
    vectors = np.empty((len(numbers), dimensions), np.float32)
    team(_draw, threads, numbers.astype(np.int64, copy=False), random_seed, vectors)
    return vectors


@kernel
def _draw(rank, size, signals, numbers, random_seed, vectors):
    height: Any = float32(np.sqrt(SPARSENESS))
    word = word_of_round(random_seed, 0)
    first, last = share(rank, size, vectors.shape[0])
    for v in range(uint64(first), uint64(last)):
        for lane in range(vectors.shape[1]):
            drawn = uniform(word, numbers[v], lane) * (2 * SPARSENESS)
            vectors[v, lane] = height if drawn < 1 else (-height if drawn < 2 else float32(0))


def sum_of_means(
    rows: Adjacency, weights: np.ndarray | None, vectors: np.ndarray, factors: np.ndarray, threads: int
) -> tuple[np.ndarray, int]:
    """The sum, with these factors, of the vectors, the means of their neighbours', the means of these, and so on; and
    the number of edges read. A vertex without neighbours has a mean of 0. Overwrites `vectors`."""
    if not has_room(need := 2 * vectors.nbytes):
        refuse_beyond_memory(f"the sums of {vectors.shape[0]:,} vectors of {vectors.shape[1]} dimensions", need)
    total, other = np.zeros_like(vectors), np.empty_like(vectors)
    cursor = np.zeros(len(factors) + 1, np.int64)
    team(
        _sum, threads, cursor, rows.indptr, rows.neighbours, weights, vectors, other, total, factors.astype(np.float32)
    )
    return total, rows.num_edges * (len(factors) - 1)


@kernel
def _sum(rank, size, signals, cursor, indptr, neighbours, weights, vectors, other, total, factors):
    n, width = total.shape
    first, last = share(rank, size, n)
    for v in range(uint64(first), uint64(last)):
        for lane in range(width):
            total[v, lane] = factors[0] * vectors[v, lane]
    known, fresh, block = vectors, other, np.empty(width, np.float32)
    for step in range(1, factors.size):
        barrier(size, signals)
        if stopped(signals):
            break
        factor = factors[step]
        while True:
            begin = atomic_add(cursor, step, GRAIN)
            if begin >= n or atomic_load(signals, STOP) != 0:
                break
            for v in range(uint64(begin), uint64(min(begin + GRAIN, n))):
                mean, sums = fresh[v], total[v]
                start, end = uint64(indptr[v]), uint64(indptr[v + ONE])
                mean[:] = 0
                strength: Any = np.float64(end - start)
                largest = 1.0
                if weights is not None:  # shares are from 0 to 1, however large or small weights are
                    largest, strength = 0.0, 0.0
                    for e in range(start, end):
                        largest = max(largest, np.float64(weights[e]))
                    if largest > 0:
                        for e in range(start, end):
                            strength += weights[e] / largest
                if strength == 0:
                    continue
                if end - start <= BLOCK:
                    _add(mean, known, neighbours, weights, largest, start, end)
                else:  # a long sum in float32 would lose what is added last
                    for begin_block in range(start, end, BLOCK):
                        block[:] = 0
                        _add(block, known, neighbours, weights, largest, begin_block, min(begin_block + BLOCK, end))
                        for lane in range(width):
                            mean[lane] += block[lane]
                part = float32(1 / strength)
                for lane in range(width):
                    mean[lane] *= part
                    sums[lane] += factor * mean[lane]
        known, fresh = fresh, known


@inlined
def _add(sums, known, neighbours, weights, largest, start, end):
    """Add the vectors of some neighbours, times their weights as shares of the largest."""
    width = sums.size
    for e in range(start, end):
        if e + uint64(NEXT) < end:
            ahead = known[neighbours[e + uint64(NEXT)]]
            for lane in range(0, width, LINE):
                prefetch(ahead, lane)
        theirs = known[neighbours[e]]
        if weights is None:
            for lane in range(width):
                sums[lane] += theirs[lane]
        else:
            weight = float32(weights[e] / largest)
            for lane in range(width):
                sums[lane] += weight * theirs[lane]
