"""The exchange between workers of a Dask cluster, as a pair of plugins like those of `distributed.shuffle`.

This module has the worker's plugin and the functions that tasks call. `run_registry.py` has the scheduler's plugin, and
`cluster/scheduler.py` calls it. Mail goes from worker to worker without passing the scheduler.
`tests/exchange/test_exchange_hooks.py` names every non-public hook of distributed that this module uses.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
from distributed import get_worker, secede
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol.pickle import dumps, loads
from distributed.protocol.serialize import Serialized, serialize

from dgraph.agents.agent import close_agent
from dgraph.checkpoint import memory_store
from dgraph.checkpoint.piece import PieceLabel
from dgraph.errors import LostError, RunError
from dgraph.exchange.bundle import Bundle
from dgraph.exchange.exchange import PATIENCE, Exchange
from dgraph.exchange.free_mail import ACCEPTED, FREE
from dgraph.exchange.grid import FEW_WORKERS, WorkerGrid
from dgraph.exchange.lane_frames import frame_of, packet_of, pickled
from dgraph.exchange.lanes import Lanes, Way
from dgraph.exchange.mail import Fragment, Packet, Route, Token
from dgraph.exchange.run_registry import PLUGIN_NAME, VERSION
from dgraph.native.hosts import Heap, all_cores, own_cores, pin_to_cores

PACKETS_IN_FLIGHT = 3  # packets in flight to one peer
WINDOW_BYTES = 64 << 20  # bytes in flight from one worker; a sender that would exceed it waits
IDLE_SECONDS = 10.0  # seconds without a run after which a worker returns free memory to the system
IN_THIS_PROCESS = "inproc"  # the protocol of workers that are threads of one process
DIRECT_PROTOCOLS = "ucx", "ucxx", IN_THIS_PROCESS  # protocols that move GPU arrays without a copy in main memory
POLL_INTERVAL = 0.2  # seconds between checks that the run has not been stopped
ATTEMPTS = 3  # attempts to deliver a packet; duplicates do no harm, because packets are numbered

DEVICE_SERIALISERS = "cuda", "dask"  # serialisers for device arrays: CuPy's, and NumPy's in the simulator
SMALL_FRAGMENT = 64 << 10  # bytes: below this, copying a fragment is cheaper than a separate frame

T = TypeVar("T")

AT_HAND: dict[str, ExchangeOnWorker] = {}  # the workers of this process that others may hand packets to, by address


class DaskExchange(Exchange):
    """One worker's end of the exchange. Steps call it from their threads; `_start`, `_carry` and `_deliver` run on the
    worker's event loop."""

    def __init__(self, route: Route, worker: int, plugin: ExchangeOnWorker, patience: float = PATIENCE):
        super().__init__(route, worker, patience)
        self.plugin, self.sums, self.cores = plugin, 0, own_cores(route.workers, worker)
        self.direct = all(address.partition("://")[0] in DIRECT_PROTOCOLS for address in route.workers)
        self._tokens: tuple[Any, bytes] = ((), b"")  # the last that were sent, and the same pickled
        self._gates = [asyncio.Semaphore(PACKETS_IN_FLIGHT) for _ in route.workers]
        self._carrying: set[asyncio.Task[None]] = set()
        self._closed = False

    def post(self, peer: int, message: Packet) -> None:
        if self._by_lane(peer, message):
            return
        size = message.nbytes
        self.plugin.window.acquire(size, self._window_full)
        self.plugin.worker.loop.add_callback(self._start, peer, message, size)

    def _by_lane(self, peer: int, message: Packet) -> bool:
        """Hand a packet to a peer in this process, or send a small one on the lane to it, where there is either."""
        if (there := AT_HAND.get(self.route.workers[peer])) is not None and message.on_host:
            there.accept(message)
            return True
        lanes = self.plugin.lanes
        if lanes is None:
            return False
        tokens = message.row if message.token is None else message.token
        kept = self._tokens
        if tokens is not kept[0]:  # several peers get the same
            self._tokens = kept = tokens, pickled(message)
        frame = frame_of(message, kept[1])
        return frame is not None and lanes.send(self.route.workers[peer], frame)

    def take(self, message: Packet) -> None:
        """Take in a packet that came on a lane, or from a worker of this process."""
        if message.step < FREE:
            self.mailbox.deliver(message)
            return
        self.free.take(message)

    def acknowledge(self, peer: int, accepted: int) -> None:
        self.send_on(peer, Packet(self.route.run, ACCEPTED, self.worker, 0, [], accepted=accepted))

    def grid_of(self, worker: int, workers: int) -> WorkerGrid | None:
        return WorkerGrid(worker, workers) if workers > FEW_WORKERS else None

    @property
    def mail_route(self) -> str:
        hops = "direct" if self._free is not None else super().mail_route  # free mail goes straight to its receivers
        near = len(self.route.workers) > 1 and AT_HAND.keys() >= set(self.route.workers)
        return ("within the process" if hops == "direct" else f"within the process, {hops}") if near else hops

    def send_on(self, peer: int, message: Packet) -> None:
        if not self._by_lane(peer, message):
            self.plugin.worker.loop.add_callback(self._start, peer, message, 0)

    def last_posted_step(self, peer: int) -> int:
        with suppress(OSError):  # if the peer is gone, the scheduler will report it
            return self._answer(self._peer(peer).dgraph_ask(run=self.route.run))
        return -(1 << 62)

    def report(self, reason: str, error: BaseException) -> None:
        try:
            pickled = dumps(error)
        except Exception:  # the exception cannot be pickled, so only its text is sent
            pickled = None
        self._notify({"op": "dgraph-failed", "run": self.route.run, "reason": reason, "error": pickled})

    def send_token(self, token: Token) -> None:
        """Send the client the token of a chunk's last step. It arrives before Dask reports the end of the task."""
        notice = {"op": "dgraph-told", "run": self.route.run, "token": dumps(token)}
        self._notify({**notice, "last": bool(token.values.get("done")), "standing": self.standing()})

    def leave_thread(self) -> None:
        """Give this task's place in the pool to another task. The thread that Dask starts for it inherits this
        thread's cores."""
        with pin_to_cores(all_cores() if self.cores else set()), suppress(KeyError):  # it may have seceded already
            secede()

    def _window_full(self) -> None:
        """Handle a full window: the receiver may have no room until its own step gets a thread."""
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

    def store_piece(self, peer: int, label: PieceLabel, parts: int, data: bytes) -> None:
        call = self._peer(peer).dgraph_lodge
        try:
            self._answer(call(label=tuple(label), parts=parts, data=Serialized(*serialize(data))))
        except OSError as error:
            raise unreachable(self.route.workers[peer]) from error

    def fetch_piece(self, address: str, label: PieceLabel) -> bytes | None:
        """A piece of a checkpoint from any worker, or None if that worker is gone or does not have it."""
        with suppress(OSError):
            return self._answer(self.plugin.worker.rpc(address).dgraph_fetch(label=tuple(label)))
        return None

    def _answer(self, question: Coroutine[Any, Any, T]) -> T:
        """The result of a call. Raises as soon as the run is stopped, because a call to a worker that has left would
        take half a minute to fail."""
        answer = asyncio.run_coroutine_threadsafe(question, self.plugin.worker.loop.asyncio_loop)
        try:
            while not wait([answer], POLL_INTERVAL).done:
                self.check()
            return answer.result()
        finally:
            answer.cancel()

    def close(self) -> None:
        super().close()
        self._closed = True
        for task in self._carrying:
            task.cancel()

    def _start(self, peer: int, message: Packet, size: int) -> None:
        if self._closed:  # meanwhile; its peer may be gone, and a call to it would keep the window for a minute
            self.plugin.window.release(size)
            return
        task = asyncio.create_task(self._carry(peer, message))
        self._carrying.add(task)

        def done(task: asyncio.Task[None]) -> None:  # also called when the task was cancelled before it began
            self._carrying.discard(task)
            self.plugin.window.release(size)

        task.add_done_callback(done)

    async def _carry(self, peer: int, message: Packet) -> None:
        try:
            async with self._gates[peer]:
                delivered = await self._deliver(peer, pack(message))
            if not delivered:
                raise LostError(f"{self.route.workers[peer]} no longer takes part in run {self.route.run}; run again")
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
                    raise unreachable(self.route.workers[peer]) from error
                await asyncio.sleep(0.1 * 2**attempt)
        return False

    def _peer(self, peer: int) -> Any:
        return self.plugin.worker.rpc(self.route.workers[peer])


def unreachable(address: str) -> LostError:
    return LostError(f"{address} cannot be reached; run again")


# -- packets as frames -------------------------------------------------------------------------------------------------


def pack(message: Packet) -> dict[str, Any]:
    """The arguments of the call that delivers a packet. Small fragments are joined in one frame, and large ones are
    not copied. `Serialized` keeps Dask from compressing or splitting frames. Distributed's GPU serialisers handle data
    on a device."""
    host = [f for f in message.fragments if isinstance(f.data, np.ndarray)]
    device = [f for f in message.fragments if not isinstance(f.data, np.ndarray)]
    joined = [f.data for f in host if f.data.nbytes < SMALL_FRAGMENT]
    large = [f.data for f in host if f.data.nbytes >= SMALL_FRAGMENT]
    frames = ([np.concatenate(joined)] if joined else []) + large
    raw, small = [f.data.raw for f in device], message.bundle
    return {
        "run": message.run,
        "step": message.step,
        "sender": message.worker,
        "number": message.number,
        "manifest": [number for f in [*host, *device] for number in (*f[:5], f.data.nbytes)],
        "frames": Serialized(*serialize([memoryview(frame) for frame in frames])) if frames else [],
        "on_device": Serialized(*serialize(raw, DEVICE_SERIALISERS, "raise", iterate_collection=True)) if raw else [],
        "tokens": dumps(message[5:9]),
        "bundle": Serialized(*serialize([memoryview(small.table), memoryview(small.data)])) if small else [],
    }


def unpack(
    run: str,
    step: int,
    sender: int,
    number: int,
    manifest: list,
    frames: list,
    on_device: list,
    tokens: bytes,
    bundle: Sequence[Any] = (),
) -> Packet:
    """The packet that `pack` was given. Frames are not copied."""
    try:
        entries = np.array(manifest, np.int64).reshape(-1, 6).tolist()
        arrays = iter([np.frombuffer(frame, np.uint8) for frame in frames])
        host = len(entries) - len(on_device)
        joined = next(arrays) if any(entry[5] < SMALL_FRAGMENT for entry in entries[:host]) else np.empty(0, np.uint8)
        data: Any
        fragments, used = [], 0
        for place, (source, receiver, buffer, total, start, size) in enumerate(entries):
            if place >= host:
                data = on_device[place - host]
            elif size < SMALL_FRAGMENT:
                data, used = joined[used : used + size], used + size
            else:
                data = next(arrays)
            if not (data.nbytes == size and 0 <= start <= total - size):
                raise ValueError(f"a fragment of {data.nbytes} bytes at {start} of {total}")
            fragments.append(Fragment(source, receiver, buffer, total, start, data))
        kinds = np.int64, np.uint8
        parts = [np.frombuffer(one, kind) for one, kind in zip(bundle, kinds, strict=False)]
        small = Bundle.received(*parts) if parts else None
    except (ValueError, TypeError, OverflowError, StopIteration) as cause:
        raise RunError(f"message {number} from worker {sender} is malformed ({cause!r}); run again") from cause
    token, row, more, accepted = loads(tokens)
    return Packet(run, step, sender, number, fragments, token, row, more, accepted, small)


# -- the worker --------------------------------------------------------------------------------------------------------


class ExchangeOnWorker(WorkerPlugin):
    """Holds this worker's end of each run, and with it the state that steps keep between supersteps."""

    name = PLUGIN_NAME
    # Set by a scheduler's half that hears heartbeats. With one that does not, Dask would close the worker.
    heard = False

    def setup(self, worker: Any) -> None:
        self.worker, self.window, self.heap = worker, SendWindow(WINDOW_BYTES), Heap()
        self.lanes = self._lanes()
        if worker.address.startswith(IN_THIS_PROCESS):
            AT_HAND[worker.address] = self
        self._idle_timer: asyncio.TimerHandle | None = None
        self.ends: dict[str, DaskExchange] = {}
        worker.handlers.update(
            {"dgraph_open": self.open, "dgraph_mail": self.mail, "dgraph_ask": self.last_posted_step}
        )
        worker.handlers.update({"dgraph_lodge": self.store_piece, "dgraph_fetch": self.fetch_piece})
        worker.handlers["dgraph_way"] = self.way
        worker.stream_handlers.update({"dgraph-fail": self.fail, "dgraph-close": self.close})
        worker.stream_handlers["dgraph-forget"] = memory_store.forget_client
        if self.heard:
            worker.extensions[PLUGIN_NAME] = Heartbeats(self.ends)

    def teardown(self, worker: Any) -> None:
        AT_HAND.pop(worker.address, None)
        for run in list(self.ends):
            self.fail(run, "the worker is shutting down; run again")
            self.close(run)
        if self.lanes is not None:
            self.lanes.close()
        close_agent(worker.address)

    def _lanes(self) -> Lanes | None:
        """Lanes to other workers, where Dask's connections are plain TCP."""
        protocol, _, place = self.worker.address.partition("://")
        if protocol != "tcp":
            return None
        host, loop = place.rpartition(":")[0].strip("[]"), self.worker.loop.asyncio_loop
        return Lanes(host, loop, self.arrived, self._ask_way, self._lost)

    async def _ask_way(self, address: str) -> Any:
        return await self.worker.rpc(address).dgraph_way()

    async def way(self) -> Way | None:
        """The way to this worker's lanes, for a peer."""
        return None if self.lanes is None else await self.lanes.way()

    def arrived(self, frame: bytearray) -> None:
        """Accept a packet from a lane."""
        try:
            self.accept(packet_of(frame))
        except Exception as error:
            for end in list(self.ends.values()):
                end.fail(error)

    def accept(self, message: Packet) -> None:
        """Accept a packet, on any thread; mail of a run that is over is dropped."""
        if (end := self.ends.get(message.run)) is not None:
            try:
                end.take(message)
            except Exception as error:
                end.fail(error)

    def _lost(self, address: str) -> None:
        """Fail the runs whose mail may have been lost on a lane to a worker."""
        for end in list(self.ends.values()):
            if address in end.route.workers:
                end.fail(unreachable(address))

    def open(
        self, run: str, workers: list[str], homes: list[int], patience: float, version: str = "an earlier version"
    ) -> bool | str:
        """Join a run; or say why not. All workers join before any of them takes a step, so mail never arrives too
        early."""
        if version != VERSION:  # each would misread what the other sends
            return f"it has dgraph {VERSION}, and the scheduler {version}"
        self.heap.keep()
        route = Route(run, tuple(workers), tuple(homes))
        self.ends[run] = DaskExchange(route, workers.index(self.worker.address), self, patience)
        return True

    async def mail(self, **arguments: Any) -> bool:
        """Accept a packet; return False if the run is unknown here. The call for free mail returns only once there is
        room for it."""
        end = self.ends.get(arguments["run"])
        if end is None:
            return False
        message = unpack(**arguments)
        if message.step != FREE:
            end.take(message)
            return True
        has_room, this_thread = asyncio.Event(), threading.get_ident()

        def confirm() -> None:  # called at once, or later by the thread that makes room
            if threading.get_ident() == this_thread:
                has_room.set()
            else:
                self.worker.loop.add_callback(has_room.set)

        end.free.confirm_all(message.worker, message.accepted)
        end.free.inbox.deliver(message, confirm)
        if end.free.prompt:
            end.free.acknowledge()
        while not has_room.is_set() and self.ends.get(message.run) is end:
            with suppress(TimeoutError):
                await asyncio.wait_for(has_room.wait(), 1)
        return True

    def last_posted_step(self, run: str) -> int:
        return self.ends[run].last_token.step if run in self.ends else -(1 << 62)

    def store_piece(self, label: Sequence[Any], parts: int, data: Any) -> None:
        memory_store.put(PieceLabel(*label), parts, bytes(data))

    def fetch_piece(self, label: Sequence[Any]) -> Any:
        data = memory_store.take(PieceLabel(*label))
        return None if data is None else Serialized(*serialize(data))

    def fail(self, run: str, reason: str) -> None:
        if run in self.ends:
            self.ends[run].mailbox.fail(reason)

    def close(self, run: str) -> None:
        if run in self.ends:
            self.ends.pop(run).close()
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            self._idle_timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._release_idle_memory)

    def _release_idle_memory(self) -> None:
        if not self.ends:
            self.heap.give_back()


class Heartbeats:
    """What Dask's heartbeats tell the live page of this worker."""

    def __init__(self, ends: Mapping[str, DaskExchange]):
        self.ends = ends

    def heartbeat(self) -> dict[str, dict[str, Any]]:
        """What each live run has done here. Dask calls it."""
        return {run: end.standing() for run, end in list(self.ends.items())}


@contextmanager
def taking_part(run: str, address: str) -> Iterator[DaskExchange]:
    """Inside a task pinned to the worker at this address: the worker's end of a run, with the thread kept on the
    worker's own cores."""
    worker: Any = get_worker()
    if worker.address != address:
        raise LostError(f"a step for {address} was placed on {worker.address}, which lacks its partitions; run again")
    end = worker.plugins[PLUGIN_NAME].ends.get(run) if PLUGIN_NAME in worker.plugins else None
    if end is None:
        raise LostError(
            f"{address} has no state of run {run}: the run has ended or the worker was restarted; run again"
        )
    end.check()
    with pin_to_cores(end.cores):
        yield end


class SendWindow:
    """Bounds the bytes in flight from this worker. A sender that waits for room calls `check` now and then, which may
    raise, or free a thread for the step that makes room."""

    def __init__(self, limit: int):
        self.limit, self.used = limit, 0
        self._changed = threading.Condition()

    def acquire(self, size: int, check: Callable[[], None]) -> None:
        with self._changed:
            while self.used and self.used + size > self.limit:
                check()
                self._changed.wait(0.1)
            self.used += size

    def release(self, size: int) -> None:
        with self._changed:
            self.used -= size
            self._changed.notify_all()
