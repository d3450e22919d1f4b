"""Core numbers and k-cores against NetworkX and the references; by solver and in rounds."""

import gc
import weakref
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import SMALL, real_graph

import dgraph as dg
from dgraph.native import team
from dgraph.ops.k_core import core_number, k_core, simple_graph
from dgraph.solvers.subgraphs import cores
from dgraph.solvers.subgraphs.neighbours import is_simple
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")

WAYS = [
    ({}, {}),
    ({}, {"engine": "bsp"}),
    ({"parts": 2, "policy": "outgoing"}, {}),
    ({"parts": 3, "policy": "hybrid"}, {"engine": "bsp"}),
    ({"parts": 8, "policy": "cartesian"}, {}),
]


def peer_of(frame: pd.DataFrame, vertices) -> nx.Graph:
    peer = nx.Graph([(u, v) for u, v in zip(frame["src"], frame["dst"], strict=True) if u != v])
    peer.add_nodes_from(vertices)
    return peer


@settings(max_examples=20)
@given(small_graphs(weights=None), st.sampled_from(WAYS))
def test_core_numbers_match_networkx(drawn, way):
    frame, kwargs = drawn
    place, options = way
    table = core_number(dg.Graph.from_edges(frame, **kwargs, **place), **options).compute()
    expected = nx.core_number(peer_of(frame, table["vertex"])) if len(table) else {}
    assert dict(zip(table["vertex"], table["core"], strict=True)) == expected


@settings(max_examples=20)
@given(small_graphs(weights=None), st.sampled_from([0, 1, 50]))
def test_peeling_without_a_copy_of_the_edges_gives_the_same_cores(drawn, k):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs)
    expected = [core_number(graph).compute(), k_core(graph, k).compute()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cores, "has_room", lambda size: False)
        found = [core_number(graph).compute(), k_core(graph, k).compute()]
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(one, other)


@settings(max_examples=20)
@given(small_graphs(weights=None), st.sampled_from(WAYS), st.sampled_from([None, 0, 1, 2, 3, 50]))
def test_k_cores_match_networkx(drawn, way, k):
    frame, kwargs = drawn
    place, options = way
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    whole, left = k_core(graph, k, **options).compute(), k_core(graph, k, remove=True, **options)
    peer = peer_of(frame, whole["vertex"])
    expected = set(nx.k_core(peer, k)) if len(peer) else set()
    assert set(whole["vertex"][whole["in_core"]]) == expected
    assert left.compute()["vertex"].tolist() == [v for v in whole["vertex"] if v in expected]
    assert left.compute()["in_core"].all()
    assert set(left.frame.compute()["vertex"]) == expected


@pytest.mark.parametrize("directed", [True, False])
def test_two_threads_find_all_core_numbers(directed):
    graph = dg.rmat(scale=16, directed=directed)
    verify("core_number", graph, core_number(graph, engine="local"))
    verify("k_core", graph, k_core(graph, 20, engine="local"), k=20)


@pytest.mark.parametrize("name", SMALL)
def test_core_numbers_of_real_graphs_match_the_references(name):
    real = real_graph(name)
    place, options = WAYS[SMALL.index(name) % len(WAYS)]
    found = core_number(real.graph(**place), **options).compute()["core"]
    assert found.tolist() == real.expected["core"].tolist()


def test_cores_on_a_cluster_equal_those_in_process(client):
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 40, (300, 2)), columns=["src", "dst"])
    expected = [op(dg.Graph.from_edges(frame)).compute() for op in (core_number, k_core)]
    for parts in (1, 3):
        graph = dg.Graph.from_edges(frame, parts=parts, client=client)
        for op, table in zip((core_number, k_core), expected, strict=True):
            pd.testing.assert_frame_equal(op(graph).compute(), table)
        assert len(k_core(graph, remove=True).frame.compute(scheduler=client)) == expected[1]["in_core"].sum()


def test_a_cached_simple_graph_lives_as_long_as_its_graph():
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 2]}), parts=2)
    made = weakref.ref(simple_graph(graph))
    core_number(graph)
    gc.collect()
    assert made() is simple_graph(graph)
    del graph
    gc.collect()
    assert made() is None


def test_solvers_need_no_simple_graph():
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 2]}))
    assert core_number(graph).report.options["engine"] == "local"
    assert core_number(graph).compute()["core"].tolist() == [2, 2, 2]


@given(small_graphs(weights=None))
def test_rows_without_loops_and_repeats_are_recognized(drawn):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **{**kwargs, "directed": False})
    rows = graph.partitioned().held[0].out
    listed = [rows.neighbours[a:b].tolist() for a, b in pairwise(rows.indptr)]
    simple = all(u not in row and len(set(row)) == len(row) for u, row in enumerate(listed))
    assert [is_simple(rows, 2), is_simple(rows, 2)] == [simple, simple]
    for repeats in ("keep", "first"):
        graph = dg.Graph.from_edges(frame, **{**kwargs, "directed": False, "repeats": repeats, "loops": "drop"})
        verify("core_number", graph, core_number(graph))


@pytest.mark.parametrize("last", [(1, 2), (9_000, 9_000)])
def test_one_repeat_or_loop_in_the_last_row_is_found(last):
    """Rows that do not ascend: all, but for one edge, are simple."""
    order = np.random.default_rng(1).permutation(9_000)
    edges = [*zip(order[:-1].tolist(), order[1:].tolist(), strict=True), (1, 2), last]
    graph = dg.Graph.from_edges(pd.DataFrame(edges, columns=["src", "dst"]), directed=False)
    assert not is_simple(graph.partitioned().held[0].out, 2)
    assert is_simple(dg.Graph.from_edges(pd.DataFrame(edges[:-1], columns=["src", "dst"]), directed=False)
                     .partitioned().held[0].out, 2)  # fmt: skip
    verify("core_number", graph, core_number(graph))


def test_empty_levels_are_skipped(monkeypatch):
    """Threads meet as often as there are levels, not cores."""
    signals = np.zeros(32, np.int64)
    monkeypatch.setattr(team, "signals_here", lambda: signals)
    left, right = np.divmod(np.arange(90_000), 300)
    graph = dg.Graph.from_edges(pd.DataFrame({"src": left, "dst": 300 + right}), directed=False)
    assert (core_number(graph).compute()["core"] == 300).all()
    assert signals[team.ROUND] < 50
    verify("core_number", graph, core_number(graph))
