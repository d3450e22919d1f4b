"""The random draws of programs (`dgraph/randomness.py`), compiled for kernels that are written by hand."""

from __future__ import annotations

from typing import Any

from numba import njit, uint64

from dgraph.randomness import KERNEL_TEXT
from dgraph.solvers.team import kernel

_compiled: dict[str, Any] = {"njit": njit, "uint64": uint64}
exec(KERNEL_TEXT, _compiled)
mix, random_word, uniform = (_compiled[name] for name in ("mix", "random_word", "uniform"))


@kernel
def draw(random_seed, number, out):
    """A float for each vertex."""
    for u in range(uint64(out.size)):
        out[u] = uniform(random_seed, number, u)
    return out
