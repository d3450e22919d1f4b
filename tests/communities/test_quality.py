"""Modularity and the other measures against NetworkX, on any partitioning."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES

import dgraph as dg
from dgraph.errors import ColumnError, InputError, OptionError, WeightError
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")
ENDS = {"source": "src", "destination": "dst"}


def peer_of(frame, vertices, directed, weight):
    """The graph in NetworkX; repeated edges are parallel."""
    peer = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    peer.add_nodes_from(vertices)
    weights = frame[weight] if weight else np.ones(len(frame))
    peer.add_weighted_edges_from(zip(frame["src"], frame["dst"], weights, strict=True))
    return peer


def weight_between(peer, u, v):
    return sum(one["weight"] for one in peer.get_edge_data(u, v).values())


def groups(labels):
    return [{v for v in labels if labels[v] == one} for one in sorted(set(labels.values()))]


@settings(max_examples=40)
@given(small_graphs(), st.sampled_from(PLACES), st.integers(1, 4), st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_matches_networkx(drawn, place, count, resolution):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    ids = graph.vertices.compute()["id"].sort_values().tolist()
    labels = {v: i % count for i, v in enumerate(ids)}
    weight = graph.weight
    found = dg.modularity(graph, labels, resolution=resolution, weighted=weight is not None)
    peer = peer_of(frame, ids, graph.directed, weight)
    if peer.size(weight="weight") == 0:
        assert found == 0
        return
    expected = nx.community.modularity(peer, groups(labels), weight="weight", resolution=resolution)
    assert found == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40)
@given(small_graphs(directed=False), st.sampled_from(PLACES), st.integers(1, 4))
def test_measures_of_each_community_match_networkx(drawn, place, count):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    ids = graph.vertices.compute()["id"].sort_values().tolist()
    labels = {v: i % count for i, v in enumerate(ids)}
    found = dg.partition_quality(graph, labels, weighted=graph.weight is not None)
    peer, table = peer_of(frame, ids, False, graph.weight), found.communities.set_index("community")
    assert table.index.tolist() == sorted(set(labels.values()))
    for one, members in enumerate(groups(labels)):
        inner, rest = peer.subgraph(members), set(peer) - members
        assert table["size"][one] == len(members)
        assert table["edges"][one] == inner.number_of_edges()
        ties = nx.Graph(inner)
        ties.remove_edges_from([(u, v) for u, v, _ in inner.edges if not weight_between(inner, u, v)])
        assert table["connected"][one] == nx.is_connected(ties)
        volumes = [nx.volume(peer, side, weight="weight") for side in (members, rest)]
        expected = nx.cut_size(peer, members, rest, weight="weight") / min(volumes) if min(volumes) > 0 else 0.0
        assert table["conductance"][one] == pytest.approx(expected, abs=1e-12)
    assert found.disconnected == (~table["connected"]).sum()
    assert found.conductance == pytest.approx(table["conductance"].mean() if len(table) else 0.0)
    assert found.worst_conductance == pytest.approx(table["conductance"].max() if len(table) else 0.0)
    if graph.num_edges:
        assert found.internal_edges == pytest.approx(table["edges"].sum() / graph.num_edges)


def test_coverage_weighs_edges_and_internal_edges_count_them():
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3], "weight": [6.0, 1.0, 1.0]}, directed=False)
    found = dg.partition_quality(graph, [0, 0, 1, 2], weighted=True)
    assert (found.coverage, found.internal_edges) == (0.75, pytest.approx(1 / 3))
    assert repr(found).splitlines()[0] == "3 communities of 1 to 2 vertices, 0 disconnected"


def test_directions_do_not_count_for_conductance():
    edges = {"src": [0, 1, 2, 0, 3], "dst": [1, 2, 0, 3, 4]}
    labels = [0, 0, 0, 1, 1]
    one, other = (dg.partition_quality(dg.Graph.from_edges(edges, directed=way), labels) for way in (True, False))
    pd.testing.assert_frame_equal(one.communities, other.communities)
    assert one.conductance == other.conductance > 0


def test_a_community_is_connected_by_its_own_edges_in_all_partitions():
    chain = np.arange(200)
    edges = {"src": chain, "dst": chain + 1}
    for parts in (1, 2, 7):
        graph = dg.Graph.from_edges(edges, parts=parts)
        assert dg.partition_quality(graph, np.zeros(201, int)).disconnected == 0
        assert dg.partition_quality(graph, np.arange(201) % 2).disconnected == 2
        assert dg.partition_quality(graph, np.arange(201) // 50).disconnected == 0


def test_a_graph_without_edges_has_modularity_0():
    graph = dg.Graph.from_edges({"src": np.zeros(0, int), "dst": np.zeros(0, int)}, vertices=3)
    found = dg.partition_quality(graph, [0, 1, 2])
    assert (dg.modularity(graph, [0, 1, 2]), found.coverage, found.conductance, found.disconnected) == (0, 0, 0, 0)
    empty = dg.Graph.from_edges({"src": np.zeros(0, int), "dst": np.zeros(0, int)})
    assert dg.partition_quality(empty, []).communities.empty
    assert repr(dg.partition_quality(empty, [])).startswith("0 communities")


def test_bad_input_is_refused():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [1.0, -2.0]})
    for error, text, options in (
        (OptionError, "resolution=0", {"resolution": 0}),
        (OptionError, "resolution=nan", {"resolution": float("nan")}),
        (OptionError, "resolution='1'", {"resolution": "1"}),
        (OptionError, "weighted=2", {"weighted": 2}),
        (WeightError, "-2", {"weighted": True}),
    ):
        for measure in (dg.modularity, dg.partition_quality):
            with pytest.raises(error) as raised:
                measure(graph, [0, 0, 1], **options)
            assert text in str(raised.value), raised.value
    for measure in (dg.modularity, dg.partition_quality, dg.coarsen):
        for groups_of_vertices in ([{0, 1}, {2}], ({0}, {1}, {2}), {frozenset({0, 1}), frozenset({2})}, [[0, 1], [2]]):
            with pytest.raises(InputError, match="labels= lists groups of vertices; pass the group of each") as raised:
                measure(graph, groups_of_vertices)
            spelled = str(raised.value).partition("labels={")[2]
            assert dg.modularity(graph, eval(f"{{{spelled}", {"groups": groups_of_vertices})) is not None
    with pytest.raises(ColumnError, match="needs weights"):
        dg.modularity(dg.Graph.from_edges({"src": [0], "dst": [1]}), [0, 0], weighted=True)


def test_measures_on_a_cluster_match_those_in_process(client):
    edges = dg.rmat(scale=9, edge_factor=8, seed=1).edges.compute().rename(columns=ENDS)
    here, there = (dg.Graph.from_edges(edges, directed=False, client=one) for one in (None, client))
    labels = dg.wcc(there)
    for measure in (dg.modularity, lambda g, labels: dg.partition_quality(g, labels).conductance):
        assert measure(there, labels) == pytest.approx(measure(here, labels), rel=1e-12)
        assert measure(there, np.arange(here.num_vertices) % 9) == pytest.approx(
            measure(here, np.arange(here.num_vertices) % 9), rel=1e-12
        )
