"""The random draws of programs (`dgraph/programs/random_draws.py`), compiled for hand-written kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

from dgraph.native.team import kernel
from dgraph.programs.random_draws import KERNEL_TEXT

_compiled: dict[str, Any] = {"njit": njit, "uint64": uint64}
exec(KERNEL_TEXT, _compiled)
mix, word_of_round, random_word = (_compiled[f] for f in ("mix", "word_of_round", "random_word"))
uniform, uniform_of_edge = _compiled["uniform"], _compiled["uniform_of_edge"]


@njit
def unmix(z):
    """The inverse of `mix`: its steps in reverse, with the inverses of its factors."""
    z = z ^ (z >> uint64(31)) ^ (z >> uint64(62))
    z *= uint64(0x3196_42B2_D24D_8EC3)
    z = z ^ (z >> uint64(27)) ^ (z >> uint64(54))
    z *= uint64(0x96DE_1B17_3F11_9089)
    z = z ^ (z >> uint64(30)) ^ (z >> uint64(60))
    return z - uint64(0x9E37_79B9_7F4A_7C15)


@kernel
def draw(random_seed, number, out):
    """Write a random float for each vertex."""
    for u in range(uint64(out.size)):
        out[u] = uniform(word_of_round(random_seed, number), u)
    return out


def sort_drawn(keys: np.ndarray, most: int) -> np.ndarray:
    """Sort integers below `most`, by buckets: fast if they are uniformly distributed."""
    buckets = max(1, len(keys) // 2)
    return _sort_drawn(keys, buckets / most, np.zeros(buckets + 2, np.int64), np.empty_like(keys))


@kernel
def _sort_drawn(keys, scale, ends, out):
    for key in keys:
        ends[np.int64(key * scale) + 1] += 1
    for bucket in range(1, ends.size):
        ends[bucket] += ends[bucket - 1]
    for key in keys:
        begin = np.int64(key * scale)
        out[uint64(ends[begin])] = key
        ends[begin] += 1
    for i in range(1, out.size):
        key, place = out[i], i
        while place > 0 and out[uint64(place - 1)] > key:
            out[uint64(place)] = out[uint64(place - 1)]
            place -= 1
        out[uint64(place)] = key
    return out
