"""The exchange between threads of one process, which pass packets without a copy."""

from __future__ import annotations

import threading
from collections.abc import Container
from functools import partial

from dgraph.exchange.exchange import PATIENCE, Exchange
from dgraph.exchange.free_mail import FREE
from dgraph.exchange.mail import Packet, Route


class LocalExchange(Exchange):
    """One thread's end of the exchange. All ends of a run share `peers` and `sums`."""

    def __init__(self, route: Route, worker: int, peers: list[LocalExchange], sums: Sums, patience: float):
        super().__init__(route, worker, patience)
        self.peers, self.sums = peers, sums

    @classmethod
    def ends(cls, route: Route, patience: float = PATIENCE) -> list[LocalExchange]:
        """One end for each worker of the route."""
        peers: list[LocalExchange] = []
        sums = Sums(len(route.workers))
        peers += [cls(route, worker, peers, sums, patience) for worker in range(len(route.workers))]
        return peers

    def post(self, peer: int, message: Packet) -> None:
        if message.step == FREE:
            self.peers[peer].free.inbox.deliver(message, partial(self.free.confirm, peer, message.number))
        else:
            self.peers[peer].mailbox.deliver(message)

    @property
    def mail_route(self) -> str:
        return "within the process" if len(self.peers) > 1 else "none"

    def takes_gpu_arrays(self, partition: int, gpus: Container[str]) -> bool:
        return True

    def last_posted_step(self, peer: int) -> int:
        return self.peers[peer].last_token.step

    def report(self, reason: str, error: BaseException) -> None:
        for peer in self.peers:
            peer.mailbox.fail(reason)
        self.sums.barrier.abort()

    def sum(self, values: list[float]) -> list[float]:
        try:
            return self.sums.add(self.worker, values)
        except threading.BrokenBarrierError:
            self.check()
            raise


class Sums:
    """Adds up values from all workers."""

    def __init__(self, workers: int):
        self.barrier = threading.Barrier(workers)
        self.parts: list[list[float]] = [[]] * workers

    def add(self, worker: int, values: list[float]) -> list[float]:
        self.parts[worker] = values
        self.barrier.wait()
        total = [sum(column) for column in zip(*self.parts, strict=True)]
        self.barrier.wait()  # no worker overwrites values that another one still reads
        return total
