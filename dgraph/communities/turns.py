"""The turns in which all workers move vertices at the same time, as the steps of a run: moves go from worker to worker
as mail, and this process does not see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dgraph.cluster.workers import Workers
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.native import threads
from dgraph.solvers.communities.shares import TURNS, Mover, Moves, Refiner
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

MOST_SWEEPS = 20  # of one level; in a sweep, each vertex has one turn
LEAST_OF_TOTAL = 0.1  # sweeps go on while one gains this share of all; the next level does the rest faster


class ShareResults(NamedTuple):
    """What the shares of a worker have found, and what that took on all workers."""

    of_shares: list[Any]
    turns: int
    read: int  # edges


@dataclass(frozen=True)
class Turns:
    """What the workers do: sweeps of some turns, until one gains at most `least`, or little beside those before."""

    least: float
    of_sweep: int = TURNS
    most_sweeps: int = MOST_SWEEPS

    def take(self, workers: Workers, shares: Sequence[object], homes: Sequence[str | None]) -> list[ShareResults]:
        """Take turns with held `Mover`s or `Refiner`s. Returns what each worker has found. The first task of a worker
        holds its thread until all others have begun, so what they begin with has to be there."""
        shares = workers.wait(list(shares))
        ends = None if workers.client is None else [str(home) for home in homes]
        steps = Steps(self.setup, AtWorker.step, AtWorker.finish)
        outcome = run_steps(steps, shares, client=workers.client, homes=ends, threads=threads.cores())
        assert outcome is not None, "nothing stops the run"
        return workers.bring(outcome.results)

    def setup(self, exchange: Exchange, shares: dict[int, Mover | Refiner]) -> AtWorker:
        return AtWorker(exchange, shares, self)


class AtWorker:
    """The shares of one worker, and what all have gained and read so far."""

    def __init__(self, exchange: Exchange, shares: Mapping[int, Mover | Refiner], until: Turns):
        self.exchange, self.shares, self.until = exchange, shares, until
        homes = exchange.route.homes
        self.first_shares = [homes.index(worker) for worker in sorted(set(homes))]  # of each worker
        self.turns = self.read = 0
        self.gains: list[float] = []

    def step(self, number: int, reports: list[StepReport]) -> StepReport:
        """Hear of the last turn, and take the next one unless it was enough. All workers decide alike."""
        self.turns = number
        if number > 0:
            self._hear(number - 1)
            self.gains.append(sum(report["gain"] for report in reports))
            self.read += sum(report["read"] for report in reports)
            if number % self.until.of_sweep == 0 and self._enough():
                return {"done": True}
        gain, read = 0.0, 0
        for place, share in self.shares.items():
            moves, gained, more = share.turn(number)
            gain, read = gain + gained, read + more
            buffer = _packed(moves)
            for receiver in self.first_shares:
                self.exchange.send(number, place, receiver, buffer)
        return {"gain": gain, "read": read}

    def _hear(self, number: int) -> None:
        for sender, buffer in self.exchange.collect(number, min(self.shares)):
            moves = _opened(buffer)
            for place, share in self.shares.items():
                if place != sender:
                    share.hear(moves)

    def _enough(self) -> bool:
        until, gained = self.until, sum(self.gains[-self.until.of_sweep :])
        is_last = self.turns == until.most_sweeps * until.of_sweep
        return is_last or gained <= max(until.least, LEAST_OF_TOTAL * sum(self.gains))

    def finish(self) -> ShareResults:
        return ShareResults([share.found() for share in self.shares.values()], self.turns, self.read)


def _packed(moves: Moves) -> np.ndarray:
    return np.concatenate([np.array([len(moves.vertices)], np.uint32), *moves])


def _opened(buffer: Any) -> Moves:
    numbers = buffer.view(np.uint32)
    first, second = 1 + int(numbers[0]), 1 + 2 * int(numbers[0])
    return Moves(numbers[1:first], numbers[first:second], numbers[second:])
