"""Random numbers that depend on (seed, round, vertex) alone, so that an answer is the same on every engine.

Counter based: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
"""

from __future__ import annotations

WORD = 0xFFFF_FFFF_FFFF_FFFF


def mix(z: int) -> int:
    """The finishing step of splitmix64: a bijection of 64-bit words."""
    z = (z + 0x9E37_79B9_7F4A_7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & WORD
    return z ^ (z >> 31)


def random_word(random_seed: int, round: int, id: int) -> int:
    """64 random bits."""
    return mix(mix(mix(random_seed & WORD) ^ round) ^ id)


def uniform(random_seed: int, round: int, id: int, component: int = 0) -> float:
    """A float in [0, 1); each component of a vector has its own."""
    return (mix(random_word(random_seed, round, id) ^ component) >> 11) * 2.0**-53


# The same for kernels: all words unsigned, since Numba makes a float of uint64 + int64.
KERNEL_TEXT = '''
@njit
def mix(z):
    """The finishing step of splitmix64."""
    z = z + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@njit
def random_word(random_seed, round, id):
    """64 random bits that depend on the seed, the round and the vertex alone."""
    return mix(mix(mix(uint64(random_seed)) ^ uint64(round)) ^ uint64(id))


@njit
def uniform(random_seed, round, id, component):
    """A random float in [0, 1)."""
    return float64(mix(random_word(random_seed, round, id) ^ uint64(component)) >> uint64(11)) * 2.0**-53
'''
