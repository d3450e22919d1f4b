"""Random numbers that depend on (seed, round, vertex) alone, so that an answer is the same on every engine.

Counter based: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Kernels
compile the text of these same functions, where `uint64` is NumPy's type: all words are unsigned, since Numba makes a
float of uint64 + int64.
"""

from __future__ import annotations

from inspect import getsource


def uint64(value: int) -> int:
    """A word of 64 bits."""
    return value & 0xFFFF_FFFF_FFFF_FFFF


def mix(z: int) -> int:
    """The finishing step of splitmix64: a bijection of words."""
    z = uint64(z + 0x9E37_79B9_7F4A_7C15)
    z = uint64((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9)
    z = uint64((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB)
    return z ^ (z >> 31)


def random_word(random_seed: int, round: int, id: int) -> int:
    """64 random bits that depend on the seed, the round and the vertex alone."""
    return mix(mix(mix(uint64(random_seed)) ^ uint64(round)) ^ uint64(id))


def uniform(random_seed: int, round: int, id: int, component: int = 0) -> float:
    """A random float in [0, 1); each component of a vector has its own."""
    return (mix(random_word(random_seed, round, id) ^ uint64(component)) >> 11) * 2.0**-53


KERNEL_TEXT = "\n\n".join(f"@njit\n{getsource(function)}" for function in (mix, random_word, uniform))
