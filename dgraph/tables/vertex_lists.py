"""Lists and flags of vertices: compiled loops that release the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit

NO_VERTICES = np.empty(0, np.uint32)

kernel = cached_njit()
one = uint64(1)


def count_edges(rows: Sequence[Any], ids: np.ndarray) -> int:
    """The number of edges of some vertices in all of these tables."""
    return sum(int(_edges(side.indptr, ids)) for side in rows)


def ids_below(ids: np.ndarray, limit: int) -> np.ndarray:
    """The ids below a limit, in their order."""
    out = np.empty(len(ids), np.uint32)
    return out[: int(_below(ids, limit, out))]


@kernel
def set_flags(flags, ids, value):
    """Set the flag of some vertices."""
    for i in range(uint64(len(ids))):
        flags[ids[i]] = value


@kernel
def _edges(indptr, ids):
    total = uint64(0)
    for i in range(uint64(len(ids))):
        total += uint64(indptr[ids[i] + one] - indptr[ids[i]])
    return total


@kernel
def _below(ids, limit, out):
    count = uint64(0)
    for i in range(uint64(len(ids))):
        out[count] = ids[i]
        count += uint64(ids[i] < limit)
    return count
