"""Hubs and authorities: solver, engines and partitions against the singular vectors of the adjacency matrix."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.hits import hits
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


def meaning(source, destination, n, iterations, directed):
    """So many iterations, densely."""
    matrix = np.zeros((n, n))
    np.add.at(matrix, (source, destination), 1)
    if not directed:
        matrix += matrix.T - np.diag(np.diag(matrix))
    hub, authority = np.ones(n), np.zeros(n)
    for _ in range(iterations):
        authority = matrix.T @ hub
        authority /= max(authority.sum(), 1e-300)
        hub = matrix @ authority
        hub /= max(hub.sum(), 1e-300)
    return hub, authority


@settings(max_examples=20, deadline=None)
@given(small_graphs(kinds=("dense",), weights=None), st.sampled_from(WAYS), st.integers(1, 12))
def test_iterations_are_those_of_the_definition(drawn, way, iterations):
    """Loops, repeats, isolated vertices, no edges at all."""
    frame, kwargs = drawn
    place, options = way
    found = hits(dg.Graph.from_edges(frame, **kwargs, **place), max_iter=iterations, tol=0, **options).compute()
    number = {vertex: i for i, vertex in enumerate(found["vertex"])}
    source, destination = (frame[end].map(number).to_numpy(dtype=np.int64) for end in ("src", "dst"))
    expected = meaning(source, destination, len(number), iterations, kwargs["directed"])
    for name, values in zip(("hub", "authority"), expected, strict=True):
        np.testing.assert_allclose(found[name], values, rtol=1e-11)
        assert found[name].sum() == pytest.approx(1 if len(frame) else 0)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
@pytest.mark.parametrize("name", ["email-Eu-core", "karate"])
def test_scores_match_networkx(name, way):
    real = real_graph(name)
    graph = real.graph(**way[0])
    result = hits(graph, tol=1e-13, max_iter=2000, **way[1])
    table = result.compute()
    assert list(table) == ["vertex", "hub", "authority"]
    kind = nx.MultiDiGraph if real.directed else nx.MultiGraph
    expected = nx.hits(nx.from_pandas_edgelist(real.frame, "src", "dst", create_using=kind))
    for column, values in zip(("hub", "authority"), expected, strict=True):
        np.testing.assert_allclose(table[column], [values.get(v, 0) for v in table["vertex"]], atol=1e-10)
    verify("hits", graph, result)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
@pytest.mark.parametrize("name", ["openflights", "jazz"])
def test_weighted_scores_match_networkx(name, way):
    real = real_graph(name)
    frame = real.frame.drop_duplicates(["src", "dst"])  # NetworkX keeps one of several edges
    graph = dg.Graph.from_edges(frame, weight="weight", directed=real.directed, **way[0])
    result = hits(graph, tol=1e-13, max_iter=2000, weighted=True, **way[1])
    kind = nx.DiGraph if real.directed else nx.Graph
    peer = nx.from_pandas_edgelist(frame, "src", "dst", edge_attr="weight", create_using=kind)
    table = result.compute()
    for column, values in zip(("hub", "authority"), nx.hits(peer), strict=True):
        np.testing.assert_allclose(table[column], [values[v] for v in table["vertex"]], atol=1e-10)
    verify("hits", graph, result, weighted=True)


@pytest.mark.parametrize("operation", [hits, dg.katz])
@pytest.mark.parametrize(("weight", "words"), [(-1.0, "the weight -1"), (np.inf, "the weight inf")])
def test_weights_that_are_not_finite_and_non_negative_are_refused(operation, weight, words):
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 2], "weight": [1.0, weight]})
    with pytest.raises(errors.WeightError, match=words):
        operation(dg.Graph.from_edges(frame, weight="weight", parts=2), weighted=True)
    with pytest.raises(errors.ColumnError, match="the graph has none"):
        operation(dg.Graph.from_edges(frame[["src", "dst"]]), weighted=True)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
def test_weights_whose_sums_overflow_are_refused(way):
    """No score is 0 because it was divided by infinity."""
    frame = pd.DataFrame({"src": [0, 2, 1], "dst": [1, 1, 3], "weight": [1e160, 1e160, 1.0]})
    large = dg.Graph.from_edges(frame, weight="weight", **way[0])
    with pytest.raises(errors.WeightError, match=r"weights of up to 1e\+160 .* add up to inf.*normalized=False"):
        dg.katz(large, alpha=0.1, weighted=True, **way[1])
    assert dg.katz(large, alpha=0.1, weighted=True, normalized=False, **way[1]).compute()["katz"][1] == pytest.approx(
        2e159
    )
    huge = dg.Graph.from_edges(frame.assign(weight=[1e300, 1e300, 2e300]), weight="weight", **way[0])
    with pytest.raises(errors.WeightError, match=r"weights of up to 2e\+300, .* divide all weights by the largest"):
        hits(huge, weighted=True, **way[1])


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(gather, "GRAIN", 500)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("dgraph.native.threads.cores", lambda threads=threads: threads)
        found.append(hits(dg.rmat(scale=11, edge_factor=8, seed=2), engine="local"))
    for one in found[1:]:
        pd.testing.assert_frame_equal(one.compute(), found[0].compute(), check_exact=True)
        assert (one.rounds, one.totals) == (found[0].rounds, found[0].totals)


@pytest.mark.parametrize(("options", "words"), [({"max_iter": 0}, "max_iter=0"), ({"tol": "small"}, "tol='small'")])
def test_invalid_options_are_refused(options, words):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1]}))
    with pytest.raises(errors.OptionError, match=words):
        hits(graph, **options)


@pytest.mark.parametrize("engine", ["local", "gas"])
def test_unconverged_scores_give_a_warning(engine):
    """Along a line they hardly do."""
    line = dg.Graph.from_edges({"src": range(100), "dst": range(1, 101)}, directed=False)
    with pytest.warns(errors.UnsettledWarning, match=r"max_iter=7 .* tol=1e-08"):
        assert hits(line, max_iter=7, engine=engine).rounds == 14
    assert hits(line, max_iter=7, tol=0, engine=engine).rounds == 14
