"""A bulk-asynchronous run on a cluster lets other work go on, and leaves nothing behind: what there is, is counted."""

import asyncio
import threading
import time

import pytest
from cases import PROGRAMS, graph_for

import dgraph as dg
from dgraph.engines.free_rounds import FreeRounds


def left(dask_worker):
    """What a run could leave on a worker."""
    plugin = dask_worker.plugins["dgraph-exchange"]
    threads = [one.name for one in threading.enumerate() if "dgraph" in one.name]
    executing = [task.key for task in dask_worker.state.tasks.values() if task.state in ("executing", "long-running")]
    return {
        "ends": len(plugin.ends),
        "bytes under way": plugin.window.used,
        "threads": threads,
        "executing": executing,
        "at work": len(dask_worker.executors["default"]._threads),
    }


def settled(client, expected=None):
    deadline = time.monotonic() + 10
    while expected is not None and client.run(left) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return client.run(left)


def close_the_gate():
    """Local rounds wait until somebody opens it, who must run on the same worker meanwhile."""
    FreeRounds.gate, FreeRounds.ungated = threading.Event(), FreeRounds.local_round
    FreeRounds.before_the_gate = threading.Event()

    def local_round(self):
        FreeRounds.before_the_gate.set()
        if not FreeRounds.gate.wait(0.05):
            self.exchange.leave_thread()  # as who waits for mail does
        if not FreeRounds.gate.wait(60):
            raise TimeoutError("nobody came by to open the gate")
        return FreeRounds.ungated(self)

    FreeRounds.local_round = local_round


async def comes_to_the_gate():
    """Beside the worker's tasks, of which the run is one."""
    return await asyncio.to_thread(FreeRounds.before_the_gate.wait, 60)


def open_the_gate():
    FreeRounds.gate.set()


def take_the_gate_away():
    FreeRounds.local_round = FreeRounds.ungated


def fail():
    FreeRounds.ungated = FreeRounds.local_round

    def local_round(self):
        raise RuntimeError("the disk is on fire")

    FreeRounds.local_round = local_round


def test_other_work_goes_on_and_nothing_is_left(client):
    graph = graph_for("Components", parts=4, client=client)
    dg.run(graph, PROGRAMS["Components"], engine="bulk_async")  # starts pools that stay
    places = list(client.nthreads())
    tasks = [client.submit(abs, -1, workers=[place], pure=False) for place in places]
    client.gather(tasks)  # each worker has its thread
    del tasks
    before = settled(client)
    client.run(close_the_gate)
    try:
        results = []
        running = threading.Thread(
            target=lambda: results.append(dg.run(graph, PROGRAMS["Components"], engine="bulk_async"))
        )
        running.start()
        assert all(client.run(comes_to_the_gate).values())  # before anybody opens it
        opened = [client.submit(open_the_gate, workers=[place], pure=False) for place in places]
        client.gather(opened)  # on workers of one thread each, where the run is
        running.join(60)
        assert results
        del opened
    finally:
        client.run(take_the_gate_away)
    assert results.pop().compute()["component"].notna().all()
    assert settled(client, before) == before


def test_a_failed_run_leaves_nothing_behind(client):
    graph = graph_for("Components", parts=4, client=client)
    dg.run(graph, PROGRAMS["Components"], engine="bulk_async")
    before = settled(client)
    client.run(fail)
    try:
        with pytest.raises(RuntimeError, match="on fire"):
            dg.run(graph, PROGRAMS["Components"], engine="bulk_async")
    finally:
        client.run(take_the_gate_away)
    assert settled(client, before) == before
