"""Choosing masters and placing edges, on plain arrays."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.cli import graph_argument as cli
from dgraph.errors import OptionError
from dgraph.partition import placement, policies
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.policies import choose_policy, grid_columns, split_evenly

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


def test_policies_are_chosen_by_name_and_others_are_refused():
    for name in policies.POLICY_NAMES:
        assert choose_policy(name, 4).name == name
    assert choose_policy("auto", policies.FEW_PARTS).name == "outgoing"
    assert choose_policy("auto", policies.FEW_PARTS + 1).name == "cartesian"
    assert choose_policy(choose_policy("hybrid", 4), 2).name == "hybrid"
    for wrong in ("vertex-cut", None, 3, ["outgoing"]):
        with pytest.raises(OptionError, match="choose one of outgoing, incoming"):
            choose_policy(wrong, 4)


def test_functions_are_taken_as_policies_by_their_parameters():
    def by_hash(ids, parts):
        return ids % parts

    def by_pair(source, destination, parts, salt=3):
        return (source + destination) % parts

    assert choose_policy(by_hash, 4).owners is by_hash
    assert choose_policy(by_pair, 4).edges is by_pair
    assert choose_policy(by_pair, 4).name == "by_pair"
    with pytest.raises(OptionError, match=r"\(ids, parts\).*takes 1 arguments"):
        choose_policy(lambda ids: ids, 4)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (dg.Policy("incoming", owners=lambda ids, parts: ids % parts), "a policy called .incoming. already"),
        (dg.Policy("auto"), "a policy called .auto."),
        (dg.Policy(3), "name=3 of a policy must be a string"),
        (dg.Policy("mine", rule=9), "rule=9 must"),
        (dg.Policy("mine", rule="hybrid"), "rule=.hybrid. must"),
        (dg.Policy("mine", owners=[0, 1]), r"owners=\[0, 1\] must be a function of \(ids, parts\)"),
        (dg.Policy("mine", edges="outgoing"), "edges='outgoing' must be a function"),
    ],
)
def test_invalid_policies_are_refused(policy, said):
    with pytest.raises(OptionError, match=said):
        dg.Graph.from_edges({"src": [0], "dst": [1]}, policy=policy)


def test_a_policy_is_registered_everywhere():
    root = Path(__file__).parents[2]
    table = (root / "docs/clusters.md").read_text().split("## Policies")[1].split("\n## ")[0]
    found = {
        "dgraph/cli/graph_argument.py: POLICIES": cli.POLICIES,
        "dgraph/graph.py: the docstring of from_edges": re.findall(r"``\"(\w+)\"``", dg.Graph.from_edges.__doc__),
        "docs/clusters.md: a row in the table of policies": re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE),
    }
    for name in (*policies.POLICY_NAMES, "auto"):
        lacking = [where for where, names in found.items() if name not in names]
        assert not lacking, f"the policy {name} is missing in:\n  " + "\n  ".join(lacking)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([0, 1], r"shape \(2,\) for 3 edges"),
        ([[0, 1, 0]], r"shape \(1, 3\)"),
        (1, r"shape \(\)"),
        ([0, 1, 2], "partition 2; there are 2"),
        ([0, -1, 0], "partition -1; there are 2"),
        ([0.0, 1.0, 0.0], "float64 values; partitions must be whole numbers"),
        ([True, False, True], "bool values"),
        (["a", "b", "c"], "partitions must be whole numbers"),
    ],
)
def test_invalid_returns_of_a_policy_function_are_refused(returned, said):
    with pytest.raises(OptionError, match=said):
        policies.checked_places(returned, 3, 2, "edges")


def test_metis_separates_communities_in_proportion():
    """Two cliques of 30 and 10 joined by an edge: parts with shares 3 and 1 are the cliques."""
    pairs = [(u, v) for clique in (range(30), range(30, 40)) for u in clique for v in clique if u != v]
    pairs += [(29, 30), (30, 29)]
    sources, destinations = np.array(pairs, np.uint32).T
    graph = build([EdgeSlice(sources, destinations)], 40)
    owners = placement.metis_owners(graph, [900, 100])
    assert owners.dtype == np.uint16
    assert (owners == [0] * 30 + [1] * 10).all()
    assert not placement.metis_owners(graph, [1.0]).any()


def star(leaves):
    centre, others = np.zeros(leaves, np.uint32), np.arange(1, leaves + 1, dtype=np.uint32)
    return build([EdgeSlice(centre, others), EdgeSlice(others, centre)], leaves + 1)


@pytest.mark.parametrize(("leaves", "parts"), [(16, 16), (39, 33)])
def test_metis_prints_nothing_where_parts_stay_empty(leaves, parts, capfd):
    owners = placement.metis_owners(star(leaves), [1.0] * parts)
    assert owners.shape == (leaves + 1,) and owners.max() < parts
    os.write(1, b"heard again")
    assert capfd.readouterr().out == "heard again"


def test_metis_refuses_graphs_beyond_32_bits(monkeypatch):
    monkeypatch.setattr(placement, "LARGEST_TOTAL", 47)
    assert len(placement.metis_owners(star(15), [1, 1])) == 16  # 16 vertices and 30 arcs
    with pytest.raises(OptionError, match=r"17 vertices and 32 arcs.*choose outgoing"):
        placement.metis_owners(star(16), [1, 1])
