"""Eigenvector centrality: engines and partitions against NumPy's eigenvectors and NetworkX."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.eigenvector import eigenvector
from dgraph.testing.verify import verify

WAYS = [
    ({}, {}),
    ({}, {"engine": "bsp"}),
    ({"parts": 2, "policy": "incoming"}, {"engine": "gas"}),
    ({"parts": 3, "policy": "hybrid"}, {"engine": "bsp"}),
]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.integers(0, 9), st.integers(0, 99), st.booleans(), st.booleans(), st.sampled_from(WAYS))
def test_scores_are_the_eigenvector_of_the_largest_eigenvalue(size, more, seed, directed, weighted, way):
    """On a cycle with chords, repeats and loops, which is strongly connected."""
    random = np.random.default_rng(seed)
    ends = np.vstack(
        [np.stack([np.arange(size), (np.arange(size) + 1) % size], 1), random.integers(0, size, (more, 2))]
    )
    frame = pd.DataFrame(ends, columns=["src", "dst"]).assign(weight=random.integers(1, 5, len(ends)))
    matrix = np.zeros((size, size))
    np.add.at(matrix, (ends[:, 1], ends[:, 0]), frame["weight"] if weighted else 1)
    if not directed:
        matrix += matrix.T - np.diag(np.diag(matrix))
    place, options = way
    graph = dg.Graph.from_edges(frame, directed=directed, **place)
    for direction, rows in (("in", matrix), ("out", matrix.T)):
        result = eigenvector(graph, direction=direction, weighted=weighted, tol=1e-13, max_iter=100_000, **options)
        values, vectors = np.linalg.eig(rows)
        largest = values.real.argmax()
        expected = np.abs(vectors[:, largest].real)
        np.testing.assert_allclose(result.compute()["eigenvector"], expected / np.linalg.norm(expected), atol=1e-8)
        assert result.totals["eigenvalue"] == pytest.approx(values[largest].real, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1].get('engine')}")
@pytest.mark.parametrize("name", ["email-Eu-core", "jazz"])
def test_scores_match_networkx(name, way):
    real = real_graph(name)
    result = eigenvector(real.graph(**way[0]), tol=1e-12, max_iter=1000, **way[1])
    kind = nx.DiGraph if real.directed else nx.Graph
    peer = nx.from_pandas_edgelist(real.frame, "src", "dst", create_using=kind)
    peer.add_nodes_from(real.ids)
    expected, found = nx.eigenvector_centrality(peer, tol=1e-14, max_iter=10_000), result.compute()
    np.testing.assert_allclose(found["eigenvector"], [expected[v] for v in found["vertex"]], rtol=1e-6, atol=1e-12)
    verify("eigenvector", real.graph(), result, tol=1e-9)


def test_bipartite_graphs_converge():
    """Where iteration on A alone would go back and forth."""
    found = eigenvector(dg.Graph.from_edges({"src": [0, 0, 0], "dst": [1, 2, 3]}, directed=False), tol=1e-12)
    assert found.compute()["eigenvector"].tolist() == pytest.approx([0.5**0.5] + [6**-0.5] * 3)
    assert found.totals["eigenvalue"] == pytest.approx(3**0.5)


@pytest.mark.parametrize("unit", [1e-7, 1e-4, 1, 1e6])
@pytest.mark.parametrize("leaves", [3, 20_000])
def test_the_unit_of_the_weights_does_not_matter(unit, leaves):
    star = pd.DataFrame({"src": 0, "dst": np.arange(1, leaves + 1), "weight": unit})
    result = eigenvector(dg.Graph.from_edges(star, directed=False), weighted=True)
    found = result.compute()["eigenvector"]
    assert found[0] == pytest.approx(0.5**0.5, rel=1e-3) and found[1] == pytest.approx((2 * leaves) ** -0.5, rel=1e-3)
    assert result.totals["eigenvalue"] == pytest.approx(unit * leaves**0.5, rel=1e-3)


def test_without_edges_all_scores_are_equal():
    found = eigenvector(dg.Graph.from_edges({"src": [], "dst": []}, vertices=4))
    assert found.compute()["eigenvector"].tolist() == [0.5] * 4 and found.totals["eigenvalue"] == 0
    assert len(eigenvector(dg.Graph.from_edges({"src": [], "dst": []})).compute()) == 0


def test_scores_that_have_not_converged_are_told():
    graph = dg.Graph.from_edges(nx.to_pandas_edgelist(nx.path_graph(60), "src", "dst"), directed=False)
    with pytest.warns(errors.UnsettledWarning, match="had not converged after max_iter=5 iterations"):
        assert eigenvector(graph, max_iter=5, tol=1e-9).rounds == 5
    assert eigenvector(graph, max_iter=5, tol=0).rounds == 5


def test_weights_whose_squares_are_too_large_are_refused():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 0], "weight": [1e200, 1e200]})
    with pytest.raises(errors.WeightError, match="divide all weights by the largest, which does not change the result"):
        eigenvector(graph, weighted=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"direction": "both"}, "direction='both'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1}, "tol=-1"),
        ({"weighted": 1}, "weighted=1"),
        ({"engine": "bulk_async"}, "bulk_async"),
    ],
)
def test_invalid_options_are_refused(options, words):
    with pytest.raises(errors.OptionError, match=words):
        eigenvector(dg.Graph.from_edges({"src": [0], "dst": [1]}), **options)


def test_names_of_other_libraries_lead_here():
    with pytest.raises(AttributeError, match="did you mean eigenvector"):
        dg.eigenvector_centrality  # noqa: B018
