"""Degrees against NetworkX's multigraphs; an undirected self loop is one arc."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph.ops.degrees import degrees
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

WAYS = [
    ({}, {}),
    ({}, {"engine": "gas"}),
    ({"parts": 2, "policy": "incoming"}, {}),
    ({"parts": 3, "policy": "hybrid"}, {"engine": "bsp"}),
    ({"parts": 8, "policy": "cartesian"}, {}),
]


@settings(max_examples=20)
@given(small_graphs(weights=None), st.sampled_from(WAYS))
def test_degrees_match_networkx(drawn, way):
    frame, kwargs = drawn
    place, options = way
    table = degrees(dg.Graph.from_edges(frame, **kwargs, **place), **options).compute()
    assert list(table) == ["vertex", "in_degree", "out_degree", "degree"]
    peer = nx.MultiDiGraph() if kwargs["directed"] else nx.MultiGraph()
    peer.add_nodes_from(table["vertex"])
    peer.add_edges_from(zip(frame["src"], frame["dst"], strict=True))
    if kwargs["directed"]:
        expected = {"in_degree": peer.in_degree, "out_degree": peer.out_degree, "degree": peer.degree}
    else:  # NetworkX counts a loop twice
        once = {v: peer.degree(v) - peer.number_of_edges(v, v) for v in peer}
        expected = dict.fromkeys(("in_degree", "out_degree", "degree"), once)
    for name, known in expected.items():
        assert table[name].tolist() == [known[v] for v in table["vertex"]]


@pytest.mark.parametrize("name", ["email-Eu-core", "openflights", "karate"])
def test_degrees_of_real_graphs_are_verified(name):
    graph = real_graph(name).graph(parts=3)
    verify("degrees", graph, degrees(graph))


def test_degrees_on_a_cluster_equal_those_in_process(client):
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 40, (300, 2)), columns=["src", "dst"])
    expected = degrees(dg.Graph.from_edges(frame)).compute()
    for parts in (1, 3):
        found = degrees(dg.Graph.from_edges(frame, parts=parts, client=client)).compute()
        pd.testing.assert_frame_equal(found, expected)
