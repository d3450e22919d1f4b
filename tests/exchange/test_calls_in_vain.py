"""A worker that has left is not called: nobody would answer, and Dask calls for half a minute before it says so."""

import socket
import threading

import numpy as np
import pandas as pd
import pytest
from clusters import worker_processes
from mixing import registry, wait_until

import dgraph as dg
from dgraph.checkpoint.piece import PieceLabel
from dgraph.cluster import scheduler
from dgraph.devices.probe import CUDF_PACKAGES
from dgraph.errors import LostError, RunError
from dgraph.exchange.dask import DaskExchange
from dgraph.exchange.mail import Fragment, Packet, Route
from dgraph.exchange.run_registry import PLUGIN_NAME

FRAME = pd.DataFrame(np.random.default_rng(3).integers(0, 60, (300, 2)), columns=["src", "dst"])


@pytest.fixture
def left(monkeypatch):
    """A cluster of two threads as workers, a function that has one leave, and whom the scheduler has called since."""
    with worker_processes(2, processes=False, protocol="tcp") as client:
        called, rpc = [], client.cluster.scheduler.rpc

        def leave():
            name, worker = next(iter(client.cluster.workers.items()))
            del client.cluster.workers[name]
            client.sync(worker.close, executor_wait=False, nanny=False)
            wait_until(lambda: worker.address not in client.cluster.scheduler.workers)
            sound = rpc.connect
            monkeypatch.setattr(rpc, "connect", lambda address, *how: called.append(address) or sound(address, *how))
            return worker.address

        yield client, leave, called


def test_a_stale_list_of_workers_makes_no_calls_to_a_worker_that_left(left, monkeypatch):
    client, leave, called = left
    monkeypatch.setattr(scheduler, "LONGEST_CACHED", 600.0)
    graph = dg.Graph.from_edges(FRAME, client=client, parts=2)
    assert len(graph.workers.capabilities.lacking({})) == 2
    gone = leave()
    assert len(graph.workers.capabilities.lacking(CUDF_PACKAGES)) == 1
    assert called and gone not in called


def test_a_starting_run_makes_no_calls_to_a_worker_that_left(left):
    client, leave, called = left
    scheduler.install(client)
    everybody = tuple(scheduler.workers_of(client))
    gone = leave()
    with pytest.raises(LostError, match=rf"{gone} cannot take part \('not in the cluster'\)"):
        scheduler.begin_run(client, Route("a run", everybody, (0, 1)), 30.0)
    assert gone not in called and not registry(client.cluster).runs


def test_a_finished_run_makes_no_calls_to_a_worker_that_left(left):
    """Its thread would be missing for what comes next."""
    client, leave, _ = left
    scheduler.install(client)
    everybody = tuple(scheduler.workers_of(client))
    scheduler.begin_run(client, Route("a run", everybody, (0, 1)), 30.0)
    ends = {one.address: one.plugins[PLUGIN_NAME].ends["a run"] for one in client.cluster.workers.values()}
    gone = leave()
    (end,) = (end for address, end in ends.items() if address != gone)
    wait_until(lambda: end.mailbox.failure is not None)
    peer = everybody.index(gone)
    for call in (
        lambda: end.last_posted_step(peer),
        lambda: end.fetch_piece(gone, PieceLabel("a run", "a checkpoint", 0)),
        lambda: end.store_piece(peer, PieceLabel("a run", "a checkpoint", 0), 1, b""),
    ):
        with pytest.raises(RunError, match=gone):
            call()


def test_a_packet_that_is_sent_after_its_run_has_ended_does_not_keep_the_window(left):
    """A call to a worker that is gone without a word takes half a minute to fail, and is tried again."""
    client, _, _ = left
    scheduler.install(client)
    worker, run = next(iter(client.cluster.workers.values())), threading.Event()
    window = worker.plugins[PLUGIN_NAME].window
    with socket.create_server(("127.0.0.1", 0)) as nobody:  # takes connections, and says nothing
        peer = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        end = DaskExchange(Route("a run", (worker.address, peer), (0, 1)), 0, worker.plugins[PLUGIN_NAME])
        worker.loop.add_callback(end.close)
        end.post(1, Packet("a run", 0, 0, 0, [Fragment(0, 1, 0, 1 << 20, 0, np.zeros(1 << 20, np.uint8))]))
        worker.loop.add_callback(run.set)
        assert run.wait(60) and window.used == 0
