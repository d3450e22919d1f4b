"""A team compiles its kernel for arguments of each kind, and only once."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof

from dgraph.native.team import _kind, compile_for, kernel, team


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


class Other(NamedTuple):
    first: np.ndarray
    second: np.ndarray


@kernel
def _sum(rank, size, signals, pair, factor):
    return (pair.first.sum() + pair.second.sum()) * factor


def read_only(array):
    array.flags.writeable = False
    return array


ARRAYS = [
    np.arange(6.0),
    np.arange(6),
    np.arange(6, dtype=np.uint32),
    np.arange(6, dtype=np.int32),
    np.arange(12.0)[::2],
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24.0).reshape(4, 6)[:, ::2],
    read_only(np.arange(6.0)),
    np.frombuffer(b"\0" * 49, np.uint8)[1:].view(np.float64),
    np.zeros(3, np.bool_),
]
SCALARS = [1, 1 << 40, 1 << 63, 1.0, True, np.int32(1), np.uint64(1), np.float32(1), (1, 2), (1, 2.0), (1, 2, 3)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_runs_on_arguments_of_several_types(threads):
    for one in ARRAYS[:4]:
        for other in ARRAYS[:4]:
            assert team(_sum, threads, Pair(one, other), 2.0) == 60
            assert team(_sum, threads, Other(other, one), 2) == 60


def test_kinds_tell_types_apart():
    values = [*ARRAYS, *SCALARS, Pair(ARRAYS[0], ARRAYS[1]), Pair(ARRAYS[1], ARRAYS[0]), Other(ARRAYS[0], ARRAYS[1])]
    for one in values:
        for other in values:
            assert typeof(one) == typeof(other) or _kind(one) != _kind(other), (one, other)


def test_a_kernel_is_compiled_once_for_each_kind(monkeypatch):
    asked = []
    monkeypatch.setattr(_sum, "compile", asked.append)
    monkeypatch.setattr(_sum, "kinds", set())
    for pair in (Pair(ARRAYS[0], ARRAYS[1]), Pair(ARRAYS[0].copy(), ARRAYS[1].copy()), Pair(ARRAYS[1], ARRAYS[0])):
        compile_for(_sum, (0, 1, np.zeros(32, np.int64), pair, 2.0))
    assert len(asked) == 2 and asked[0] != asked[1]
