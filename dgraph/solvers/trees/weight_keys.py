"""Weights as 64-bit keys that compare as unsigned integers, so that one kernel serves all types and both orders."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.native.team import kernel

UNSIGNED, SIGNED, REAL = 0, 1, 2  # kinds of weights
DESCENDING = 4  # added to the kind if the largest weight has the least key
TOP = uint64(1 << 63)


def kind_of(dtype: np.dtype, *, minimum: bool) -> int:
    """What `key_of` has to know of weights of this type."""
    kind = {"f": REAL, "i": SIGNED}.get(dtype.kind, UNSIGNED)
    return kind if minimum else kind + DESCENDING


def bits_of(weights: np.ndarray) -> np.ndarray:
    """Weights in 64 bits each, seen as unsigned integers; a copy only of narrower ones."""
    wide = {"f": np.float64, "i": np.int64}.get(weights.dtype.kind, np.uint64)
    return np.ascontiguousarray(weights, wide).view(np.uint64)


def keys_of(weights: np.ndarray, *, minimum: bool) -> np.ndarray:
    """The key of each weight."""
    keys = np.empty(len(weights), np.uint64)
    _write_keys(bits_of(weights), kind_of(weights.dtype, minimum=minimum), keys)
    return keys


def weights_of(keys: np.ndarray, dtype: np.dtype, *, minimum: bool) -> np.ndarray:
    """The weights that have these keys, in 64 bits."""
    keys, top = keys if minimum else ~keys, np.uint64(1 << 63)
    if dtype.kind == "f":
        return np.where(keys >= top, keys ^ top, ~keys).view(np.float64)
    return (keys ^ top).view(np.int64) if dtype.kind == "i" else keys


@inlined
def key_of(bits, kind):
    """The key of the weight with these bits. Floats compare as their bits do, but negative ones the other way round."""
    key = bits
    if kind & 3 == REAL:
        if bits == TOP:  # -0.0 equals 0.0
            key = TOP
        elif bits & TOP:
            key = ~bits
        else:
            key = bits | TOP
    elif kind & 3 == SIGNED:
        key = bits ^ TOP
    return ~key if kind & 4 else key


@kernel
def _write_keys(bits, kind, keys):
    for i in range(uint64(bits.size)):
        keys[i] = key_of(bits[i], kind)
