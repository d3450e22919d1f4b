"""Operations on the bulk-asynchronous engine: the answers of rounds, and errors that name engines where it has none."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from test_pagerank import JUMPS, graph_of

import dgraph as dg
from dgraph.errors import OptionError

FREELY = {"engine": "bulk_async"}
PLACES = [{}, {"parts": 2, "policy": "incoming"}, {"parts": 3, "policy": "hybrid"}, {"parts": 4, "policy": "cartesian"}]
ASKED = [
    {},
    {"weighted": True},
    {"alpha": 0.5, "dangling": "none"},
    {"alpha": 0.0},
    {"alpha": 0.95},
    {"personalization": JUMPS},
    {"personalization": JUMPS, "weighted": True, "dangling": "uniform"},
    {"personalization": JUMPS, "dangling": {5: 2, 6: 1}},
    {"dangling": {5: 2, 6: 1}},
    {"personalization": [JUMPS, {0: 1}]},
]


@pytest.mark.parametrize("turn", range(8))
@pytest.mark.parametrize("directed", [True, False])
def test_ranks_are_as_near_to_the_fixed_point_as_asked(directed, turn):
    place = (
        PLACES[turn] if turn < len(PLACES) else {"parts": turn % 4 + 2}
    )  # where masters send, partitions look at all
    graph, whole = graph_of(directed, **place)[0], graph_of(directed)[0]
    for asked in ASKED[(turn + directed) % 4 :: 4]:
        exact = dg.pagerank(whole, tol=0, max_iter=1000, engine="local", **asked).compute()
        for tol in (1e-2, 1e-7):
            found = dg.pagerank(graph, tol=tol, **asked, **FREELY).compute()
            off = np.abs(np.array((found["pagerank"] - exact["pagerank"]).tolist()))
            assert (off.sum(axis=0) <= tol).all(), (asked, tol, off.sum(axis=0))
            assert found["vertex"].equals(exact["vertex"])


def test_ranks_of_a_leaky_graph_are_within_the_tolerance():
    """Few ranks remain of a star: what is owed counts for more than it seems, and vertices are asked again."""
    star = pd.DataFrame({"src": np.arange(1, 500), "dst": np.where(np.arange(1, 500) % 2, 0, np.arange(1, 500) - 1)})
    graph = dg.Graph.from_edges(star, parts=2)
    exact = dg.pagerank(graph, tol=0, max_iter=200, engine="bsp").compute()["pagerank"]
    for tol in (0.2, 0.03, 1e-3):
        assert np.abs(dg.pagerank(graph, tol=tol, **FREELY).compute()["pagerank"] - exact).sum() <= tol


def test_ranks_of_32_bits_are_within_the_tolerance():
    graph, _ = graph_of(parts=2)
    exact = dg.pagerank(graph, tol=0, max_iter=200, engine="bsp").compute()["pagerank"]
    found = dg.pagerank(graph, dtype="float32", tol=1e-5, **FREELY).compute()["pagerank"]
    assert found.dtype == "float32"
    assert np.abs(found - exact).sum() <= 1e-5


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.get('parts', 1)}")
def test_katz_and_k_core_match_networkx(place):
    graph, peer = graph_of(**place)
    found = dg.katz(graph, alpha=0.05, tol=1e-13, **FREELY).compute()
    expected = nx.katz_centrality(peer, alpha=0.05, tol=1e-13)
    np.testing.assert_allclose(found["katz"], [expected[v] for v in found["vertex"]], rtol=1e-9)
    peer = peer.to_undirected()
    peer.remove_edges_from(list(nx.selfloop_edges(peer)))
    for k in (2, 5, 7):
        result = dg.k_core(graph, k, **FREELY)
        assert set(result.compute().query("in_core")["vertex"]) == set(nx.k_core(peer, k))


def test_katz_that_does_not_converge_is_an_error():
    for alpha in (0.5, 1e200):
        with pytest.raises(OptionError, match="did not converge"):
            dg.katz(graph_of(parts=2)[0], alpha=alpha, max_iter=50, **FREELY)


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: dg.pagerank(graph, tol=0, **FREELY),
        lambda graph: dg.pagerank(graph, alpha=1, **FREELY),
        lambda graph: dg.katz(graph, tol=None, **FREELY),
        lambda graph: dg.k_core(graph, **FREELY),
        lambda graph: dg.core_number(graph, **FREELY),
        lambda graph: dg.cdlp(graph, **FREELY),
        lambda graph: dg.label_propagation(graph, **FREELY),
        lambda graph: dg.hits(graph, **FREELY),
        lambda graph: dg.degrees(graph, **FREELY),
        lambda graph: dg.bfs(graph, 3, target=4, **FREELY),
        lambda graph: dg.sssp(graph, 3, target=4, **FREELY),
    ],
)
def test_options_that_need_rounds_name_the_engines_that_have_them(call):
    graph, _ = graph_of(parts=2)
    refusal = r"engine='bulk_async' (is not available here: .*|cannot run .*); choose one of bsp, gas"
    with pytest.raises(OptionError, match=refusal):
        call(graph)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_graph_without_vertices_has_no_ranks(parts, weighted):
    none = pd.DataFrame({"src": [], "dst": [], "weight": []}).astype({"src": int, "dst": int})
    graph = dg.Graph.from_edges(none, weight="weight", parts=parts)
    assert dg.pagerank(graph, weighted=weighted, **FREELY).compute()["pagerank"].tolist() == []


@pytest.mark.parametrize("asked", ASKED)
def test_ranks_by_block_are_near_the_fixed_point_and_sum_to_one(asked):
    """Newest values that are read at once lose what vertices without out-edges hold, unless it is made up for."""
    graph, _ = graph_of()
    exact = dg.pagerank(graph, tol=0, max_iter=1000, engine="local", **asked).compute()["pagerank"]
    found = dg.pagerank(graph, tol=1e-4, engine="block_descent", **asked).compute()["pagerank"]
    exact, found = np.array(exact.tolist()), np.array(found.tolist())
    # what each vertex may change by in the last round, and alpha / (1 - alpha) of that thereafter; twice where divided
    alpha = asked.get("alpha", 0.85)
    assert np.abs(found - exact).sum(axis=0).max() <= 2e-4 * len(exact) * alpha / (1 - alpha) + 1e-12
    if asked.get("dangling") != "none":
        np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize("parts", [1, 3])
def test_weighted_katz_by_block_pulls_and_refuses_to_push(parts):
    graph, options = graph_of(parts=parts)[0], {"alpha": 0.05, "tol": 1e-12, "weighted": True}
    with pytest.raises(OptionError, match='operator="push" works only for unweighted scores'):
        dg.katz(graph, engine=dg.BlockDescent(operator="push"), **options)
    by_block = dg.katz(graph, engine="block_descent", **options).compute()["katz"]
    np.testing.assert_allclose(by_block, dg.katz(graph, engine="bsp", **options).compute()["katz"], rtol=1e-9)


def test_block_descent_refuses_alpha_1():
    with pytest.raises(OptionError, match=r"with alpha=1 .* choose one of bsp, gas"):
        dg.pagerank(graph_of()[0], alpha=1, engine="block_descent")
