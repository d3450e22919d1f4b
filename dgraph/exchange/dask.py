"""The exchange between workers of a Dask cluster: a pair of plugins, as `distributed.shuffle` has.

This is the workers' half, and what tasks call; `run_registry.py` is the scheduler's, and `cluster/scheduler_calls.py`
asks that. Mail goes from worker to worker past the scheduler. `tests/exchange/test_exchange_hooks.py` names every hook
used here that is not public.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from distributed import get_worker, secede
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol.pickle import dumps
from distributed.protocol.serialize import Serialized, serialize

from dgraph.agents.agent import close_agent
from dgraph.checkpoint import memory_store
from dgraph.checkpoint.piece import PieceLabel
from dgraph.errors import LostError, RunError
from dgraph.exchange.exchange import PATIENCE, Exchange
from dgraph.exchange.free_mail import FREE
from dgraph.exchange.mail import Packet, Route, Token
from dgraph.exchange.run_registry import NAME
from dgraph.exchange.wire_format import pack, unpack
from dgraph.exchange.worker_memory import Heap, SendWindow
from dgraph.native.hosts import all_cores, own_cores, pin_to_cores

IN_FLIGHT = 3  # messages on their way to one peer
WINDOW = 64 << 20  # bytes on their way from one worker; a sender that would exceed it waits
REST = 10.0  # seconds without a run, after which a worker keeps no memory for the next
DIRECT = "ucx", "ucxx", "inproc"  # protocols that carry arrays of GPUs as they are
LOOK_UP = 0.2  # seconds between looks at whether the run goes on
ATTEMPTS = 3  # to bring a message to a peer; a second copy does no harm, numbers tell it


T = TypeVar("T")


class DaskExchange(Exchange):
    """One worker's end. Steps call it from their threads; `_start` and what follows it run on the worker's event
    loop."""

    def __init__(self, route: Route, worker: int, plugin: ExchangeOnWorker, patience: float = PATIENCE):
        super().__init__(route, worker, patience)
        self.plugin, self.sums, self.cores = plugin, 0, own_cores(route.workers, worker)
        self.direct = all(address.partition("://")[0] in DIRECT for address in route.workers)
        self._gates = [asyncio.Semaphore(IN_FLIGHT) for _ in route.workers]
        self._carrying: set[asyncio.Task[None]] = set()

    def post(self, peer: int, message: Packet) -> None:
        size = sum(fragment.data.nbytes for fragment in message.fragments)
        self.plugin.window.acquire(size, self._held_up)
        self.plugin.worker.loop.add_callback(self._start, peer, message, size)

    def ask(self, peer: int) -> int:
        with suppress(OSError):  # if the peer is gone, the scheduler will say so
            return self._answer(self._peer(peer).dgraph_ask(run=self.route.run))
        return -(1 << 62)

    def report(self, reason: str, error: BaseException) -> None:
        try:
            pickled = dumps(error)
        except Exception:  # an exception that does not travel: its text has to do
            pickled = None
        self._notify({"op": "dgraph-failed", "run": self.route.run, "reason": reason, "error": pickled})

    def tell(self, token: Token) -> None:
        """Send the client the token of a chunk's last step. The end of the task itself would reach it later."""
        notice = {"op": "dgraph-told", "run": self.route.run, "token": dumps(token)}
        self._notify({**notice, "last": bool(token.values.get("done"))})

    def leave_thread(self) -> None:
        """Give this task's place in the pool to another task. The thread that Dask starts for that inherits this one's
        cores."""
        with pin_to_cores(all_cores() if self.cores else set()), suppress(KeyError):  # it may have left
            secede()

    def _held_up(self) -> None:
        """Called while the window is full: the receiver may have no room until its own step gets a thread."""
        self.check()
        self.leave_thread()

    def _notify(self, notice: dict[str, Any]) -> None:
        self.plugin.worker.loop.add_callback(self.plugin.worker.batched_stream.send, notice)

    def sum(self, values: list[float]) -> list[float]:
        self.check()
        self.sums += 1
        place = {"run": self.route.run, "number": self.sums, "worker": self.plugin.worker.address}
        sums = self._answer(self.plugin.worker.scheduler.dgraph_sum(values=values, **place))
        if isinstance(sums, str):
            raise RunError(sums)
        return list(sums)

    def lodge(self, peer: int, label: PieceLabel, parts: int, data: bytes) -> None:
        there = self.plugin.worker.rpc(self.route.workers[peer]).dgraph_lodge
        try:
            self._answer(there(label=tuple(label), parts=parts, data=Serialized(*serialize(data))))
        except OSError as error:
            raise LostError(f"{self.route.workers[peer]} cannot be reached; run again") from error

    def fetch(self, address: str, label: PieceLabel) -> bytes | None:
        """A piece of a checkpoint from any worker; None if that is gone, or lacks it."""
        with suppress(OSError):
            there = self.plugin.worker.rpc(address).dgraph_fetch
            return self._answer(there(label=tuple(label)))
        return None

    def _answer(self, question: Coroutine[Any, Any, T]) -> T:
        """What somebody answers; unless the run is stopped: one who has left would be called for half a minute."""
        answer = asyncio.run_coroutine_threadsafe(question, self.plugin.worker.loop.asyncio_loop)
        try:
            while not wait([answer], LOOK_UP).done:
                self.check()
            return answer.result()
        finally:
            answer.cancel()

    def close(self) -> None:
        super().close()
        for task in self._carrying:
            task.cancel()

    def _start(self, peer: int, message: Packet, size: int) -> None:
        task = asyncio.create_task(self._carry(peer, message))
        self._carrying.add(task)

        def done(task: asyncio.Task[None]) -> None:  # also when it was cancelled before it began
            self._carrying.discard(task)
            self.plugin.window.release(size)

        task.add_done_callback(done)

    async def _carry(self, peer: int, message: Packet) -> None:
        try:
            async with self._gates[peer]:
                delivered = await self._deliver(peer, pack(message))
            if not delivered:
                raise LostError(f"{self.route.workers[peer]} takes no part in run {self.route.run} any more; run again")
            if message.step == FREE:
                self.free.confirm(peer, message.number)
        except Exception as error:
            self.fail(error)

    async def _deliver(self, peer: int, message: dict[str, Any]) -> bool:
        for attempt in range(ATTEMPTS):
            try:
                return await self._peer(peer).dgraph_mail(**message)
            except OSError as error:
                if attempt == ATTEMPTS - 1:
                    raise LostError(f"{self.route.workers[peer]} cannot be reached; run again") from error
                await asyncio.sleep(0.1 * 2**attempt)
        return False

    def _peer(self, peer: int) -> Any:
        return self.plugin.worker.rpc(self.route.workers[peer])


class ExchangeOnWorker(WorkerPlugin):
    """The ends of all runs on this worker, and through them the state that steps keep between supersteps."""

    name = NAME

    def setup(self, worker: Any) -> None:
        self.worker, self.window, self.heap = worker, SendWindow(WINDOW), Heap()
        self._resting: asyncio.TimerHandle | None = None
        self.ends: dict[str, DaskExchange] = {}
        worker.handlers.update({"dgraph_open": self.open, "dgraph_mail": self.mail, "dgraph_ask": self.ask})
        worker.handlers.update({"dgraph_lodge": self.lodge, "dgraph_fetch": self.fetch})
        worker.stream_handlers.update({"dgraph-fail": self.fail, "dgraph-close": self.close})
        worker.stream_handlers["dgraph-forget"] = memory_store.forget_client

    def teardown(self, worker: Any) -> None:
        for run in list(self.ends):
            self.fail(run, "the worker is shutting down; run again")
            self.close(run)
        close_agent(worker.address)

    def open(self, run: str, workers: list[str], homes: list[int], patience: float) -> bool:
        """Join a run. All workers have joined before any takes a step, so mail never comes too early."""
        self.heap.keep()
        route = Route(run, tuple(workers), tuple(homes))
        self.ends[run] = DaskExchange(route, workers.index(self.worker.address), self, patience)
        return True

    async def mail(self, **arguments: Any) -> bool:
        """Take a packet in; False if the run is unknown here. The answer to free mail waits until there is room for
        it."""
        end = self.ends.get(arguments["run"])
        if end is None:
            return False
        message = unpack(**arguments)
        if message.step != FREE:
            end.mailbox.deliver(message)
            return True
        there_is_room, here = asyncio.Event(), threading.get_ident()

        def confirm() -> None:  # at once, or later by the thread that makes room
            if threading.get_ident() == here:
                there_is_room.set()
            else:
                self.worker.loop.add_callback(there_is_room.set)

        end.free.inbox.deliver(message, confirm)
        while not there_is_room.is_set() and self.ends.get(message.run) is end:
            with suppress(TimeoutError):
                await asyncio.wait_for(there_is_room.wait(), 1)
        return True

    def ask(self, run: str) -> int:
        return self.ends[run].told.step if run in self.ends else -(1 << 62)

    def lodge(self, label: Sequence[Any], parts: int, data: Any) -> None:
        memory_store.put(PieceLabel(*label), parts, bytes(data))

    def fetch(self, label: Sequence[Any]) -> Any:
        data = memory_store.take(PieceLabel(*label))
        return None if data is None else Serialized(*serialize(data))

    def fail(self, run: str, reason: str) -> None:
        if run in self.ends:
            self.ends[run].mailbox.fail(reason)

    def close(self, run: str) -> None:
        if run in self.ends:
            self.ends.pop(run).close()
            if self._resting is not None:
                self._resting.cancel()
            self._resting = asyncio.get_running_loop().call_later(REST, self._rest)

    def _rest(self) -> None:
        """Called when there has been no run for a while."""
        if not self.ends:
            self.heap.give_back()


@contextmanager
def taking_part(run: str, address: str) -> Iterator[DaskExchange]:
    """In a task that belongs on the worker with this address: the worker's end of a run, on its own cores."""
    end = _find_end(run, address)
    with pin_to_cores(end.cores):
        yield end


def _find_end(run: str, address: str) -> DaskExchange:
    worker: Any = get_worker()
    if worker.address != address:
        raise LostError(f"a step for {address} was placed on {worker.address}, which lacks its partitions; run again")
    end = worker.plugins[NAME].ends.get(run) if NAME in worker.plugins else None
    if end is None:
        raise LostError(
            f"{address} has no state of run {run}: the run has ended, or the worker was started anew; run again"
        )
    end.check()
    return end
