"""Runs of very many rounds end on one worker: the same answers, in few steps."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.runs import run_in_rounds
from dgraph.testing.verify import verify

N = 1000
RUNS = {
    "bfs": {"source": 3},
    "sssp": {"source": 3},
    "wcc": {},
    "core_number": {},
    "k_core": {"k": 2},
}


def path(**options) -> dg.Graph:
    """On which every other edge leads to another partition."""
    order = np.random.default_rng(3).permutation(N)
    frame = pd.DataFrame({"src": order[:-1], "dst": order[1:], "weight": np.arange(N - 1) % 7})
    return dg.Graph.from_edges(frame, weight="weight", directed=False, **options)


@pytest.mark.parametrize("name", RUNS)
def test_a_long_path_is_finished_on_one_worker(name):
    graph, run = path(parts=3), getattr(dg, name)
    found = run(graph, **RUNS[name])
    verify(name, graph, found, **RUNS[name])
    if name != "wcc":  # which takes few rounds
        assert found.report.options["gathered"]
        assert found.report.options["engine"] == "local"


@pytest.mark.parametrize("name", ["bfs", "core_number", "k_core"])
def test_a_gathered_saved_graph_keeps_vertices_without_edges(name, tmp_path):
    """No frame lists them: they were left out of graphs that are made of another, brought together or simple."""
    order = np.random.default_rng(3).permutation(N)
    frame = pd.DataFrame({"src": order[:-1], "dst": order[1:]})
    dg.Graph.from_edges(frame, directed=False, vertices=range(-10, N)).save(tmp_path / "g")
    graph, run = dg.open_graph(tmp_path / "g", parts=3), getattr(dg, name)
    found = run(graph, **RUNS[name])
    assert found.report.options["gathered"]
    verify(name, graph, found, **RUNS[name])
    expected = run(dg.open_graph(tmp_path / "g", parts=1), **RUNS[name]).compute()
    pd.testing.assert_frame_equal(found.compute(), expected)


def test_a_run_that_reads_edges_many_times_is_gathered(monkeypatch):
    monkeypatch.setattr(run_in_rounds, "FEWEST_STEPS", 10**6)
    graph = path(parts=3)
    assert "gathered" not in dg.bfs(graph, 3).report.options  # looks at every edge once
    monkeypatch.setattr(run_in_rounds, "MOST_LOOKS", 1 / 4)
    found = dg.core_number(graph)
    assert found.report.options["gathered"]
    verify("core_number", graph, found)


def test_a_graph_that_was_gathered_before_is_gathered_sooner(monkeypatch):
    asked, look = [], run_in_rounds.OneWorkerFinish.look

    def noted(self, steps, tokens):
        asked.append(steps)
        return look(self, steps, tokens)

    monkeypatch.setattr(run_in_rounds.OneWorkerFinish, "look", noted)
    graph = path(parts=3)
    dg.bfs(graph, 3)
    assert (asked[0], asked[-1]) == (10, run_in_rounds.FEWEST_STEPS)  # a slow machine may look in between
    asked.clear()
    found = dg.sssp(graph, 3)
    assert asked[-1] == run_in_rounds.FEWEST_STEPS // run_in_rounds.FEWER_ONCE_DONE
    asked.clear()
    verify("sssp", graph, found, source=3)
    found = dg.bfs(graph, 4)
    assert not asked
    assert found.report.options["gathered"]
    verify("bfs", graph, found, source=4)


@pytest.mark.parametrize("small", [0, run_in_rounds.SMALL_GRAPH])
def test_a_large_graph_is_never_gathered(small, monkeypatch):
    monkeypatch.setattr(run_in_rounds, "SMALL_GRAPH", small)
    found, expected = (dg.hits(path(parts=parts), max_iter=60, tol=None) for parts in (3, 1))
    assert ("gathered" in found.report.options) == (small > 0)
    np.testing.assert_allclose(found.compute()["hub"], expected.compute()["hub"], atol=1e-9)


def test_options_that_need_rounds_prevent_gathering():
    graph = path(parts=3)
    for asked in ({"engine": "gas"}, {"engine": dg.Gas(local_rounds=1)}):
        found = dg.k_core(graph, k=2, **asked)
        assert found.rounds > run_in_rounds.FEWEST_STEPS
        verify("k_core", graph, found, k=2)


def test_a_long_path_on_a_cluster_is_finished_on_one_worker(client):
    graph = path(client=client)
    found = dg.bfs(graph, 3)
    assert found.report.options["gathered"]
    verify("bfs", graph, found, source=3)


def test_a_graph_too_large_for_one_worker_is_not_gathered(monkeypatch):
    def refuse(*_):
        raise dg.errors.RoomError("too large")

    monkeypatch.setattr(run_in_rounds, "check_build_memory", refuse)
    graph = path(parts=3)
    found = dg.k_core(graph, k=2)
    assert "gathered" not in found.report.options
    verify("k_core", graph, found, k=2)
