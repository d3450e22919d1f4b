"""Bulk-asynchronous runs: the reference's answer under every policy, whatever the transport does to the mail."""

import os
import random
import threading
import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import PROGRAMS, check_values, graph_for
from test_agreement import by_ends, by_hash

import dgraph as dg
from dgraph.engines.free_rounds import Clock
from dgraph.errors import OptionError
from dgraph.exchange import free_mail as free_module
from dgraph.exchange.free_mail import ACCEPTED, FREE
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Packet
from dgraph.partition.policies import POLICY_NAMES
from dgraph.programs.analysis import analyse, engines_for
from dgraph.supersteps import run_steps
from dgraph.vertex_state.partition_state import PartitionState

FREELY = [name for name, program in PROGRAMS.items() if "bulk_async" in engines_for(analyse(program))]
IN_ROUNDS = [name for name in PROGRAMS if name not in FREELY]


def test_bulk_async_accepts_the_expected_programs():
    assert set(FREELY) == {
        *("ShortestPaths", "BreadthFirst", "ManySources", "Descent", "Components", "Residuals", "Katz", "KCore"),
        *("BitSets", "NearestByte"),
    }


def sampled():
    policies = (*POLICY_NAMES, by_hash, by_ends)
    cases = list(product(FREELY, (True, False), (1, 2, 3, 8), policies))
    return cases if os.environ.get("DGRAPH_ALL") else cases[:: 2 * len(policies) - 1]


@pytest.mark.parametrize(("name", "directed", "parts", "policy"), sampled())
def test_bulk_async_matches_the_reference(name, directed, parts, policy):
    graph = graph_for(name, directed, parts=parts, policy=policy)
    check_values(name, directed, dg.run(graph, PROGRAMS[name], engine="bulk_async"))


def test_sums_reach_later_vertices_in_the_same_sweep():
    """Along a chain in two partitions, of which each has a thread: a round each, and not one a vertex."""
    chain = {"src": np.arange(40), "dst": np.arange(1, 41)}
    graph = dg.Graph.from_edges(chain, policy="incoming", parts=2)
    ranks = {way: dg.pagerank(graph, tol=1e-9, engine=dg.BulkAsync(direction=way)) for way in ("auto", "push")}
    expected = dg.pagerank(graph, tol=0, max_iter=200).compute()["pagerank"]
    for found in ranks.values():
        np.testing.assert_allclose(found.compute()["pagerank"], expected, atol=1e-9)
    assert ranks["auto"].rounds <= 5 < 15 < ranks["push"].rounds


@pytest.mark.parametrize("local_rounds", [1, 2, 5])
@pytest.mark.parametrize("name", FREELY)
def test_any_number_of_local_rounds_gives_the_same_answer(name, local_rounds):
    graph = graph_for(name, parts=3, policy="hybrid")
    result = dg.run(graph, PROGRAMS[name], engine=dg.BulkAsync(local_rounds=local_rounds))
    check_values(name, True, result)
    assert result.report["steps"].max() <= local_rounds


@pytest.mark.parametrize("name", FREELY)
def test_bulk_async_on_a_cluster_matches_the_reference(name, client):
    for policy in ("outgoing", "cartesian"):
        graph = graph_for(name, parts=4, policy=policy, client=client)
        check_values(name, True, dg.run(graph, PROGRAMS[name], engine="bulk_async"))


@pytest.mark.parametrize("name", IN_ROUNDS)
def test_a_program_that_needs_rounds_is_refused(name):
    with pytest.raises(OptionError, match=r"engine='bulk_async' cannot run .*; choose one of bsp, gas"):
        dg.run(graph_for(name, parts=2), PROGRAMS[name], engine="bulk_async")


def test_a_number_of_rounds_is_refused():
    graph = graph_for("Components", parts=2)
    for engine in ("bulk_async", dg.BulkAsync(local_rounds=2)):
        with pytest.raises(OptionError, match=r"max_rounds=3 is not available with engine=dg.BulkAsync.*dg.Gas or"):
            dg.run(graph, PROGRAMS["Components"], engine=engine, max_rounds=3)


OFF = [
    {"optimizations": dg.Optimizations(**{name: False})} for name in ("active_only", "changed_only", "skip_exchange")
]


@pytest.mark.parametrize(
    ("engine", "fields", "message"),
    [
        *((dg.BulkAsync, off, "=False is not available in dg.BulkAsync.*; dg.Gas and dg.Bsp do") for off in OFF),
        (dg.BulkAsync, {"rebalance": True}, "no option rebalance=True; dg.Gas and dg.Bsp have it"),
        (dg.BulkAsync, {"local_rounds": 0}, "local_rounds=0 must be an integer >= 1"),
        (dg.Gas, {"local_rounds": 2}, "local_rounds=2 is not available in dg.Gas,.*; dg.BulkAsync has it"),
    ],
)
def test_options_of_other_engines_are_refused(engine, fields, message):
    with pytest.raises(OptionError, match=message):
        engine(**fields)


class Unreliable(LocalExchange):
    """Loses, repeats, holds back and reorders free mail, notes and confirmations at random."""

    draw = random.Random()
    held: list = []  # noqa: RUF012  (of one run; the test resets it)
    lock = threading.Lock()

    def post(self, peer, message):
        if message.step != FREE:
            super().post(peer, message)
            return
        with Unreliable.lock:
            chance = Unreliable.draw.random()
            if 0.2 < chance < 0.4:
                Unreliable.held.append((super().post, peer, message))
            released = [Unreliable.held.pop(Unreliable.draw.randrange(len(Unreliable.held)))] if Unreliable.held else []
        if chance > 0.4:
            super().post(peer, message)
        if chance > 0.9:
            super().post(peer, message)
        for deliver, to, late in released if chance > 0.5 else ():
            deliver(to, late)


class Acknowledging(Unreliable):
    """Says with its packets what it has accepted, instead of confirming each, as lanes do."""

    def post(self, peer, message):
        if message.step < FREE or Unreliable.draw.random() > 0.3:
            self._hand_over(peer, message)
        if message.step >= FREE and Unreliable.draw.random() > 0.9:
            self._hand_over(peer, message)

    def _hand_over(self, peer, message):
        if message.step < FREE:
            self.peers[peer].mailbox.deliver(message)
        else:
            self.peers[peer].free.take(message)

    def acknowledge(self, peer, accepted):
        self.post(peer, Packet(self.route.run, ACCEPTED, self.worker, 0, [], accepted=accepted))


@pytest.mark.parametrize("transport", [Unreliable, Acknowledging])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["ShortestPaths", "KCore", "Katz"])
def test_mail_that_is_lost_late_or_duplicated_changes_no_answer(name, seed, transport, monkeypatch):
    """It is sent again until it is confirmed, and counts once: the same answer, and no run goes on for ever."""
    Unreliable.draw, Unreliable.held = random.Random(seed), []
    monkeypatch.setattr(run_steps, "LocalExchange", transport)
    monkeypatch.setattr(run_steps, "PATIENCE", 0.02)
    monkeypatch.setattr("dgraph.engines.free_rounds.LONGEST_SLEEP", 0.005)
    monkeypatch.setattr(Unreliable, "patience", property(lambda self: 0.02, lambda self, value: None), raising=False)
    policy = POLICY_NAMES[seed % len(POLICY_NAMES)]
    graph = graph_for(name, parts=4, policy=policy)
    check_values(name, True, dg.run(graph, PROGRAMS[name], engine="bulk_async"))


def test_a_slow_receiver_slows_its_senders(monkeypatch):
    """With room for hardly anything, mail waits with its senders and is merged there."""
    monkeypatch.setattr("dgraph.exchange.free_inbox.INBOX_BYTES", 16)
    monkeypatch.setattr(free_module, "OUTGOING_BYTES", 64)
    for name in ("Components", "Katz"):
        graph = graph_for(name, parts=3, policy="cartesian")
        check_values(name, True, dg.run(graph, PROGRAMS[name], engine="bulk_async"))


def test_an_error_stops_all_workers(monkeypatch):
    fire, calls = PartitionState.fire, []

    def failing(self, phase):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("the disk is on fire")
        fire(self, phase)

    monkeypatch.setattr(PartitionState, "fire", failing)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="on fire"):
        dg.run(graph_for("ShortestPaths", parts=2), PROGRAMS["ShortestPaths"], engine="bulk_async")
    deadline = time.monotonic() + 5
    while threading.active_count() > before + 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before + 2  # the pool of kernels may have been made meanwhile


def test_the_report_shows_how_each_partition_spent_its_time(client):
    for given in (None, client):
        graph = graph_for("Components", parts=4, policy="cartesian", client=given)
        begun = time.perf_counter()
        result = dg.run(graph, PROGRAMS["Components"], engine="bulk_async")
        elapsed = time.perf_counter() - begun
        report, parts = result.report, result.report.partitions
        assert parts.index.tolist() == [0, 1, 2, 3]
        assert (report[["busy", "wait", "idle"]] >= 0).all(axis=None)
        spent = parts["busy"] + parts["wait"] + parts["idle"]
        assert spent.max() <= elapsed
        assert result.rounds == parts["rounds"].max()
        assert 0 < report.options["milliseconds to find the end"] < elapsed * 1e3
        least = parts["rounds"].min()
        assert f"{least} to {result.rounds} local rounds, end detected in" in repr(result)
        compared = report.against(dg.run(graph, PROGRAMS["Components"], engine="bsp").report)
        assert compared.loc["edges", "this"] == report["edges"].sum()
        assert {"fewest rounds", "most rounds", "edges", "messages", "bytes", "busy", "idle"} <= set(compared.index)


def test_time_is_busy_waiting_or_idle():
    clock = Clock(since=0.0, ready=None)
    assert clock.round(begun=2.0, ended=5.0, more=True) == {"busy": 3.0, "idle": 2.0, "wait": 0.0}
    assert clock.round(begun=6.0, ended=7.0, more=False) == {"busy": 1.0, "idle": 0.0, "wait": 1.0}
    clock.ready = 9.0  # mail came
    assert clock.round(begun=10.0, ended=11.0, more=False) == {"busy": 1.0, "idle": 2.0, "wait": 1.0}


def test_high_diameter_graphs_need_few_rounds():
    """A partition goes on by itself as far as it can; so a long path takes a round a partition, not one an edge."""
    path = pd.DataFrame({"src": np.arange(400), "dst": np.arange(1, 401)})
    graph = dg.Graph.from_edges(path, parts=4)
    free = dg.run(graph, PROGRAMS["BreadthFirst"], engine="bulk_async")
    rounds = dg.run(graph, PROGRAMS["BreadthFirst"], engine="bsp")
    assert free.rounds <= 8 < 300 < rounds.rounds
    pd.testing.assert_frame_equal(free.compute(), rounds.compute())
