"""Workers without memory to go on give an error that says so, and soon: Dask pauses them, and would wait for ever."""

import time
from threading import Timer

import dask
import numpy as np
import pandas as pd
import pytest
from clusters import worker_processes
from dask import delayed

import dgraph as dg
from dgraph.cluster.workers import Workers
from dgraph.errors import RoomError

FRAME = pd.DataFrame(np.random.default_rng(9).integers(0, 100, (500, 2)), columns=["src", "dst"])


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr("dgraph.cluster.scheduler.WORKERS_INTERVAL", 0.3)
    monkeypatch.setattr("dgraph.cluster.scheduler.STALL_TIMEOUT", 1.5)


def test_workers_without_memory_for_the_graph_give_an_error():
    """It is paused once it has loaded what it takes to number a hundred vertices, unless that is refused before."""
    with (
        worker_processes(1, memory_limit="230 MiB") as client,
        dask.config.set({"dgraph.memory-check": False}),
        pytest.raises(RoomError, match="or more workers"),
    ):
        dg.pagerank(dg.Graph.from_edges(FRAME, client=client)).compute()


def test_waiting_for_a_paused_worker_alone_is_an_error(client):
    """Others who have tasks of their own to do still end them; what waits for the paused worker alone is an error."""
    workers = Workers(client)
    paused = workers.addresses[0]
    pause(client, [paused])
    try:
        assert workers.get([delayed(sum)([1, 2])]) == [3]
        pinned = client.submit(sum, [1, 2], workers=[paused], pure=False)
        with pytest.raises(RoomError, match=f"1 of 2 workers .*{paused}"):
            workers.wait([pinned])
    finally:
        client.run(pause_beyond, 0.8, workers=[paused])
    assert workers.wait([pinned])[0].result() == 3


def pause(client, workers):
    client.run(pause_beyond, 1e-6, workers=workers)
    until = time.monotonic() + 10
    while set(client.run(status_here, workers=workers).values()) != {"paused"} and time.monotonic() < until:
        time.sleep(0.05)


@pytest.fixture
def all_of_them(client):
    """Workers that are all paused."""
    workers = Workers(client)
    pause(client, workers.addresses)
    yield workers
    client.run(pause_beyond, 0.8)


def test_what_is_sent_waits_for_workers_that_are_paused(all_of_them, client, monkeypatch):
    monkeypatch.setattr("dgraph.cluster.scheduler.STALL_TIMEOUT", 60)
    monkeypatch.setattr("dgraph.cluster.workers.PATIENCE", 0.1)
    resume = Timer(2, client.run, [pause_beyond, 0.8])
    resume.start()
    (held,) = all_of_them.send([FRAME])
    resume.join()
    assert len(held.result()) == len(FRAME)


def test_what_is_sent_to_workers_that_stay_paused_is_an_error(all_of_them):
    with pytest.raises(RoomError, match="2 of 2 workers are paused"):
        all_of_them.send([FRAME])


def pause_beyond(share: float, dask_worker) -> None:
    dask_worker.memory_manager.memory_pause_fraction = share


def status_here(dask_worker) -> str:
    return dask_worker.status.name
