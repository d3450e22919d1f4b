"""Closeness and harmonic centrality: solver, several partitions and workers against NetworkX."""

from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.closeness import closeness
from dgraph.ops.harmonic import harmonic
from dgraph.solvers.paths import distance_sums as module
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
FLAGS = st.booleans()


def peer_of(frame, vertices, directed):
    peer = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    peer.add_nodes_from(vertices)
    peer.add_weighted_edges_from(zip(frame["src"], frame["dst"], frame["weight"], strict=True))
    return peer


def expected_of(name, peer, weighted, **options):
    return getattr(nx, f"{name}_centrality")(peer, distance="weight" if weighted else None, **options)


@settings(max_examples=60, deadline=None)
@given(small_graphs(max_edges=40), FLAGS, FLAGS, st.sampled_from(["in", "out"]), st.integers(1, 3), st.data())
def test_values_match_networkx(drawn, improved, weighted, direction, parts, data):
    frame, kwargs = drawn
    lengths = st.lists(st.sampled_from([1.0, 2.0, 3.5]), min_size=len(frame), max_size=len(frame))
    frame = frame.assign(weight=data.draw(lengths))
    graph = dg.Graph.from_edges(frame, **{**kwargs, "weight": "weight", "parts": parts})
    how = {"direction": direction, "weighted": weighted}
    found = closeness(graph, wf_improved=improved, **how), harmonic(graph, **how)
    vertices = found[0].compute()["vertex"]
    peer = peer_of(frame, vertices, kwargs["directed"])
    peer = peer.reverse() if kwargs["directed"] and direction == "out" else peer
    for name, result, options in zip(("closeness", "harmonic"), found, ({"wf_improved": improved}, {}), strict=True):
        expected = expected_of(name, peer, weighted, **options)
        np.testing.assert_allclose(result.compute()[name], [expected[v] for v in vertices], rtol=1e-12)
        verify(name, graph, result, **how, **options)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", ["jazz", "power", "wiki-Vote"])
def test_real_graphs_match_networkx(name, directed):
    graph = dg.Graph.from_edges(real_graph(name).frame[["src", "dst"]], directed=directed)
    for operation in ("closeness", "harmonic"):
        verify(operation, graph, getattr(dg, operation)(graph, sources=150), sources=150)
        estimated = getattr(dg, operation)(graph, sources=150, method="sketch")
        verify(operation, graph, estimated, sources=150, method="sketch")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("together", [True, False], ids=["by words", "one by one"])
@pytest.mark.parametrize("shape", ["rmat", "grid", "tails"])
def test_searches_together_and_one_by_one_agree(shape, together, directed, monkeypatch):
    """Each way of searching takes all batches, levels are pushed and pulled, and batches are full and not."""
    if shape == "tails":  # long paths that hang from a dense part
        dense = dg.rmat(scale=7, edge_factor=16, seed=1).edges.compute().set_axis(["src", "dst"], axis=1)
        tails = np.arange(1000, 1400)
        ends = np.where(tails % 40 == 0, tails % 128, tails - 1)
        there, back = pd.DataFrame({"src": tails, "dst": ends}), pd.DataFrame({"src": ends, "dst": tails})
        graph = dg.Graph.from_edges(pd.concat([dense, there, back]), directed=directed)
    elif shape == "grid":
        graph = dg.grid(rows=20, cols=21, directed=directed)
    else:
        graph = dg.rmat(scale=9, edge_factor=8, seed=2, directed=directed)
    way = (0, 0) if together else (10**6, -1)
    monkeypatch.setattr(module, "MEETING", way[0])
    monkeypatch.setattr(module, "DEEP", way[1])
    for name in ("closeness", "harmonic"):
        for sources in (None, 65, 3):
            verify(name, graph, getattr(dg, name)(graph, sources=sources), sources=sources)


def test_searches_that_do_not_meet_go_one_by_one(monkeypatch):
    """Which reads more edges than a search of 64 at once where they meet, and fewer where they do not."""
    edges = {}
    for shape, graph in (
        ("dense", dg.rmat(scale=9, seed=2, directed=False)),
        ("path", dg.grid(rows=1, cols=3000, removed=0)),
    ):
        for meeting, deep in ((0, 0), (10**6, -1)):
            monkeypatch.setattr(module, "MEETING", meeting)
            monkeypatch.setattr(module, "DEEP", deep)
            edges[shape, meeting] = int(closeness(graph).report["edges"].sum())
    assert edges["dense", 0] < edges["dense", 10**6] / 4
    monkeypatch.undo()
    chosen = int(closeness(dg.rmat(scale=9, seed=2, directed=False)).report["edges"].sum())
    assert chosen == edges["dense", 0]


@pytest.mark.parametrize("parts", [2, 3])
def test_workers_agree_with_one_partition(parts, client):
    frame = dg.rmat(scale=7, edge_factor=4, weights=(1, 5), seed=4).edges.compute()
    columns = {"source": "source", "destination": "destination", "weight": "weight"}
    one, several = (dg.Graph.from_edges(frame, **columns, **how) for how in ({}, {"parts": parts, "client": client}))
    for how in ({}, {"weighted": True, "direction": "out"}, {"sources": 5}):
        for operation in (closeness, harmonic):
            expected, found = (operation(graph, **how).compute() for graph in (one, several))
            pd.testing.assert_frame_equal(found.sort_values("vertex", ignore_index=True), expected, rtol=1e-12)


def test_only_the_sources_are_listed():
    graph = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
    result = harmonic(graph, sources=["d", "b"])
    assert result.compute().to_numpy().tolist() == [["b", 1.0], ["d", 1 + 1 / 2 + 1 / 3]]
    assert result.totals == {"sources": 2}
    drawn = [closeness(graph, sources=2, random_seed=seed).compute()["vertex"].tolist() for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(closeness(graph, sources=4).compute()) == 4


@pytest.mark.parametrize("method", ["exact", "sketch"])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("vertices", [0, 1, 3])
def test_graphs_without_edges_have_no_distances(vertices, parts, method):
    graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=vertices, parts=parts)
    for name in ("closeness", "harmonic"):
        assert getattr(dg, name)(graph, method=method).compute()[name].tolist() == [0.0] * vertices


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("directed", [True, False])
def test_sketches_are_near_and_the_same_in_any_partitions(directed, direction):
    graphs = [dg.rmat(scale=8, edge_factor=3, seed=2, directed=directed, parts=parts) for parts in (1, 3)]
    how = {"method": "sketch", "direction": direction}
    for operation in (closeness, harmonic):
        one, several = (operation(graph, **how) for graph in graphs)
        pd.testing.assert_frame_equal(one.compute(), several.compute(), rtol=1e-12)
        verify(operation.__name__, graphs[0], one, **how)
        some = operation(graphs[1], sources=[5, 3], **how)
        assert some.totals == {"sources": 2, "error": 0.065}
        pd.testing.assert_frame_equal(some.compute(), one.compute().iloc[[3, 5]].reset_index(drop=True), rtol=1e-12)


def test_the_error_of_sketches_is_as_stated():
    """The root mean square over 20 seeds and all vertices, of large sets and of pairs, of which some look like one."""
    pairs = dg.Graph.from_edges({"src": np.arange(0, 1000, 2), "dst": np.arange(1, 1000, 2)}, directed=False)
    large = dg.rmat(scale=9, edge_factor=4, seed=3, directed=False)
    for graph, operation in product((large, pairs), (closeness, harmonic)):
        expected = operation(graph).compute().iloc[:, 1]
        apart = [
            operation(graph, method="sketch", random_seed=seed).compute().iloc[:, 1][expected > 0]
            / expected[expected > 0]
            - 1
            for seed in range(20)
        ]
        assert np.sqrt(np.mean(np.square(apart))) < 1.1 * 0.065
        assert abs(np.mean(apart)) < 0.5 * 0.065
        assert np.std([one.iloc[0] for one in apart]) > 0.01  # seeds differ


@pytest.mark.parametrize("parts", [1, 2])
def test_workers_make_the_same_sketches(parts, client):
    frame = dg.rmat(scale=7, edge_factor=4, seed=4).edges.compute()
    columns = {"source": "source", "destination": "destination"}
    expected = harmonic(dg.Graph.from_edges(frame, **columns), method="sketch").compute()
    found = harmonic(dg.Graph.from_edges(frame, **columns, parts=parts, client=client), method="sketch").compute()
    pd.testing.assert_frame_equal(found.sort_values("vertex", ignore_index=True), expected, rtol=1e-12)


def test_estimates_of_closeness_do_not_exceed_one():
    star = dg.Graph.from_edges({"src": np.zeros(300, int), "dst": np.arange(1, 301)}, directed=False)
    found = [closeness(star, method="sketch", random_seed=seed).compute()["closeness"][0] for seed in range(12)]
    assert max(found) == 1 > min(found) > 0.8


def test_the_factor_is_the_share_of_vertices_that_reach_one():
    pair = dg.Graph.from_edges({"src": [0, 2, 3], "dst": [1, 3, 4]}, directed=False)
    assert closeness(pair).compute()["closeness"].tolist() == [0.25, 0.25, 2 / 3 / 2, 1 / 2, 2 / 3 / 2]
    assert closeness(pair, wf_improved=False).compute()["closeness"].tolist() == [1, 1, 2 / 3, 1, 2 / 3]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sources": 0}, errors.OptionError, "sources=0"),
        ({"sources": 9}, errors.OptionError, "sources=9"),
        ({"sources": []}, errors.OptionError, "at least one"),
        ({"sources": [1, 2, 1]}, errors.OptionError, "the vertex 1 is listed twice"),
        ({"sources": [17]}, errors.IdError, "17"),
        ({"direction": "both"}, errors.OptionError, "direction='both'"),
        ({"weighted": 1}, errors.OptionError, "weighted=1"),
        ({"weighted": True}, errors.ColumnError, "needs weights"),
        ({"method": "guess"}, errors.OptionError, "method='guess'"),
        ({"method": "sketch", "weighted": True}, errors.OptionError, 'method="sketch" counts edges'),
        ({"engine": "gas"}, errors.OptionError, "engine='gas'"),
        ({"device": "cuda"}, errors.OptionError, "device='cuda'"),
    ],
)
@pytest.mark.parametrize("operation", [closeness, harmonic])
def test_options_are_checked(operation, options, error, words):
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    with pytest.raises(error) as refused:
        operation(graph, **options)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("weight", "words"), [(0.0, "holds the weight 0"), (-1.0, "weight -1"), (np.inf, "weight inf")]
)
def test_lengths_must_be_positive_and_finite(weight, words):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [1.0, weight]}, weight="weight")
    with pytest.raises(errors.WeightError, match=words):
        closeness(graph, weighted=True)


def test_other_libraries_names_lead_here():
    for theirs, ours in (("closeness_centrality", "closeness"), ("harmonic_centrality", "harmonic")):
        with pytest.raises(AttributeError, match=f"did you mean {ours}"):
            getattr(dg, theirs)
