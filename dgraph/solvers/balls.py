"""HyperBall (Boldi and Vigna, 2013): how many vertices are within each distance, by sketches of sets that grow round by
round. The sketch of a union is the maximum of the sketches, register by register (HyperLogLog: Flajolet and others,
2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import float64, uint64
from numba.cpython.unsafe.numbers import trailing_zeros

from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.native.machine_code import inlined
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, kernel, share, team
from dgraph.partition.adjacency import Adjacency
from dgraph.solvers.compiled_draws import mix
from dgraph.solvers.paths.distance_sums import DistanceSums

GRAIN = 256  # rows that a thread takes at a time
_first: Any = trailing_zeros


def first_registers(numbers: np.ndarray, log2m: int, random_seed: int, copies: int = 1) -> np.ndarray:
    """The sketch of each of these vertices alone: 2**log2m registers. There must be room for so many `copies`."""
    if not has_room(need := copies * len(numbers) << log2m):
        refuse_beyond_memory(f"sketches of {len(numbers):,} vertices with {1 << log2m} registers each", need)
    registers = np.zeros((len(numbers), 1 << log2m), np.uint8)
    _begin(numbers.astype(np.uint64, copy=False), np.uint64(log2m), np.uint64(random_seed & (2**64 - 1)), registers)
    return registers


def sizes_by_distance(
    rows: Adjacency, numbers: np.ndarray, log2m: int, random_seed: int, threads: int
) -> Iterator[np.ndarray]:
    """For each distance from 0 on, until nothing changes, how many vertices each vertex reaches within it along `rows`.
    `numbers` are those of the vertices in the whole graph. The array is the same one each time."""
    known = first_registers(numbers, log2m, random_seed, copies=2)
    grown, sizes = np.empty_like(known), estimates(known, threads)
    changed = np.ones(len(known), bool)
    yield sizes
    while True:
        changed, _ = grow(rows, known, grown, changed, sizes, threads)
        known, grown = grown, known
        if not changed.any():
            return
        yield sizes


def ball_sums(
    rows: Adjacency, numbers: np.ndarray, log2m: int, random_seed: int, threads: int
) -> tuple[DistanceSums, int]:
    """Sums over the distances from each vertex along `rows`, estimated, and the number of rounds."""
    sums, before, distance = DistanceSums(*np.zeros((3, len(numbers)))), np.empty(len(numbers)), 0
    for distance, sizes in enumerate(sizes_by_distance(rows, numbers, log2m, random_seed, threads)):
        if distance > 0:
            found = sizes - before
            for values, each in zip(sums, (found, found * distance, found / distance), strict=True):
                values += each
        before[:] = sizes
    return sums, distance + 1


@kernel
def _begin(numbers, log2m, random_seed, registers):
    word = mix(random_seed)
    for i in range(uint64(numbers.size)):
        bits = mix(word ^ numbers[i])
        place = bits & ((ONE << log2m) - ONE)
        rest = (bits >> log2m) | (ONE << (uint64(64) - log2m))
        registers[i, place] = np.int64(_first(rest)) + 1


def grow(
    rows: Adjacency, known: np.ndarray, grown: np.ndarray, changed: np.ndarray, sizes: np.ndarray, threads: int
) -> tuple[np.ndarray, int]:
    """Write to `grown` the unions of each vertex's set with those of its neighbours, and to `sizes` the estimates of
    those that have become larger. Only sets that have `changed` in the last round count. Returns which change in this
    one, and the number of edges read."""
    fresh, counts = np.zeros(len(changed), np.bool_), np.zeros(2, np.int64)
    team(_grow, threads, counts, rows.indptr, rows.neighbours, known, grown, changed, fresh, sizes)
    return fresh, int(counts[1])


@kernel
def _grow(rank, size, signals, counts, indptr, neighbours, known, grown, changed, fresh, sizes):
    n, width, edges = known.shape[0], known.shape[1], np.int64(0)
    while True:
        begin = atomic_add(counts, 0, GRAIN)
        if begin >= n or atomic_load(signals, STOP) != 0:
            break
        for v in range(uint64(begin), uint64(min(begin + GRAIN, n))):
            mine, before = grown[v], known[v]
            mine[:] = before
            for e in range(uint64(indptr[v]), uint64(indptr[v + ONE])):
                u = neighbours[e]
                if changed[u]:
                    theirs = known[u]
                    for lane in range(width):
                        mine[lane] = max(mine[lane], theirs[lane])
            edges += np.int64(indptr[v + ONE] - indptr[v])
            differs = False
            for lane in range(width):
                differs |= mine[lane] != before[lane]
            if differs:
                fresh[v] = True
                sizes[v] = _estimate(mine)
    atomic_add(counts, 1, edges)


def estimates(registers: np.ndarray, threads: int = 1) -> np.ndarray:
    """The estimated sizes of sets, from their registers."""
    sizes = np.empty(len(registers))
    team(_estimate_all, threads, registers, sizes)
    return sizes


@kernel
def _estimate_all(rank, size, signals, registers, sizes):
    first, last = share(rank, size, sizes.size)
    for v in range(uint64(first), uint64(last)):
        sizes[v] = _estimate(registers[v])


@inlined
def _estimate(registers):
    """The estimate of Ertl (2017), which has no bias for small sets either: those leave registers at 0."""
    m, total, empty = registers.size, 0.0, 0
    for lane in range(m):
        value = uint64(registers[lane])
        if value == 0:
            empty += 1
        else:
            total += 1.0 / float64(ONE << value)
    if empty == m:
        return 0.0
    x, factor, before = empty / m, 1.0, -1.0
    sigma = x
    while sigma != before:
        x, before = x * x, sigma
        sigma += x * factor
        factor += factor
    return m * m / (2 * np.log(2.0) * (total + m * sigma))
