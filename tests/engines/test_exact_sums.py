"""Exact sums are those of fractions, in any order and grouping."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engines.exact_sums import ExactSum

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, max_size=30), st.randoms(), st.integers(0, 30))
def test_exact_sums_equal_sums_of_fractions(values, random, cut):
    exact = sum(map(Fraction, values))
    try:
        expected = float(exact)
    except OverflowError:
        expected = math.inf if exact > 0 else -math.inf
    shuffled = random.sample(values, len(values))
    parts = ExactSum(shuffled[:cut]) + ExactSum(shuffled[cut:])
    assert float(ExactSum(values)) == float(parts) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([1e308] * 10, math.inf),
        ([math.inf, -1e300], math.inf),
        ([-math.inf], -math.inf),
        ([5e-324, -0.0], 5e-324),
    ],
)
def test_extreme_values_give_the_expected_sum(values, expected):
    assert float(ExactSum(values)) == expected


def test_sums_without_a_value_are_nan():
    assert math.isnan(float(ExactSum([math.inf, -math.inf])))
    assert math.isnan(float(ExactSum([1.0, math.nan])))
