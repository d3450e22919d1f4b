"""Eccentricities, diameter and radius against NetworkX."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.eccentricity import eccentricity
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
COMPONENTS = st.sampled_from(["all", "largest"])


def expected_of(peer, components):
    """Eccentricities by NetworkX, which refuses graphs of several components."""
    if components == "largest":
        parts = nx.strongly_connected_components(peer) if peer.is_directed() else nx.connected_components(peer)
        rank = {v: -i for i, v in enumerate(peer)}
        peer = peer.subgraph(max(parts, key=lambda one: (len(one), max(map(rank.get, one)))))
    found = {}
    for v in peer:
        lengths = nx.single_source_shortest_path_length(peer, v)
        found[v] = max(lengths.values()) if len(lengths) == len(peer) else np.inf
    return found


@settings(max_examples=80, deadline=None)
@given(small_graphs(max_edges=60), COMPONENTS, st.integers(1, 3), st.booleans())
def test_values_match_networkx(drawn, components, parts, cycle):
    frame, kwargs = drawn
    frame = frame[["src", "dst"]]
    if cycle and len(frame):  # or few directed graphs would have finite distances
        ends = np.unique(frame)
        around = pd.DataFrame({"src": ends, "dst": np.roll(ends, 1)}).astype(frame.dtypes)
        frame = pd.concat([frame, around])
    graph = dg.Graph.from_edges(frame, **{**kwargs, "parts": parts, "weight": None})
    vertices = dg.degrees(graph).compute()["vertex"]
    peer = (nx.DiGraph if kwargs["directed"] else nx.Graph)()
    peer.add_nodes_from(vertices)
    peer.add_edges_from(zip(frame["src"], frame["dst"], strict=True))
    expected = expected_of(peer, components) if len(vertices) else {}
    result = eccentricity(graph, components=components)
    found = result.compute()
    assert dict(zip(found["vertex"], found["eccentricity"], strict=True)) == expected
    verify("eccentricity", graph, result, components=components)
    if expected:
        assert dg.diameter(graph, components=components) == max(expected.values())
        assert dg.radius(graph, components=components) == min(expected.values())


@settings(max_examples=60, deadline=None)
@given(small_graphs(max_edges=60), COMPONENTS, st.integers(1, 3), st.sampled_from([[0, 1, 5], [0.25, 0.1, 3.7]]))
def test_weights_are_lengths(drawn, components, parts, lengths):
    frame, kwargs = drawn
    frame = frame[["src", "dst"]].assign(km=np.resize(lengths, len(frame)))
    if len(frame):
        ends = np.unique(frame[["src", "dst"]])
        around = pd.DataFrame({"src": ends, "dst": np.roll(ends, 1), "km": 2}).astype(frame.dtypes)
        frame = pd.concat([frame, around])
    graph = dg.Graph.from_edges(frame, **{**kwargs, "parts": parts, "weight": "km"})
    result = eccentricity(graph, components=components, weighted=True)
    verify("eccentricity", graph, result, components=components, weighted=True)


def test_weights_of_one_are_edges():
    grid = dg.grid(rows=9, cols=10, removed=0)
    frame = grid.edges.iloc[:, :2].assign(km=1)
    graph = dg.Graph.from_edges(frame, source="source", destination="destination", weight="km", directed=False)
    pd.testing.assert_frame_equal(eccentricity(graph, weighted=True).compute(), eccentricity(grid).compute())


@pytest.mark.parametrize("weight", [-1.0, np.inf])
def test_weights_that_are_no_lengths_are_refused(weight):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 0], "km": [1.0, weight]}, weight="km")
    with pytest.raises(errors.WeightError, match="weighted eccentricity needs finite weights >= 0"):
        eccentricity(graph, weighted=True)


@pytest.mark.parametrize(("name", "diameter"), [("PGPgiantcompo", 24), ("jazz", 6), ("power", 46)])
def test_real_graphs_need_few_searches(name, diameter):
    graph = real_graph(name).graph()
    assert dg.diameter(graph) == diameter
    result = eccentricity(graph)
    assert result.compute()["eccentricity"].max() == diameter
    assert result.totals["searches"] < graph.num_vertices
    assert dg.radius(graph) == result.compute()["eccentricity"].min()


def test_roads_need_fewer_searches_than_a_thousandth_of_their_vertices():
    roads = real_graph("usroads-48").graph()
    assert dg.diameter(roads, components="largest", max_searches=roads.num_vertices // 1000) == 617


def test_workers_find_what_this_process_does(client):
    frame = pd.DataFrame(np.random.default_rng(4).integers(0, 25, (80, 2)), columns=["src", "dst"])
    for components in ("all", "largest"):
        expected = eccentricity(dg.Graph.from_edges(frame), components=components).compute()
        for parts in (1, 2):
            graph = dg.Graph.from_edges(frame, parts=parts, client=client)
            found = eccentricity(graph, components=components).compute()
            pd.testing.assert_frame_equal(found.sort_values("vertex", ignore_index=True), expected)
            assert dg.diameter(graph, components=components) == expected["eccentricity"].max()
    frame["km"] = np.arange(len(frame)) % 7
    weighted = {"components": "largest", "weighted": True}
    expected = eccentricity(dg.Graph.from_edges(frame, weight="km"), **weighted).compute()
    found = eccentricity(dg.Graph.from_edges(frame, weight="km", parts=2, client=client), **weighted).compute()
    pd.testing.assert_frame_equal(found.sort_values("vertex", ignore_index=True), expected)


def test_a_vertex_that_reaches_all_others_has_an_eccentricity():
    graph = dg.Graph.from_edges({"src": [0, 1, 0, 3], "dst": [1, 2, 3, 0]})
    assert eccentricity(graph).compute()["eccentricity"].tolist() == [2, np.inf, np.inf, 3]
    assert (dg.diameter(graph), dg.radius(graph)) == (np.inf, 2)


def test_bounds_are_told_when_searches_are_limited():
    grid = dg.grid(rows=9, cols=10, removed=0)
    exact = eccentricity(grid).compute()["eccentricity"]
    with pytest.warns(errors.UnsettledWarning, match=r"max_searches=2 did not suffice: \d+ eccentricities are only"):
        result = eccentricity(grid, max_searches=2)
    found = result.compute()
    known = found["eccentricity"].notna()
    assert 0 < known.sum() < len(found) and found["eccentricity"][known].equals(exact[known])
    assert (found["lower"] <= exact).all() and (exact <= found["upper"]).all()
    assert (found["lower"] < found["upper"]).equals(~known)
    with pytest.raises(errors.BoundsError, match="after 1 search, the diameter is only known to be from") as stopped:
        dg.diameter(grid, max_searches=1)
    assert stopped.value.lower <= exact.max() < stopped.value.upper
    every = eccentricity(grid, max_searches=10**6).compute()
    assert every["lower"].equals(exact.rename("lower")) and every["upper"].equals(exact.rename("upper"))


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("directed", [True, False])
def test_graphs_without_edges(parts, directed):
    for vertices, values in ((0, []), (1, [0.0]), (3, [np.inf] * 3)):
        graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=vertices, parts=parts, directed=directed)
        assert eccentricity(graph).compute()["eccentricity"].tolist() == values
        for function in (dg.diameter, dg.radius):
            if vertices:
                assert function(graph) == values[0]
                assert function(graph, components="largest") == 0
            else:
                with pytest.raises(errors.InputError, match="without vertices has no"):
                    function(graph)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"components": "some"}, "components='some'"),
        ({"max_searches": 0}, "max_searches=0"),
        ({"max_searches": 1.5}, "max_searches=1.5"),
    ],
)
@pytest.mark.parametrize("function", [eccentricity, dg.diameter, dg.radius])
def test_options_are_checked(function, options, words):
    with pytest.raises(errors.OptionError, match=words):
        function(dg.Graph.from_edges({"src": [0], "dst": [1]}), **options)


def test_searches_by_weight_have_no_limit():
    graph = dg.Graph.from_edges({"src": [0], "dst": [1], "km": [2.5]}, weight="km")
    with pytest.raises(errors.OptionError, match=r"max_searches=3: bounds .* not available with weighted=True"):
        eccentricity(graph, weighted=True, max_searches=3)
