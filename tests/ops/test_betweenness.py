"""Betweenness: solver, several partitions and workers against NetworkX, and laws of sums of paths."""

import math
import random

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.betweenness import betweenness
from dgraph.runs import sources as module
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
FLAGS = st.booleans()
LENGTHS = st.sampled_from([1.0, 2.0, 3.5])


class Drawn(random.Random):
    """Draws what it is told."""

    def __init__(self, drawn):
        super().__init__()
        self.drawn = drawn

    def sample(self, nodes, k):
        return self.drawn


def peer_of(frame, vertices, directed):
    peer = (nx.DiGraph if directed else nx.Graph)()
    peer.add_nodes_from(vertices)
    peer.add_weighted_edges_from(zip(frame["src"], frame["dst"], frame["weight"], strict=True))
    return peer


@settings(max_examples=60, deadline=None)
@given(small_graphs(max_edges=40), FLAGS, FLAGS, FLAGS, st.data())
def test_values_match_networkx(drawn, normalized, endpoints, weighted, data):
    frame, kwargs = drawn
    frame = frame.drop_duplicates(["src", "dst"])
    if not kwargs["directed"]:  # NetworkX counts repeated edges once
        ends = np.sort(frame[["src", "dst"]].astype(str).to_numpy(), axis=1)
        frame = frame[~pd.DataFrame(ends).duplicated().to_numpy()]
    frame = frame.assign(
        weight=data.draw(st.lists(st.sampled_from([1.0, 2.0, 3.5]), min_size=len(frame), max_size=len(frame)))
    )
    graph = dg.Graph.from_edges(frame, **{**kwargs, "weight": "weight"})
    result = betweenness(graph, normalized=normalized, endpoints=endpoints, weighted=weighted)
    found = result.compute()
    peer = peer_of(frame, found["vertex"], kwargs["directed"])
    how = {"normalized": normalized, "endpoints": endpoints}
    expected = nx.betweenness_centrality(peer, weight="weight" if weighted else None, **how)
    np.testing.assert_allclose(found["betweenness"], [expected[v] for v in found["vertex"]], rtol=1e-9, atol=1e-12)
    verify("betweenness", graph, result, weighted=weighted, **how)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("policy", ["outgoing", "hybrid"])
def test_several_partitions_find_what_one_does(weighted, directed, policy, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 7)
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.integers(0, 30, (70, 2)), columns=["src", "dst"]).assign(
        weight=random.integers(1, 4, 70)
    )
    one, several = (
        dg.Graph.from_edges(frame, directed=directed, vertices=33, parts=parts, policy=policy) for parts in (1, 3)
    )
    for how in ({}, {"endpoints": True, "normalized": False}, {"sources": [3, 5, 32, 7]}, {"sources": 9}):
        expected, found = (betweenness(graph, weighted=weighted, **how) for graph in (one, several))
        pd.testing.assert_frame_equal(found.compute(), expected.compute(), rtol=1e-12)
        verify("betweenness", several, found, weighted=weighted, **how)


def test_workers_find_what_this_process_does(client):
    frame = pd.DataFrame(np.random.default_rng(4).integers(0, 25, (60, 2)), columns=["src", "dst"])
    expected = betweenness(dg.Graph.from_edges(frame)).compute()
    for parts in (1, 2):
        found = betweenness(dg.Graph.from_edges(frame, parts=parts, client=client)).compute()
        pd.testing.assert_frame_equal(found.sort_values("vertex", ignore_index=True), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["email-Eu-core", "jazz", "celegans_metabolic", "openflights"])
def test_sums_are_those_of_distances(name):
    """Over all vertices, values add up to the inner vertices of one path for each pair that has any."""
    real = real_graph(name)
    graph = real.graph()
    found = betweenness(graph, normalized=False).compute()["betweenness"].sum()
    peer = (nx.DiGraph if real.directed else nx.Graph)(list(zip(real.frame["src"], real.frame["dst"], strict=True)))
    inner = sum(
        length - 1 for _, lengths in nx.all_pairs_shortest_path_length(peer) for length in lengths.values() if length
    )
    assert found == pytest.approx(inner if real.directed else inner / 2)


@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_samples_are_scaled_as_in_networkx(endpoints, normalized, directed, monkeypatch):
    peer = nx.gnm_random_graph(20, 50, seed=2, directed=directed)
    graph = dg.Graph.from_edges(nx.to_pandas_edgelist(peer, "src", "dst"), directed=directed, vertices=20)
    how = {"endpoints": endpoints, "normalized": normalized}
    for count in (2, 5, 19, 20):
        drawn = np.sort(np.random.default_rng(6).choice(20, count, replace=False)).tolist()
        expected = nx.betweenness_centrality(peer, k=count, seed=Drawn(drawn), **how)
        result = betweenness(graph, sources=count, random_seed=6, **how)
        found = result.compute()
        np.testing.assert_allclose(found["betweenness"], [expected[v] for v in found["vertex"]], rtol=1e-9, atol=1e-12)
        pd.testing.assert_frame_equal(betweenness(graph, sources=drawn[::-1], **how).compute(), found)
        verify("betweenness", graph, result, sources=count, random_seed=6, **how)


def test_repeated_edges_make_paths_of_their_own_and_loops_none():
    frame = pd.DataFrame({"src": [0, 0, 0, 1, 2, 1], "dst": [1, 1, 2, 3, 3, 1]})
    found = betweenness(dg.Graph.from_edges(frame), normalized=False).compute()["betweenness"]
    assert found.tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0])


def test_more_paths_than_a_float_can_count():
    """A chain of diamonds has 2**1,100 shortest paths, and each vertex between two has half of those that pass."""
    size = 1100
    corner = 3 * np.arange(size)
    frame = pd.DataFrame(
        {
            "src": np.concatenate([corner, corner, corner + 1, corner + 2]),
            "dst": np.concatenate([corner + 1, corner + 2, corner + 3, corner + 3]),
        }
    )
    found = betweenness(dg.Graph.from_edges(frame), sources=[0, 1], normalized=False).compute()["betweenness"]
    assert np.isfinite(found).all()
    after = 3 * size - 3 * (np.arange(size) + 1)  # vertices after a corner's end
    half = found[(corner + 1).tolist()].to_numpy()[1:]
    share = (1 + after[1:]) / 2 + (1 + after[1:]) / 2  # from each of the two sources
    scale = (3 * size) / 2
    np.testing.assert_allclose(half, share * scale, rtol=1e-9)
    with pytest.raises(errors.RunError, match=r"more than 1\.8e308 shortest paths"):
        betweenness(dg.Graph.from_edges(frame.assign(weight=1.0)), sources=[0, 1], weighted=True)


@pytest.mark.parametrize("vertices", [0, 1, 2])
@pytest.mark.parametrize("parts", [1, 2])
def test_few_vertices(vertices, parts):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype=int), vertices=vertices, parts=parts)
    assert betweenness(graph).compute()["betweenness"].tolist() == [0.0] * vertices


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sources": 0}, "sources=0"),
        ({"sources": 9}, "sources=9"),
        ({"sources": True}, "True"),
        ({"sources": [1, 2, 1]}, "the vertex 1 is listed twice"),
        ({"sources": [1]}, "a single source gives no estimate for itself"),
        ({"sources": 1}, "a single source gives no estimate for itself"),
        ({"sources": [1, 77]}, "77"),
        ({"normalized": 2}, "normalized=2"),
        ({"engine": "gas"}, "engine='gas'"),
        ({"device": "cuda"}, "device='cuda'"),
    ],
)
def test_invalid_options_are_refused(options, words):
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    with pytest.raises(errors.DgraphError, match=words):
        betweenness(graph, **options)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("weight", "words"), [(0.0, "holds the weight 0"), (-1.0, "weight -1"), (math.inf, "weight inf")]
)
def test_weights_that_are_no_lengths_are_refused(weight, words, parts):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [1.0, weight]}, parts=parts)
    with pytest.raises(errors.WeightError, match=words):
        betweenness(graph, weighted=True)


def test_names_of_other_libraries_lead_here():
    with pytest.raises(AttributeError, match="did you mean betweenness"):
        dg.betweenness_centrality  # noqa: B018


# -- edges -------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(small_graphs(max_edges=30), FLAGS, FLAGS, st.sampled_from([1, 3]), st.integers(0, 3), st.data())
def test_values_of_edges_match_networkx(drawn, normalized, weighted, parts, count, data):
    frame, kwargs = drawn
    frame = frame[["src", "dst"]].drop_duplicates()
    if not kwargs["directed"]:
        frame = frame[~pd.DataFrame(np.sort(frame.astype(str).to_numpy(), axis=1)).duplicated().to_numpy()]
    some = data.draw(st.lists(LENGTHS, min_size=len(frame), max_size=len(frame)))
    frame = frame.assign(weight=np.array(some, float))
    graph = dg.Graph.from_edges(frame, **{**kwargs, "weight": "weight", "parts": parts})
    vertices = dg.degrees(graph).compute()["vertex"]
    peer = peer_of(frame, vertices, kwargs["directed"])
    how, sources = {"normalized": normalized}, None
    if 0 < count < len(vertices):
        sources = vertices.sample(count, random_state=1).tolist()
        how |= {"k": count, "seed": Drawn(sources)}
    expected = nx.edge_betweenness_centrality(peer, weight="weight" if weighted else None, **how)
    result = betweenness(graph, edges=True, sources=sources, normalized=normalized, weighted=weighted)
    found, edges = result.compute(), graph.edges.compute()
    pd.testing.assert_frame_equal(found.drop(columns="betweenness"), edges)
    ends = found[["src", "dst"]].itertuples(index=False, name=None)
    wanted = [expected.get(pair, expected.get(pair[::-1])) for pair in ends]
    np.testing.assert_allclose(found["betweenness"], np.array(wanted, float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 2])
def test_repeated_edges_share_their_paths_and_longer_ones_have_none(parts):
    frame = pd.DataFrame({"src": [0, 0, 1, 1], "dst": [1, 1, 2, 2], "weight": [1.0, 1.0, 1.0, 5.0]})
    graph = dg.Graph.from_edges(frame, weight="weight", parts=parts)
    plain = betweenness(graph, edges=True, normalized=False).compute().sort_values(["src", "weight"])
    assert plain["betweenness"].tolist() == [1, 1, 1, 1]
    lengths = betweenness(graph, edges=True, normalized=False, weighted=True).compute().sort_values(["src", "weight"])
    assert lengths["betweenness"].tolist() == [1, 1, 2, 0]


def test_workers_find_the_same_edges(client):
    frame = pd.DataFrame(np.random.default_rng(4).integers(0, 25, (60, 2)), columns=["src", "dst"])
    expected = betweenness(dg.Graph.from_edges(frame), edges=True).compute()
    for parts in (1, 2):
        found = betweenness(dg.Graph.from_edges(frame, parts=parts, client=client), edges=True).compute()
        names = ["src", "dst"]
        pd.testing.assert_frame_equal(
            found.sort_values(names, ignore_index=True), expected.sort_values(names, ignore_index=True), rtol=1e-12
        )


def test_counts_of_paths_along_edges_may_be_large():
    """Of 2**1100 paths through a chain of pairs, half use either edge of each pair."""
    steps = np.arange(1100)
    frame = pd.DataFrame({"src": np.repeat(steps, 2), "dst": np.repeat(steps + 1, 2)})
    found = betweenness(dg.Graph.from_edges(frame), sources=[0, 1], edges=True, normalized=False).compute()
    assert np.isfinite(found["betweenness"]).all()
    assert found["betweenness"].iloc[-1] == pytest.approx(0.5 * 1101)  # two sources stand for all


def test_options_of_edges_are_checked():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "betweenness": [1, 2]})
    with pytest.raises(errors.OptionError, match="endpoints=True is about vertices"):
        betweenness(graph, edges=True, endpoints=True)
    with pytest.raises(errors.ColumnError, match="already have a column 'betweenness'"):
        betweenness(graph, edges=True)


@pytest.mark.parametrize("parts", [1, 2])
def test_large_counts_of_paths_do_not_overflow_along_edges(parts):
    steps = np.arange(1020)
    tail = np.arange(1020, 1080)
    frame = {"src": np.concatenate([np.repeat(steps, 2), tail]), "dst": np.concatenate([np.repeat(steps, 2), tail]) + 1}
    graph = dg.Graph.from_edges(frame, parts=parts)
    found = betweenness(graph, sources=[0, 1], edges=True, normalized=False).compute()
    assert found["betweenness"].max() < 1e6
    last = found[found["src"] == 1079]["betweenness"].iloc[0]
    assert last == pytest.approx(1081 / 2 * 2)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_loop_whose_length_vanishes_is_on_no_path(parts):
    frame = {"src": [0, 1, 1], "dst": [1, 1, 2], "w": [1.0, 1e-20, 1.0]}
    graph = dg.Graph.from_edges(frame, weight="w", parts=parts)
    assert betweenness(graph, weighted=True, normalized=False).compute()["betweenness"].tolist() == [0, 1, 0]
    edges = betweenness(graph, weighted=True, normalized=False, edges=True).compute().sort_values(["src", "dst"])
    assert edges["betweenness"].tolist() == [2, 0, 2]
