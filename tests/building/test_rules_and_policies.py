"""Every policy, number of partitions and rule for loops, repeats and direction: the same edges, where they belong."""

import weakref
from collections import Counter
from itertools import product
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check_graph, check_proxies, edges_of, listed, numbered_arcs, owners

import dgraph as dg
from dgraph.partition import adjacency, policies
from dgraph.runs import repartition
from dgraph.testing.strategies import small_graphs

POLICIES = policies.POLICY_NAMES
RULES = [
    {"directed": directed, "loops": loops, "repeats": repeats, "symmetrize": symmetrize}
    for directed, loops, repeats, symmetrize in product(
        [True, False], ["keep", "drop"], ["keep", "first", "sum", "min", "max"], [False, True]
    )
    if directed or not symmetrize
]
HIGH = 4  # so that small graphs have hubs


@pytest.fixture(autouse=True, scope="module")
def low_threshold():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policies, "HIGH_DEGREE", HIGH)
        yield


def awkward_frame(ids="dense"):
    """Loops, repeats in both directions, a hub, and a few vertices that have edges one way only."""
    draw = np.random.default_rng(5)
    ends = draw.integers(0, 12, (60, 2))
    ends[:12, 1] = 3
    ends[ends[:, 0] == 10, 0] = 9
    names = {
        "dense": np.arange(12),
        "sparse": np.sort(draw.integers(-(2**62), 2**62, 12)),
        "string": np.array([f"v{k}" for k in range(12)], object),
    }[ids]
    weights = draw.integers(1, 9, len(ends)).astype(float)
    return pd.DataFrame({"src": names[ends[:, 0]], "dst": names[ends[:, 1]], "weight": weights})


def the_ends(frame):
    return set(frame["src"]) | set(frame["dst"])


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
@pytest.mark.parametrize("policy", POLICIES)
def test_partitions_hold_every_edge_once(policy, parts):
    frame = awkward_frame()
    some = (
        RULES if parts < 8 else RULES[POLICIES.index(policy) :: len(POLICIES)]
    )  # eight take long: each a share of them
    for rules in some:
        graph = dg.Graph.from_edges(frame, weight="weight", policy=policy, parts=parts, **rules)
        check_graph(graph, edges_of(listed(frame), **rules), vertices=the_ends(frame), weight="weight", high=HIGH)


@pytest.mark.parametrize("ids", ["sparse", "string"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_handles_ids_of_every_kind(policy, ids):
    frame = awkward_frame(ids)
    for rules in RULES[::7]:
        graph = dg.Graph.from_edges(frame, weight="weight", policy=policy, parts=3, **rules)
        check_graph(graph, edges_of(listed(frame), **rules), vertices=the_ends(frame), weight="weight", high=HIGH)


@settings(max_examples=50)
@given(
    drawn=small_graphs(),
    policy=st.sampled_from(POLICIES),
    parts=st.integers(1, 5),
    loops=st.sampled_from(["keep", "drop"]),
    repeats=st.sampled_from(["keep", "first", "sum", "min", "max"]),
    symmetrize=st.booleans(),
)
def test_any_graph_has_the_edges_that_the_rules_keep(drawn, policy, parts, loops, repeats, symmetrize):
    frame, options = drawn
    directed, weight, vertices = options["directed"], options["weight"], options["vertices"]
    rules = {"loops": loops, "repeats": repeats, "symmetrize": symmetrize and directed}
    if weight is None and repeats != "keep":
        rules["repeats"] = "first"  # no values to merge, for the oracle
    graph = dg.Graph.from_edges(frame, policy=policy, parts=parts, **options, **rules)
    named = the_ends(frame) | (set() if vertices is None else set(vertices["id"]))
    expected = edges_of(listed(frame), directed=directed, **rules)
    check_graph(graph, expected, vertices=named, weight=weight, high=HIGH)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: "-".join(f"{value}" for value in rules.values()))
def test_edges_come_back_as_listed(rules):
    """Partition p of `G.edges` holds the edges that are on partition p, in the direction in which they were listed."""
    frame = awkward_frame()
    for policy in ("cartesian", "metis"):
        graph = dg.Graph.from_edges(frame, weight="weight", policy=policy, parts=3, **rules)
        expected = edges_of(listed(frame), **rules)
        partitions = check_graph(graph, expected, vertices=the_ends(frame), weight="weight", high=HIGH)
        assert graph.edges.npartitions == 3
        found = Counter()
        for one, lazy in zip(partitions, graph.edges.partitions, strict=True):
            mine = Counter(listed(lazy.compute()))
            ids, columns = one.numbers.tolist(), one.out.columns["weight"].tolist()
            here = Counter(
                (ids[u], ids[v], w) for u, v, w in zip(one.out.rows(), one.out.neighbours, columns, strict=True)
            )
            assert mine <= here
            found += mine
        assert found == Counter(expected)


def test_partitions_gain_orders_and_columns():
    frame = awkward_frame().assign(hops=np.arange(60, dtype=np.int32))
    graph = dg.Graph.from_edges(frame, weight="weight", parts=2)
    first = graph.partitions
    assert graph.partitions is first
    assert (first.orders, first.columns) == (("out",), ())
    assert first[0].incoming is None
    both = graph.partitioned(("incoming",))
    assert set(both.orders) == {"out", "incoming"}
    assert both[0].out is first[0].out, "what was there is kept"
    wider = graph.partitioned(("out",), ["hops"])
    assert set(wider.orders) == {"out", "incoming"}
    assert wider[0].out.columns["hops"].dtype == np.int32
    assert wider[0].nbytes > both[0].nbytes
    assert first[0].out.columns == {}, "nobody asked for columns, so none are held"
    alone = dg.Graph.from_edges(frame, parts=2).partitioned(("incoming",))
    assert alone[0].out is None
    assert alone[0].num_edges == alone[0].incoming.num_edges


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_each_order_has_only_the_columns_requested_for_it(parts, directed):
    """Each is what a graph has that was asked for all of it at once; an order that nobody asks for stays as it is."""
    frame = awkward_frame().assign(hops=np.arange(60, dtype=np.int32))

    def graph():
        return dg.Graph.from_edges(frame, weight="weight", parts=parts, directed=directed)

    def arcs(one, side, *columns):
        edges = getattr(one, side)
        pair = (edges.rows(), edges.neighbours)
        names = [one.numbers[end].tolist() for end in (pair if side == "out" else pair[::-1])]
        return sorted(zip(*names, *(edges.columns[name].tolist() for name in columns), strict=True))

    whole = graph().partitioned(("out", "incoming"), ["weight", "hops"])
    found = graph()
    for orders, columns in (("incoming", ()), ("out", ("weight",)), ("incoming", ("hops",)), ("out", ("hops",))):
        before = {} if found.built is None else dict(found.built.kept)
        now = found.partitioned(orders, columns)
        assert set(now.kept[orders]) == {*before.get(orders, ()), *columns}
        for order, names in now.kept.items():
            if parts > 1 and order != orders:
                assert names == before[order], "nobody asked for more"
            for mine, theirs in zip(now, whole, strict=True):
                assert set(getattr(mine, order).columns) == set(names)
                assert arcs(mine, order, *names) == arcs(theirs, order, *names)
                np.testing.assert_array_equal(mine.numbers, theirs.numbers)
                np.testing.assert_array_equal(mine.proxies.groups, theirs.proxies.groups)
    both = found.partitioned(("out", "incoming"), ["weight"])
    assert set(both.columns) == {"weight", "hops"}
    assert found.partitioned(("incoming", "out"), ["hops"]) is both
    if not directed and parts == 1:
        assert both[0].out is both[0].incoming


@pytest.mark.parametrize("policy", ["outgoing", "metis", lambda ids, parts: ids % parts])
def test_the_outgoing_cut_of_an_undirected_graph_is_an_incoming_one(policy):
    graph = dg.Graph.from_edges(awkward_frame(), weight="weight", directed=False, policy=policy, parts=3)
    own = graph.partitioned(("out", "incoming"), ["weight"])
    found = [one.reversed() for one in own]
    owner = owners(found)
    check_proxies(found, owner)
    for one, before in zip(found, own, strict=True):
        assert one.incoming is before.out, "nothing is copied"
        assert all(owner[v] == one.index for _, v, _ in numbered_arcs(one))
        assert all(len(one.proxies.originals("in", peer)) == 0 for peer in range(3))
    arcs = [sum((numbered_arcs(one, "weight") for one in parts), Counter()) for parts in (own, found)]
    assert arcs[0] == arcs[1]


@pytest.mark.parametrize("name", ["cdlp", "label_propagation"])
def test_undirected_graphs_are_not_repartitioned_for_whole_neighbourhoods(name, monkeypatch):
    here, there = (dg.Graph.from_edges(awkward_frame(), directed=False, parts=parts) for parts in (1, 3))
    expected = getattr(dg, name)(here).compute()
    monkeypatch.setattr(repartition, "_build", None)
    found = getattr(dg, name)(there)
    assert found.report.options["repartitioned"] == "no"
    pd.testing.assert_frame_equal(found.compute().sort_values("vertex", ignore_index=True), expected)


def test_an_order_is_freed_before_it_is_rebuilt():
    frame = {"src": np.arange(1 << 16) % 999, "dst": np.arange(1 << 16) % 998, "w": np.ones(1 << 16)}
    graph = dg.Graph.from_edges(frame, weight="w")
    gone = [weakref.ref(graph.partitioned(("out", "incoming"))[0].out), weakref.ref(graph.partitions[0].incoming)]
    seen = []

    def watch(*given, **how):
        seen.extend(one() is not None for one in gone)
        return adjacency.build(*given, **how)

    with mock.patch.object(type(graph.input_edges), "sort", staticmethod(watch)):
        graph.partitioned(("out",), ["w"])
    assert seen == [False, True]


def test_rows_of_one_partition_keep_the_order_of_the_frame():
    """The sort is stable: a row lists its edges in the order of the frame."""
    frame = awkward_frame()
    found = dg.Graph.from_edges(frame, weight="weight").partitioned(columns=["weight"])[0].out
    in_order = frame.sort_values("src", kind="stable")
    np.testing.assert_array_equal(found.neighbours, in_order["dst"])
    np.testing.assert_array_equal(found.columns["weight"], in_order["weight"])


def test_an_undirected_partition_alone_keeps_one_order_for_both():
    one = dg.Graph.from_edges(awkward_frame(), directed=False).partitioned(("out", "incoming"))[0]
    assert one.incoming is one.out
    assert one.nbytes < 2 * one.out.nbytes


@pytest.mark.parametrize("repeats", ["sum", "min", "max"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32"])
def test_merging_repeats_handles_small_integer_types(repeats, dtype):
    frame = pd.DataFrame({"src": [0, 0, 1], "dst": [1, 1, 0], "weight": np.array([100, 100, 7], dtype)})
    graph = dg.Graph.from_edges(frame, weight="weight", repeats=repeats)
    expected = edges_of(listed(frame), repeats=repeats)
    check_graph(graph, expected, weight="weight")
    assert Counter(listed(graph.edges.compute())) == Counter(expected)


def test_merging_keeps_the_first_of_what_is_not_a_number():
    frame = pd.DataFrame({"src": [0, 0], "dst": [1, 1], "kind": ["road", "rail"], "toll": [True, False], "km": [3, 4]})
    merged = dg.Graph.from_edges(frame, repeats="sum").edges.compute()
    assert merged.to_dict("records") == [{"src": 0, "dst": 1, "kind": "road", "toll": True, "km": 7}]


@pytest.mark.parametrize("owners", [lambda ids, parts: (ids + 1) % parts, "metis"], ids=["function", "metis"])
@pytest.mark.parametrize("rule", policies.RULES)
def test_every_rule_works_with_any_owners(rule, owners):
    frame = awkward_frame()
    graph = dg.Graph.from_edges(frame, policy=dg.Policy("mine", rule, owners=owners), parts=4)
    check_graph(graph, edges_of(listed(frame)), weight="weight", high=HIGH)


def test_auto_is_an_edge_cut_for_few_parts_and_a_vertex_cut_for_many():
    frame = awkward_frame()
    assert dg.Graph.from_edges(frame, parts=64).policy == "outgoing"
    assert dg.Graph.from_edges(frame, parts=65).policy == "cartesian"
