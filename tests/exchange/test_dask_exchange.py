"""What only a cluster does: workers and clients that leave, two runs at once, large mail, memory that stays flat."""

import gc
import threading

import dask
import numpy as np
import pytest
from distributed import Client, Future
from mixing import busy, check, ends_on_workers, mixing, registry, results, start, wait_until

from dgraph.cluster.scheduler import install, workers_of
from dgraph.cluster.workers import homes_of
from dgraph.errors import RunError
from dgraph.exchange.run_registry import PLUGIN_NAME
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

PARTS = 4


def test_partitions_run_on_the_workers_that_hold_them(client):
    workers = sorted(client.nthreads())
    homes = [workers[1], workers[0], workers[1], workers[1]]
    futures = [
        client.submit(lambda v: v, v, workers=[h], key=f"part-{h}-{v}") for v, h in zip(start(4), homes, strict=True)
    ]
    outcome = run_steps(mixing(2), futures, client=client)
    assert [outcome.route.workers[h] for h in outcome.route.homes] == homes
    check(results(outcome), 4, 2)


def test_copies_of_partitions_do_not_bring_all_to_one_worker(client):
    """A worker that has once read another's partition holds a copy of it."""
    workers = sorted(client.nthreads())
    futures = [client.submit(lambda v: v, v, workers=[h], pure=False) for v, h in zip(start(2), workers, strict=True)]
    client.replicate(futures)
    assert sorted(homes_of(client, futures)) == workers
    client.cancel(futures)


def test_workers_are_found_while_the_clients_cache_is_empty(client, monkeypatch):
    workers = sorted(client.nthreads())
    monkeypatch.setattr(client, "scheduler_info", lambda *args, **kwargs: {"workers": {}})
    assert workers_of(client) == workers
    check(results(run_steps(mixing(2), start(PARTS), client=client)), PARTS, 2)


@pytest.mark.parametrize("fuse", [True, False])
def test_two_concurrent_runs_give_the_right_answers(cluster, fuse):
    def run(i):
        with Client(cluster, set_as_default=False) as client:
            found[i] = results(run_steps(mixing(25 + i, pause=0.001), start(PARTS), client=client, fuse=fuse))

    found = {}
    threads = [threading.Thread(target=run, args=[i]) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    for i in range(2):
        check(found[i], PARTS, 25 + i)


def test_large_mail_arrives_whole(client):
    def setup(exchange, partitions):
        return exchange, np.random.default_rng(exchange.worker).integers(0, 255, 30 << 20, np.uint8)

    def step(state, round, tokens):
        exchange, data = state
        if round == 0:
            for length in (30 << 20, 4 << 20, 100_000, 10):
                exchange.send(0, exchange.worker, 1 - exchange.worker, data[:length])
            return {
                "sum": int(data.sum()) + int(data[: 4 << 20].sum()) + int(data[:100_000].sum()) + int(data[:10].sum())
            }
        mail = exchange.collect(0, exchange.worker)
        assert [buffer.nbytes for _, buffer in mail] == [30 << 20, 4 << 20, 100_000, 10]
        return {"done": True, "sum": sum(int(buffer.sum()) for _, buffer in mail)}

    sums = []
    note = lambda _, tokens: sums.append([token.values["sum"] for token in tokens])  # noqa: E731
    run_steps(Steps(setup, step, lambda s: None), [0, 1], client=client, fuse=False, chunk=1, after_chunk=note)
    assert sums[0] == sums[1][::-1]


HOW = [{"fuse": True}, {"fuse": False}, {"exchange": "graph"}]


@pytest.mark.parametrize("how", HOW)
def test_ctrl_c_stops_all_workers(cluster, client, how):
    import _thread

    install(client)  # who knows of all runs, also where mail needs no plugins
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_steps(mixing(10**6), start(PARTS), client=client, **how)
    finally:
        timer.cancel()
    wait_until(lambda: not busy(client) and not ends_on_workers(client))
    check(results(run_steps(mixing(3), start(PARTS), client=client, **how)), PARTS)
    assert not registry(cluster).runs
    used = lambda dask_worker: dask_worker.plugins[PLUGIN_NAME].window.used  # noqa: E731
    wait_until(lambda: not any(client.run(used).values()))


@pytest.mark.parametrize("how", HOW)
def test_no_future_is_left_to_its_finalizer(client, monkeypatch, how):
    """A Ctrl-C that arrives while a finalizer speaks to the client's event loop is lost."""
    untidy = []
    finalize = Future.__del__

    def note(future):
        if not future._cleared and future._client is not None:  # of those in a graph there are copies without
            untidy.append(future.key)
        finalize(future)

    gc.collect()  # what other tests have left
    monkeypatch.setattr(Future, "__del__", note)
    outcome = run_steps(mixing(25), start(PARTS), client=client, **how)
    gc.collect()
    assert untidy == []
    check(results(outcome), PARTS, 25)


def test_a_client_that_leaves_ends_its_run(cluster, client):
    gone = Client(cluster, set_as_default=False)

    def run():
        with pytest.raises(RunError):
            run_steps(mixing(10**6), start(2), client=gone)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: ends_on_workers(client) == 2)
    gone.close()
    wait_until(lambda: not ends_on_workers(client) and not registry(cluster).runs)
    thread.join(20)
    assert not thread.is_alive()


def test_mail_of_a_dead_run_is_thrown_away(client):
    run = run_steps(mixing(1), start(2), client=client).route.run
    wait_until(lambda: not ends_on_workers(client))
    message = {"run": run, "step": 0, "sender": 0, "number": 0, "manifest": [], "frames": [], "tokens": b""}

    async def deliver(dask_worker):
        return await dask_worker.plugins[PLUGIN_NAME].mail(**message)

    delivered = client.run(deliver)
    assert set(delivered.values()) == {False}
    assert not ends_on_workers(client)


def test_sums_include_all_workers(client):
    steps = Steps(lambda e, p: e, lambda e, r, t: {"done": True, "sum": e.sum([1.0, e.worker])}, lambda e: None)
    assert [v["sum"] for v in run_steps(steps, [0, 1], client=client, fuse=True).values] == [[2.0, 1.0]] * 2


def test_workers_of_a_run_are_not_scaled_away(cluster, client):
    thread = threading.Thread(target=run_steps, args=(mixing(40, pause=0.01), start(2)), kwargs={"client": client})
    thread.start()
    wait_until(lambda: ends_on_workers(client) == 2)
    assert cluster.scheduler.workers_to_close(n=2) == []
    thread.join()
    assert len(cluster.scheduler.workers_to_close(n=2)) == 2


def test_repeated_runs_leave_no_growing_state(cluster, client):
    def sizes():
        s = cluster.scheduler
        counts = [
            len(s.tasks),
            len(s.task_prefixes),
            len(s.task_groups),
            len(client.futures),
            len(s.extensions["multi_locks"].requests),
        ]
        held = client.run(lambda dask_worker: (len(dask_worker.state.tasks), len(dask_worker.data)))
        return [*counts, *(count for both in held.values() for count in both)]

    def note(rounds, tokens):
        if rounds == 200:  # the run is over
            return
        before_and_after.append(sizes())
        held.append(
            client.run(
                lambda dask_worker: [len(e.mailbox._steps) for e in dask_worker.plugins[PLUGIN_NAME].ends.values()]
            )
        )

    before_and_after, held = [], []
    for how in HOW:
        run_steps(mixing(199), start(2), client=client, exact=True, after_chunk=note, **how)
        chunks = zip(*before_and_after[-17:], strict=True)
        for early, late in ((counts[:8], counts[8:]) for counts in chunks):
            assert min(late) <= max(early)  # what was let go of may stay for a moment
    steps = [count for counts in held for ends in counts.values() for count in ends]
    assert len(steps) == 2 * 2 * 19 and 0 < min(steps) <= max(steps) <= 3
    wait_until(lambda: not registry(cluster).runs and not ends_on_workers(client))


def test_the_users_configuration_is_not_changed(client, monkeypatch):
    """Not for a moment either: other threads would see it, and two that restore it may restore the wrong one."""
    futures = [client.submit(lambda v: v, v) for v in start(2)]
    before = dask.config.serialize(dask.config.config)
    changes = []
    change = dask.config.set.__init__

    def note(self, *args, **kwargs):
        changes.append((args, kwargs))
        change(self, *args, **kwargs)

    monkeypatch.setattr(dask.config.set, "__init__", note)
    for fuse in (True, False):
        run_steps(mixing(3), futures, client=client, fuse=fuse)
    assert changes == []
    assert dask.config.serialize(dask.config.config) == before


def test_registration_is_idempotent(cluster, client):
    run_steps(mixing(0), start(2), client=client)
    plugin = registry(cluster)
    with Client(cluster, set_as_default=False) as other:
        install(other)
    assert registry(cluster) is plugin


def test_a_scheduler_that_was_started_anew_is_given_the_plugins_again(client):
    def forget(dask_scheduler):
        dask_scheduler.remove_plugin(PLUGIN_NAME)
        for name in [name for name in dask_scheduler.handlers if name.startswith("dgraph_")]:
            del dask_scheduler.handlers[name]

    run_steps(mixing(0), start(2), client=client)
    client.run_on_scheduler(forget)
    outcome = run_steps(mixing(3), start(5), client=client)
    check([future.result() for future in outcome.results], 5)
