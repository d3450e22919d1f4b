"""The triad census against NetworkX and brute force, under any policy."""

from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES

import dgraph as dg
from dgraph import errors
from dgraph.measures import triads
from dgraph.measures.triads import NAMES, TriadSums, census_of
from dgraph.native import free_memory
from dgraph.solvers.subgraphs.triads import CODES, IN, MUTUAL, OUT
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")


def peer_of(graph):
    peer = nx.DiGraph()
    peer.add_nodes_from(graph.vertices.compute().iloc[:, 0])
    peer.add_edges_from((u, v) for u, v in graph.edges.compute().iloc[:, :2].itertuples(index=False) if u != v)
    return peer


@settings(max_examples=40)
@given(small_graphs(weights=None, directed=True), st.sampled_from(PLACES))
def test_a_census_is_that_of_networkx(drawn, place):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    assert list(dg.triad_census(graph).items()) == list(nx.triadic_census(peer_of(graph)).items())


@pytest.mark.parametrize("policy", ["outgoing", "incoming"])
def test_a_census_does_not_depend_on_what_ran_before(policy):
    """Partitions may hold the edges by their destinations alone."""
    draws = np.random.default_rng(1).integers(0, 20, (2, 80))
    columns = dict(zip(("src", "dst"), draws, strict=True))
    graph = dg.Graph.from_edges(columns, parts=3, policy=policy)
    graph.partitioned(("incoming",))
    assert dg.triad_census(graph) == dg.triad_census(dg.Graph.from_edges(columns))


@pytest.mark.parametrize("parts", [1, 3, 4])
def test_skewed_graphs_get_new_numbers_by_degree(parts):
    graph = dg.rmat(scale=8, edge_factor=8, seed=1, parts=parts)
    expected = nx.triadic_census(peer_of(graph))
    assert dg.triad_census(graph) == expected and all(expected.values())


def test_every_pattern_of_three_vertices_has_one_type():
    arcs = [(u, v) for u in "abc" for v in "abc" if u != v]
    seen = set()
    for count in range(7):
        for chosen in combinations(arcs, count):
            frame = pd.DataFrame(list(chosen), columns=["src", "dst"], dtype=object if not chosen else str)
            (found,) = (
                name for name, many in dg.triad_census(dg.Graph.from_edges(frame, vertices=[*"abc"])).items() if many
            )
            both = sum((v, u) in chosen for u, v in chosen) // 2
            assert found[:3] == f"{both}{count - 2 * both}{3 - count + both}"
            seen.add(found)
    assert seen == set(NAMES)


def test_workers_count_what_this_process_does(client):
    columns = {
        "src": np.random.default_rng(1).integers(0, 60, 900),
        "dst": np.random.default_rng(2).integers(0, 60, 900),
    }
    expected = dg.triad_census(dg.Graph.from_edges(columns))
    for parts in (1, 3):
        assert dg.triad_census(dg.Graph.from_edges(columns, parts=parts, client=client)) == expected


@pytest.mark.parametrize("vertices", [0, 1, 2, 5])
def test_graphs_without_edges_have_empty_triads(vertices):
    found = dg.triad_census(dg.Graph.from_edges({"src": [], "dst": []}, vertices=vertices))
    assert found == dict.fromkeys(NAMES, 0) | {"003": comb(vertices, 3)}


def test_numbers_beyond_64_bits_are_exact(monkeypatch):
    size = 5_000_000
    kinds = np.zeros((9, 3), np.int64)
    kinds[:4, [MUTUAL, OUT, IN]] = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]  # two joined pairs, apart
    found = census_of(size, *TriadSums.of(np.zeros(CODES, np.int64), kinds))
    single = size - 2
    assert found == dict.fromkeys(NAMES, 0) | {"102": single, "012": single, "003": comb(size, 3) - 2 * single}
    assert found["003"] > 2**63
    monkeypatch.setattr(triads, "SUMMED", 2)
    hubs = TriadSums.of(np.zeros(CODES, np.int64), np.full((3, 3), 2**31 - 1, np.uint32))
    assert set(hubs.pairs.values()) == {3 * (2**31 - 1) ** 2, 3 * comb(2**31 - 1, 2)}


@pytest.mark.parametrize("rules", [{"symmetrize": True}, {"repeats": "min", "loops": "drop"}, {"repeats": "first"}])
@pytest.mark.parametrize("parts", [1, 3])
def test_rules_for_edges_apply_before_the_count(rules, parts):
    draws = np.random.default_rng(5).integers(0, 25, (2, 150))
    columns = dict(zip(("src", "dst"), draws, strict=True)) | {"weight": np.arange(150.0)}
    graph = dg.Graph.from_edges(columns, vertices=28, parts=parts, **rules)
    cleaned = nx.DiGraph()
    cleaned.add_nodes_from(range(28))
    cleaned.add_edges_from((u, v) for u, v in draws.T.tolist() if u != v)
    expected = nx.triadic_census(cleaned.to_undirected().to_directed() if "symmetrize" in rules else cleaned)
    assert dg.triad_census(graph) == expected


def test_undirected_graphs_are_refused():
    with pytest.raises(errors.InputError, match="the graph is undirected: make it with directed=True"):
        dg.triad_census(dg.Graph.from_edges({"src": [0], "dst": [1]}, directed=False))


def test_a_census_without_room_is_refused_by_its_name(monkeypatch):
    graph = dg.rmat(scale=6, seed=1, parts=2)
    assert graph.num_vertices
    monkeypatch.setattr(free_memory, "free_memory", lambda: 1000)
    with pytest.raises(errors.RoomError, match=r"counting triads: a graph of .* need about"):
        dg.triad_census(graph)
