"""Random numbers that depend only on the seed, the round, and the vertex or the edge, so that results are the same on
every engine.

The generator is counter based: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA
2014). Kernels compile the source of these functions, where `uint64` is NumPy's type. All words are unsigned, because
Numba turns uint64 + int64 into a float.
"""

from __future__ import annotations

from inspect import getsource
from typing import Any


def uint64(value: int) -> int:
    """The lowest 64 bits of a value."""
    return value & 0xFFFF_FFFF_FFFF_FFFF


def mix(z: int) -> int:
    """The finishing step of splitmix64: a bijection of words."""
    z = uint64(z + 0x9E37_79B9_7F4A_7C15)
    z = uint64((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9)
    z = uint64((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB)
    return z ^ (z >> 31)


def word_of_round(random_seed: int, round: int) -> int:
    """64 random bits that depend only on the seed and the round. Kernels receive this word instead of the seed and the
    round, to save registers."""
    return mix(mix(uint64(random_seed)) ^ uint64(round))


def random_word(word: int, id: int) -> int:
    """64 random bits of a vertex, derived from the round's word."""
    return mix(word ^ uint64(id))


def uniform(word: int, id: int, component: int = 0) -> float:
    """A random float in [0, 1) for a vertex, different for each component of a vector."""
    return (mix(random_word(word, id) ^ uint64(component)) >> 11) * 2.0**-53


def uniform_of_edge(word: int, sender: int, target: int, ordinal: int, component: int = 0) -> float:
    """A random float in [0, 1) for one edge along which `sender` sends to `target`, both below 2**40. `ordinal`, below
    2**32, distinguishes all edges between these two. The highest bit keeps these words distinct from those of vertices.
    `sender` enters last, so that kernels that gather compute `row` once per target and mix once per edge."""
    row = mix(word ^ uint64(target) ^ (uint64(component) << uint64(40)) ^ uint64(0x8000_0000_0000_0000))
    return (mix(row ^ uint64(sender) ^ (uint64(ordinal) << uint64(32))) >> 11) * 2.0**-53


def encode_ordinal(place: Any, against: bool) -> Any:
    """The ordinal of an edge, from its place among parallel edges and whether a message goes against its direction.
    When messages go both ways, a vertex may send to another along one edge and against a different one."""
    return 2 * place + against


FUNCTIONS = mix, word_of_round, random_word, uniform, uniform_of_edge
KERNEL_TEXT = "\n\n".join(f"@njit\n{getsource(function)}" for function in FUNCTIONS)
