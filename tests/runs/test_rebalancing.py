"""Edges move between supersteps when that pays, and answers, rounds and rows of the report stay what they were."""

import numpy as np
import pytest
from cases import PROGRAMS, SEED, check, graph_for

import dgraph as dg
from dgraph.engines import rebalance_decision
from dgraph.errors import OptionError
from dgraph.keywords import ENGINE_VALUES
from dgraph.partition.balance import WorkerLoad, better_split
from dgraph.testing.stand_in import StandIn

SLOW, FAST = StandIn(compute=6e-6), StandIn(compute=2e-6)
UNEQUAL = {"daemons": {0: [SLOW], 1: [FAST]}, "engine": dg.Gas(rebalance=True)}


def test_shares_are_by_speed_and_not_by_work():
    shares, saved = better_split([WorkerLoad(1, 100, 1000, 3.0), WorkerLoad(1, 100, 1000, 1.0)])
    assert shares == pytest.approx([0.25, 0.75]) and saved == pytest.approx(1.5)
    shares, saved = better_split([WorkerLoad(1, 100, 3000, 3.0), WorkerLoad(1, 100, 1000, 1.0)])  # as fast, but busier
    assert shares == pytest.approx([0.5, 0.5]) and saved == pytest.approx(0)
    _, saved = better_split([WorkerLoad(1, 50, 500, 1.0), WorkerLoad(1, 150, 1500, 1.0)])  # split well
    assert saved == pytest.approx(0)


@pytest.fixture
def restless(monkeypatch):
    """Edges move as soon as they can, whatever that costs."""
    for name, value in {"WARMUP_ROUNDS": 0, "MIN_MEASURED_ROUNDS": 3, "MIN_SAVING": -9.0}.items():
        monkeypatch.setattr(rebalance_decision, name, value)
    monkeypatch.setattr("dgraph.runs.run_in_rounds.move_cost", lambda graph: -1e9)


@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_rebalancing_changes_no_answer_of_any_program(name, engine, restless):
    directed = engine == "gas" or name == "Matching"
    graph = graph_for(name, directed, parts=3)
    found = dg.run(graph, PROGRAMS[name], engine=ENGINE_VALUES[engine](rebalance=True), random_seed=SEED)
    check(name, directed, found)
    steps = found.report["superstep"]
    assert sorted(steps) == sorted(list(range(1, found.rounds + 1)) * 3)
    if found.rounds > 6 and PROGRAMS[name].kind == "synchronous":  # in others some partition may have nothing to do
        assert found.report.options["rebalanced"].startswith("after superstep")


@pytest.mark.parametrize("policy", ["incoming", "cartesian", "hybrid", "metis"])
def test_rebalancing_works_with_every_policy_and_local_fixed_points(policy, restless):
    graph = dg.grid(rows=15, cols=15, parts=4, policy=policy)
    expected = dg.wcc(graph).compute()
    for how in ({}, {"local_rounds": 1}, {"optimizations": dg.Optimizations(active_only=False)}):
        assert dg.wcc(graph, engine=dg.Gas(rebalance=True, **how)).compute().equals(expected)


@pytest.fixture
def unequal(monkeypatch):
    """An edge takes the first worker three microseconds and the other one, by a clock that no load disturbs."""
    tell = rebalance_decision.RebalanceDecision.tell

    def by_that_clock(worker, rows):
        load = tell(worker, rows)
        return load._replace(seconds=load.edges * (1e-6 if worker.states[0].partition.index else 3e-6))

    monkeypatch.setattr(rebalance_decision.RebalanceDecision, "tell", by_that_clock)
    monkeypatch.setattr("dgraph.runs.run_in_rounds.move_cost", lambda graph: 0.0)


def test_two_unequal_workers_end_in_the_best_split(unequal):
    graph = dg.rmat(scale=10, edge_factor=8, seed=3, parts=2)
    found = dg.pagerank(graph, max_iter=30, tol=0, engine=dg.Gas(rebalance=True))
    expected = dg.pagerank(graph, max_iter=30, tol=0).compute()["pagerank"]
    np.testing.assert_allclose(found.compute()["pagerank"], expected)
    edges = found.report.pivot(index="superstep", columns="partition", values="edges")
    before, after = (edges[1] / edges[0]).iloc[[0, -1]]
    assert before == pytest.approx(1, abs=0.3)
    assert after == pytest.approx(3, abs=0.5)
    assert found.report.options["rebalanced"].count("after superstep") == 1


def test_nothing_moves_where_it_does_not_pay():
    graph = dg.rmat(scale=8, edge_factor=8, seed=3, parts=2)
    assert dg.pagerank(graph, max_iter=5, tol=0, **UNEQUAL).report.options["rebalanced"] == "no"


def test_rebalancing_works_on_a_cluster_with_checkpoints(client, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.runs.run_in_rounds.move_cost", lambda graph: 0.0)
    graph = dg.rmat(scale=9, edge_factor=8, seed=3, parts=4, client=client)
    expected = dg.pagerank(graph, max_iter=16, tol=0).compute()
    slow = {"daemons": {0: [StandIn(compute=2e-5)], 1: [StandIn(compute=2e-6)]}}
    for how in (slow, {"checkpoint": dg.Checkpoint(tmp_path / "kept", every=4)}):
        found = dg.pagerank(graph, max_iter=16, tol=0, engine=dg.Gas(rebalance=True), **how)
        np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"])
        assert client.compute(found.frame).result().shape == (graph.num_vertices, 2)
        assert how is not slow or "after superstep" in found.report.options["rebalanced"]


def test_rebalance_is_refused_where_edges_cannot_move():
    graph = dg.grid(rows=5, cols=5, parts=2)
    with pytest.raises(OptionError, match=r"BulkAsync has no option rebalance=True; dg\.Gas and dg\.Bsp have it"):
        dg.wcc(graph, engine=dg.BulkAsync(rebalance=True))
    owned = dg.grid(rows=5, cols=5, parts=2, policy=lambda ids, parts: ids % parts)
    with pytest.raises(OptionError, match="decides who owns a vertex"):
        dg.wcc(owned, engine=dg.Gas(rebalance=True))
    assert len(dg.wcc(dg.grid(rows=5, cols=5), engine=dg.Gas(rebalance=True)).compute()) == 25
