"""Trusses against NetworkX and against their definition, under any policy, and as frames of the user's edges."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, real_graph

import dgraph as dg
from dgraph.errors import ColumnError, OptionError
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")


def simple(frame):
    """NetworkX's graph of the edges, without directions, loops and repeats."""
    graph = nx.Graph()
    graph.add_edges_from((u, v) for u, v in frame.iloc[:, :2].itertuples(index=False) if u != v)
    return graph


def numbers_of(graph):
    """The truss number of each edge of a NetworkX graph, by removing edges one by one."""
    left, numbers, k = graph.copy(), {}, 2
    while left.number_of_edges():
        weak = [(u, v) for u, v in left.edges if len(set(left[u]) & set(left[v])) < k - 1]
        if not weak:
            k += 1
        for u, v in weak[:1]:
            numbers[frozenset((u, v))] = k
            left.remove_edge(u, v)
    return numbers


@settings(max_examples=60)
@given(small_graphs(), st.sampled_from(PLACES))
def test_truss_numbers_are_those_of_the_definition(drawn, place):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    edges = graph.edges.compute()
    expected = numbers_of(simple(edges))
    found = dg.truss_number(graph).compute()
    pd.testing.assert_frame_equal(found.drop(columns="truss_number"), edges)
    wanted = [expected.get(frozenset(ends), 2) for ends in edges.iloc[:, :2].itertuples(index=False)]
    assert found["truss_number"].tolist() == wanted
    for k in range(2, max(wanted, default=2) + 2):
        chosen = edges[np.array(wanted, int) >= k].reset_index(drop=True)
        truss = dg.k_truss(graph, k).compute().reset_index(drop=True)
        pd.testing.assert_frame_equal(truss, chosen, check_dtype=len(chosen) > 0)


@pytest.mark.parametrize("k", [3, 4, 5, 7, 30])
@pytest.mark.parametrize("parts", [1, 3])
def test_trusses_of_a_larger_graph_are_those_of_networkx(k, parts):
    graph = dg.rmat(scale=10, edge_factor=16, seed=1, directed=False, parts=parts)
    expected = {frozenset(ends) for ends in nx.k_truss(simple(graph.edges.compute()), k).edges}
    found = dg.k_truss(graph, k).compute().iloc[:, :2]
    assert {frozenset(ends) for ends in found.itertuples(index=False)} == expected
    by_number = dg.truss_number(graph).compute()
    assert {frozenset(ends[:2]) for ends in by_number.itertuples(index=False) if ends[-1] >= k} == expected


def test_a_tube_of_triangles_is_peeled_ring_by_ring_from_its_ends():
    """Every edge is in two triangles but those of the ends, so that each removal makes the next few."""
    ring, next_to = np.divmod(np.arange(4 * 1000), 4), [1, 2, 3, 0]
    here, beside, above = (
        4 * (ring[0] + up) + column for up, column in ((0, ring[1]), (0, np.take(next_to, ring[1])), (1, ring[1]))
    )
    sources = np.concatenate([here, here, here])
    frame = pd.DataFrame({"src": sources, "dst": np.concatenate([beside, above, beside + 4])})
    graph = dg.Graph.from_edges(frame, directed=False)
    assert len(dg.k_truss(graph, 4).compute()) == 0
    assert len(dg.k_truss(graph, 3).compute()) == len(frame)
    assert dg.truss_number(graph).compute()["truss_number"].max() == 3


def test_trusses_keep_the_users_ids_columns_and_repeated_edges():
    frame = pd.DataFrame(
        {
            "from": ["a", "b", "c", "a", "c", "b"],
            "to": ["b", "c", "a", "a", "d", "a"],
            "note": ["one", "two", "three", "loop", "tail", "again"],
        }
    )
    graph = dg.Graph.from_edges(frame, source="from", destination="to", parts=2)
    found = dg.k_truss(graph, 3).compute()
    assert sorted(found["note"]) == ["again", "one", "three", "two"]
    numbers = dg.truss_number(graph).compute().set_index("note")["truss_number"]
    assert numbers.to_dict() == {"one": 3, "two": 3, "three": 3, "again": 3, "loop": 2, "tail": 2}
    again = dg.Graph.from_edges(dg.k_truss(graph, 3), source="from", destination="to")
    assert again.num_vertices == 3


def test_graphs_without_edges_have_empty_trusses():
    graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=[1, 2])
    assert len(dg.k_truss(graph, 3).compute()) == 0
    assert dg.truss_number(graph).compute().columns.tolist() == ["src", "dst", "truss_number"]


@pytest.mark.parametrize("k", [2**31, 2**63, 2**70])
def test_a_truss_of_many_triangles_is_empty(k):
    for graph in (dg.grid(rows=2, cols=2), dg.Graph.from_edges({"src": [], "dst": []})):
        assert len(dg.k_truss(graph, k).compute()) == 0


@pytest.mark.parametrize("k", [1, 0, 2.5, "3", True, None])
def test_an_invalid_k_is_refused(k):
    with pytest.raises(OptionError, match="k="):
        dg.k_truss(dg.grid(rows=2, cols=2), k)


def test_an_existing_truss_number_column_is_refused():
    graph = dg.Graph.from_edges({"src": [0], "dst": [1], "truss_number": [3]})
    with pytest.raises(ColumnError, match="already have a column 'truss_number'"):
        dg.truss_number(graph)


def test_a_truss_of_a_real_graph_has_the_size_that_networkx_finds():
    graph = real_graph("polblogs").graph(parts=2)
    expected = nx.k_truss(simple(graph.edges.compute()), 10).number_of_edges()
    assert len(dg.k_truss(graph, 10).compute()) == expected > 0


def test_trusses_on_a_cluster_equal_those_in_process(client):
    graph = dg.rmat(scale=9, edge_factor=8, seed=1, client=client)
    alone = dg.rmat(scale=9, edge_factor=8, seed=1)
    frames = [dg.truss_number(one).compute() for one in (graph, alone)]
    frames = [one.sort_values(one.columns.tolist()).reset_index(drop=True) for one in frames]
    pd.testing.assert_frame_equal(*frames)
    assert len(dg.k_truss(graph, 5).compute()) == (frames[0]["truss_number"] >= 5).sum() > 0
