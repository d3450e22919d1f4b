"""A worker dies: what it held is made again from the source."""

import gc
import os
import signal
import time
import weakref

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import worker_processes
from dask.distributed import CancelledError
from oracle import check_graph, listed

import dgraph as dg
from dgraph.cluster import retry
from dgraph.cluster.scheduler import gather_results, workers_of
from dgraph.cluster.workers import Workers
from dgraph.errors import LostError

FRAME = pd.DataFrame(np.random.default_rng(9).integers(0, 50, (400, 2)), columns=["src", "dst"])


@pytest.fixture
def fragile():
    """A client of a cluster of its own, and a function that kills one worker."""
    with worker_processes() as client:

        def kill(address):
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)

        yield client, kill


@pytest.mark.parametrize(
    "waits", [lambda future: gather_results(future.client, [future]), lambda future: future.result()]
)
def test_a_run_after_a_loss_keeps_no_objects_of_the_lost_graph(waits, client):
    """Dask keeps the error that it has told as long as it knows the future: and with it who was told."""
    future, alive = client.submit(sum, [1, 2], pure=False), []
    client.cancel([future], force=True)

    def work() -> int:
        graph = dg.Graph.from_edges(FRAME)
        if not alive:
            alive.append(weakref.ref(graph))
            waits(future)
        return graph.num_edges

    assert retry.retry(client, work, lambda: None) == len(FRAME)
    gc.collect()
    assert future.status == "cancelled" and alive[0]() is None


class Odd(Exception):
    """It cannot be copied."""

    def __init__(self, *, what):
        super().__init__(what)


def failing(kind):
    raise kind(what="no file") if kind is Odd else kind("no file")


@pytest.mark.parametrize("kind", [ValueError, Odd])
def test_a_failed_run_keeps_no_objects_and_reports_its_error(kind, client):
    """The error that users see is what it was, and says where that was, on the worker, too."""
    future, alive = client.submit(failing, kind, pure=False), []

    def work() -> None:
        graph = dg.Graph.from_edges(FRAME)
        alive.append(weakref.ref(graph))
        gather_results(future.client, [future])

    with pytest.raises(kind, match="no file") as told:
        retry.retry(client, work, lambda: None)
    assert told.traceback[-1].name == "failing"
    del told
    gc.collect()
    assert future.status == "error" and (kind is Odd or alive[0]() is None)


@pytest.mark.parametrize("lazy", [True, False], ids=["Dask", "pandas"])
def test_partitions_are_rebuilt(fragile, lazy):
    client, kill = fragile
    frame = dd.from_pandas(FRAME, npartitions=3) if lazy else FRAME
    graph = dg.Graph.from_edges(frame, parts=2, policy="cartesian", client=client)
    (holder,) = client.who_has([graph.partitions[0]])[graph.partitions[0].key]
    kill(holder)
    client.wait_for_workers(2, timeout=30)
    assert check_graph(graph, listed(FRAME))


@pytest.mark.parametrize("columns", [["src", "dst"], ["src", "dst", "weight"]])
def test_edges_that_are_sent_again_to_fewer_workers_are_all_there(fragile, columns):
    """The rows of each piece were counted when there were two; half of them were left out."""
    client, kill = fragile
    frame = FRAME.assign(weight=np.arange(len(FRAME)))[columns]
    graph = dg.Graph.from_edges(frame, parts=2, client=client)
    assert graph.num_vertices == 50
    kill(min(workers_of(client)))
    graph.forget_lost()
    listed_again = computed_again(graph, client)
    pd.testing.assert_frame_equal(
        *(one.sort_values(columns, ignore_index=True) for one in (listed_again, frame)), check_dtype=False
    )
    assert check_graph(graph, listed(frame))


def test_edges_taken_again_refer_to_what_is_there(fragile):
    """They named a chunk that was lost, however often they were taken."""
    client, kill = fragile
    graph = dg.Graph.from_edges(FRAME, parts=2, client=client)
    assert len(graph.edges.columns) == 2
    kill(min(workers_of(client)))
    assert len(computed_again(graph, client)) == len(FRAME)


def test_cuts_forests_colors_and_generations_survive_the_loss_of_a_worker(fragile, monkeypatch):
    """It is lost once its first tasks of each call have been started."""
    client, kill = fragile
    each, alive = Workers.each, []

    def each_and_lose_one(self, *arguments, **options):
        held = each(self, *arguments, **options)
        if alive:
            kill(alive.pop())
        return held

    monkeypatch.setattr(Workers, "each", each_and_lose_one)
    ends = np.sort(np.random.default_rng(9).integers(0, 300, (400, 2)), axis=1)
    frame = pd.DataFrame(ends[ends[:, 0] < ends[:, 1]], columns=["src", "dst"])
    here = dg.Graph.from_edges(frame)
    for find in (dg.bridges, dg.spanning_forest, dg.coloring, dg.topological_generations):
        graph = dg.Graph.from_edges(frame, parts=2, client=client)
        assert len(graph.partitions) == 2
        client.wait_for_workers(2, timeout=60)
        alive.append(min(workers_of(client)))
        found, expected = (getattr(one, "frame", one) for one in (find(graph), find(here)))
        assert not alive
        rows = [one.compute(scheduler=by) for one, by in ((found, client), (expected, "threads"))]
        rows = [one.sort_values(one.columns.tolist(), ignore_index=True) for one in rows]
        pd.testing.assert_frame_equal(*rows)
        assert len(rows[0])


def computed_again(graph, client, tries=10):
    """Its edges, taken again after each loss, as docs/losses.md says."""
    for _ in range(tries):
        try:
            return graph.edges.compute(scheduler=client)
        except CancelledError:
            time.sleep(0.1)
    pytest.fail(f"the edges were lost {tries} times")


@pytest.mark.timeout(25)  # Dask alone would wait for a worker for 30 s
def test_nobody_to_send_to_is_told_at_once(fragile):
    client, _ = fragile
    workers = Workers.find(client)
    client.cluster.scale(0)
    while workers_of(client):
        time.sleep(0.05)
    with pytest.raises(LostError, match="left the cluster while data was being sent"):
        workers.send([FRAME])


def test_a_changed_graph_survives_the_loss_of_a_worker(fragile):
    """Before and after the changes are merged, and while an answer goes on."""
    client, kill = fragile
    more, less = pd.DataFrame({"src": [1, 60], "dst": [70, 2]}), FRAME.head(9)
    graph = dg.Graph.from_edges(FRAME, client=client)
    before, changed = dg.bfs(graph, 0), graph.updated(more, less)
    expected = dg.Graph.from_edges(FRAME).updated(more, less)
    kill(workers_of(client)[0])
    found = dg.bfs(changed, 0, previous=before)
    pd.testing.assert_frame_equal(found.compute(), dg.bfs(expected, 0).compute())
    again = changed.updated(removed=FRAME.iloc[20:24])
    again.partitioned()
    kill(workers_of(client)[0])
    pd.testing.assert_frame_equal(
        dg.wcc(again).compute(), dg.wcc(expected.updated(removed=FRAME.iloc[20:24])).compute()
    )
    pd.testing.assert_frame_equal(found.compute(), dg.bfs(expected, 0).compute())
