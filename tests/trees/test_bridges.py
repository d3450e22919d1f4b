"""Bridges, articulation points and biconnected components against their definitions and NetworkX, on any partitions."""

from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, real_graph
from rules import RULES, ruled

import dgraph as dg
from dgraph.errors import ColumnError, RoomError
from dgraph.native import free_memory
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")


def simple(edges):
    """NetworkX's graph of the edges, without directions, loops and repeats."""
    graph = nx.Graph()
    graph.add_edges_from((u, v) for u, v in edges.iloc[:, :2].itertuples(index=False) if u != v)
    return graph


def expected_bridges(edges):
    """The rows of edges that are there once, and whose ends nothing else connects."""
    graph, rows = simple(edges), []
    pairs = [frozenset(ends) for ends in edges.iloc[:, :2].itertuples(index=False)]
    often = Counter(pairs)
    for row, pair in enumerate(pairs):
        if len(pair) == 2 and often[pair] == 1:
            graph.remove_edge(*pair)
            if not nx.has_path(graph, *pair):
                rows.append(row)
            graph.add_edge(*pair)
    return rows


def expected_components(edges, ids):
    """The component of each edge by NetworkX, numbered by its two smallest vertices."""
    number = {one: i for i, one in enumerate(sorted(ids))}
    found = [list(one) for one in nx.biconnected_component_edges(simple(edges))]
    found.sort(key=lambda one: sorted({number[v] for pair in one for v in pair})[:2])
    of = {frozenset(pair): i for i, one in enumerate(found) for pair in one}
    return [of.get(frozenset(pair)) for pair in edges.iloc[:, :2].itertuples(index=False)]


def check(graph):
    edges, ids = graph.edges.compute(), graph.vertices.compute().iloc[:, 0].tolist()
    bridges = dg.bridges(graph).compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(bridges, edges.iloc[expected_bridges(edges)].reset_index(drop=True))
    points = dg.articulation_points(graph).compute()["vertex"].tolist()
    assert points == sorted(nx.articulation_points(simple(edges)))
    found = dg.biconnected_components(graph).compute()
    pd.testing.assert_frame_equal(found.drop(columns="component"), edges)
    numbers = [None if pd.isna(one) else one for one in found["component"]]
    assert numbers == expected_components(edges, ids)


@settings(max_examples=40)
@given(small_graphs(), st.sampled_from(PLACES))
def test_cuts_of_small_graphs_are_those_of_their_definitions(drawn, place):
    frame, kwargs = drawn
    check(dg.Graph.from_edges(frame, **kwargs, **place))


@pytest.mark.parametrize(("parts", "directed"), [(1, False), (4, False), (1, True)])
def test_cuts_of_a_sparse_graph_are_those_of_networkx(parts, directed):
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(draw.integers(0, 300, (330, 2)), columns=["src", "dst"])
    check(dg.Graph.from_edges(frame, directed=directed, vertices=310, parts=parts))


def test_cuts_of_a_real_graph_are_those_of_networkx():
    check(real_graph("dolphins_multi_edge").graph(parts=2))


def test_repeated_edges_and_reverses_are_no_bridges():
    frame = pd.DataFrame({"src": list("abcdb"), "dst": list("badcc"), "note": [1, 2, 3, 4, 5]})
    graph = dg.Graph.from_edges(frame, parts=2)
    assert dg.bridges(graph).compute()["note"].tolist() == [5]
    assert dg.articulation_points(graph).compute()["vertex"].tolist() == ["b", "c"]
    found = dg.biconnected_components(graph).compute().set_index("note")["component"]
    assert found.to_dict() == {1: 0, 2: 0, 5: 1, 3: 2, 4: 2}
    assert len(dg.bridges(dg.Graph.from_edges(frame.iloc[:1], symmetrize=True)).compute()) == 0


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("directed", "rules"), RULES)
def test_bridges_are_those_of_the_edges_that_the_rules_leave(directed, rules, parts):
    """A merged edge may be a bridge; with `symmetrize`, each has a reverse, and none is."""
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 40, (42, 2)), columns=["src", "dst"])
    frame = pd.concat([frame, frame.iloc[:9], frame.iloc[9:15].set_axis(["dst", "src"], axis=1)], ignore_index=True)
    left = ruled(frame, directed=directed, **rules)
    often = Counter(map(frozenset, left))
    there = {frozenset(pair) for pair in nx.bridges(nx.Graph(pair for pair in left if pair[0] != pair[1]))}
    found = dg.bridges(dg.Graph.from_edges(frame, directed=directed, parts=parts, **rules)).compute()
    assert Counter(map(frozenset, found.to_numpy().tolist())) == Counter(pair for pair in there if often[pair] == 1)
    assert (len(found) == 0) == rules.get("symmetrize", False)


@pytest.mark.parametrize("place", [{}, {"parts": 2}])
def test_a_long_path_is_all_bridges(place):
    n = 50_000
    graph = dg.Graph.from_edges({"src": np.arange(n), "dst": np.arange(1, n + 1)}, **place)
    assert len(dg.bridges(graph).compute()) == n
    assert dg.articulation_points(graph).compute()["vertex"].tolist() == list(range(1, n))
    found = dg.biconnected_components(graph).compute()
    assert found["component"].tolist() == found["src"].tolist()


def test_graphs_without_edges_have_nothing_to_cut():
    graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=[1, 2])
    assert len(dg.bridges(graph).compute()) == len(dg.articulation_points(graph).compute()) == 0
    assert dg.biconnected_components(graph).compute().columns.tolist() == ["src", "dst", "component"]


def test_an_existing_component_column_is_refused():
    graph = dg.Graph.from_edges({"src": [0], "dst": [1], "component": [3]})
    with pytest.raises(ColumnError, match="already have a column 'component'"):
        dg.biconnected_components(graph)


def test_columns_keep_their_types_and_merged_values():
    frame = pd.DataFrame({"src": [0, 0, 1], "dst": [1, 1, 2], "weight": [1, 2, 3], "note": ["x", "y", "z"]})
    graph = dg.Graph.from_edges(frame, repeats="sum")
    assert dg.bridges(graph).compute()["weight"].tolist() == [3, 3]
    found = dg.biconnected_components(graph)
    assert str(found.dtypes["component"]) == "Int64" == str(found.compute().dtypes["component"])
    assert found.compute()["note"].tolist() == ["x", "z"]


def test_cuts_on_a_cluster_equal_those_in_process(client):
    graphs = [dg.rmat(scale=9, edge_factor=2, seed=1, client=one) for one in (client, None)]
    for find in (dg.bridges, dg.articulation_points, dg.biconnected_components):
        frames = [find(one).compute() for one in graphs]
        frames = [one.sort_values(one.columns.tolist(), ignore_index=True) for one in frames]
        pd.testing.assert_frame_equal(*frames)
        assert len(frames[0])


@pytest.mark.parametrize("find", [dg.bridges, dg.biconnected_components, dg.truss_number, dg.spanning_forest])
def test_edges_are_not_gathered_without_the_memory_for_them(find, monkeypatch):
    graph = dg.rmat(scale=8, seed=1, weights=None, parts=2)
    find(graph)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 20_000)
    with pytest.raises(RoomError, match=r"partitions.* need about .* of memory, but only 19\.53 kiB are free"):
        find(graph)
