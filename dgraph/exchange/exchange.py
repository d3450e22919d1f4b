"""One worker's end of the exchange in one run: how steps send and collect mail, on any transport.

A transport is a subclass that can `post` a packet to a peer (another worker), `last_posted_step` of a peer, `report` a
failure, and `sum` numbers over all workers. There are three: in `local.py`, `dask.py` and `supersteps/mail_graph.py`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.checkpoint.piece import PieceLabel
from dgraph.errors import RunError
from dgraph.exchange.bundle import COLUMNS, Bundle, by_worker, lay_out
from dgraph.exchange.free_mail import FreeMail
from dgraph.exchange.grid import RIDING_BYTES, WorkerGrid
from dgraph.exchange.mail import (
    FRAGMENT_BYTES,
    PASSED_ON,
    START_STEP,
    Buffer,
    Fragment,
    Mailbox,
    Packet,
    Route,
    Token,
    as_bytes,
    cut,
    join,
    nobody,
)

PATIENCE = 30.0  # seconds without any mail after which a message that its sender has posted counts as lost
NO_LIMIT = 1 << 62
HERE = -1  # in place of a worker: this one
SHORT_WAIT = 0.01  # seconds a step waits for mail before it gives up its thread


@dataclass
class Outbox:
    """What one step has sent but not yet posted, by receiving worker."""

    messages: list[int]  # how many packets were posted to each worker
    partitions: int
    ridden: np.ndarray  # bytes in bundles, by the worker for which they are
    buffers: dict[int, np.ndarray] = field(default_factory=dict)  # how many, by sending and receiving partition
    waiting: defaultdict[int, list[Fragment]] = field(default_factory=lambda: defaultdict(list))
    bundles: defaultdict[int, list[Bundle]] = field(default_factory=lambda: defaultdict(list))
    bytes: Counter[int] = field(default_factory=Counter)

    def counts(self, sender: int) -> np.ndarray:
        """How many buffers there were from a partition, by receiving partition."""
        if sender not in self.buffers:
            self.buffers[sender] = np.zeros(self.partitions, np.int64)
        return self.buffers[sender]

    def holds(self, peer: int) -> bool:
        """Whether there is anything for a worker."""
        return peer in self.waiting or peer in self.bundles

    def bundle_for(self, peer: int) -> Bundle | None:
        """The small buffers for a worker, which are then no longer here."""
        return Bundle.of(self.bundles.pop(peer)) if peer in self.bundles else None


class Exchange(ABC):
    """One worker's end of the exchange, which is thread-safe. A buffer that was sent belongs to the exchange, so do not
    write to it again."""

    direct = False  # whether GPU arrays go from worker to worker without a copy through main memory

    def __init__(self, route: Route, worker: int, patience: float = PATIENCE):
        self.route, self.worker, self.patience = route, worker, patience
        self.partitions = route.partitions_of(worker)
        self.grid = self.grid_of(worker, len(route.workers))
        self.mailbox = Mailbox(worker, route.homes, self.grid)
        if self.grid is not None:
            self.mailbox.pass_on = self.pass_on
        self.cause: BaseException | None = None  # the error that stopped the run, if it was raised here
        self.steps_and_state: Any = None  # set by the first step, for the following ones
        self.result: Any = None  # what the last step returned
        self.begun, self.busy = time.monotonic(), 0.0  # seconds that all steps took
        started = [Token(route.run, START_STEP, peer, (0,) * len(route.workers)) for peer in range(len(route.workers))]
        self.last_token = started[worker]  # from the last step whose mail was posted in full
        for token in started:
            self.mailbox.announce(token)
        self._homes = np.array(route.homes)  # by partition, as are the workers to which small mail for it goes first
        hops = [home if self.grid is None else self.grid.first_hop(home) for home in route.homes]
        self._hops = np.where(self._homes == worker, HERE, hops)
        self._heavy = NO_LIMIT if self.grid is None else RIDING_BYTES  # bytes that go straight to a worker
        self.order = np.lexsort((self._homes, self._hops))  # in which a bundle has buffers for all partitions
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._outboxes: dict[int, Outbox] = {}  # by step
        self._free: FreeMail | None = None

    # -- implemented by transports -------------------------------------------------------------------------------------

    @abstractmethod
    def post(self, peer: int, message: Packet) -> None:
        """Deliver a packet to a peer's mailbox. Blocks while too many bytes are in flight. Free mail goes to the peer's
        `FreeInbox`; once that has accepted it, the transport calls `free.confirm` here."""

    @abstractmethod
    def last_posted_step(self, peer: int) -> int:
        """The number of the last step whose mail a peer has posted in full."""

    @abstractmethod
    def report(self, reason: str, error: BaseException) -> None:
        """Notify all other workers that the run has failed, and why."""

    @abstractmethod
    def sum(self, values: list[float]) -> list[float]:
        """The sum of each value over all workers. Blocks until every worker has called it, so only fused steps and long
        tasks may do so."""

    def takes_gpu_arrays(self, partition: int, gpus: Container[str]) -> bool:
        """Whether GPU arrays of this worker reach a partition without a copy through main memory; `gpus` are the
        addresses of workers with a GPU."""
        home = self.route.homes[partition]
        return home == self.worker or (self.direct and self.route.workers[home] in gpus)

    def leave_thread(self) -> None:  # noqa: B027  (without other tasks there is nothing to do)
        """Give this thread to other tasks. A step calls this before a long wait, since it may be waiting for one of
        them."""

    def store_piece(self, peer: int, label: PieceLabel, parts: int, data: bytes) -> None:
        """Store a copy of a piece of a checkpoint in a peer's memory."""
        raise RunError(
            "checkpoints in memory are not available with direct_exchange=False, nor where plugins cannot be "
            "installed; pass a folder or URL as checkpoint="
        )

    def close(self) -> None:
        """End the run here. The state refers back to this object, so release it now rather than wait for Python's
        garbage collector."""
        self.steps_and_state = self.result = None
        self.mailbox.pass_on = nobody

    @property
    def free(self) -> FreeMail:
        """The mail of asynchronous engines, made when it is first used, here or by the transport's thread."""
        if self._free is None:
            with self._lock:
                self._free = self._free or FreeMail(self)
        return self._free

    @property
    def mail_route(self) -> str:
        """How mail of steps reaches other workers, for reports."""
        if len(self.route.workers) == 1:
            return "none"
        return "direct" if self.grid is None else "two hops"

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, step: int, sender: int, receiver: int, buffer: Any) -> None:
        """Send a buffer from a partition here to any partition. It is posted when a packet is full, or by `flush`."""
        self.check()
        data, peer = as_bytes(buffer), self.route.homes[receiver]
        full = []
        with self._lock:
            outbox = self._outbox(step)
            counts = outbox.counts(sender)
            fragments = cut(sender, receiver, int(counts[receiver]), data)
            counts[receiver] += 1
            if peer == self.worker:
                self.mailbox.put(step, fragments)
                return
            for fragment in fragments:
                if outbox.bytes[peer] + fragment.data.nbytes > FRAGMENT_BYTES and outbox.holds(peer):
                    full.append(self._message(step, outbox, peer))
                outbox.waiting[peer].append(fragment)
                outbox.bytes[peer] += fragment.data.nbytes
        for message in full:
            self.post(peer, message)

    def send_bundle(self, step: int, sender: int, receivers: np.ndarray, sizes: np.ndarray, data: np.ndarray) -> None:
        """Send small buffers from a partition here to several partitions, each to one, and best in `order`. They stand
        one after the other in `data`, each padded to 8 bytes."""
        self.check()
        rows = len(receivers)
        whole = Bundle(np.empty((rows, COLUMNS), np.int64), data)
        cuts, bounds, full = np.empty((rows + 1, 2), np.int64), np.empty(rows + 1, np.int64), []
        with self._lock:
            outbox = self._outbox(step)
            laws = self._homes, self._hops, outbox.counts(sender), outbox.ridden, self._heavy
            found = lay_out(sender, receivers, sizes, *laws, whole.table, cuts, bounds)
            peers = cuts[:found, 1].tolist()
            for peer, bundle in zip(peers, whole.cut(cuts[: found + 1, 0], bounds[: found + 1]), strict=True):
                if peer == HERE:
                    self.mailbox.put(step, bundles=[bundle])
                    continue
                grows = outbox.bytes[peer] + bundle.data.nbytes
                if grows > FRAGMENT_BYTES and outbox.holds(peer) and peer != self.worker:
                    full.append((peer, self._message(step, outbox, peer)))
                outbox.bundles[peer].append(bundle)
                outbox.bytes[peer] += bundle.data.nbytes
        for peer, message in full:
            self.post(peer, message)

    def flush(self, step: int, values: dict[str, Any], seconds: float = 0.0, share: bool = False) -> Token:
        """Post the rest of a step's mail, one packet per peer. Returns the token that says how many packets there were;
        with `share` it also goes to all other workers, which `gather` it."""
        with self._lock:
            outbox = self._outbox(step)
            del self._outboxes[step]
            told: Sequence[int] = range(len(outbox.messages)) if share else ()  # who gets the token from here
            if share and self.grid is not None:
                told = self.grid.row
                self._let_ride(outbox, self.grid)
            peers = sorted({*told, *outbox.waiting, *outbox.bundles} - {self.worker})
            for peer in peers:
                outbox.messages[peer] += 1
            token = Token(self.route.run, step, self.worker, tuple(outbox.messages), values, seconds)
            rest = [self._packet(step, outbox, p, token.messages[p] - 1, token if p in told else None) for p in peers]
        for peer, message in zip(peers, rest, strict=True):
            self.post(peer, message)
        if share:
            self.mailbox.announce(token, outbox.waiting[self.worker], outbox.bundles[self.worker])
        self.last_token, self.busy = token, self.busy + seconds
        return token

    def standing(self) -> dict[str, Any]:
        """What this worker has done so far, for the live page. Called on any thread, while a step may change what is
        read; whatever goes wrong, a page that nobody may be looking at must not end the run."""
        told: dict[str, Any] = {"busy": self.busy, "seconds": time.monotonic() - self.begun}
        if (live := self.steps_and_state) is not None:  # read once, because another thread may close this run
            steps, state = live
            with suppress(Exception):
                told |= steps.standing(state, self.last_token.values)
        return told

    def _let_ride(self, outbox: Outbox, grid: WorkerGrid) -> None:
        """Give small mail for workers of other rows to the peers of this row, or to this worker, that pass it on."""
        for peer, fragments in list(outbox.waiting.items()):
            light = outbox.bytes[peer] <= RIDING_BYTES and all(isinstance(one.data, np.ndarray) for one in fragments)
            if peer not in grid.row and light:
                outbox.waiting[grid.relay(peer)] += outbox.waiting.pop(peer)

    def acknowledge(self, peer: int, accepted: int) -> None:  # noqa: B027  (others confirm each packet at once)
        """Tell a peer how many packets of free mail from it were accepted here, if nothing else is sent to it."""

    def grid_of(self, worker: int, workers: int) -> WorkerGrid | None:
        """The worker's place in a grid, where mail takes two hops."""
        return None

    def pass_on(
        self, step: int, row: tuple[Token, ...], riding: dict[int, list[Fragment]], bundles: Sequence[Bundle]
    ) -> None:
        """Send what this row has for workers of other rows. Any thread may call this, and it may not wait."""
        sorted_out = by_worker(bundles, self._homes, len(self.route.workers), self.worker) if bundles else {}
        for peer in self.grid.served if self.grid is not None else ():
            fragments, bundle = riding.get(peer, []), sorted_out.get(peer)
            head = self.route.run, step, self.worker, PASSED_ON
            self.send_on(peer, Packet(*head, fragments, row=row, bundle=bundle))

    def send_on(self, peer: int, message: Packet) -> None:
        """Post a packet from any thread, without waiting, whatever else is in flight."""
        self.post(peer, message)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def collect(self, step: int, receiver: int) -> list[tuple[int, Buffer]]:
        """All buffers for a partition here as (sending partition, bytes), ordered by sender and number regardless of
        the order of arrival."""
        self._await(step, tokens_from=set())
        fragments, bundles = self.mailbox.collect(step, receiver)
        for bundle in bundles:
            for sender, number, data in bundle.buffers(receiver):
                fragments.append(Fragment(sender, receiver, number, data.nbytes, 0, data))
        return join(fragments)

    def collect_bundles(self, step: int, receiver: int) -> tuple[list[tuple[int, Buffer]], list[Bundle]]:
        """The same, but small buffers stay in their bundles, which have some for others, too, and are in no order."""
        self._await(step, tokens_from=set())
        fragments, bundles = self.mailbox.collect(step, receiver)
        return join(fragments), bundles

    def gather(self, step: int, secedes: bool = False) -> list[Token]:
        """The tokens that all workers shared at the end of a step, by worker. Drops mail of earlier steps. A task that
        `secedes` leaves its thread before it waits for longer than `SHORT_WAIT`."""
        workers = set(range(len(self.route.workers)))
        if secedes and self.mailbox.wait(step, workers, SHORT_WAIT):
            self.leave_thread()
        self._await(step, tokens_from=workers)
        self.mailbox.forget(before=step)
        return [token for _, token in sorted(self.mailbox.tokens(step).items())]

    def _await(self, step: int, tokens_from: set[int]) -> None:
        """Wait for all mail of a step. Mail counts as lost if its sender confirms that it has posted everything, and
        nothing more arrives for another `patience` seconds."""
        suspects: set[int] = set()
        while missing := self.mailbox.wait(step, tokens_from, self.patience):
            suspects &= missing  # these had posted everything `patience` seconds ago, and it has not arrived
            if suspects:
                senders = ", ".join(self.route.workers[worker] for worker in sorted(suspects))
                raise RunError(
                    f"messages of superstep {step} from {senders} to {self.route.workers[self.worker]} were lost "
                    f"(nothing arrived for {self.patience:g} s); run again"
                )
            ways = {peer: {peer} if self.grid is None else {*self.grid.senders(peer)} for peer in missing}
            asked = {one for way in ways.values() for one in way}
            posted = {one for one in asked if self.last_posted_step(one) >= step}
            suspects = {peer for peer, way in ways.items() if way <= posted}

    @contextmanager
    def one_task_at_a_time(self, secedes: bool) -> Iterator[None]:
        """Allow only one task of this worker at a time to take steps of the run. A task that `secedes` leaves its
        thread before it waits for longer than `SHORT_WAIT`."""
        if not self._turn.acquire(timeout=SHORT_WAIT if secedes else -1):
            self.leave_thread()
            self._turn.acquire()
        try:
            yield
        finally:
            self._turn.release()

    # -- failing -------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise RunError if the run has been stopped. Long steps call this regularly."""
        if self.mailbox.failure is not None:
            raise RunError(self.mailbox.failure)

    def fail(self, error: BaseException) -> None:
        """Stop the run on all workers because of an error here. The first reason is kept."""
        if self.mailbox.failure is None:
            reason = str(error) if isinstance(error, RunError) else f"{type(error).__name__}: {error}"
            self.cause = error
            self.mailbox.fail(reason)
            self.report(reason, error)

    @contextmanager
    def stop_on_error(self) -> Iterator[None]:
        """Stop the run on all workers if the body raises."""
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise

    def _outbox(self, step: int) -> Outbox:
        if step not in self._outboxes:
            workers = len(self.route.workers)
            self._outboxes[step] = Outbox([0] * workers, len(self.route.homes), np.zeros(workers, np.int64))
        return self._outboxes[step]

    def _message(self, step: int, outbox: Outbox, peer: int) -> Packet:
        number = outbox.messages[peer]
        outbox.messages[peer] += 1
        outbox.bytes[peer] = 0
        return self._packet(step, outbox, peer, number)

    def _packet(self, step: int, outbox: Outbox, peer: int, number: int, token: Token | None = None) -> Packet:
        fragments, bundle = outbox.waiting.pop(peer, []), outbox.bundle_for(peer)
        return Packet(self.route.run, step, self.worker, number, fragments, token, bundle=bundle)
