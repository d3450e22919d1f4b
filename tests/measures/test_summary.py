"""The summary of a graph against NetworkX, in any partitions."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, real_graph

import dgraph as dg
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")


def correlation(first, second):
    if not len(first) or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return np.corrcoef(first, second)[0, 1]


@settings(max_examples=60, deadline=None)
@given(small_graphs(max_edges=40), st.sampled_from(PLACES))
def test_numbers_are_those_of_networkx(drawn, place):
    frame, kwargs = drawn
    frame, directed = frame[["src", "dst"]], kwargs["directed"]
    graph = dg.Graph.from_edges(frame, **{**kwargs, "weight": None, **place})
    found = dg.summary(graph)
    degrees = dg.degrees(graph).compute().set_index("vertex")
    multi = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    multi.add_nodes_from(degrees.index)
    multi.add_edges_from(frame.itertuples(index=False))
    simple = (nx.DiGraph if directed else nx.Graph)(multi)
    loops = nx.number_of_selfloops(multi)
    assert (found.vertices, found.edges, found.directed) == (len(multi), len(frame), directed)
    assert (found.loops, found.repeats) == (loops, len(frame) - simple.number_of_edges())
    assert found.isolated == sum(1 for _ in nx.isolates(multi))
    assert found.density == pytest.approx(nx.density(multi))
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    undirected = nx.Graph(simple)
    assert found.transitivity == pytest.approx(nx.transitivity(undirected))
    parts = sorted(map(len, nx.connected_components(undirected)))
    assert (found.components, found.largest_component) == (len(parts), max(parts, default=0))
    if directed:
        parts = sorted(map(len, nx.strongly_connected_components(simple)))
        mutual = nx.overall_reciprocity(simple) if simple.number_of_edges() else 0
        assert found.reciprocity == pytest.approx(mutual)
    assert (found.strong_components, found.largest_strong_component) == (len(parts), max(parts, default=0))
    ends = (
        frame.to_numpy()
        if directed
        else np.concatenate([frame.to_numpy(), frame.to_numpy()[:, ::-1][frame["src"] != frame["dst"]]])
    )
    out, into = (
        degrees[name].loc[end].to_numpy(float) for name, end in zip(("out_degree", "in_degree"), ends.T, strict=True)
    )
    expected = correlation(out, into)
    assert found.assortativity == (None if expected is None else pytest.approx(expected, abs=1e-9))
    for name in found.degrees:
        values = degrees[name].to_numpy()
        assert found.degrees[name]["most"] == values.max(initial=0)
        assert found.degrees[name]["mean"] == pytest.approx(values.mean() if len(values) else 0)
        assert found.degrees[name]["half"] == pytest.approx(np.median(values) if len(values) else 0)


def test_a_real_graph():
    real = real_graph("wiki-Vote")
    peer = nx.DiGraph(real.frame[["src", "dst"]].to_numpy().tolist())
    found = dg.summary(real.graph())
    assert found.reciprocity == pytest.approx(nx.overall_reciprocity(peer))
    assert found.assortativity == pytest.approx(nx.degree_assortativity_coefficient(peer))
    assert found.transitivity == pytest.approx(nx.transitivity(nx.Graph(peer)))


def test_workers_find_what_this_process_does(client):
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 30, (90, 2)), columns=["src", "dst"])
    for directed in (True, False):
        here, there = (
            dg.Graph.from_edges(frame, directed=directed, **how) for how in ({}, {"parts": 3, "client": client})
        )
        assert repr(dg.summary(there)) == repr(dg.summary(here))


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("frame", "rules", "loops", "repeats"),
    [
        ({"src": [0, 0, 1], "dst": [0, 0, 2]}, {}, 2, 1),
        ({"src": [0, 0, 1], "dst": [0, 0, 2]}, {"loops": "drop"}, 0, 0),
        ({"src": [0, 0, 1, 1], "dst": [0, 0, 2, 2]}, {"loops": "drop"}, 0, 1),
        ({"src": [0, 1, 1], "dst": [1, 0, 2]}, {"symmetrize": True}, 0, 2),
        ({"src": [0, 1, 1], "dst": [1, 0, 2]}, {"directed": False}, 0, 1),
        ({"src": [0, 1, 1], "dst": [1, 0, 2]}, {"directed": False, "repeats": "first"}, 0, 0),
    ],
)
def test_loops_and_repeats_are_those_after_the_rules(frame, rules, loops, repeats, parts):
    found = dg.summary(dg.Graph.from_edges(frame, **rules, parts=parts))
    assert (found.loops, found.repeats) == (loops, repeats)


def test_loops_alone_are_not_mutual():
    assert dg.summary(dg.Graph.from_edges({"src": [0], "dst": [0]}, directed=False)).reciprocity == 0
