"""CDLP: the local solver and the engines against the definition in plain Python, and on real graphs."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import Edges, verify

pytestmark = pytest.mark.usefixtures("several_threads")


def by_the_definition(edges: Edges, max_iter: int) -> list[int]:
    """An arc is a vote each way, an undirected edge too; an undirected self loop is one vote."""
    voters = [[] for _ in range(edges.vertices)]
    for u, v in zip(edges.source.tolist(), edges.destination.tolist(), strict=True):
        voters[v].append(u)
        if u != v or edges.directed:
            voters[u].append(v)
    labels = list(range(edges.vertices))
    for _ in range(max_iter):
        votes = [Counter(labels[u] for u in neighbours) for neighbours in voters]
        labels = [
            min(count, key=lambda label: (-count[label], label)) if count else label
            for count, label in zip(votes, labels, strict=True)
        ]
    return labels


@settings(max_examples=20)
@given(small_graphs(weights=None), st.integers(1, 6), st.integers(1, 2))
def test_the_solver_matches_the_definition(drawn, max_iter, threads):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgraph.native.threads.cores", lambda: threads)
        found = dg.cdlp(graph, max_iter=max_iter, engine="local").by_number("label")
    assert found.tolist() == by_the_definition(Edges.of(graph), max_iter)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_solver_and_engines_agree(monkeypatch, directed, threads):
    monkeypatch.setattr("dgraph.native.threads.cores", lambda: threads)
    options = {"scale": 9, "edge_factor": 4, "directed": directed}
    mine = dg.cdlp(dg.rmat(**options), engine="local", max_iter=7).by_number("label")
    for engine, parts in (("bsp", 1), ("gas", 2), ("bsp", 3)):
        found = dg.cdlp(dg.rmat(**options, parts=parts), engine=engine, max_iter=7)
        assert found.by_number("label").tolist() == mine.tolist()


@pytest.mark.parametrize("name", ["ldbc_example-directed", "openflights", "email-Eu-core", "wave", "twitter"])
def test_labels_of_real_graphs_match_the_references(name):
    real = real_graph(name)
    label = dg.cdlp(real.graph(), engine="local").by_number("label")
    expected = real.expected["cdlp10"]
    if isinstance(real.ids[0], int):
        expected = np.searchsorted(real.ids, expected)
    assert label.tolist() == expected.tolist()


def test_a_skewed_graph_on_two_threads_is_right_and_skips_most_edges(monkeypatch):
    """Hubs count again only when so many neighbours have changed that it matters."""
    monkeypatch.setattr("dgraph.native.threads.cores", lambda: 2)
    graph = dg.rmat(scale=17)
    found = dg.cdlp(graph, engine="local")
    verify("cdlp", graph, found)
    assert found.report["edges"].sum() < 6 * 2 * graph.num_edges  # of ten rounds


def test_it_ends_when_nothing_changes():
    triangle = dg.Graph.from_edges({"src": [1, 2, 3], "dst": [2, 3, 1]})
    found = dg.cdlp(triangle, max_iter=50)
    assert found.rounds < 10
    assert found.by_number("label").tolist() == [0, 0, 0]


@pytest.mark.parametrize("max_iter", [0, -1, 2.5, True])
def test_max_iter_is_checked(max_iter):
    with pytest.raises(errors.OptionError, match="max_iter"):
        dg.cdlp(dg.Graph.from_edges({"src": [1], "dst": [2]}), max_iter=max_iter)
