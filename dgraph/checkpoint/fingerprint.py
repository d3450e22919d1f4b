"""A fingerprint that distinguishes graphs, however they are partitioned: a sum over edges and the columns that a run
reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit

FIRST_FACTOR, SECOND_FACTOR = uint64(0x9E3779B97F4A7C15), uint64(0xC2B2AE3D27D4EB4F)


def fingerprint(
    partition: Any, columns: Mapping[str, np.ndarray], reads: Iterable[str] = (), *, twice: bool = False
) -> int:
    """One partition's share of the fingerprint, which is the sum over all partitions: a sum over edges, with the
    columns that a run reads, and over columns of owned vertices. With `twice`, edges are stored with the owners of both
    ends, and count only with the owner of the first."""
    total, names = 0, set(reads)
    sides = (partition.out, False), (partition.incoming, True)
    having = [(side, turned) for side, turned in sides if side is not None and side.columns.keys() >= names]
    for side, turned in having[:1]:
        numbers = partition.numbers.astype(np.uint64)
        none = np.zeros(0, np.uint64)
        limit = partition.num_owned if twice else partition.num_local
        for column in [none, *(_bits(side.columns[name]) for name in names)]:
            total += int(_edges(side.indptr, side.neighbours, numbers, column, turned, limit))
    owned = partition.numbers[: partition.num_owned].astype(np.uint64)
    for name in sorted(columns):
        total += int(
            (_mixed(owned * SECOND_FACTOR + np.uint64(len(name))) * (_bits(columns[name]) | np.uint64(1))).sum()
        )
    return total % (1 << 64)


def _bits(values: np.ndarray) -> np.ndarray:
    words = np.ascontiguousarray(values.astype(np.float64)).view(np.uint64)
    if words.ndim == 1:
        return words
    return reduce(lambda found, component: _mixed(found) ^ component, words.T)


def _mixed(x: np.ndarray) -> np.ndarray:
    x = x * np.uint64(FIRST_FACTOR)
    return x ^ (x >> np.uint64(29))


@cached_njit()
def _edges(indptr, neighbours, numbers, column, turned, limit):
    total = uint64(0)
    for row in range(uint64(len(indptr) - 1)):
        for e in range(uint64(indptr[row]), uint64(indptr[row + uint64(1)])):
            first, second = uint64(row), uint64(neighbours[e])
            if turned:
                first, second = second, first
            if first >= limit:
                continue
            u, v = numbers[first], numbers[second]
            x = (u * FIRST_FACTOR) ^ (v * SECOND_FACTOR + uint64(1))
            x = (x ^ (x >> uint64(31))) * FIRST_FACTOR
            x ^= x >> uint64(29)
            total += x * (column[e] | uint64(1)) if len(column) else x
    return total
