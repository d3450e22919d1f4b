"""Stand-ins wait as long as they say and compute what any daemon does; several share blocks by their speed."""

import time

import numpy as np
import pytest

import dgraph as dg
from dgraph.testing.stand_in import StandIn

GRAPH = dg.rmat(scale=10, edge_factor=8, seed=3)
HOW = {"engine": "gas", "max_iter": 3, "tol": 0}


def test_a_stand_in_daemon_takes_its_stated_time_without_using_the_cpu():
    begun, worked = time.perf_counter(), time.thread_time()
    kind = StandIn(compute=1e-5, call=1e-3)
    found = dg.pagerank(GRAPH, **HOW, daemons=dg.Daemons([kind], block=1024))
    stated = 3 * GRAPH.num_edges * kind.compute
    assert time.perf_counter() - begun >= stated
    assert found.report["pipeline"].sum() >= stated
    assert time.thread_time() - worked < time.perf_counter() - begun
    np.testing.assert_allclose(found.compute()["pagerank"], dg.pagerank(GRAPH, max_iter=3, tol=0).compute()["pagerank"])


def test_the_cost_model_finds_the_stated_costs():
    kind = StandIn(download=2e-6, compute=4e-6, upload=3e-6, call=2e-3)
    last = dg.pagerank(GRAPH, engine="gas", max_iter=6, tol=0, daemons=dg.Daemons([kind], block=512)).report.iloc[-1]
    assert last["a1"] + 1000 * last["k1"] > 1.5e-3 and last["a3"] + 1000 * last["k3"] > 2.5e-3
    assert last["a"] + 1000 * last["k2"] > 5e-3


@pytest.mark.parametrize("workers", [1, 2])
def test_stand_ins_of_one_worker_or_each_worker_give_the_right_answer(workers):
    kinds = [StandIn(compute=1e-6), StandIn(compute=3e-6)]
    graph = dg.rmat(scale=10, edge_factor=8, seed=3, parts=workers)
    daemons = kinds if workers == 1 else {0: [kinds[0]], 1: [kinds[1]]}
    found = dg.pagerank(graph, **HOW, daemons=dg.Daemons(daemons, block=1024)).compute()
    np.testing.assert_allclose(found["pagerank"], dg.pagerank(GRAPH, max_iter=3, tol=0).compute()["pagerank"])
