"""The two lemmas of balance: no other split is quicker, and no smaller capacity is as quick."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.partition.balance import measure_rate, split_for
from dgraph.testing.stand_in import StandIn


def slowest(split, capacities):
    """How long a round takes: the most that any worker takes."""
    return max(d / capacity for d, capacity in zip(split, capacities, strict=True))


some = st.lists(st.floats(0.01, 100), min_size=1, max_size=8)


@given(some, st.integers(0, 2**32))
def test_no_other_split_is_quicker(capacities, seed):
    best = split_for(1000, capacities)
    assert sum(best) == pytest.approx(1000)
    times = [d / c for d, c in zip(best, capacities, strict=True)]
    assert times == pytest.approx([1000 / sum(capacities)] * len(best))
    other = np.random.default_rng(seed).dirichlet(np.ones(len(best))) * 1000
    assert slowest(other, capacities) >= slowest(best, capacities) * (1 - 1e-9)


@given(some, st.floats(0.1, 10))
def test_daemons_for_a_split_keep_up_with_the_largest(split, largest):
    found = dg.daemons_for(split, largest=largest)
    assert max(found) == pytest.approx(largest)
    assert slowest(split, found) == pytest.approx(max(split) / largest)


def test_daemons_for_refuses_invalid_splits():
    assert dg.daemons_for([0, 3]) == dg.daemons_for(np.array([0, 3])) == [0.0, 1.0]
    for split in ([], [0, 0], [-1, 2], [float("nan")], ["a"], None, 5, {0: 3, 1: 1}):
        with pytest.raises(OptionError, match="split="):
            dg.daemons_for(split)
    with pytest.raises(OptionError, match="largest=0"):
        dg.daemons_for([1], largest=0)


def test_a_rate_is_the_best_of_several_after_the_first():
    waits = iter([0.05, 0.002, 0.001, *[0.003] * 100])
    assert measure_rate(lambda: time.sleep(next(waits)), 1000, seconds=0.02) > 1000 / 0.05


def test_capacities_are_those_of_the_daemons():
    slow, fast = dg.capacities(workers=2, daemons={0: [StandIn(compute=3e-6)], 1: [StandIn(compute=1e-6)]})
    assert slow < 1 / 3e-6 and fast < 1 / 1e-6  # a stand-in takes as long as it says, or longer
    assert fast > slow
    for asked in ({"workers": 0}, {"workers": 1.5}, {"device": "tpu"}):
        with pytest.raises(OptionError, match=next(iter(asked))):
            dg.capacities(**asked)
    (one,) = dg.capacities()
    assert one > fast
