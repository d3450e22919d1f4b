"""A worker leaves with values of a result: whoever reads them afterwards, or at that moment, finds them again."""

import threading

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import worker_processes
from distributed import CancelledError

import dgraph as dg
from dgraph.cluster import retry
from dgraph.errors import LostError, RunError
from dgraph.ops import degrees, pagerank, residuals, sssp
from dgraph.runs.result import RunResult

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(RNG.integers(0, 60, (300, 2)), columns=["src", "dst"]).assign(w=RNG.integers(1, 9, 300) / 8)


@pytest.fixture
def cluster():
    """A client of threads as workers, which leave when they are told to."""
    with worker_processes(3, processes=False, protocol="tcp") as client:
        yield client


def lose(client) -> None:
    """One of those that hold anything leaves, and nobody hands it on."""
    name, worker = next((name, one) for name, one in client.cluster.workers.items() if one.data)
    del client.cluster.workers[name]
    client.sync(worker.close, executor_wait=False, nanny=False)


def graphs(client, parts: int = 3) -> tuple[dg.Graph, dg.Graph]:
    """The same graph here, and on a cluster."""
    return tuple(dg.Graph.from_edges(FRAME, weight="w", parts=n, client=one) for n, one in ((1, None), (parts, client)))


def same(found: RunResult, expected: RunResult) -> None:
    pd.testing.assert_frame_equal(found.compute(), expected.compute(), rtol=1e-9, atol=1e-6)


class Passed(dg.VertexProgram):
    """Every vertex gets the sum of a column over its in-edges."""

    kind = "synchronous"
    got = dg.State(float)
    merge = dg.SUM
    given = dg.VertexColumn(float)

    def start(given):
        return given

    def send(got):
        return got

    def apply(message):
        return message

    def stop(round):
        return round >= 1


@pytest.mark.parametrize("parts", [1, 3])
def test_a_lost_column_that_a_run_reads_is_computed_again(cluster, parts):
    for number, graph in enumerate(graphs(cluster, parts)):
        first = dg.degrees(graph)
        once = dg.run(graph, Passed(), columns={"given": first.column("degree")})
        if number:
            lose(cluster)
        twice = dg.run(graph, Passed(), columns={"given": once.column("got")})
        if not number:
            expected = twice
    same(twice, expected)


def after(function, client):
    """The same function; when it is done the first time a worker leaves."""
    calls = []

    def changed(*arguments, **options):
        found = function(*arguments, **options)
        if not calls:
            lose(client)
        calls.append(arguments)
        return found

    return changed


def test_values_lost_between_two_runs_of_an_operation_are_recomputed(cluster, monkeypatch):
    here, there = graphs(cluster)
    monkeypatch.setattr(pagerank, "strength_of", after(pagerank.strength_of, cluster))
    same(*(dg.pagerank(graph, weighted=True, max_iter=4, tol=None) for graph in (there, here)))
    with monkeypatch.context() as patch:
        patch.setattr(sssp, "execute", after(sssp.execute, cluster))
        paths = dg.sssp(there, 0)
    same(paths, dg.sssp(here, 0))


def test_lost_values_are_computed_again_before_they_are_mapped(cluster, monkeypatch):
    here, there = graphs(cluster)
    expected = dg.degrees(here)
    with monkeypatch.context() as patch:
        patch.setattr(degrees, "execute", after(degrees.execute, cluster))
        found = dg.degrees(there)
    same(found, expected)
    lose(cluster)
    same(found, expected)
    frame = found.frame.compute(scheduler=cluster).sort_values("vertex", ignore_index=True)
    pd.testing.assert_frame_equal(frame, expected.compute())


def test_lost_values_of_several_results_are_recomputed(cluster, monkeypatch):
    here, there = graphs(cluster)
    asked = {"personalization": [{0: 1.0}, {3: 1.0}], "engine": "bulk_async", "tol": 1e-6}
    expected = dg.pagerank(here, **asked)
    with monkeypatch.context() as patch:
        patch.setattr(residuals, "ranks", after(residuals.ranks, cluster))
        found = dg.pagerank(there, **asked)
    same(found, expected)


@pytest.fixture
def still():
    """Dask does not move what it has twice."""
    with dask.config.set({"distributed.scheduler.active-memory-manager.start": False}):
        yield


at_work, goes_on = threading.Event(), threading.Event()


def paused(table: pd.DataFrame) -> pd.DataFrame:
    at_work.set()
    goes_on.wait(20)
    return table


def while_computed(found: RunResult, client, losses: int) -> pd.DataFrame:
    """The frame; some workers leave while Dask is about it."""
    for event in (at_work, goes_on):
        event.clear()
    frame = found.frame
    computed = client.compute(frame.map_partitions(paused, meta=frame.dtypes.to_dict()))
    assert at_work.wait(20)
    for _ in range(losses):
        lose(client)
    goes_on.set()
    return computed.result(timeout=30).sort_values("vertex", ignore_index=True)


def test_a_frame_survives_losing_one_worker_while_dask_computes_it(still, cluster):
    here, there = graphs(cluster)
    found = dg.wcc(there)
    pd.testing.assert_frame_equal(while_computed(found, cluster, 1), dg.wcc(here).compute())


def test_a_frame_survives_a_loss_while_its_backups_are_made(cluster, monkeypatch):
    here, there = graphs(cluster)
    found = dg.wcc(there)
    monkeypatch.setattr(retry, "backup_worker", after(retry.backup_worker, cluster))
    table = found.frame.compute(scheduler=cluster).sort_values("vertex", ignore_index=True)
    pd.testing.assert_frame_equal(table, dg.wcc(here).compute())


def test_a_frame_whose_values_are_all_lost_says_to_take_it_again(still, cluster):
    """Both workers that have some of the values leave: Dask's error says what to do, and that is so."""
    here, there = (dg.Graph.from_edges(dd.from_pandas(FRAME, 4), parts=3, client=one) for one in (None, cluster))
    found = dg.wcc(there)
    with pytest.raises(CancelledError, match=r"Take `result.frame` again"):
        while_computed(found, cluster, 2)
    again = found.frame.compute(scheduler=cluster).sort_values("vertex", ignore_index=True)
    pd.testing.assert_frame_equal(again, dg.wcc(here).compute())


def test_a_long_chain_of_results_does_not_keep_them_all_in_memory(cluster):
    """Each is made from the one before: not all of them stay in memory for the sake of a loss."""
    _, graph = graphs(cluster)
    found = dg.degrees(graph).map(lambda numbers, values: (numbers, {"got": values["degree"]}))
    for _ in range(2):
        found = dg.run(graph, Passed(), columns={"given": found.column("got")})
    lose(cluster)
    with pytest.raises(
        RunError, match=r"<result of .*>, which cannot be recomputed because it belongs to a long chain .* run again"
    ):
        found.compute()


def test_repeated_failures_on_the_same_workers_are_an_error(cluster, monkeypatch):
    monkeypatch.setattr(retry, "PAUSE", 0.0)

    def fail():
        raise LostError("it is not here")

    with pytest.raises(RunError, match=r"10 attempts on the same workers failed \(it is not here\)"):
        retry.retry(cluster, fail, list)
