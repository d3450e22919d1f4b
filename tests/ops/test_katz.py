"""Katz centrality: solver, engines and partitions against the linear system that it solves, NetworkX and cuGraph."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import DATA, real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.katz import katz
from dgraph.solvers.ranks import gather
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")

WAYS = [
    ({}, {"engine": "local"}),
    ({}, {"engine": "bsp"}),
    ({"parts": 2, "policy": "incoming"}, {"engine": "gas"}),
    ({"parts": 3, "policy": "hybrid"}, {"engine": "bsp"}),
]


@settings(max_examples=20, deadline=None)
@given(
    small_graphs(kinds=("dense",), weights=None, max_edges=16),
    st.sampled_from(WAYS),
    st.booleans(),
    st.sampled_from([0, 0.5, 2]),
)
def test_scores_solve_the_linear_system(drawn, way, normalized, beta):
    frame, kwargs = drawn
    place, options = way
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    found = katz(graph, alpha=0.02, beta=beta, normalized=normalized, tol=1e-14, **options).compute()
    n = len(found)
    number = {vertex: i for i, vertex in enumerate(found["vertex"])}
    matrix = np.zeros((n, n))
    np.add.at(matrix, tuple(frame[end].map(number).to_numpy(dtype=np.int64) for end in ("dst", "src")), 1)
    if not kwargs["directed"]:
        matrix += matrix.T - np.diag(np.diag(matrix))
    expected = np.linalg.solve(np.eye(n) - 0.02 * matrix, np.full(n, beta))
    if normalized and beta and n:
        expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(found["katz"], expected, rtol=1e-10)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
@pytest.mark.parametrize("name", ["email-Eu-core", "jazz"])
def test_scores_match_networkx(name, way):
    real = real_graph(name)
    graph = real.graph(**way[0])
    result = katz(graph, alpha=0.002, tol=1e-13, **way[1])
    kind = nx.DiGraph if real.directed else nx.Graph
    peer = nx.from_pandas_edgelist(real.frame, "src", "dst", create_using=kind)
    peer.add_nodes_from(real.ids)
    expected = nx.katz_centrality(peer, alpha=0.002, tol=1e-13)
    found = result.compute()
    np.testing.assert_allclose(found["katz"], [expected[v] for v in found["vertex"]], rtol=1e-9)
    verify("katz", graph, result, alpha=0.002, tol=1e-9)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
def test_weighted_scores_match_networkx(way):
    real = real_graph("jazz")
    graph = real.graph(**way[0])
    result = katz(graph, alpha=2e-4, tol=1e-13, weighted=True, **way[1])
    peer = nx.from_pandas_edgelist(real.frame, "src", "dst", edge_attr="weight")
    expected, found = nx.katz_centrality(peer, alpha=2e-4, tol=1e-13, weight="weight"), result.compute()
    np.testing.assert_allclose(found["katz"], [expected[v] for v in found["vertex"]], rtol=1e-9)
    verify("katz", graph, result, alpha=2e-4, tol=1e-9, weighted=True)
    with pytest.raises(errors.OptionError, match="the largest degree times the largest weight"):
        katz(graph, alpha=1.0, weighted=True, **way[1])


@pytest.mark.parametrize("name", ["karate.csv", "dolphins.csv", "polbooks.csv", "netscience.csv.xz"])
def test_the_top_ten_match_cugraph(name):
    folder = DATA / "cugraph_small"
    if not folder.is_dir():
        pytest.skip(f"shared/data is not here: looked in {DATA}")
    frame = pd.read_csv(folder / name, sep=r"\s+", names=["src", "dst", "weight"])
    expected = [int(line) for line in (folder / f"ref-katz-{name.split('.')[0]}.csv").read_text().split()]
    alpha = 1 / (frame["src"].value_counts().max() + 1)
    found = katz(dg.Graph.from_edges(frame), alpha=alpha, tol=1e-12, max_iter=2000).compute()
    found["katz"] = found["katz"].round(12)  # of equals the smallest comes first
    assert found.sort_values("katz", ascending=False, kind="stable")["vertex"].head(10).tolist() == expected


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(gather, "GRAIN", 500)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("dgraph.native.threads.cores", lambda threads=threads: threads)
        found.append(katz(dg.rmat(scale=11, edge_factor=8, seed=2), alpha=1e-4, engine="local"))
    for one in found[1:]:
        pd.testing.assert_frame_equal(one.compute(), found[0].compute(), check_exact=True)
        assert (one.rounds, one.totals) == (found[0].rounds, found[0].totals)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["email-Eu-core", "jazz", "karate", "facebook_combined"])
def test_the_usual_alpha_converges(name, weighted):
    """It is nine tenths of a bound, which is not far off."""
    real = real_graph(name)
    graph = real.graph(parts=2)
    if weighted and graph.weight is None:
        weighted = False
    result = katz(graph, weighted=weighted)
    largest = dg.eigenvector(graph, weighted=weighted, tol=1e-9, max_iter=2000).totals["eigenvalue"]
    assert 0.4 / largest < result.totals["alpha"] <= 0.9001 / largest
    verify("katz", graph, result, alpha=result.totals["alpha"], weighted=weighted)
    verify("katz", graph, result, weighted=weighted)


def test_the_usual_alpha_of_special_graphs():
    loops = katz(dg.Graph.from_edges({"src": [0, 1], "dst": [0, 1]}))
    assert loops.totals["alpha"] == pytest.approx(0.9)
    for graph in (dg.Graph.from_edges({"src": [], "dst": []}, vertices=3), dg.Graph.from_edges({"src": [], "dst": []})):
        assert katz(graph).totals["alpha"] == 0.1
    freely = katz(dg.rmat(scale=7, parts=2), engine="bulk_async")
    assert freely.totals["alpha"] == pytest.approx(katz(dg.rmat(scale=7)).totals["alpha"])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
def test_an_alpha_that_is_too_large_is_named(way):
    """In a complete graph of 5 the largest eigenvalue is 4, and so is every degree."""
    frame = nx.to_pandas_edgelist(nx.complete_graph(5), "src", "dst")
    graph = dg.Graph.from_edges(frame, directed=False, **way[0])
    assert katz(graph, alpha=0.24, **way[1]).compute()["katz"].tolist() == pytest.approx([5**-0.5] * 5)
    for alpha, rounds in ((0.25, 100), (0.26, 100), (3.0, "[0-9]+")):
        message = rf"alpha={alpha}: .* in {rounds} rounds.* degree .0.25 here. is small enough"
        with pytest.raises(errors.OptionError, match=message):
            katz(graph, alpha=alpha, max_iter=100, **way[1])
    with pytest.raises(errors.OptionError, match=r"alpha=5.0: .* did not converge"):
        katz(graph, alpha=5.0, **way[1])
    with pytest.raises(errors.OptionError, match="larger max_iter"):
        katz(graph, alpha=0.24, max_iter=3, **way[1])
    three = katz(graph, alpha=0.26, max_iter=3, tol=0, normalized=False, **way[1])
    assert three.compute()["katz"].tolist() == pytest.approx([1 + 1.04 + 1.04**2] * 5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -0.1}, "alpha=-0.1"),
        ({"alpha": "x"}, "alpha='x'"),
        ({"beta": None}, "beta=None"),
        ({"beta": float("inf")}, "beta=inf"),
        ({"beta": 1e200}, "beta=1e.200: the squares of the scores add up to inf"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_invalid_options_are_refused(options, words):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1]}))
    with pytest.raises(errors.OptionError, match=words):
        katz(graph, **options)
