"""The same steps on threads and on a cluster."""

import logging
import threading
import time
from logging.handlers import QueueHandler
from queue import SimpleQueue

import pytest
from distributed import Client, LocalCluster
from mixing import check, mixing, start, wait_until

from dgraph.errors import OptionError
from dgraph.exchange.run_registry import PLUGIN_NAME
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.step_graph import StepChunk
from dgraph.supersteps.steps import Steps

PARTS = 5


@pytest.fixture(params=["1 thread", "3 threads", "cluster", "cluster, fused", "cluster, mail as edges"])
def where(request):
    """Arguments of run_steps."""
    if request.param.startswith("cluster"):
        how = {"exchange": "graph"} if "edges" in request.param else {"fuse": "fused" in request.param}
        return {"client": request.getfixturevalue("client"), **how}
    return {"threads": int(request.param[0])}


def results(outcome):
    return [r.result() if hasattr(r, "result") else r for r in outcome.results]


@pytest.mark.parametrize("last", [0, 9, 10, 12])  # around the ends of chunks
def test_steps_give_the_right_answer_on_threads_and_clusters(where, last):
    seen = []
    outcome = run_steps(mixing(last), start(PARTS), after_chunk=lambda rounds, tokens: seen.append(rounds), **where)
    check(results(outcome), PARTS, last)
    assert outcome.steps == last + 1
    assert seen == [min(n + 10, last + 1) for n in range(0, last + 1, 10)]
    assert all(values == {"done": True, "round": last} for values in outcome.values)


def test_an_error_in_a_step_is_the_error_of_the_run(where):
    if where.get("threads") == 1:
        pytest.skip("worker 1 is the one that fails")
    with pytest.raises(ZeroDivisionError, match="round 3"):
        run_steps(mixing(8, fail_at=3), start(PARTS), **where)
    check(results(run_steps(mixing(2), start(PARTS), **where)), PARTS, 2)


def test_the_scheduler_prints_nothing_of_a_run_that_failed(client):
    """Its client raises; a cluster in the same process would print a traceback beside that, and two after Ctrl-C."""
    seen, log = SimpleQueue(), logging.getLogger("distributed.core")
    listener = QueueHandler(seen)
    log.addHandler(listener)
    try:
        with pytest.raises(ZeroDivisionError):
            run_steps(mixing(8, fail_at=3), start(PARTS), client=client)
    finally:
        log.removeHandler(listener)
    assert seen.empty(), seen.get().getMessage()


def test_an_error_in_setup_is_the_error_of_the_run(where):
    def setup(exchange, partitions):
        raise KeyError("no such column")

    with pytest.raises(KeyError, match="no such column"):
        run_steps(Steps(setup, lambda *a: {}, lambda s: s), start(PARTS), **where)


@pytest.mark.parametrize("chunk", [1, 4])
def test_chunks_of_any_size_give_the_right_answer(where, chunk):
    check(results(run_steps(mixing(5), start(PARTS), chunk=chunk, **where)), PARTS, 5)


def test_options_are_checked():
    with pytest.raises(OptionError, match="no partitions"):
        run_steps(mixing(), [])
    with pytest.raises(OptionError, match="chunk=0"):
        run_steps(mixing(), start(2), chunk=0)
    with pytest.raises(OptionError, match="for a cluster"):
        run_steps(mixing(), start(2), exchange="graph")


def test_ctrl_c_stops_all_threads(monkeypatch):
    import _thread

    before = threading.active_count()
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_steps(mixing(10**6), start(PARTS), threads=2)
    finally:
        timer.cancel()
    until = time.monotonic() + 60
    while threading.active_count() > before:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_tasks_grow_with_workers_alone():
    assert len(StepChunk("r", "abc", 0, 10, fuse=False).tasks()) == 30
    assert len(StepChunk("r", "abc", 0, 10, fuse=True).tasks()) == 3


@pytest.mark.parametrize("parts", [2, 16])
def test_the_scheduler_gets_one_task_per_worker_and_superstep(cluster, client, parts):
    counts = []
    update = cluster.scheduler._create_taskstate_from_graph
    cluster.scheduler._create_taskstate_from_graph = lambda **kw: (counts.append(len(kw["dsk"])), update(**kw))[1]
    try:
        run_steps(mixing(9), start(parts), client=client, fuse=False)
    finally:
        cluster.scheduler._create_taskstate_from_graph = update
    assert sum(counts) == 2 + 20  # start, and ten supersteps


def test_a_step_that_waits_leaves_its_thread(client, tmp_path):
    """One worker is not done before some other task has run where the other waits for it."""
    door = tmp_path / "door"

    def step(end, round, tokens):
        while end.worker == 1 and not door.exists():
            end.check()
            time.sleep(0.01)
        return {"done": round == 3}

    def told(dask_worker):
        return (
            [end.last_token.step for end in dask_worker.plugins[PLUGIN_NAME].ends.values()]
            if PLUGIN_NAME in dask_worker.plugins
            else []
        )

    steps = Steps(lambda end, partitions: end, step, lambda end: None)
    assert set(client.nthreads().values()) == {1}
    how = {"client": client, "fuse": False}
    thread = threading.Thread(target=run_steps, args=(steps, [0, 1]), kwargs=how, daemon=True)
    thread.start()
    wait_until(lambda: sorted(client.run(told).values()) == [[-1], [0]])
    first = next(worker for worker, steps in client.run(told).items() if steps == [0])
    client.submit(door.touch, workers=[first], pure=False).result(timeout=60)
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("pause", [0, 0.02])
def test_workers_of_several_threads_take_one_step_at_a_time(pause):
    place = {"n_workers": 2, "threads_per_worker": 3, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**place) as cluster, Client(cluster, set_as_default=False) as client:
        check(results(run_steps(mixing(12, pause=pause), start(PARTS), client=client, fuse=False)), PARTS, 12)


@pytest.mark.parametrize("fuse", [True, False])
def test_the_fall_back_graph_means_the_same(client, monkeypatch, fuse):
    monkeypatch.setattr("dgraph.supersteps.step_graph.Expr", None)
    check(results(run_steps(mixing(3), start(PARTS), client=client, fuse=fuse)), PARTS)
