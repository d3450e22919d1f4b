"""The graph of communities against sums by pandas, and the laws that join it to modularity."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES

import dgraph as dg
from dgraph.errors import IdError, OptionError, WeightError
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")
ENDS = {"source": "src", "destination": "dst"}


def sums(frame, labels, directed, values):
    """{(community, community): the sum of the values of the edges from one to the other}"""
    ends = pd.DataFrame({"src": frame["src"].map(labels), "dst": frame["dst"].map(labels), "value": values})
    if not directed:
        low, high = ends[["src", "dst"]].min(axis=1), ends[["src", "dst"]].max(axis=1)
        ends = ends.assign(src=low, dst=high)
    return ends.groupby(["src", "dst"])["value"].sum().to_dict()


def edges_of(graph):
    table = graph.edges.compute()
    if not graph.directed:
        low, high = table[["src", "dst"]].min(axis=1), table[["src", "dst"]].max(axis=1)
        table = table.assign(src=low, dst=high)
    return {(u, v): w for u, v, w in zip(table["src"], table["dst"], table["weight"], strict=True)}


@settings(max_examples=40)
@given(small_graphs(), st.sampled_from(PLACES), st.integers(1, 4), st.sampled_from(["sum", "count"]))
def test_edges_are_added_up_by_community(drawn, place, count, weights):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    ids = graph.vertices.compute()["id"].sort_values().tolist()
    labels = {v: f"c{i % count}" for i, v in enumerate(ids)}
    coarse = dg.coarsen(graph, labels, weights=weights)
    weighs = weights == "sum" and graph.weight is not None
    expected = sums(frame, labels, graph.directed, frame[graph.weight] if weighs else 1)
    assert edges_of(coarse) == pytest.approx({ends: weight for ends, weight in expected.items() if weight})
    assert coarse.directed == graph.directed
    sizes = coarse.vertices.compute().set_index("id")["size"].to_dict()
    assert sizes == pd.Series(labels).value_counts().to_dict() if labels else not sizes


@settings(max_examples=20)
@given(small_graphs(), st.sampled_from(PLACES), st.integers(1, 4))
def test_modularity_stays_the_same(drawn, place, count):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    codes = np.arange(graph.num_vertices) % count
    weighted = graph.weight is not None
    coarse = dg.coarsen(graph, codes)
    alone = np.arange(coarse.num_vertices)
    expected = dg.modularity(graph, codes, weighted=weighted)
    assert dg.modularity(coarse, alone, weighted=True) == pytest.approx(expected, abs=1e-12)


def test_whole_weights_stay_whole():
    edges = {"src": [0, 1, 2], "dst": [1, 2, 0], "weight": [2, 3, 4]}
    assert dg.coarsen(dg.Graph.from_edges(edges), [0, 0, 1]).edges.compute()["weight"].dtype == np.int64
    assert (
        dg.coarsen(dg.Graph.from_edges(edges), [0, 0, 1], weights="count").edges.compute()["weight"].tolist() == [1] * 3
    )
    edges["weight"] = [2.5, 3.0, 4.0]
    assert dg.coarsen(dg.Graph.from_edges(edges), [0, 0, 0]).edges.compute()["weight"].tolist() == [9.5]


def test_coarsening_twice_equals_coarsening_once():
    graph = dg.rmat(scale=8, edge_factor=8, seed=1)
    once = dg.coarsen(graph, np.arange(graph.num_vertices) // 4)
    twice = dg.coarsen(once, np.arange(once.num_vertices) // 8)
    direct = dg.coarsen(graph, np.arange(graph.num_vertices) // 32)
    assert edges_of(twice) == edges_of(direct)


def test_bad_input_is_refused():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [1.0, -2.0]})
    with pytest.raises(OptionError, match="weights='mean'"):
        dg.coarsen(graph, [0, 0, 1], weights="mean")
    with pytest.raises(WeightError, match="-2"):
        dg.coarsen(graph, [0, 0, 1])
    assert dg.coarsen(graph, [0, 0, 1], weights="count").num_edges == 2
    with pytest.raises(IdError):
        dg.coarsen(graph, [0.5, 0.5, 1.25], weights="count")
    for weights in ([2**53, 1], [2**53 + 1, 1]):
        with pytest.raises(WeightError, match="beyond"):
            dg.coarsen(dg.Graph.from_edges({"src": [0, 1], "dst": [2, 2], "weight": weights}), [0, 0, 1])
    large = dg.Graph.from_edges({"src": [0, 1], "dst": [2, 2], "weight": [2**53, 2**53]})
    with pytest.raises(WeightError, match="beyond 2\\*\\*53"):
        dg.coarsen(large, [0, 0, 1])


def test_on_a_cluster_edges_stay_on_their_workers(client):
    edges = dg.rmat(scale=9, edge_factor=8, seed=1, weights=(1, 9)).edges.compute().rename(columns=ENDS)
    here, there = (dg.Graph.from_edges(edges, vertices=512, client=one) for one in (None, client))
    here, there = (dg.coarsen(graph, np.arange(512) % 20) for graph in (here, there))
    assert there.client is client
    assert edges_of(there) == edges_of(here)
    assert dg.pagerank(there).compute()["pagerank"].to_numpy() == pytest.approx(
        dg.pagerank(here).compute()["pagerank"].to_numpy()
    )
