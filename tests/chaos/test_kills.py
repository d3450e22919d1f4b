"""A worker is killed while a run is on its way: it goes on by itself, and the answer is the same; without any worker
left there is an error soon, and never a wait without end."""

import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import worker_processes
from distributed import CancelledError, Client, LocalCluster
from distributed.utils import get_mp_context

import dgraph as dg
from dgraph.cluster import calibration, retry, scheduler
from dgraph.cluster.scheduler import wait_for
from dgraph.cluster.workers import any_lost
from dgraph.errors import DgraphError, SilentWorkerWarning
from dgraph.keywords import ENGINE_VALUES

RNG = np.random.default_rng(9)
FRAME = pd.DataFrame(RNG.integers(0, 900, (4000, 2)), columns=["src", "dst"])


@pytest.fixture
def fragile():
    """A cluster for each test: a nanny does not always start another worker."""
    with worker_processes() as client:
        yield client


def kill(client, address: str) -> None:
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


def holder_of(client, found) -> str:
    """A worker that has values of a result; their tasks may end a moment after the run."""
    wait_for(client, found._held.results)
    return next(place for places in client.who_has(found._held.results).values() for place in places)


class At:
    """Kills the worker of partition 0 when a run has come so far: a function for `progress`."""

    def __init__(self, client, graph, superstep: int = 1):
        self.client, self.graph, self.superstep, self.killed = client, graph, superstep, False

    def __call__(self, done) -> None:
        if not self.killed and done["superstep"] >= self.superstep:
            self.killed = True
            (holder, *_) = self.client.who_has(self.graph.partitions[0]).popitem()[1]
            kill(self.client, holder)


@pytest.mark.parametrize(("engine", "exchange"), [("gas", "workers"), ("bsp", "workers"), ("gas", "graph")])
def test_a_worker_killed_between_rounds_changes_no_answer(fragile, engine, exchange, monkeypatch, tmp_path):
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    expected = dg.pagerank(dg.Graph.from_edges(FRAME), max_iter=40, tol=None, engine="gas").compute()
    graph = dg.Graph.from_edges(FRAME, client=fragile, parts=2)
    at = At(fragile, graph, 20)
    option = dg.Checkpoint(tmp_path, every=5) if engine == "bsp" else None
    how = ENGINE_VALUES[engine](optimizations=dg.Optimizations(direct_exchange=exchange == "workers"))
    found = dg.pagerank(graph, max_iter=40, tol=None, engine=how, progress=at, checkpoint=option)
    assert at.killed
    assert found.report["superstep"].min() > (5 if option else 0), "it went on from a checkpoint"
    np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], rtol=1e-12)


def test_a_worker_killed_between_epochs_changes_no_answer(fragile, monkeypatch, tmp_path):
    """Of block descent, whose partitions that pull wait for each other."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    ranks = partial(dg.pagerank, tol=1e-10, max_iter=500)
    graph = dg.grid(rows=30, cols=30, seed=1, client=fragile, parts=2)
    at, option = At(fragile, graph, 20), dg.Checkpoint(tmp_path, every=5)
    found = ranks(graph, engine=dg.BlockDescent(operator="pull"), progress=at, checkpoint=option)
    assert at.killed
    assert found.report["superstep"].min() > 5, "it went on from a checkpoint"
    expected = ranks(dg.grid(rows=30, cols=30, seed=1), engine="gas").compute()
    np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], atol=1e-9)


def test_a_worker_killed_with_unfetched_values_changes_no_answer(fragile):
    graph = dg.Graph.from_edges(FRAME, client=fragile, parts=2)
    for engine in ("gas", "local"):
        if engine == "local":
            graph = dg.Graph.from_edges(FRAME, client=fragile, parts=1)
        found = dg.wcc(graph, engine=engine)
        kill(fragile, holder_of(fragile, found))
        assert found.compute().equals(dg.wcc(dg.Graph.from_edges(FRAME)).compute())


@pytest.mark.parametrize("name", ["triangles", "core_number"])
def test_a_worker_killed_at_any_moment_changes_no_answer(fragile, name):
    """At a moment that nobody chose; and values that went with a worker are found again, also for a lazy frame."""
    expected = getattr(dg, name)(dg.Graph.from_edges(FRAME)).compute()
    graph = dg.Graph.from_edges(FRAME, client=fragile, parts=2)
    timer = threading.Timer(0.02, lambda: kill(fragile, min(fragile.nthreads())))
    timer.start()
    found = getattr(dg, name)(graph)
    timer.join()
    pd.testing.assert_frame_equal(found.compute(), expected, check_dtype=False)
    if name == "triangles":
        kill(fragile, holder_of(fragile, found))
        until = time.monotonic() + 10
        while not any_lost(found._held.results) and time.monotonic() < until:
            time.sleep(0.01)
        frame = found.frame.compute(scheduler=fragile).sort_values("vertex", ignore_index=True)
        pd.testing.assert_frame_equal(frame, expected, check_dtype=False)


KNOWN = np.unique(FRAME).tolist()
TAKEN = {
    "walks": lambda graph: dg.random_walks(graph, KNOWN, 30, p=0.5, q=2.0),
    "samples": lambda graph: dg.sample_neighbors(graph, KNOWN[::3], [5, -1], replace=True).edges,
    "subgraph": lambda graph: dg.subgraph(graph, KNOWN[::2]).edges,
    "filter": lambda graph: dg.filter_edges(graph, lambda edges: edges["src"] % 3 > 0).edges,
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_worker_killed_while_walks_samples_and_parts_are_taken_changes_no_answer(fragile, name):
    """At a moment that nobody chose. A lazy frame may refuse to be read after a loss, until it is taken again."""

    def rows(frame, client=None) -> pd.DataFrame:
        read = frame.compute(scheduler=client) if hasattr(frame, "dask") else frame
        return read.sort_values(list(read.columns), ignore_index=True)

    expected = rows(TAKEN[name](dg.Graph.from_edges(FRAME)))
    graph = dg.Graph.from_edges(FRAME, client=fragile, parts=2)
    graph.partitioned()
    timer = threading.Timer(0.02, lambda: kill(fragile, min(fragile.nthreads())))
    timer.start()
    found = TAKEN[name](graph)
    timer.join()
    for _ in range(10):
        with suppress(DgraphError, CancelledError):
            found = rows(found, fragile)
            break
        found = TAKEN[name](graph)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize("begun", [0, 2])
def test_a_community_search_on_a_killed_worker_resumes_on_another(fragile, begun, monkeypatch, tmp_path):
    """Dask runs its task again elsewhere, which goes on from the checkpoint that the first one has written last."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    search = partial(dg.leiden, deterministic=True, random_seed=3)
    how = {"scale": 9, "edge_factor": 8, "seed": 1, "directed": False}
    folder, done = tmp_path / "checkpoints", tmp_path / "killed"
    if begun:
        with pytest.raises(StopIteration):
            search(dg.rmat(**how), checkpoint=folder, progress=partial(stop_after, begun))
    fragile.run(die_after, 4, done)
    found = search(dg.rmat(**how, client=fragile, parts=2), checkpoint=folder)
    assert done.exists() and found.report["superstep"].min() == 5
    assert found.by_number("community").tolist() == search(dg.rmat(**how)).by_number("community").tolist()
    assert not folder.exists()


def stop_after(level, done) -> None:
    if done["superstep"] >= level:
        raise StopIteration


def die_after(level, done) -> None:
    """Let this worker die once it has saved a level, unless another one has."""
    from dgraph.communities.detection import SearchCheckpoints

    keep = SearchCheckpoints.keep

    def keep_and_die(checkpoints, search):
        keep(checkpoints, search)
        if search.levels_done == level and not done.exists():
            done.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    SearchCheckpoints.keep = keep_and_die


def test_an_adaptive_cluster_that_scales_down_changes_no_answer(monkeypatch):
    """In the middle of a run, whose answer stays the same."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    expected = dg.pagerank(dg.Graph.from_edges(FRAME), max_iter=60, tol=None, engine="gas").compute()
    with worker_processes() as client:
        graph = dg.Graph.from_edges(FRAME, client=client, parts=2)
        graph.partitioned(("out", "incoming"))
        client.cluster.adapt(minimum=1, maximum=2, interval="20 ms", wait_count=1)
        found = dg.pagerank(graph, max_iter=60, tol=None, engine="gas", progress=lambda done: time.sleep(0.01))
        np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], rtol=1e-12)


def test_workers_that_retire_and_join_change_no_answer(fragile, monkeypatch):
    """A retired worker hands its data on and leaves, and another comes while the run goes on."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    expected = dg.pagerank(dg.Graph.from_edges(FRAME), max_iter=60, tol=None, engine="gas").compute()
    before = set(fragile.nthreads())
    retired = []

    def replace(done) -> None:
        if not retired and done["superstep"] >= 10:
            retired.append(min(before))
            fragile.cluster.scale(3)
            fragile.wait_for_workers(3, timeout=60)
            fragile.retire_workers(retired)

    graph = dg.Graph.from_edges(FRAME, client=fragile, parts=2)
    found = dg.pagerank(graph, max_iter=60, tol=None, engine="gas", progress=replace)
    assert retired and set(fragile.nthreads()) - before and not before.issubset(fragile.nthreads())
    np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], rtol=1e-12)


def test_a_worker_killed_while_speeds_are_measured_is_left_out(fragile, monkeypatch):
    """Each worker is measured by a task of its own, which no other can do."""
    at = min(fragile.nthreads())
    monkeypatch.setattr(calibration, "measure_speed", partial(speed_but_of, at))
    timer = threading.Timer(0.5, kill, [fragile, at])
    timer.start()
    found = dg.capacities(client=fragile)
    timer.join()
    assert at not in found and set(found.values()) == {7.0}


@pytest.mark.parametrize("when", ["before", "in a build"])
def test_a_cluster_without_workers_is_an_error(monkeypatch, when):
    """Without a nanny nobody comes instead; and tasks of Dask wait for somebody for ever."""
    monkeypatch.setattr(retry, "GRACE", 1.0)
    with worker_processes(1) as client:
        graph = dg.Graph.from_edges(FRAME, client=client, parts=2)
        if when == "in a build":
            frame = dd.from_map(slowly, range(2), meta=FRAME.head(0))
            graph = dg.Graph.from_edges(frame, client=client, parts=2)
            threading.Timer(0.3, client.cluster.scale, [0]).start()
        else:
            graph.partitioned()
            client.cluster.scale(0)
        with pytest.raises(DgraphError, match="no worker"):
            dg.pagerank(graph, max_iter=10, tol=None, engine="gas").compute()


def speed_but_of(worker: str, address: str, *given) -> float:
    time.sleep(600 if address == worker else 0)
    return 7.0


def slowly(number: int) -> pd.DataFrame:
    time.sleep(1)
    return FRAME


def test_a_frozen_worker_is_named_and_given_up(monkeypatch):
    monkeypatch.setattr(scheduler, "SILENT", 1.5)
    seen = []
    with dask.config.set({"distributed.scheduler.worker-ttl": "5s"}), worker_processes() as client:
        graph = dg.Graph.from_edges(FRAME, client=client, parts=2)
        expected = dg.pagerank(graph, max_iter=10, tol=None, engine="gas").compute()
        address, process = next(iter(client.run(os.getpid).items()))
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.warns(SilentWorkerWarning, match=f"{address} has not answered for 1.5 s") as told:
                how = {"engine": "gas", "checkpoint": dg.Checkpoint(), "progress": seen.append}
                result = dg.pagerank(graph, max_iter=10, tol=None, **how)
                found = result.compute()
        finally:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    pd.testing.assert_frame_equal(found, expected)
    assert told[0].filename == __file__
    assert address in [done.get("silent") for done in seen]
    assert result.report.options["silent workers"] == address


@pytest.mark.parametrize("exchange", ["workers", "graph"])
def test_a_lost_scheduler_is_an_error(exchange, monkeypatch):
    """Nobody else knows the workers: a clear error, soon."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    told = get_mp_context().SimpleQueue()
    scheduler = get_mp_context().Process(target=run_cluster, args=(told,))
    scheduler.start()
    begun = []

    def stop(done) -> None:
        if not begun:
            begun.append(done)
            scheduler.kill()

    try:
        with Client(told.get(), timeout=3, set_as_default=False) as client:  # seconds in which it may come again
            graph = dg.Graph.from_edges(FRAME, client=client, parts=2)
            with pytest.raises(DgraphError, match=r"scheduler of .* (cannot be reached|was lost)"):
                how = dg.Gas(optimizations=dg.Optimizations(direct_exchange=exchange == "workers"))
                dg.pagerank(graph, max_iter=10**6, tol=None, engine=how, progress=stop)
            assert begun
    finally:
        scheduler.kill()
        scheduler.join()


def run_cluster(told) -> None:
    """A scheduler with a worker in the same process."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as cluster:
        told.put(cluster.scheduler_address)
        time.sleep(600)


@pytest.mark.parametrize("engine", ["gas"])
def test_a_checkpoint_in_the_memory_of_another_worker_survives_a_kill(fragile, engine, monkeypatch):
    """The lost worker's piece has a copy; afterwards, and after a run that fails, nothing stays in memory."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    expected = dg.pagerank(dg.Graph.from_edges(FRAME), max_iter=40, tol=None, engine=engine).compute()
    graph = dg.Graph.from_edges(FRAME, client=fragile, parts=2)
    at, option = At(fragile, graph, 20), dg.Checkpoint(every=5)
    found = dg.pagerank(graph, max_iter=40, tol=None, engine=engine, progress=at, checkpoint=option)
    assert at.killed
    assert found.report["superstep"].min() > 5, "it went on from a checkpoint"
    np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], rtol=1e-12)

    def stop(done) -> None:
        if done["superstep"] >= 20:
            assert any(fragile.run(runs_in_memory).values())
            raise KeyError("stopped")

    with pytest.raises(KeyError, match="stopped"):
        dg.pagerank(graph, max_iter=40, tol=None, engine=engine, progress=stop, checkpoint=option)
    assert not any(fragile.run(runs_in_memory).values())


def runs_in_memory() -> int:
    from dgraph.checkpoint import memory_store

    return len(memory_store._pieces)
