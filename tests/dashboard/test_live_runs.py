"""Runs on a cluster tell the scheduler what they do: with each token, and with Dask's heartbeats."""

import importlib.util
import time

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.cluster.scheduler import live_page, workers_of
from dgraph.errors import RunError
from dgraph.exchange.dask import ExchangeOnWorker
from dgraph.exchange.run_registry import PLUGIN_NAME, VERSION

FRAME = pd.DataFrame(np.random.default_rng(3).integers(0, 300, (3000, 2)), columns=["src", "dst"])


@pytest.fixture(scope="module")
def graph(client):
    return dg.Graph.from_edges(FRAME, client=client, parts=2)


@pytest.mark.parametrize("engine", ["gas", "bsp", "bulk_async", "block_descent"])
def test_the_last_news_of_a_run_are_its_report(engine, graph, client):
    result = dg.pagerank(graph, engine=engine, tol=1e-9)
    last = max(client.cluster.scheduler.extensions[PLUGIN_NAME].runs.values(), key=lambda run: run.number)
    now, report = last.sample(), result.report
    assert (last.title, last.state) == ("pagerank", "done")
    counts = {name: (getattr(now, name), int(report[name].sum())) for name in ("fired", "edges", "bytes")}
    if engine in ("gas", "bsp"):
        assert now.superstep == result.rounds
        assert counts["fired"][0] == counts["fired"][1]
        assert counts["bytes"][0] == counts["bytes"][1]
    else:  # a worker may tell the last before it has heard all
        assert 0 < now.superstep <= result.rounds
    assert all(told > 0 for told, _ in counts.values())
    assert set(last.standings) == set(last.workers)
    assert all(0 <= share <= 1 for share in last.busy().values())


def test_runs_that_are_no_programs_have_titles(graph, client):
    dg.random_walks(graph, [1, 2], 3).compute()
    last = max(client.cluster.scheduler.extensions[PLUGIN_NAME].runs.values(), key=lambda run: run.number)
    assert (last.title, last.state) == ("random walks", "done")


def test_a_worker_with_another_version_of_dgraph_is_refused_by_name(graph, client, monkeypatch):
    """Each would misread what the other sends. The page says why the run has ended, too."""
    monkeypatch.setattr("dgraph.cluster.retry.ATTEMPTS", 1)
    other, _ = workers_of(client)
    client.run(have_version, "0.0.1", workers=[other])
    try:
        with pytest.raises(RunError, match=f"{other} cannot take part .*has dgraph 0.0.1, and the scheduler {VERSION}"):
            dg.pagerank(graph, engine="bsp")
    finally:
        client.run(have_version, VERSION, workers=[other])
    last = max(client.cluster.scheduler.extensions[PLUGIN_NAME].runs.values(), key=lambda run: run.number)
    assert "has dgraph 0.0.1" in last.state


def have_version(version):
    from dgraph.exchange import dask

    dask.VERSION = version


def test_no_heartbeats_are_told_to_a_scheduler_that_does_not_hear_them():
    """Dask would close the worker."""

    class Nobody:
        address, handlers, stream_handlers, extensions = "tls://127.0.0.1:1", {}, {}, {}

    for heard, extensions in (False, []), (True, [PLUGIN_NAME]):
        half, worker = ExchangeOnWorker(), Nobody()
        half.heard = heard
        half.setup(worker)
        assert list(worker.extensions) == extensions


def test_heartbeats_tell_what_a_worker_does_meanwhile(client):
    def told(dask_worker):
        class End:
            def standing(self):
                return {"title": "pagerank", "round": 5, "fired": 1, "edges": 2, "bytes": 3, "busy": 0.1}

        heartbeats = dask_worker.extensions[PLUGIN_NAME]
        heartbeats.ends["made up"] = End()
        return dask_worker.address

    def begins(dask_scheduler):
        history = dask_scheduler.extensions[PLUGIN_NAME]
        history.live = {**history.live, "made up": None}

    def heard(dask_scheduler):
        run = dask_scheduler.extensions[PLUGIN_NAME].runs.get("made up")
        return {} if run is None else {one: dict(told) for one, told in run.standings.items()}

    def ends(dask_scheduler):
        history = dask_scheduler.extensions[PLUGIN_NAME]
        history.end("made up", None)
        history.live = dask_scheduler.plugins[PLUGIN_NAME].runs

    def forgets(dask_worker):
        del dask_worker.extensions[PLUGIN_NAME].ends["made up"]

    workers = list(workers_of(client))
    client.run_on_scheduler(begins)
    client.run(told)
    try:
        while len(found := client.run_on_scheduler(heard)) < len(workers):
            time.sleep(0.05)
    finally:
        client.run(forgets)
        client.run_on_scheduler(ends)
    assert {one["round"] for one in found.values()} == {5}


def test_the_page_needs_bokeh(client, graph):
    address = live_page(client)
    assert (address is not None) == (importlib.util.find_spec("bokeh") is not None)
    assert address is None or address.endswith("/dgraph")
