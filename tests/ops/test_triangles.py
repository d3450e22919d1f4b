"""Triangles against other counts: NetworkX, products of sparse matrices, references; wherever the graph is."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, SMALL, real_graph
from scipy.sparse import csr_array

import dgraph as dg
from dgraph import errors
from dgraph.ops.triangles import triangles
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.solvers.subgraphs.triangles import are_short, of_short_rows
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")


def simple_matrix(source, destination, n: int) -> csr_array:
    keep = np.asarray(source) != np.asarray(destination)
    ends = np.asarray(source)[keep], np.asarray(destination)[keep]
    once = csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    return ((once + once.T) != 0).astype(np.int64).tocsr()


def through_each(matrix: csr_array) -> np.ndarray:
    """Paths of two edges that an edge closes, from each vertex; every triangle is walked both ways round."""
    return (matrix @ matrix).multiply(matrix).sum(axis=1) // 2


@settings(max_examples=20)
@given(small_graphs(weights=None), st.sampled_from(PLACES))
def test_triangles_match_networkx(drawn, place):
    frame, kwargs = drawn
    found = triangles(dg.Graph.from_edges(frame, **kwargs, **place))
    peer = nx.Graph([(u, v) for u, v in zip(frame["src"], frame["dst"], strict=True) if u != v])
    table = found.compute()
    expected = [nx.triangles(peer, v) if v in peer else 0 for v in table["vertex"]]
    assert table["triangles"].tolist() == expected
    assert found.totals["triangles"] * 3 == sum(expected)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("directed", [True, False])
def test_triangles_of_skewed_graphs_match_matrix_products(directed, place):
    """Where vertices get new numbers by degree."""
    graph = dg.rmat(scale=9, directed=directed, **place)
    edges = graph.edges.compute()
    expected = through_each(simple_matrix(edges["source"], edges["destination"], graph.num_vertices))
    result = triangles(graph)
    assert result.by_number("triangles").tolist() == expected.tolist()
    assert len(result.report) == result.report.options.get("blocks", 1)
    assert result.frame.compute().sort_values("vertex")["triangles"].tolist() == expected.tolist()


def test_two_threads_find_all_triangles():
    graph = dg.rmat(scale=16, edge_factor=8, directed=False)
    verify("triangles", graph, triangles(graph))


def test_two_threads_count_triangles_in_short_rows():
    """Triangles side by side in a strip, with repeats, loops and vertices in any order."""
    n = 200_000
    u = np.arange(n)
    source, destination = (
        np.concatenate([u[:-1], u[:-2], u[::5], u[:-2:3]]),
        np.concatenate([u[1:], u[2:], u[::5], u[2::3]]),
    )
    numbers = np.random.default_rng(2).permutation(n).astype(np.uint32)
    ends = numbers[source], numbers[destination]
    other_way = ends[0] != ends[1]
    table = build([EdgeSlice(*ends), EdgeSlice(ends[1][other_way], ends[0][other_way])], n)
    assert are_short(table)
    expected = np.full(n, 3)
    expected[[0, -1]], expected[[1, -2]] = 1, 2
    for threads in (1, 2, 3):
        triangles, degree, read = of_short_rows(table, threads, degrees=True)
        assert read > table.num_edges
        assert triangles[numbers].tolist() == expected.tolist()
        assert degree[numbers].tolist() == np.minimum(np.minimum(u, u[::-1]) + 2, 4).tolist()


@pytest.mark.parametrize("parts", [1, 3])
def test_the_report_counts_each_look_at_an_edge(parts):
    """In a complete graph, once for each triangle, after the neighbours were listed."""
    n = 40
    low, high = np.triu_indices(n, 1)
    result = triangles(dg.Graph.from_edges({"src": low, "dst": high}, directed=False, parts=parts))
    listed = n * (n - 1) if parts == 1 else n * (n - 1) // 2
    assert result.report["edges"].sum() == listed + n * (n - 1) * (n - 2) // 6


@pytest.mark.parametrize("name", SMALL)
def test_triangles_of_real_graphs_match_the_references(name):
    real = real_graph(name)
    result = triangles(real.graph(**PLACES[SMALL.index(name) % len(PLACES)]))
    assert result.compute()["triangles"].tolist() == real.expected["tri"].tolist()


def test_triangles_on_a_cluster_equal_those_in_process(client):
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 40, (300, 2)), columns=["src", "dst"])
    expected = triangles(dg.Graph.from_edges(frame)).compute()
    for parts in (1, 3):
        result = triangles(dg.Graph.from_edges(frame, parts=parts, client=client))
        pd.testing.assert_frame_equal(result.compute(), expected)
        assert result.totals["triangles"] == expected["triangles"].sum() // 3


def test_graphs_without_vertices_or_edges_have_no_triangles():
    empty = pd.DataFrame({"src": [], "dst": []}, dtype="int64")
    for place in PLACES:
        assert triangles(dg.Graph.from_edges(empty, **place)).totals == {"triangles": 0}
        alone = triangles(dg.Graph.from_edges(empty, vertices=3, **place))
        assert alone.compute()["triangles"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "gas"}, "no vertex program runs"),
        ({"engine": dg.Gas(max_rounds=3)}, r"engine=dg.Gas\(max_rounds=3\) .*no vertex program runs"),
        ({"engine": "local"}, 'choose "auto"'),
        ({"device": "toaster"}, "'toaster'"),
        ({"max_rounds": 3}, "max_rounds=3: triangles has no such option"),
    ],
)
def test_options_are_checked(options, words):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [1], "dst": [2]}), parts=2)
    with pytest.raises(errors.OptionError, match=words):
        triangles(graph, **options)
