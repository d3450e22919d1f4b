"""The random draws of programs, for solvers: the same words as those of `dgraph/randomness.py`."""

from __future__ import annotations

from numba import float64, uint64

from dgraph.solvers.team import kernel


@kernel
def mix(z):
    """The finishing step of splitmix64."""
    z = z + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@kernel
def random_word(random_seed, number, id):
    """64 random bits of (seed, round, vertex)."""
    return mix(mix(mix(uint64(random_seed)) ^ uint64(number)) ^ uint64(id))


@kernel
def uniform(random_seed, number, id):
    """A float in [0, 1)."""
    return float64(mix(random_word(random_seed, number, id)) >> uint64(11)) * 2.0**-53


@kernel
def draw(random_seed, number, out):
    """A float for each vertex."""
    for u in range(uint64(out.size)):
        out[u] = uniform(random_seed, number, u)
    return out
