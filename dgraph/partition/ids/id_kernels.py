"""Compiled loops that turn ids into numbers.

A number is `id - first`, or, if the ids have gaps, the rank of that bit in a bitmap. Every kernel releases the GIL and
processes one slice, so that Python threads run several at once.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit, inlined

kernel = cached_njit()


@inlined
def _ones_below(word, bit):
    """The number of bits set in `word` below position `bit`."""
    w = word & ((np.uint64(1) << np.uint64(bit)) - np.uint64(1))
    w = w - ((w >> np.uint64(1)) & np.uint64(0x5555555555555555))
    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (w * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inlined
def number_of(identifier, first, words, before):
    """The number of an id: its distance from `first`, or its rank among the ids that occur (`words` not empty)."""
    x = np.uint64(np.int64(identifier) - first)
    if words.size == 0:
        return x
    word = x >> np.uint64(6)
    return np.uint64(before[word]) + _ones_below(words[word], x & np.uint64(63))


@kernel
def bounds(ids):
    """The smallest and largest value of a non-empty array."""
    low = high = ids[0]
    for i in range(uint64(ids.size)):
        x = ids[i]
        low = min(low, x)
        high = max(high, x)
    return low, high


@kernel
def mark(ids, first, words):
    """Set the bit of each id. Only one thread may write to a bitmap."""
    for i in range(uint64(ids.size)):
        x = np.uint64(np.int64(ids[i]) - first)
        words[x >> np.uint64(6)] |= np.uint64(1) << (x & np.uint64(63))


@kernel
def find_missing(ids, first, size, words):
    """The place of the first id that has no number, or the number of ids. Without `words`, `size` ids have numbers."""
    for i in range(uint64(ids.size)):
        x = np.uint64(np.int64(ids[i]) - first)  # beyond every size if the id is below `first`
        if words.size == 0:
            if x >= np.uint64(size):
                return i
        elif x >> np.uint64(6) >= words.size or not words[x >> np.uint64(6)] >> (x & np.uint64(63)) & np.uint64(1):
            return i
    return uint64(ids.size)


@kernel
def fingerprint(sources, destinations):
    """A number that differs if any edge does, except once in 2**64 times; the order of edges does not matter."""
    total = np.uint64(0)
    for i in range(uint64(sources.size)):
        x = np.uint64(np.int64(sources[i])) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(29)) ^ np.uint64(np.int64(destinations[i]))) * np.uint64(0xBF58476D1CE4E5B9)
        total += x ^ (x >> np.uint64(32))
    return total


@kernel
def count_before(words, before):
    """before[w] = the number of bits set in the words before w. Returns the total."""
    total = np.uint64(0)
    for w in range(uint64(words.size)):
        before[w] = total
        word = words[w]
        total += _ones_below(word, np.uint64(63)) + (word >> np.uint64(63))
    return total


@kernel
def set_bits(words, out):
    """The positions of all set bits, ascending."""
    k = uint64(0)
    for w in range(uint64(words.size)):
        word = words[w]
        base = np.int64(w) * 64
        while word != 0:
            lowest = word & (~word + np.uint64(1))
            out[k] = base + np.int64(_ones_below(lowest - np.uint64(1), np.uint64(63)))
            k += uint64(1)
            word ^= lowest


@kernel
def numbers(ids, first, words, before, out):
    """out[i] = the number of ids[i]."""
    for i in range(uint64(ids.size)):
        out[i] = number_of(ids[i], first, words, before)


@kernel
def look_up(table, codes):
    """codes[i] = table[codes[i]]."""
    for i in range(uint64(codes.size)):
        codes[i] = table[codes[i]]
