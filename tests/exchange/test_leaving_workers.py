"""Workers that leave amid a run, or as it begins: it ends with an error that names them, and the next one is right."""

import os
import signal
import threading

import pytest
from clusters import worker_processes
from distributed.comm import CommClosedError
from mixing import busy, check, ends_on_workers, mixing, registry, results, start, wait_until

from dgraph.errors import RunError
from dgraph.supersteps.run_steps import run_steps


@pytest.fixture
def frail():
    """A cluster to break, once: it takes time to mend itself."""
    with worker_processes(3) as client:
        yield client.cluster, client


@pytest.mark.parametrize("how", ["restart", "kill", "kill fused", "kill graph", "retire", "retire graph"])
def test_a_worker_that_leaves_ends_the_run(frail, how, monkeypatch):
    cluster, client = frail
    monkeypatch.setattr("dgraph.supersteps.run_steps.PATIENCE", 600.0)  # for mail: nobody waits for so long
    failed = []

    def run():
        try:
            mail = "graph" if "graph" in how else "workers"
            run_steps(mixing(10**6), start(6), client=client, fuse="fused" in how, exchange=mail)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: busy(client) if "graph" in how else ends_on_workers(client) == 3)
    victim, pids = sorted(cluster.scheduler.workers)[1], client.run(os.getpid)
    if how == "restart":
        client.restart(wait_for_workers=False)
    elif "retire" in how:
        client.retire_workers([victim], close_workers=True)
    else:
        os.kill(pids[victim], signal.SIGKILL)
    thread.join(120)
    assert isinstance(failed[0], RunError)
    assert victim in str(failed[0]) or "restarted" in str(failed[0])
    client.wait_for_workers(1, timeout=60)
    check(results(run_steps(mixing(3), start(6), client=client)), 6)


def test_a_worker_that_leaves_while_plugins_are_installed_stops_no_run(frail, monkeypatch):
    """The others take part in this run, and in the next ones; once, these waited for ever."""
    cluster, client = frail
    register = cluster.scheduler.register_worker_plugin

    async def lose(*args, **options):
        await register(*args, **options)
        raise CommClosedError("a worker left")

    monkeypatch.setattr(cluster.scheduler, "register_worker_plugin", lose)
    for _ in range(2):
        outcome = run_steps(mixing(3), start(6), client=client)
        assert outcome.exchange == "workers"
        check(results(outcome), 6)


def test_a_worker_that_does_not_answer_and_leaves_ends_the_run(frail):
    """Before it begins: nobody waits for the answer."""
    cluster, client = frail
    scheduler, failed = cluster.scheduler, []
    check(results(run_steps(mixing(3), start(6), client=client)), 6)
    victim = sorted(scheduler.workers)[1]
    pid = client.run(os.getpid, workers=[victim])[victim]

    def run():
        try:
            run_steps(mixing(3), start(6), client=client)
        except RunError as error:
            failed.append(str(error))

    os.kill(pid, signal.SIGSTOP)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    wait_until(lambda: registry(cluster).runs)
    scheduler.loop.add_callback(scheduler.remove_worker, victim, stimulus_id="a test")
    thread.join(20)
    os.kill(pid, signal.SIGKILL)
    assert len(failed) == 1 and victim in failed[0]
    assert not registry(cluster).runs
