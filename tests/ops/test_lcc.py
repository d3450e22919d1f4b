"""Local clustering against its definition, NetworkX, the references, and the outputs that LDBC Graphalytics gives."""

import lzma

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, SMALL, real_graph

import dgraph as dg
from dgraph.ops.lcc import lcc
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")


def by_definition(vertices, arcs: set) -> list[float]:
    near = {v: {a for a, b in arcs if b == v} | {b for a, b in arcs if a == v} for v in vertices}
    found = []
    for v in vertices:
        among = sum((a, b) in arcs for a in near[v] for b in near[v])
        found.append(among / (len(near[v]) * (len(near[v]) - 1)) if len(near[v]) > 1 else 0.0)
    return found


@settings(max_examples=20)
@given(small_graphs(weights=None), st.sampled_from(PLACES))
def test_lcc_matches_its_definition(drawn, place):
    frame, kwargs = drawn
    table = lcc(dg.Graph.from_edges(frame, **kwargs, **place)).compute()
    arcs = {(u, v) for u, v in zip(frame["src"], frame["dst"], strict=True) if u != v}
    if not kwargs["directed"]:
        arcs |= {(v, u) for u, v in arcs}
    np.testing.assert_allclose(table["lcc"], by_definition(list(table["vertex"]), arcs), rtol=1e-15)


def test_undirected_coefficients_match_networkx():
    peer = nx.gnp_random_graph(80, 0.15, seed=4)
    frame = nx.to_pandas_edgelist(peer, "src", "dst")
    for place in PLACES:
        table = lcc(dg.Graph.from_edges(frame, directed=False, vertices=80, **place)).compute()
        expected = nx.clustering(peer)
        np.testing.assert_allclose(table["lcc"], [expected[v] for v in table["vertex"]], rtol=1e-15)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("directed", [True, False])
def test_coefficients_of_skewed_graphs_are_verified(directed, place):
    """Where vertices get new numbers by degree."""
    graph = dg.rmat(scale=10, directed=directed, **place)
    verify("lcc", graph, lcc(graph))


def test_two_threads_find_all_coefficients():
    graph = dg.rmat(scale=15)
    verify("lcc", graph, lcc(graph))


@pytest.mark.parametrize("name", SMALL)
def test_coefficients_of_real_graphs_match_the_references(name):
    real = real_graph(name)
    found = lcc(real.graph(**PLACES[SMALL.index(name) % len(PLACES)])).compute()["lcc"]
    degree = real.expected["deg"].astype(float)
    arcs = real.expected["nbr_arcs"] if real.directed else 2 * real.expected["tri"]
    expected = np.divide(arcs, degree * (degree - 1), out=np.zeros(real.n), where=degree > 1)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("ldbc_example-directed", "ldbc_example/example-directed-LCC"),
        ("ldbc_example-undirected", "ldbc_example/example-undirected-LCC"),
        ("p2p-31", "p2p-31/p2p-31-LCC.xz"),
    ],
)
@pytest.mark.parametrize("place", PLACES[:3], ids=str)
def test_coefficients_match_the_graphalytics_outputs(data, name, output, place):
    with (lzma.open if output.endswith(".xz") else open)(data / output, "rt") as lines:
        expected = pd.read_csv(lines, sep=" ", names=["vertex", "lcc"]).sort_values("vertex")
    found = lcc(real_graph(name).graph(**place)).compute()
    assert found["vertex"].tolist() == expected["vertex"].tolist()
    np.testing.assert_allclose(found["lcc"], expected["lcc"], atol=1e-12)


def test_coefficients_on_a_cluster_equal_those_in_process(client):
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 40, (300, 2)), columns=["src", "dst"])
    expected = lcc(dg.Graph.from_edges(frame)).compute()
    for parts in (1, 4):
        found = lcc(dg.Graph.from_edges(frame, parts=parts, client=client)).compute()
        pd.testing.assert_frame_equal(found, expected)
