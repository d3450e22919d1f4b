"""What this process asks the scheduler of a Dask cluster, about workers and about runs (`exchange/run_registry.py`
answers), and how it waits for results: until they are ready, the client is closed, no worker is left, or none has the
memory to continue.

Dask pauses a worker that exceeds its memory limit: it gets no tasks until it uses less. If that never happens, or there
are no workers, Dask itself waits forever. Without a cluster, `distributed` is not imported: that takes a quarter of a
second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future as ThreadFuture
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dask.utils import format_bytes

from dgraph.cluster.tasks import key_for
from dgraph.errors import LostError, OptionError, RoomError, RunError, SilentWorkerWarning
from dgraph.phrases.phrases import warn

if TYPE_CHECKING:
    from distributed import Client, Future

    from dgraph.exchange.mail import Route, Token

CLIENT_INTERVAL = 1.0  # seconds between checks that the client is still open
WORKERS_INTERVAL = 1.0  # seconds between checks of the workers
SILENT = 20.0  # seconds without a heartbeat (workers send two per second) after which a worker is reported as silent
STALL_TIMEOUT = 8.0  # seconds during which a worker is paused, none works, and no data move
DONE = ("finished", "error")
LEAVING = ("closing_gracefully", "closing", "closed")  # the status of a worker that is about to leave
END_TIMEOUT = 20.0  # seconds within which the scheduler must answer when a run is over; it may be gone, or be busy
LONGEST_CACHED = 1.0  # seconds: workers report their memory no more often
RECONNECT_TIMEOUT = 5.0  # seconds for a client that has lost the scheduler to reconnect; a call would wait for thirty


@dataclass
class ClientRecord:
    """What is known about one client's cluster."""

    installed: bool = False  # whether the scheduler has the plugins
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: float = float("-inf")  # when `workers` was last updated


_known: WeakKeyDictionary[Client, ClientRecord] = WeakKeyDictionary()
_listeners: ContextVar[tuple[Callable[[str], Any], ...]] = ContextVar("told of workers that do not answer", default=())


# -- about workers -----------------------------------------------------------------------------------------------------


def worker_infos(client: Client, *, fresh: bool = True) -> dict[str, dict[str, Any]]:
    """What the scheduler knows about each worker; unless `fresh`, the answer may be a second old.

    `client.scheduler_info` cannot be used instead, because the client's own thread replaces its cache every two seconds
    with one without workers.
    """
    known, now = _known.setdefault(client, ClientRecord()), time.monotonic()
    if fresh or now - known.asked > LONGEST_CACHED:
        known.workers, known.asked = dict(_call(client, "identity", n_workers=-1)["workers"]), now
    return known.workers


def workers_of(client: Client) -> list[str]:
    """The addresses of all workers except those that are about to leave, which take no more tasks and may wait for
    their results to be released."""
    return sorted(one for one, info in worker_infos(client).items() if info["status"] not in LEAVING)


def all_paused(client: Client) -> bool:
    """Whether there are workers, and each takes nothing because its memory is short."""
    return {info["status"] for info in worker_infos(client).values()} == {"paused"}


def places_of(client: Client, futures: Sequence[Future]) -> list[list[str]]:
    """The workers that hold each result now; an empty list if the result was lost with them."""
    holders = _call(client, "who_has", keys=[future.key for future in futures])
    return [list(holders.get(future.key) or ()) for future in futures]


# -- about runs --------------------------------------------------------------------------------------------------------


def install(client: Client) -> None:
    """Register the plugins, unless this client has already done so."""
    known = _known.setdefault(client, ClientRecord())
    if known.installed and client.status == "running":
        return
    from dgraph.exchange.dask import ExchangeOnWorker
    from dgraph.exchange.run_registry import ExchangeOnScheduler

    try:
        client.register_plugin(ExchangeOnScheduler(ExchangeOnWorker()))
    except Exception as cause:
        if client.status != "running":
            raise not_connected(client) from cause
        raise RunError(
            f"cannot install plugins on {client!r} ({cause}); try dg.Optimizations(direct_exchange=False)"
        ) from cause
    known.installed = True


def live_page(client: Client) -> str | None:
    """The address of the page that shows runs while they go on; None if the scheduler's dashboard is off, or lacks
    Bokeh."""
    from dgraph.exchange.run_registry import PAGE

    install(client)
    shown = run_coroutine(client, _request(client, "dgraph_page"))
    return client.dashboard_link.rpartition("/")[0] + PAGE if shown else None


def begin_run(client: Client, route: Route, patience: float, lend: bool = False) -> None:
    """Have all workers join a run; `lend` waits until the run has exclusive use of them."""
    place = {"run": route.run, "workers": list(route.workers), "homes": list(route.homes)}
    arguments = {**place, "patience": patience, "client": client.id, "lend": lend}
    known = run_coroutine(client, _request(client, "dgraph_begin", **arguments))
    if not known:  # the scheduler was restarted, and has no such handler
        _known.pop(client, None)
        install(client)
        run_coroutine(client, _request(client, "dgraph_begin", **arguments))


def yield_workers(client: Client, route: Route) -> None:
    """Give up the run's exclusive use of its workers, and wait for it again."""
    run_coroutine(client, _request(client, "dgraph_lend", run=route.run))


async def tokens_of(client: Client, route: Route) -> list[Token]:
    """The tokens of all workers at the end of a chunk. If they say that the run is over, the scheduler ends it."""
    from distributed.protocol.pickle import loads

    scheduler: Any = client.scheduler
    answer = await scheduler.dgraph_tokens(run=route.run)
    if isinstance(answer, str):
        raise RunError(answer)
    return [loads(token) for token in answer]


def end_run(client: Client, route: Route, stop: str | None = None) -> tuple[str | None, BaseException | None]:
    """End a run, and delete its state on the workers. If it failed, returns the reason as a line, and the exception."""
    from distributed.protocol.pickle import loads

    reason, error = _call(client, "dgraph_end", run=route.run, stop=stop, callback_timeout=END_TIMEOUT)
    try:
        return reason, None if error is None else loads(error)
    except Exception:  # this process cannot import the exception's class, so only the line is returned
        return reason, None


def _call(client: Client, handler: str, /, **arguments: Any) -> Any:
    """Call a handler of the scheduler. Raises RunError if the client is closed, or closes during the call."""
    if client.asynchronous or client.status == "connecting":
        _check_connection(client)
    try:
        return client.sync(getattr(client.scheduler, handler), **arguments)
    except Exception as cause:
        if client.status == "running":
            raise
        raise not_connected(client) from cause


def _request(client: Client, handler: str, /, **arguments: Any) -> Coroutine[Any, Any, Any]:
    """Like `_call`, but returns a coroutine, for calls that wait for workers."""
    _check_connection(client)
    handle: Callable[..., Coroutine[Any, Any, Any]] = getattr(client.scheduler, handler)
    return handle(**arguments)


def _check_connection(client: Client) -> None:
    if client.asynchronous:
        raise OptionError(
            f"{client!r} runs in this event loop, which would deadlock; call dgraph through asyncio.to_thread"
        )
    until = time.monotonic() + RECONNECT_TIMEOUT
    while client.status == "connecting":
        if time.monotonic() > until:
            raise lost_scheduler(client)
        time.sleep(0.02)


def lost_scheduler(client: Client) -> RunError:
    if is_closed(client):
        return closed_client(client)
    return RunError(f"the connection to the scheduler of {client!r} was lost; check that the cluster is running")


def not_connected(client: Client) -> RunError:
    return RunError(
        f"{client!r} is not connected, perhaps because it was closed. A graph belongs to one client: make the graph "
        "again with a new client"
    )


# -- waiting -----------------------------------------------------------------------------------------------------------


def wait_for(client: Any, futures: Sequence[Any], look: Callable[[], None] = lambda: None) -> None:
    """Wait until all futures have finished or failed, calling `look` once a second.

    `distributed.wait` would need a current client, and making one current changes Dask's scheduler for the whole
    process. If another thread closes the client, its futures never end, so that is also checked once a second.
    """
    watch = WorkerWatch(client)
    for future in futures:
        while future.status not in DONE:
            try:
                future.exception(timeout=CLIENT_INTERVAL)
                break
            except Exception as error:
                _keep_waiting_or_raise(client, error)
                look()
                watch.look()


def gather_results(client: Any, futures: Sequence[Any], look: Callable[[], None] = lambda: None) -> list[Any]:
    """Fetch the results to this process, once all are computed. If one is lost meanwhile, Dask computes it again or
    waits for a worker that can."""
    with translate_cancellations():
        wait_for(client, futures, look)
        return list(run_coroutine(client, client.gather(list(futures), asynchronous=True), look))


def run_coroutine(client: Any, question: Coroutine[Any, Any, Any], look: Callable[[], None] = lambda: None) -> Any:
    """The return value of a coroutine of the client, which may take any time; see `wait_for`."""
    watch, pending = WorkerWatch(client), _submit(client, question)
    try:
        while True:
            try:
                return pending.result(CLIENT_INTERVAL)
            except Exception as error:
                if pending.done() and not is_closed(client):
                    return pending.result()
                _keep_waiting_or_raise(client, error)
                look()
                watch.look()
    finally:
        pending.cancel()


def ask_all(client: Any, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Call a function on each worker, whatever tasks it is running. Returns the results, without those of failed
    calls."""
    answers = client.run(function, *arguments, on_error="ignore", asynchronous=True)
    return dict(run_coroutine(client, answers))


def run_on_each(client: Any, workers: Sequence[str], function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Call `function(worker, number, *arguments)` on each worker, and fetch the results to this process."""
    tasks, look = _submit_to_each(client, workers, function, [arguments] * len(workers))
    return dict(zip(workers, gather_results(client, tasks, look), strict=True))


def run_on_each_held(
    client: Any, workers: Sequence[str], function: Callable[..., Any], arguments: Sequence[Sequence[Any]]
) -> list[Any]:
    """Like `run_on_each`, but with separate arguments for each worker, and the results stay on the workers. The first
    failure ends the wait, because other workers may be waiting for the failed one."""
    tasks, look = _submit_to_each(client, workers, function, arguments)

    def look_at_all() -> None:
        look()
        for task in tasks:
            if task.status == "error":
                task.result()

    with translate_cancellations():
        wait_for(client, tasks, look_at_all)
        look_at_all()
    return tasks


def _submit_to_each(
    client: Any, workers: Sequence[str], function: Callable[..., Any], arguments: Sequence[Sequence[Any]]
) -> tuple[list[Any], Callable[[], None]]:
    """A task for each worker, and a function to call while waiting for them. It raises an error if a worker has left,
    because a task that is pinned to it would wait forever."""

    def look() -> None:
        if missing := set(workers) - set(workers_of(client)):
            raise LostError(f"{', '.join(sorted(missing))} left the cluster before every worker had answered")

    calls = [(worker, number, *own) for (number, worker), own in zip(enumerate(workers), arguments, strict=True)]
    key = key_for(function)
    tasks = [client.submit(function, *call, key=f"{key}-{call[1]}", workers=[call[0]], pure=False) for call in calls]
    return tasks, look


def _submit(client: Any, question: Coroutine[Any, Any, Any]) -> ThreadFuture[Any]:
    """Pass a coroutine to the client's thread, which may just have ended."""
    try:
        return asyncio.run_coroutine_threadsafe(question, client.loop.asyncio_loop)
    except RuntimeError as error:
        question.close()
        _keep_waiting_or_raise(client, error)
        raise


def _keep_waiting_or_raise(client: Any, error: Exception) -> None:
    """Return to keep waiting if `error` is only a timeout and the client is open; else raise."""
    if is_closed(client):
        raise closed_client(client) from None
    if not isinstance(error, TimeoutError):
        raise error


def closed_client(client: Any) -> RunError:
    """Dask also closes a client whose scheduler does not come back, and does not say so."""
    return RunError(
        f"the scheduler of {client!r} was lost, or the client was closed during the run; run again with another client"
    )


def is_closed(client: Any) -> bool:
    return client.status in ("closing", "closed")


@contextmanager
def translate_cancellations() -> Iterator[None]:
    """Turn the cancellation of futures after the loss of a worker into a LostError."""
    from distributed import CancelledError

    try:
        yield
    except CancelledError as cause:
        raise LostError(
            "a worker left the cluster with the only copy of some data; make the graph again from its source, and get "
            "its lazy frames (edges, vertices, results) again; frames of another cluster cannot be read here"
        ) from cause


@contextmanager
def hearing_of_silence(told: Callable[[str], Any]) -> Iterator[None]:
    """In the block, call `told` with the address of each worker that does not answer."""
    before = _listeners.set((*_listeners.get(), told))
    try:
        yield
    finally:
        _listeners.reset(before)


class WorkerWatch:
    """Checks the workers once a second during a wait. It detects that all have left, or that none continues because
    memory is short, and reports each one that does not answer."""

    def __init__(self, client: Any):
        self.client, self.next = client, 0.0
        self.seen, self.since = None, 0.0
        self.heard: dict[str, tuple[float, float]] = {}  # the scheduler's time of the last heartbeat, and ours
        self.silent: set[str] = set()  # silent workers that have already been reported

    def look(self) -> None:
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + WORKERS_INTERVAL
        workers = worker_infos(self.client)
        if not workers:
            raise LostError(f"all workers of {self.client!r} have left the cluster")
        self._tell_silent(workers, now)
        self._check_stillness(workers, now)

    def _tell_silent(self, workers: Mapping[str, Any], now: float) -> None:
        for address, worker in workers.items():
            last = worker["last_seen"]
            if self.heard.get(address, (None, now))[0] != last:
                self.heard[address] = last, now
                self.silent.discard(address)
            elif now - self.heard[address][1] >= SILENT and address not in self.silent:
                self.silent.add(address)
                for told in _listeners.get():
                    told(address)
                warn(
                    f"worker {address} has not answered for {SILENT:g} s. Dask removes a worker that stays silent for "
                    "distributed.scheduler.worker-ttl (a setting of the scheduler, 5 minutes by default); then dgraph "
                    "continues on the workers that are left",
                    SilentWorkerWarning,
                )

    def _check_stillness(self, workers: Mapping[str, Any], now: float) -> None:
        before, self.seen = self.seen, _stall_counts(workers)
        if self.seen is None or self.seen != before:
            self.since = now
        elif now - self.since >= STALL_TIMEOUT:
            paused = [address for address, worker in workers.items() if worker["status"] == "paused"]
            worker = workers[paused[0]]
            raise RoomError(
                f"{len(paused)} of {len(workers)} workers are paused because memory is short: {paused[0]} uses "
                f"{format_bytes(worker['metrics']['memory'])} of its {format_bytes(worker['memory_limit'])}; start "
                "larger or more workers (G.estimate() shows the memory that a graph needs)"
            )


def _stall_counts(workers: Mapping[str, Any]) -> Any:
    """Counts that change when anything happens; None unless some worker is paused and none is working."""
    counts = [worker["metrics"].get("task_counts", {}) for worker in workers.values()]
    if not any(worker["status"] == "paused" for worker in workers.values()):
        return None
    if any(count.get("executing") or count.get("long-running") for count in counts):
        return None
    disk = [worker["metrics"].get("spilled_bytes", {}) for worker in workers.values()]
    return [dict(count) for count in counts], disk
