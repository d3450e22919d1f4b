"""Two hops over a grid bring everybody the same as one, in fewer packets, whatever is late, repeated or lost."""

import random
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from distributed import Client, LocalCluster
from mixing import check, mixing, start

import dgraph as dg
from dgraph.errors import RunError
from dgraph.exchange.dask import AT_HAND, ExchangeOnWorker
from dgraph.exchange.grid import RIDING_BYTES, WorkerGrid
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Route
from dgraph.supersteps import run_steps as steps_module
from dgraph.supersteps.run_steps import run_steps

SIZES = [2, 3, 5, 9, 13, 16]


@pytest.mark.parametrize("workers", range(1, 70))
def test_every_worker_is_served_by_one_of_each_row(workers):
    grids = [WorkerGrid(worker, workers) for worker in range(workers)]
    rows = {grid.row for grid in grids}
    assert sorted(worker for row in rows for worker in row) == list(range(workers))
    for peer in range(workers):
        others = [row for row in rows if peer not in row]
        assert sorted(grid.row.start for grid in grids if peer in grid.served) == sorted(row.start for row in others)
        for row in others:
            assert len({grids[worker].relay(peer) for worker in row}) == 1
    packets = [len(grid.row) - 1 + len(grid.served) for grid in grids]
    assert sum(packets) <= 2 * workers * workers**0.5


class GridOfThreads(LocalExchange):
    """An exchange of threads in two hops. Packets that are passed on meet `fault`, or come after others."""

    packets: ClassVar[Counter] = Counter()
    fault, draw, lock = "", random.Random(), threading.Lock()

    def grid_of(self, worker, workers):
        return WorkerGrid(worker, workers)

    def post(self, peer, message):
        with GridOfThreads.lock:
            GridOfThreads.packets[message.run, message.step] += 1
        super().post(peer, message)

    def send_on(self, peer, message):
        with GridOfThreads.lock:
            chance = GridOfThreads.draw.random()
        if self.fault == "lost" and message.step == 2 and chance < 0.5:
            return
        self.post(peer, message)
        if self.fault == "repeated" and chance < 0.5:
            self.post(peer, message)
        if self.fault == "late" and chance < 0.5:
            threading.Timer(0.01 * chance, self.post, (peer, message)).start()


@pytest.fixture
def threads(monkeypatch):
    GridOfThreads.packets, GridOfThreads.fault = Counter(), ""
    monkeypatch.setattr(steps_module, "LocalExchange", GridOfThreads)
    return GridOfThreads


@pytest.mark.parametrize("fault", ["", "repeated", "late"])
@pytest.mark.parametrize("workers", SIZES)
def test_everybody_gets_everything(threads, workers, fault):
    threads.fault = fault
    for parts in (workers, 2 * workers):
        outcome = run_steps(mixing(6), start(parts), threads=workers)
        check(outcome.results, parts, 6)
        if not fault:
            few = sum(len(grid.row) - 1 + len(grid.served) for grid in (WorkerGrid(w, workers) for w in range(workers)))
            assert [threads.packets[outcome.route.run, step] for step in range(6)] == [few] * 6


def test_large_mail_goes_straight(threads):
    length = RIDING_BYTES // 8 + 1
    outcome = run_steps(mixing(3), start(9, length), threads=9)
    check(outcome.results, 9, 3, length)
    straight = sum(8 - (len(grid.row) - 1) for grid in (WorkerGrid(w, 9) for w in range(9)))
    assert threads.packets[outcome.route.run, 0] == 9 * 4 + straight


def test_bundles_for_a_worker_that_gets_much_go_straight():
    """The others go to the peer of the row that passes them on."""
    ends = GridOfThreads.ends(Route("run", tuple("abcdefghi"), tuple(range(9))))
    sizes = np.array([RIDING_BYTES // 2, 8])
    for _ in range(3):
        ends[0].send_bundle(0, 0, np.array([4, 8]), sizes, np.zeros(sizes.sum(), np.uint8))
    assert ends[0].flush(0, {}, share=True).messages == (0, 1, 1, 0, 1, 0, 0, 0, 0)
    for end in ends[1:]:
        end.flush(0, {}, share=True)
    for receiver in (4, 8):
        ends[receiver].gather(0)
        assert [sender for sender, _ in ends[receiver].collect(0, receiver)] == [0, 0, 0]


def test_what_is_lost_on_the_second_hop_is_an_error(threads, monkeypatch):
    monkeypatch.setattr(steps_module, "PATIENCE", 0.2)
    threads.fault = "lost"
    with pytest.raises(RunError, match="lost"):
        run_steps(mixing(6), start(9), threads=9)


def test_a_slow_worker_is_not_a_loss(threads, monkeypatch):
    """Its row has posted everything, and still other rows cannot have it."""
    monkeypatch.setattr(steps_module, "PATIENCE", 0.1)
    steps = mixing(3)

    def step(state, number, reports):
        if number == 1 and state.exchange.worker == 4:
            time.sleep(0.6)
        return steps.step(state, number, reports)

    check(run_steps(replace(steps, step=step), start(9), threads=9).results, 9, 3)


@pytest.mark.parametrize("fault", ["", "repeated", "late"])
@pytest.mark.parametrize("engine", ["gas", "bsp"])
def test_answers_of_many_threads(threads, apart, monkeypatch, engine, fault):
    threads.fault = fault
    monkeypatch.setattr("dgraph.runs.run_in_rounds.threads.cores", lambda: 11)
    graph = dg.rmat(scale=7, edge_factor=4, seed=1, weights=(1, 9), parts=11)
    one = dg.rmat(scale=7, edge_factor=4, seed=1, weights=(1, 9))
    found = dg.pagerank(graph, engine=engine, max_iter=10, tol=0)
    np.testing.assert_allclose(
        found.by_number("pagerank"), dg.pagerank(one, max_iter=10, tol=0).by_number("pagerank"), rtol=1e-9
    )
    assert threads.packets
    expected = dg.sssp(one, source=0).by_number("distance")
    np.testing.assert_array_equal(dg.sssp(graph, source=0, engine=engine).by_number("distance"), expected)


def test_more_than_a_few_workers_of_a_cluster(monkeypatch):
    """As threads of one process they hand each other packets, and call nobody."""
    calls = []
    monkeypatch.setattr(ExchangeOnWorker, "mail", lambda *_, **packet: calls.append(packet))
    where = {"n_workers": 10, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "memory_limit": 0}
    frame = dg.rmat(scale=8, edge_factor=4, seed=1).edges.compute()
    ends = {"source": "source", "destination": "destination"}
    expected = dg.pagerank(dg.Graph.from_edges(frame, **ends), tol=1e-9).by_number("pagerank")
    with LocalCluster(**where) as cluster, Client(cluster, set_as_default=False) as client:
        graph = dg.Graph.from_edges(frame, **ends, client=client)
        for engine in ("gas", "bsp", "bulk_async", "block_descent"):
            found = dg.pagerank(graph, engine=engine, tol=1e-9).by_number("pagerank")
            np.testing.assert_allclose(found, expected, atol=1e-8)
        there = set(client.nthreads())
        assert there <= AT_HAND.keys() and not calls
    assert not there & AT_HAND.keys()
