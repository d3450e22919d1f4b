"""One worker's end of the exchange in one run: what steps send and collect, on any transport.

A transport is a subclass that can `post` a packet to a peer (another worker), `ask` how far a peer has come, and
`report` a failure. `local.py` and `dask.py` have one each, `supersteps/mail_graph.py` the third.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dgraph.checkpoint.piece import PieceLabel
from dgraph.errors import RunError
from dgraph.exchange.free_mail import FreeMail
from dgraph.exchange.mail import FRAGMENT, START, Buffer, Fragment, Mailbox, Packet, Route, Token, as_bytes, cut, join

PATIENCE = 30.0  # seconds without any mail, after which a message that its sender has sent counts as lost
MOMENT = 0.01  # seconds without any mail, after which a step that waits need not do so at once


@dataclass
class Outbox:
    """What a step has sent and not yet posted, by receiving worker."""

    messages: list[int]  # how many were posted, to each worker
    buffers: Counter[tuple[int, int]] = field(default_factory=Counter)  # numbered per sender and receiver
    waiting: defaultdict[int, list[Fragment]] = field(default_factory=lambda: defaultdict(list))
    bytes: Counter[int] = field(default_factory=Counter)


class Exchange(ABC):
    """Safe to use from several threads. A buffer that was sent belongs to the exchange: do not write to it again."""

    direct = False  # whether arrays on GPUs go from worker to worker as they are

    def __init__(self, route: Route, worker: int, patience: float = PATIENCE):
        self.route, self.worker, self.patience = route, worker, patience
        self.partitions = route.partitions_of(worker)
        self.mailbox = Mailbox(worker)
        self.free = FreeMail(self)  # of asynchronous engines
        self.cause: BaseException | None = None  # the error that stopped the run, if it arose here
        self.held: Any = None  # what steps keep here from one to the next
        self.result: Any = None  # of the last of them
        started = [Token(route.run, START, peer, (0,) * len(route.workers)) for peer in range(len(route.workers))]
        self.told = started[worker]  # when all mail of a step had been posted
        for token in started:
            self.mailbox.announce(token)
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._outboxes: dict[int, Outbox] = {}  # by step

    # -- what a transport does -----------------------------------------------------------------------------------------

    @abstractmethod
    def post(self, peer: int, message: Packet) -> None:
        """Bring a packet to a peer's mailbox; blocks while too many bytes are on their way. Free mail goes to the
        peer's `FreeInbox`, and `free.confirm` is called here when that has taken it in."""

    @abstractmethod
    def ask(self, peer: int) -> int:
        """The last step whose mail a peer has posted in full."""

    @abstractmethod
    def report(self, reason: str, error: BaseException) -> None:
        """Tell all others that the run has failed, and why."""

    @abstractmethod
    def sum(self, values: list[float]) -> list[float]:
        """The sum over all workers of each value. All workers must ask at the same time: so only fused steps and long
        tasks do."""

    def passes(self, partition: int, gpus: Container[str]) -> bool:
        """Whether arrays on a GPU of this worker reach a partition as they are; `gpus` are the workers that have
        one."""
        home = self.route.homes[partition]
        return home == self.worker or (self.direct and self.route.workers[home] in gpus)

    def leave_thread(self) -> None:  # noqa: B027  (where there are no other tasks, there is nothing to do)
        """Called by a step that waits for long: from now on other tasks may have its thread, for it may wait for one of
        them."""

    def lodge(self, peer: int, label: PieceLabel, parts: int, data: bytes) -> None:
        """Have a peer keep a copy of a piece of a checkpoint."""
        raise RunError("checkpoints in memory take the plugins of exchange='workers'; give checkpoint= a folder or URL")

    def close(self) -> None:
        """The run is over. What is held here refers back to this end, so let go of it now rather than when Python finds
        cycles."""
        self.held = self.result = None

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, step: int, sender: int, receiver: int, buffer: Any) -> None:
        """Send a buffer from a partition here to any partition; it travels when a packet is full, or with `flush`."""
        self.check()
        data, peer = as_bytes(buffer), self.route.homes[receiver]
        full = []
        with self._lock:
            outbox = self._outbox(step)
            fragments = cut(sender, receiver, outbox.buffers[sender, receiver], data)
            outbox.buffers[sender, receiver] += 1
            if peer == self.worker:
                self.mailbox.put(step, fragments)
                return
            for fragment in fragments:
                if outbox.bytes[peer] + fragment.data.nbytes > FRAGMENT and outbox.waiting[peer]:
                    full.append(self._message(step, outbox, peer))
                outbox.waiting[peer].append(fragment)
                outbox.bytes[peer] += fragment.data.nbytes
        for message in full:
            self.post(peer, message)

    def flush(self, step: int, values: dict[str, Any], seconds: float = 0.0, share: bool = False) -> Token:
        """Post the rest of a step's mail, one packet a peer. Returns the token that says how many packets there were;
        `share` sends it along, for the others to `gather`."""
        with self._lock:
            outbox = self._outbox(step)
            del self._outboxes[step]
            peers = [p for p in range(len(outbox.messages)) if p != self.worker and (share or outbox.waiting[p])]
            for peer in peers:
                outbox.messages[peer] += 1
            token = Token(self.route.run, step, self.worker, tuple(outbox.messages), values, seconds)
            rest = [
                Packet(token.run, step, self.worker, token.messages[p] - 1, outbox.waiting[p], token if share else None)
                for p in peers
            ]
        for peer, message in zip(peers, rest, strict=True):
            self.post(peer, message)
        if share:
            self.mailbox.announce(token)
        self.told = token
        return token

    # -- receiving -----------------------------------------------------------------------------------------------------

    def collect(self, step: int, receiver: int) -> list[tuple[int, Buffer]]:
        """All buffers for a partition here, as (sending partition, bytes), by sender and number whatever the order of
        arrival."""
        self._await(step, tokens_from=set())
        return join(self.mailbox.collect(step, receiver))

    def gather(self, step: int, secedes: bool = False) -> list[Token]:
        """The tokens that all workers shared at the end of a step, by worker. Mail of earlier steps is dropped. A task
        that `secedes` leaves its thread before it waits for longer than a moment."""
        everybody = set(range(len(self.route.workers)))
        if secedes and self.mailbox.wait(step, everybody, MOMENT):
            self.leave_thread()
        self._await(step, tokens_from=everybody)
        self.mailbox.forget(before=step)
        return [token for _, token in sorted(self.mailbox.tokens(step).items())]

    def _await(self, step: int, tokens_from: set[int]) -> None:
        """Wait for all mail of a step. A worker that says it has posted everything, and is silent for another
        `patience` seconds, has lost mail."""
        suspects: set[int] = set()
        while missing := self.mailbox.wait(step, tokens_from, self.patience):
            suspects &= missing  # they had sent everything a whole patience ago, and it is not here
            if suspects:
                senders = ", ".join(self.route.workers[worker] for worker in sorted(suspects))
                raise RunError(
                    f"mail of superstep {step} from {senders} to {self.route.workers[self.worker]} was lost "
                    f"(no news for {self.patience:g} s); run again"
                )
            suspects = {peer for peer in missing if self.ask(peer) >= step}

    @contextmanager
    def stepping(self, secedes: bool) -> Iterator[None]:
        """In the body, this is the only task of the worker that takes steps of the run. To wait for its turn for longer
        than a moment, a task that `secedes` leaves its thread."""
        if not self._turn.acquire(timeout=MOMENT if secedes else -1):
            self.leave_thread()
            self._turn.acquire()
        try:
            yield
        finally:
            self._turn.release()

    # -- failing -------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise if the run has been stopped. Long steps call it now and then."""
        if self.mailbox.failure is not None:
            raise RunError(self.mailbox.failure)

    def fail(self, error: BaseException) -> None:
        """Stop the run everywhere because of an error here. If it was stopped already, the first reason stays."""
        if self.mailbox.failure is None:
            reason = str(error) if isinstance(error, RunError) else f"{type(error).__name__}: {error}"
            self.cause = error
            self.mailbox.fail(reason)
            self.report(reason, error)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """An exception in the body stops the run everywhere."""
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise

    def _outbox(self, step: int) -> Outbox:
        if step not in self._outboxes:
            self._outboxes[step] = Outbox([0] * len(self.route.workers))
        return self._outboxes[step]

    def _message(self, step: int, outbox: Outbox, peer: int) -> Packet:
        number = outbox.messages[peer]
        outbox.messages[peer] += 1
        outbox.bytes[peer] = 0
        return Packet(self.route.run, step, self.worker, number, outbox.waiting.pop(peer))
