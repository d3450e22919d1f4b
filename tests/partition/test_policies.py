"""Choosing masters and placing edges, on plain arrays."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import OptionError
from dgraph.partition import metis, policies
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.policies import choose, grid_columns, split_evenly

POSITIVE = st.floats(0.1, 10)


@settings(max_examples=150)
@given(
    work=st.lists(st.integers(1, 50), max_size=60),
    shares=st.lists(POSITIVE, min_size=1, max_size=9),
)
def test_ranges_share_the_work(work, shares):
    """No range has more than its share by more than one vertex: d_j = D (1/c_j) / sum(1/c)."""
    bounds = split_evenly(np.array(work, np.int64), shares)
    assert (bounds[0], bounds[-1], len(bounds)) == (0, len(work), len(shares) + 1)
    assert (np.diff(bounds) >= 0).all()
    targets = np.cumsum(shares) / np.sum(shares) * sum(work)
    for target, bound in zip(targets[:-1], bounds[1:-1], strict=True):
        assert abs(sum(work[:bound]) - target) <= max(work, default=0) + 1e-6


def test_many_vertices_are_shared_within_a_percent():
    work = np.random.default_rng(0).integers(1, 40, 20_000)
    bounds = split_evenly(work, [1, 2, 5])
    held = np.add.reduceat(work, bounds[:-1])
    np.testing.assert_allclose(held / held.sum(), [1 / 8, 2 / 8, 5 / 8], rtol=0.01)


@pytest.mark.parametrize(("parts", "columns"), [(1, 1), (2, 1), (4, 2), (6, 2), (12, 3), (13, 1), (16, 4), (36, 6)])
def test_the_grid_is_as_square_as_it_can_be(parts, columns):
    assert grid_columns(parts) == columns


def test_names():
    for name in policies.NAMES:
        assert choose(name, 4).name == name
    assert choose("auto", policies.FEW_PARTS).name == "outgoing"
    assert choose("auto", policies.FEW_PARTS + 1).name == "cartesian"
    assert choose(choose("hybrid", 4), 2).name == "hybrid"
    for wrong in ("vertex-cut", None, 3, ["outgoing"]):
        with pytest.raises(OptionError, match="choose one of outgoing, incoming"):
            choose(wrong, 4)


def test_functions():
    def by_hash(ids, parts):
        return ids % parts

    def by_pair(source, destination, parts, salt=3):
        return (source + destination) % parts

    assert choose(by_hash, 4).owners is by_hash
    assert choose(by_pair, 4).edges is by_pair
    assert choose(by_pair, 4).name == "by_pair"
    with pytest.raises(OptionError, match=r"\(ids, parts\).*takes 1 arguments"):
        choose(lambda ids: ids, 4)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([0, 1], r"shape \(2,\) for 3 edges"),
        ([[0, 1, 0]], r"shape \(1, 3\)"),
        (1, r"shape \(\)"),
        ([0, 1, 2], "partition 2; there are 2"),
        ([0, -1, 0], "partition -1; there are 2"),
        ([0.0, 1.0, 0.0], "float64 values; partitions are whole numbers"),
        ([True, False, True], "bool values"),
        (["a", "b", "c"], "partitions are whole numbers"),
    ],
)
def test_what_a_function_must_not_return(returned, said):
    with pytest.raises(OptionError, match=said):
        policies.checked_places(returned, 3, 2, "edges")


def test_metis_separates_communities_in_proportion():
    """Two cliques of 30 and 10 joined by an edge: parts with shares 3 and 1 are the cliques."""
    pairs = [(u, v) for clique in (range(30), range(30, 40)) for u in clique for v in clique if u != v]
    pairs += [(29, 30), (30, 29)]
    sources, destinations = np.array(pairs, np.uint32).T
    graph = build([EdgeSlice(sources, destinations)], 40)
    owners = metis.owners(graph, 2, [900, 100])
    assert owners.dtype == np.uint16
    assert (owners == [0] * 30 + [1] * 10).all()
    assert not metis.owners(graph, 1, [1.0]).any()


def star(leaves):
    centre, others = np.zeros(leaves, np.uint32), np.arange(1, leaves + 1, dtype=np.uint32)
    return build([EdgeSlice(centre, others), EdgeSlice(others, centre)], leaves + 1)


@pytest.mark.parametrize(("leaves", "parts"), [(16, 16), (2, 8), (39, 33)])
def test_metis_prints_nothing_where_parts_stay_empty(leaves, parts, capfd):
    owners = metis.owners(star(leaves), parts, [1.0] * parts)
    assert owners.shape == (leaves + 1,) and owners.max() < parts
    os.write(1, b"heard again")
    assert capfd.readouterr().out == "heard again"


def test_metis_says_what_it_cannot_count(monkeypatch):
    monkeypatch.setattr(metis, "MOST", 47)
    assert len(metis.owners(star(15), 2, [1, 1])) == 16  # 16 vertices and 30 arcs
    with pytest.raises(OptionError, match=r"17 vertices and 32 arcs.*choose outgoing"):
        metis.owners(star(16), 2, [1, 1])
