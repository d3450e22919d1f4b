"""Steps with a known answer: every partition sends what it has to all, and keeps the sum of what it got; and what a
cluster knows of their runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from dgraph.exchange.exchange import Exchange
from dgraph.exchange.run_registry import PLUGIN_NAME
from dgraph.supersteps.steps import Steps


@dataclass
class Mixing:
    exchange: Exchange
    values: dict[int, np.ndarray]
    last: int
    trace: list = field(default_factory=list)

    def send(self, step: int) -> None:
        for sender, values in self.values.items():
            for receiver in range(len(self.exchange.route.homes)):
                self.exchange.send(step, sender, receiver, values + receiver)

    def receive(self, step: int) -> None:
        got = {p: self.exchange.collect(step, p) for p in self.values}
        self.values = {p: sum(b.view(np.int64) for _, b in mail) % 1_000_003 for p, mail in got.items()}


def mixing(last: int = 3, pause: float = 0.0, fail_at: int | None = None) -> Steps:
    """Steps that are done after round `last`, when every worker's values hold the sums."""

    def setup(exchange, partitions):
        return Mixing(exchange, dict(partitions), last)

    def step(state, round, tokens):
        assert len(tokens) == len(state.exchange.route.workers)
        if round == fail_at and state.exchange.worker == 1:
            raise ZeroDivisionError(f"round {round}")
        time.sleep(pause)
        if round:
            state.receive(round - 1)
        if round < last:
            state.send(round)
        return {"done": round == last, "round": round}

    def finish(state):
        return state.values

    return Steps(setup, step, finish)


def start(parts: int, length: int = 5) -> list[np.ndarray]:
    return [np.arange(length, dtype=np.int64) * (p + 1) for p in range(parts)]


def answer(parts: int, last: int = 3, length: int = 5) -> list[np.ndarray]:
    """What each partition holds in the end."""
    values = start(parts, length)
    for _ in range(last):
        values = [sum(v + receiver for v in values) % 1_000_003 for receiver in range(parts)]
    return values


def check(results: list, parts: int, last: int = 3, length: int = 5) -> None:
    found = {p: v for result in results for p, v in result.items()}
    for p, expected in enumerate(answer(parts, last, length)):
        np.testing.assert_array_equal(found[p], expected)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "still not so"
        time.sleep(0.01)


def results(outcome):
    return [future.result() for future in outcome.results]


def ends_on_workers(client):
    def count(dask_worker):  # the plugin comes with the first run
        return len(dask_worker.plugins[PLUGIN_NAME].ends) if PLUGIN_NAME in dask_worker.plugins else 0

    return sum(client.run(count).values())


def busy(client):
    return any(client.processing().values())


def registry(cluster):
    return cluster.scheduler.plugins[PLUGIN_NAME]
