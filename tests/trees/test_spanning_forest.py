"""Spanning forests against Kruskal's method and NetworkX, on any partitions, and as frames of the user's edges."""

import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, real_graph

import dgraph as dg
from dgraph.errors import OptionError, UnweightedWarning
from dgraph.solvers.trees import spanning
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")
SMALL = st.integers(-2, 2) | st.sampled_from([0.5, -0.0, math.inf, -math.inf, 1e300, 5e-324])  # many are equal


def kruskal(frame, graph, *, minimum=True):
    """The rows of the forest's edges: by weight, then by ends, then as listed, unless they close a cycle."""
    ids = graph.vertices.compute().iloc[:, 0].sort_values().tolist()
    number, tree = {one: i for i, one in enumerate(ids)}, list(range(len(ids)))

    def root(v):
        while tree[v] != v:
            v = tree[v]
        return v

    weights = frame[graph.weight] if graph.weight else np.ones(len(frame))
    listed = []
    for row, (u, v, weight) in enumerate(zip(frame.iloc[:, 0], frame.iloc[:, 1], weights, strict=True)):
        low, high = sorted((number[u], number[v]))
        listed.append((weight if minimum else -weight, low, high, row))
    chosen = []
    for _, low, high, row in sorted(listed):
        if root(low) != root(high):
            tree[root(high)] = root(low)
            chosen.append(row)
    return sorted(chosen)


def rows_of(forest):
    return sorted(forest.compute()["row"])


@settings(max_examples=40)
@given(small_graphs(weights=SMALL), st.sampled_from(PLACES), st.booleans(), st.booleans())
def test_the_forest_is_that_of_kruskal(drawn, place, minimum, weighted):
    frame, kwargs = drawn
    frame = frame.assign(row=range(len(frame)), weight=frame["weight"].astype(float))
    graph = dg.Graph.from_edges(frame, **{**kwargs, **place, "weight": "weight" if weighted else None})
    edges = graph.edges.compute().sort_values("row", ignore_index=True)
    forest = dg.spanning_forest(graph, minimum=minimum)
    assert rows_of(forest) == edges["row"][kruskal(edges, graph, minimum=minimum)].tolist()
    found = forest.compute()
    total = sum(found["weight"]) if weighted else len(found)
    assert forest.totals["weight"] == pytest.approx(total, nan_ok=True)
    assert forest.totals["edges"] == len(found)
    assert forest.totals["trees"] == dg.wcc(graph).compute()["component"].nunique()


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i2", "u8"])
@pytest.mark.parametrize("minimum", [True, False])
def test_the_forest_is_the_same_on_any_partitions_and_threads(kind, minimum, monkeypatch):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(draw.integers(0, 300, (9000, 2)), columns=["src", "dst"])
    frame["weight"] = draw.integers(0, 40, len(frame)).astype(kind)
    frame["row"] = range(len(frame))
    graph = dg.Graph.from_edges(frame, directed=False, vertices=310, parts=1)
    expected = kruskal(frame, graph, minimum=minimum)
    assert rows_of(dg.spanning_forest(graph, minimum=minimum)) == expected
    for parts, directed in ((2, False), (4, True), (1, True)):
        graph = dg.Graph.from_edges(frame, directed=directed, vertices=310, parts=parts)
        forest = dg.spanning_forest(graph, minimum=minimum)
        assert rows_of(forest) == expected
        assert forest.totals["weight"] == frame["weight"][expected].sum()
        assert forest.report["edges"].sum() == graph.num_edges * (1 if directed else 2) - (
            0 if directed else (frame["src"] == frame["dst"]).sum()
        )
    monkeypatch.setattr(spanning, "MANY", 1 << 20)  # no light edges first
    assert rows_of(dg.spanning_forest(graph, minimum=minimum)) == expected


def test_unequal_weights_beyond_float64_are_told_apart():
    large = 2**53
    frame = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0], "weight": [large + 1, large, large + 2]})
    forest = dg.spanning_forest(dg.Graph.from_edges(frame))
    assert forest.totals["weight"] == 2 * large + 1
    most = 2**64 - 1
    frame["weight"] = np.array([most, most, most], np.uint64)
    assert dg.spanning_forest(dg.Graph.from_edges(frame)).totals["weight"] == 2 * most
    frame["weight"] = [-(2**63)] * 3
    assert dg.spanning_forest(dg.Graph.from_edges(frame), minimum=False).totals["weight"] == -(2**64)


def test_of_repeated_edges_the_first_of_the_lightest_is_listed():
    frame = pd.DataFrame(
        {
            "from": ["b", "a", "b", "a", "a", "b"],
            "to": ["a", "b", "a", "b", "a", "c"],
            "weight": [2.0, 1.0, 1.0, 1.0, -5.0, 7.0],
            "note": ["heavy", "first", "reverse", "again", "loop", "only"],
        }
    )
    for place in PLACES:
        graph = dg.Graph.from_edges(frame, source="from", destination="to", **place)
        found = dg.spanning_forest(graph).compute()
        assert sorted(found["note"]) == ["first", "only"]
        assert found.columns.tolist() == frame.columns.tolist()
        largest = dg.spanning_forest(graph, minimum=False).compute()
        assert sorted(largest["note"]) == ["heavy", "only"]
    merged = dg.Graph.from_edges(frame, source="from", destination="to", directed=False, repeats="sum")
    forest = dg.spanning_forest(merged)
    assert forest.totals == {"weight": 12.0, "edges": 2, "trees": 1}
    assert sorted(forest.compute()["weight"]) == [5.0, 7.0]


@pytest.mark.parametrize("repeats", ["keep", "min"])
def test_an_edge_and_its_added_reverse_are_listed_once(repeats):
    frame = {"src": [2, 1], "dst": [1, 0], "weight": [1, 1]}
    graph = dg.Graph.from_edges(frame, symmetrize=True, repeats=repeats, parts=2)
    found = dg.spanning_forest(graph).compute()
    assert sorted(zip(found["src"], found["dst"], strict=True)) == [(1, 0), (2, 1)]


def test_graphs_without_weights_have_forests_of_edges_that_weigh_1():
    graph = dg.grid(rows=9, cols=7, removed=0, weights=None)
    forest = dg.spanning_forest(graph)
    assert forest.totals == {"weight": 62, "edges": 62, "trees": 1}
    frame = {"src": [0, 1, 2], "dst": [1, 2, 0], "km": [5, 1, 1]}
    with pytest.warns(UnweightedWarning, match="spanning_forest counts edges.*'km' is numeric"):
        forest = dg.spanning_forest(dg.Graph.from_edges(frame))
    assert forest.compute()["km"].tolist() == [5, 1]
    weighted = dg.Graph.from_edges(frame, weight="km")
    assert dg.spanning_forest(weighted, weighted=False).compute()["km"].tolist() == [5, 1]
    assert dg.spanning_forest(weighted).totals["weight"] == 2


def test_graphs_without_edges_have_a_tree_for_each_vertex():
    forest = dg.spanning_forest(dg.Graph.from_edges({"src": [], "dst": []}, vertices=[1, 2]))
    assert forest.totals == {"weight": 0, "edges": 0, "trees": 2}
    assert forest.compute().columns.tolist() == ["src", "dst"]
    assert repr(forest) == "<spanning forest: 0 edges in 2 trees, weight 0>"


@pytest.mark.parametrize("option", ["minimum", "weighted"])
def test_options_that_are_no_booleans_are_refused(option):
    with pytest.raises(OptionError, match=f"{option}=.* must be True or False"):
        dg.spanning_forest(dg.grid(rows=2, cols=2), **{option: 1})


@pytest.mark.parametrize("descending", [False, True])
def test_a_path_whose_edges_join_one_after_the_other_takes_no_longer(descending):
    n = 200_000
    weights = np.arange(n)[:: -1 if descending else 1].copy()
    frame = pd.DataFrame({"src": np.arange(n), "dst": np.arange(1, n + 1), "weight": weights})
    assert dg.spanning_forest(dg.Graph.from_edges(frame)).totals["edges"] == n


def test_the_forest_of_a_real_graph_weighs_what_that_of_networkx_does():
    graph = real_graph("celegans_metabolic").graph(parts=2)
    edges = graph.edges.compute()
    theirs = nx.Graph()
    for u, v, weight in edges[["src", "dst", graph.weight]].itertuples(index=False):
        if u != v and not (theirs.has_edge(u, v) and theirs[u][v]["weight"] <= weight):
            theirs.add_edge(u, v, weight=weight)
    expected = sum(data["weight"] for *_, data in nx.minimum_spanning_edges(theirs, data=True))
    assert dg.spanning_forest(graph).totals["weight"] == pytest.approx(expected)


def test_forests_on_a_cluster_equal_those_in_process(client):
    options = {"scale": 9, "edge_factor": 8, "seed": 1, "weights": (1, 9)}
    found = dg.spanning_forest(dg.rmat(**options, client=client))
    alone = dg.spanning_forest(dg.rmat(**options))
    assert found.totals == alone.totals
    frames = [one.compute() for one in (found, alone)]
    frames = [one.sort_values(one.columns.tolist(), ignore_index=True) for one in frames]
    pd.testing.assert_frame_equal(*frames)
    assert len(found.report) == 2
