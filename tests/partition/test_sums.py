"""Sums of whole numbers beyond 64 bits: found exactly, and named by their edge."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.errors import WeightError
from dgraph.partition.sum_limits import first_excess, sum_range

HUGE = 5 * 10**18


@given(st.data(), st.sampled_from([np.int64, np.uint64, np.int32]))
def test_the_first_excess_is_that_of_exact_sums(data, dtype):
    bounds = np.iinfo(dtype)
    number = st.integers(int(bounds.min), int(bounds.max)) | st.sampled_from([int(bounds.min), int(bounds.max)])
    groups = data.draw(st.lists(st.lists(number, min_size=1, max_size=4), min_size=1, max_size=5))
    least, most = sum_range(np.dtype(dtype))
    expected = next((at for at, group in enumerate(groups) if not least <= sum(group) <= most), None)
    starts = np.cumsum([0, *map(len, groups[:-1])])
    assert first_excess(np.concatenate([np.array(group, dtype) for group in groups]), starts) == expected


@pytest.mark.parametrize("column", ["weight", "bytes"])
@pytest.mark.parametrize(("directed", "named"), [(True, "from 'b' to 'a'"), (False, "from 'a' to 'b'")])
def test_repeats_beyond_64_bits_are_named(column, directed, named):
    frame = pd.DataFrame({"src": ["a", "b", "b"], "dst": ["b", "a", "a"], column: [1, HUGE, HUGE]})
    graph = dg.Graph.from_edges(frame, repeats="sum", directed=directed)
    with pytest.raises(WeightError, match=f"'{column}': the sum of the repeated edge {named} exceeds 64 bits"):
        graph.edges.compute()
    halves = dg.Graph.from_edges(frame.assign(**{column: [1, HUGE // 2, -HUGE]}), repeats="sum")
    assert sorted(halves.edges.compute()[column]) == [-HUGE // 2, 1]


def test_matrices_beyond_64_bits_are_named():
    frame = pd.DataFrame({"src": ["a", "b", "b"], "dst": ["b", "a", "a"], "weight": [1, HUGE, HUGE]})
    with pytest.raises(WeightError, match="edges from 'b' to 'a' exceeds 64 bits"):
        dg.to_scipy(dg.Graph.from_edges(frame))
    matrix, _ = dg.to_scipy(dg.Graph.from_edges(frame.assign(weight=[1, HUGE, -HUGE])))
    assert matrix.toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_matrices_of_short_numbers_add_up_in_64_bits(dtype):
    frame = pd.DataFrame({"src": [0] * 400, "dst": [1] * 400, "w": np.ones(400, dtype)})
    matrix, _ = dg.to_scipy(dg.Graph.from_edges(frame, weight="w"))
    assert matrix.toarray()[0, 1] == 400
