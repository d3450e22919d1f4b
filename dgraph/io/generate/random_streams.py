"""Counter-based randomness: each draw is a hash of (stream, index), independent of the draws before it.

This is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) with random access. It uses only 64-bit integers and correctly
rounded products, and calls no mathematics library, so the bits are the same on every machine.
"""

from __future__ import annotations

import numpy as np

from dgraph.native.machine_code import cached_njit, part_of_kernels
from dgraph.programs.random_draws import mix
from dgraph.solvers.compiled_draws import mix as compiled_mix

_GOLDEN = 0x9E3779B97F4A7C15  # the step from one index to the next; `mix` adds one step
_ULP = 2.0**-53  # `unit` returns multiples of this

# The purposes of streams. Never renumber them: the edges of every seed would change.
EDGES, WEIGHTS, SCRAMBLE, REMOVALS, FACTORS, NOISE = range(6)


def stream(seed: int, purpose: int) -> np.uint64:
    """The key of the draws for one purpose; streams of different seeds or purposes are independent."""
    return np.uint64(mix(mix(seed + purpose * _GOLDEN) - _GOLDEN))


@cached_njit()
def draw(key, index):
    """64 random bits; both arguments unsigned."""
    return compiled_mix(key + (index - np.uint64(1)) * np.uint64(_GOLDEN))


@cached_njit()
def unit(h):
    """The top 53 bits of `h` as a number in [0, 1)."""
    return float(np.int64(h >> np.uint64(11))) * _ULP


@cached_njit()
def below(h, n):
    """An integer in [0, n), for n up to 2**53: the product is rounded once and cannot reach n."""
    return np.int64(unit(h) * n)


@cached_njit()
def between(h, low, span, whole):
    """A number from `low` on; `span` is the number of integers, or the length of the interval."""
    x = unit(h) * span
    if whole:
        x = np.floor(x)
    return low + x


@part_of_kernels()
def _ones(h):
    """The number of bits set in `h`."""
    h = h - ((h >> np.uint64(1)) & np.uint64(0x5555555555555555))
    h = (h & np.uint64(0x3333333333333333)) + ((h >> np.uint64(2)) & np.uint64(0x3333333333333333))
    h = (h + (h >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((h * np.uint64(0x0101010101010101)) >> np.uint64(56))


@cached_njit()
def normal(key, index):
    """A number with mean 0 and variance 1, normal except that its kurtosis is 2.984 instead of 3.

    It sums 128 coin flips and a triangular variable (two units) that makes the sum continuous: variance 32 + 1/6. The
    exact method of Box and Muller needs log and cos, whose last bit depends on the machine.
    """
    at = np.uint64(3) * index
    coins = _ones(draw(key, at)) + _ones(draw(key, at + np.uint64(1))) - 64
    h = draw(key, at + np.uint64(2))
    halves = np.int64(h >> np.uint64(32)) + np.int64(h & np.uint64(0xFFFFFFFF)) + 1
    return (coins + (halves * 2.0**-32 - 1.0)) * 0.17631812981527  # 1 / sqrt(32 + 1/6)


@cached_njit()
def draw_weights(key, start, low, span, whole, weight):
    """Writes weight[k] for row start + k."""
    for k in range(np.uint64(weight.size)):
        weight[k] = between(draw(key, start + k), low, span, whole)
