"""Workers without memory to go on give an error that says so, and soon: Dask pauses them, and would wait for ever."""

import time

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
    client.run(pause_beyond, 1e-6, workers=[paused])
    until = time.monotonic() + 10
    while client.run(status_here, workers=[paused]) != {paused: "paused"} and time.monotonic() < until:
        time.sleep(0.05)
    try:
        assert workers.get([delayed(sum)([1, 2])]) == [3]
        pinned = client.submit(sum, [1, 2], workers=[paused], pure=False)
        with pytest.raises(RoomError, match=f"1 of 2 workers .*{paused}"):
            workers.wait([pinned])
    finally:
        client.run(pause_beyond, 0.8, workers=[paused])
    assert workers.wait([pinned])[0].result() == 3


def pause_beyond(share: float, dask_worker) -> None:
    dask_worker.memory_manager.memory_pause_fraction = share


def status_here(dask_worker) -> str:
    return dask_worker.status.name
