"""Rounds that concern one partition each need no exchange, and nothing else is different: answers, rounds, rows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import PROGRAMS, SEED, check, graph_for
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.engines import rounds
from dgraph.options import DEFAULT_CACHE
from dgraph.tables.border_distances import MOST_HOPS, quiet_rounds
from dgraph.tables.edge_tables import EdgeTables

STEPS = dg.Gas(local_rounds=1)
SKIPPING = [dg.Optimizations(skip_exchange=on) for on in (True, False)]
vertex = st.integers(0, 29)


@pytest.fixture
def at_once(monkeypatch):
    """Look ahead from the first round, so that small graphs have something to skip."""
    monkeypatch.setattr(rounds, "PATIENCE", 1)


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_hops_lead_to_the_nearest_vertex_with_a_proxy(parts):
    graph = dg.grid(rows=9, cols=9, removed=0, parts=parts)
    for one in graph.partitioned(("out", "incoming")).held:
        n, out = one.num_owned, one.out
        known = np.zeros(n, bool)
        for copied in one.proxies.masters.values():
            known[copied] = True
        for row in range(n):
            known[row] |= (out.neighbours[out.indptr[row] : out.indptr[row + 1]] >= n).any()
        expected = np.where(known, 0, MOST_HOPS)
        for _ in range(n):  # relax until nothing changes
            for row in range(n):
                near = [u for u in out.neighbours[out.indptr[row] : out.indptr[row + 1]] if u < n]
                expected[row] = min([expected[row], *(expected[u] + 1 for u in near)])
        tables = EdgeTables(one, False, {}, 1)
        found = [quiet_rounds(tables, "out", np.array([row], np.uint32)) for row in range(n)]
        assert found == np.minimum(expected, MOST_HOPS).tolist()


@given(
    st.lists(st.tuples(vertex, vertex), min_size=1, max_size=60),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from([dg.Gas, dg.Bsp]),
)
def test_skipping_exchanges_changes_nothing_else(edges, parts, directed, engine):
    frame = pd.DataFrame(edges, columns=["src", "dst"])
    graph = dg.Graph.from_edges(frame, vertices=30, parts=parts, directed=directed)
    before, rounds.PATIENCE = rounds.PATIENCE, 1
    try:
        for run in (lambda **how: dg.bfs(graph, 0, **how), lambda **how: dg.wcc(graph, **how)):
            some, all_of_them = (run(engine=engine(local_rounds=1, optimizations=how)) for how in SKIPPING)
            pd.testing.assert_frame_equal(some.compute(), all_of_them.compute())
            assert some.rounds == all_of_them.rounds
            for name in ("superstep", "fired"):
                assert some.report[name].tolist() == all_of_them.report[name].tolist()
            assert some.report["exchanges"].sum() <= all_of_them.report["exchanges"].sum()
            assert not all_of_them.report["skipped"].any()
    finally:
        rounds.PATIENCE = before


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.kind == "accumulative"])
def test_skipping_exchanges_matches_the_reference_for_every_program(name, at_once):
    graph = graph_for(name, parts=3, policy="cartesian")
    check(name, True, dg.run(graph, PROGRAMS[name], random_seed=SEED, engine=STEPS))


def test_a_path_exchanges_where_it_crosses_partitions(at_once):
    path = pd.DataFrame({"src": np.arange(400), "dst": np.arange(1, 401)})
    graph = dg.Graph.from_edges(path, parts=4)
    found = dg.bfs(graph, 0, engine=STEPS)
    assert found.compute()["distance"].tolist() == list(range(401))
    one = found.report[found.report["partition"] == 0]
    assert found.rounds == 401 and one["exchanges"].sum() < 60 and one["skipped"].sum() > 340
    parts = found.report.partitions
    assert (parts["skipped"] == one["skipped"].sum()).all()


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 20, 29, 30, 31, 32, 50])
def test_skipping_exchanges_respects_max_rounds(limit, at_once):
    path = pd.DataFrame({"src": np.arange(30), "dst": np.arange(1, 31)})
    graph = dg.Graph.from_edges(path, vertices=60, parts=2)
    program = PROGRAMS["Components"]
    some, all_of_them = (
        dg.run(graph, program, engine=replace(STEPS, optimizations=how), max_rounds=limit) for how in SKIPPING
    )
    assert some.compute().equals(all_of_them.compute()) and some.rounds == all_of_them.rounds


def test_skipping_exchanges_on_a_cluster_changes_no_answer(client, at_once):
    graph = dg.grid(rows=40, cols=40, parts=3, client=client)
    some, all_of_them = (dg.bfs(graph, 0, engine=replace(STEPS, optimizations=how)) for how in SKIPPING)
    assert some.compute().equals(all_of_them.compute()) and some.rounds == all_of_them.rounds
    assert some.report["skipped"].any() and not all_of_them.report["skipped"].any()


def test_cache_lazy_upload_and_skipping_change_no_answer(at_once):
    """All eight settings of the three."""
    graph = dg.grid(rows=12, cols=12, weights=(1, 9), parts=2)
    expected, moved, sent, exchanges = dg.sssp(graph, 0, predecessors=False).compute(), {}, {}, {}
    for on in product([True, False], repeat=3):
        cached, lazy, skipping = on
        daemons = dg.Daemons(["in process"], block=16, cache=DEFAULT_CACHE if cached else 0)
        how = replace(STEPS, optimizations=dg.Optimizations(lazy_upload=lazy, skip_exchange=skipping))
        found = dg.sssp(graph, 0, predecessors=False, daemons=daemons, engine=how)
        pd.testing.assert_frame_equal(found.compute(), expected)
        moved[on], sent[on], exchanges[on] = found.report[["moved", "bytes", "exchanges"]].sum()
    assert moved[True, True, True] == moved[True, True, False] < moved[False, False, True]
    both = list(product([True, False], repeat=2))
    assert all(exchanges[a, b, True] < exchanges[a, b, False] for a, b in both)
    assert all(sent[a, True, b] < sent[a, False, b] for a, b in both)
