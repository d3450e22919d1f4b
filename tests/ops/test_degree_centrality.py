"""Degree centrality against NetworkX, on graphs without undirected loops, which NetworkX counts twice."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.ops.degree_centrality import degree_centrality
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

NAMES = "degree_centrality", "in_degree_centrality", "out_degree_centrality"


@settings(max_examples=30)
@given(small_graphs(weights=None), st.sampled_from([1, 3]))
def test_shares_match_networkx(drawn, parts):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, parts=parts, loops="drop", **kwargs)
    result = degree_centrality(graph)
    table = result.compute()
    assert tuple(table) == ("vertex", *NAMES)
    peer = nx.MultiDiGraph() if kwargs["directed"] else nx.MultiGraph()
    peer.add_nodes_from(table["vertex"])
    peer.add_edges_from((u, v) for u, v in zip(frame["src"], frame["dst"], strict=True) if u != v)
    for name in NAMES:
        expected = getattr(nx, name if kwargs["directed"] else "degree_centrality")(peer)
        np.testing.assert_allclose(table[name], [expected[v] for v in table["vertex"]])
    verify("degree_centrality", graph, result)


@pytest.mark.parametrize("vertices", [0, 1, 2])
def test_few_vertices(vertices):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype=int), vertices=vertices)
    found = degree_centrality(graph).compute()
    assert found["degree_centrality"].tolist() == [[], [1.0], [0.0, 0.0]][vertices]
    verify("degree_centrality", graph, degree_centrality(graph))


def test_names_of_other_libraries_lead_here():
    with pytest.raises(AttributeError, match="did you mean degree_centrality"):
        dg.in_degree_centrality  # noqa: B018
