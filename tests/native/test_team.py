"""A team runs the machine code that fits the types of its arguments, which it finds without Numba's help."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof

from dgraph.native.team import compiled_for, kernel, team


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


class Other(NamedTuple):
    first: np.ndarray
    second: np.ndarray


@kernel
def _sum(rank, size, signals, pair, factor):
    return (pair.first.sum() + pair.second.sum()) * factor


@kernel
def _first(rank, size, signals, value):
    return rank


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


def test_arguments_of_another_type_have_machine_code_of_their_own():
    """Otherwise it would read memory that does not belong to them."""
    values = [*ARRAYS, *SCALARS, Pair(ARRAYS[0], ARRAYS[1]), Pair(ARRAYS[1], ARRAYS[0]), Other(ARRAYS[0], ARRAYS[1])]
    for one in values:
        for other in values:
            if typeof(one) != typeof(other):
                found = [compiled_for(_first, (0, 1, np.zeros(32, np.int64), value)) for value in (one, other)]
                assert found[0] is not found[1], (one, other)


def test_arguments_of_the_same_type_share_it():
    before = compiled_for(_first, (0, 1, np.zeros(32, np.int64), Pair(ARRAYS[0], ARRAYS[1])))
    assert compiled_for(_first, (1, 2, np.ones(32, np.int64), Pair(ARRAYS[0].copy(), ARRAYS[1].copy()))) is before
    assert len(_first.entries) <= len(ARRAYS) + len(SCALARS) + 3
