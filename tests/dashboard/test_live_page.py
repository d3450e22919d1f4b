"""The live page, as a browser gets it. It needs Bokeh: `make test-dashboard`."""

import re
import time
from threading import Thread
from urllib.request import urlopen

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import dgraph as dg
from dgraph.cluster.scheduler import live_page
from dgraph.exchange.run_registry import PLUGIN_NAME

pull_session = pytest.importorskip("bokeh.client").pull_session
Div = pytest.importorskip("bokeh.models").Div
live_charts = pytest.importorskip("dgraph.dashboard.live_charts")
LivePage, NEWEST = live_charts.LivePage, live_charts.NEWEST

pytestmark = pytest.mark.filterwarnings("ignore:There is no current event loop")  # Bokeh's client asks for one
FRAME = pd.DataFrame(np.random.default_rng(3).integers(0, 300, (3000, 2)), columns=["src", "dst"])


@pytest.fixture(scope="module")
def own_client():
    """The client of a cluster that shows a dashboard."""
    here = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**here) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def graph(own_client):
    return dg.Graph.from_edges(FRAME, client=own_client, parts=2)


def rows_of(table):
    """The cells of each run, by their heads."""
    heads = re.findall(r"<th>(.*?)</th>", table.text)
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table.text)]
    return [dict(zip(heads, row, strict=True)) for row in rows if row]


def states(shown):
    return [row["state"] for row in shown["runs"]]


def looked_at(page, until):
    """What the page shows, once it shows what is awaited."""
    for _ in range(600):
        page.update()
        shown = {"runs": rows_of(page.table), "course": page.course.data, "workers": page.workers.data}
        if until(shown):
            return shown
        time.sleep(0.05)
    raise AssertionError(f"the page does not show it: {shown}")


def served(client):
    """The texts that a browser gets at first."""
    session = pull_session(url=live_page(client))
    texts = [one.text for one in session.document.select({"type": Div})]
    session.close()
    return " ".join(texts)


def test_a_page_without_runs_says_so(own_client):
    assert "No run has begun" in served(own_client)
    history = own_client.cluster.scheduler.extensions[PLUGIN_NAME]
    page = LivePage(history, own_client.cluster.scheduler)
    page.update()
    assert not any(one.visible for one in page.shown)


def test_the_page_shows_runs_while_they_go_on(own_client, graph):
    scheduler = own_client.cluster.scheduler
    page = LivePage(scheduler.extensions[PLUGIN_NAME], scheduler)
    running = Thread(target=lambda: dg.pagerank(graph, tol=0, max_iter=600, engine="bsp"))
    running.start()
    during = looked_at(page, lambda shown: states(shown) == ["running"] and shown["runs"][0]["supersteps"] != "0")
    running.join()
    after = looked_at(page, lambda shown: states(shown) == ["done"])
    assert [row["what"] for row in during["runs"]] == ["pagerank"]
    assert int(during["runs"][0]["supersteps"]) < int(after["runs"][0]["supersteps"]) == 600
    assert sum(after["course"]["edges"]) > 0
    assert len(after["workers"]["worker"]) == 2
    assert all(0 < share <= 1 for share in after["workers"]["busy"])
    assert all(size > 1e6 for size in after["workers"]["memory"])
    assert "<td>done</td>" in served(own_client)
    assert all(one.visible for one in page.shown)


def test_a_run_that_was_chosen_stays_on_the_page(own_client, graph):
    scheduler = own_client.cluster.scheduler
    page = LivePage(scheduler.extensions[PLUGIN_NAME], scheduler)
    first = looked_at(page, lambda shown: shown["runs"])["runs"][-1]["run"]
    assert page.choice.options == [NEWEST, first]
    page.choice.value = first
    dg.pagerank(graph, tol=0, max_iter=30, engine="bsp")
    looked_at(page, lambda shown: len(shown["runs"]) > 1)
    assert f"Run {first}:" in page.title.text
    page.choice.value = NEWEST
    page.update()
    assert f"Run {first}:" not in page.title.text


def test_a_chart_without_values_is_hidden(own_client, graph):
    """The residual is known where an engine measures it."""
    scheduler = own_client.cluster.scheduler
    page = LivePage(scheduler.extensions[PLUGIN_NAME], scheduler)
    for engine, measured in (("gas", False), ("block_descent", True)):
        dg.pagerank(graph, engine=engine)
        looked_at(page, lambda shown: states(shown)[0] == "done")
        assert page.lines["residual"].visible == measured
        assert page.lines["edges"].visible


def test_a_worker_that_was_killed_is_shown_as_gone(own_client, graph):
    scheduler = own_client.cluster.scheduler
    page = LivePage(scheduler.extensions[PLUGIN_NAME], scheduler)
    own_client.cluster.workers[0].process.process._process.kill()
    shown = looked_at(page, lambda shown: any("gone" in one for one in shown["workers"]["worker"]))
    assert sum("gone" in one for one in shown["workers"]["worker"]) == 1


def test_the_page_is_beside_the_others_of_a_dashboard_with_a_prefix():
    where = {"n_workers": 0, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.dashboard.link": "{scheme}://{host}:{port}/some/where/status"}),
        LocalCluster(**where, scheduler_kwargs={"http_prefix": "some/where"}) as cluster,
        Client(cluster, set_as_default=False) as client,
        urlopen(live_page(client)) as answer,
    ):
        assert answer.url.endswith("/some/where/dgraph")
        assert answer.status == 200
