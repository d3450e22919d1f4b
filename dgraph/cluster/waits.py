"""Waiting for results. On a cluster until they are there, or the client is closed, or no worker is left, or none has
the memory to go on; in this process, for its threads.

A worker that is over its memory limit is paused: it takes no task until it uses less. If that never happens, or there
is no worker, Dask itself waits for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from dask import threaded
from dask._task_spec import GraphNode
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.optimization import cull
from dask.utils import format_bytes

from dgraph.errors import InputError, LostError, RoomError, RunError

LOOK_UP = 1.0  # seconds between looks at whether the client is still open
LOOK_AROUND = 1.0  # seconds between looks at the workers
STILL = 8.0  # seconds in which a worker is paused, none is at work, and nothing moves to disk or between them
DONE = ("finished", "error")


def wait_for(client: Any, futures: Sequence[Any], look: Callable[[], None] = lambda: None) -> None:
    """Wait until all futures have ended, well or not. `distributed.wait` would need a current client, and making one
    current changes Dask's scheduler for the whole process. Futures of a client that another thread closes never end: so
    look at that once a second, and call `look`, too."""
    stillness = StallDetector(client)
    for future in futures:
        while future.status not in DONE:
            try:
                future.exception(timeout=LOOK_UP)
                break
            except Exception as error:
                _is_early(client, error)
                look()
                stillness.look()


def gather_results(client: Any, futures: Sequence[Any], look: Callable[[], None] = lambda: None) -> list[Any]:
    """The results, in this process, once all have ended. If one leaves with a worker meanwhile, Dask makes it again or
    waits for a worker that can."""
    with translate_cancellations():
        wait_for(client, futures, look)
        return list(run_coroutine(client, client.gather(list(futures), asynchronous=True), look))


def run_coroutine(client: Any, question: Coroutine[Any, Any, Any], look: Callable[[], None] = lambda: None) -> Any:
    """What a coroutine of the client returns. It may take as long as results may."""
    stillness, on_its_way = StallDetector(client), _asked(client, question)
    try:
        while True:
            try:
                return on_its_way.result(LOOK_UP)
            except Exception as error:
                if on_its_way.done() and not is_closed(client):
                    return on_its_way.result()
                _is_early(client, error)
                look()
                stillness.look()
    finally:
        on_its_way.cancel()


def run_on_each(client: Any, workers: Sequence[str], function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """What `function(worker, its number, *arguments)` returns on each worker, in this process."""
    tasks, look = _of_each(client, workers, function, [arguments] * len(workers))
    return dict(zip(workers, gather_results(client, tasks, look), strict=True))


def run_on_each_held(
    client: Any, workers: Sequence[str], function: Callable[..., Any], arguments: Sequence[Sequence[Any]]
) -> list[Any]:
    """The same, with arguments for each worker; the results stay there. The first failure ends the wait, for other
    workers may wait for the one that failed."""
    tasks, look = _of_each(client, workers, function, arguments)

    def look_at_all() -> None:
        look()
        for task in tasks:
            if task.status == "error":
                task.result()

    with translate_cancellations():
        wait_for(client, tasks, look_at_all)
        look_at_all()
    return tasks


def _of_each(
    client: Any, workers: Sequence[str], function: Callable[..., Any], arguments: Sequence[Sequence[Any]]
) -> tuple[list[Any], Callable[[], None]]:
    """A task for each worker, and a function to call while waiting for them: it raises if a worker has left, because a
    task that is pinned to it would wait for ever."""
    from dgraph.cluster.scheduler_calls import workers_of

    def look() -> None:
        if gone := set(workers) - set(workers_of(client)):
            raise LostError(f"{', '.join(sorted(gone))} left while something was asked of every worker")

    calls = [(worker, number, *own) for (number, worker), own in zip(enumerate(workers), arguments, strict=True)]
    return [client.submit(function, *call, workers=[call[0]], pure=False) for call in calls], look


def _asked(client: Any, question: Coroutine[Any, Any, Any]) -> Future[Any]:
    """Hand a coroutine to the client's thread, which may just have ended."""
    try:
        return asyncio.run_coroutine_threadsafe(question, client.loop.asyncio_loop)
    except RuntimeError as error:
        question.close()
        _is_early(client, error)
        raise


def _is_early(client: Any, error: Exception) -> None:
    """Called with the error that ended a wait of a second: return to wait on, or raise what is wrong."""
    if is_closed(client):
        raise RunError(f"{client!r} was closed during the run; run again with another") from None
    if not isinstance(error, TimeoutError):
        raise error


def is_closed(client: Any) -> bool:
    return client.status in ("closing", "closed")


@contextmanager
def translate_cancellations() -> Iterator[None]:
    """In the body, what Dask cancels because a worker left is a LostError."""
    from distributed import CancelledError

    try:
        yield
    except CancelledError as cause:
        raise LostError(
            "a worker left with data that only it had; make the graph again from its source. A lazy frame that was "
            "taken before, of a graph or a result, is to be taken again; one of another cluster cannot be read here"
        ) from cause


class StallDetector:
    """Notices when all workers have left, or when all stand still for want of memory."""

    def __init__(self, client: Any):
        self.client, self.next = client, 0.0
        self.seen, self.since = None, 0.0

    def look(self) -> None:
        from dgraph.cluster.scheduler_calls import worker_infos

        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + LOOK_AROUND
        workers = worker_infos(self.client)
        if not workers:
            raise LostError(f"all workers of {self.client!r} have left")
        before, self.seen = self.seen, _standing(workers)
        if self.seen is None or self.seen != before:
            self.since = now
        elif now - self.since >= STILL:
            paused = [address for address, worker in workers.items() if worker["status"] == "paused"]
            worker = workers[paused[0]]
            raise RoomError(
                f"{len(paused)} of {len(workers)} workers take no more tasks for want of memory: {paused[0]} uses "
                f"{format_bytes(worker['metrics']['memory'])} of its {format_bytes(worker['memory_limit'])}; start "
                "larger ones, or more of them (G.estimate() tells what a graph needs)"
            )


def _standing(workers: Mapping[str, Any]) -> Any:
    """Counts that would change if anything moved; None unless some worker is paused and none is at work."""
    counts = [worker["metrics"].get("task_counts", {}) for worker in workers.values()]
    if not any(worker["status"] == "paused" for worker in workers.values()):
        return None
    if any(count.get("executing") or count.get("long-running") for count in counts):
        return None
    disk = [worker["metrics"].get("spilled_bytes", {}) for worker in workers.values()]
    return [dict(count) for count in counts], disk


def external_keys(graph: Mapping[Any, Any]) -> set[Any]:
    """The keys that tasks of a graph of Dask's read and that are not in it: a cluster has their values."""
    nodes = [node for node in graph.values() if isinstance(node, GraphNode)]
    return set().union(*(node.dependencies for node in nodes)) - graph.keys()


def compute_here(tasks: Sequence[Any]) -> list[Any]:
    """The results of tasks, by threads of this process; other values as they are. It does what `dask.compute` does
    without its optimisers, which take half a millisecond."""
    keys = [one.key for one in tasks if isinstance(one, Delayed)]
    graphs = (one.dask for one in tasks if isinstance(one, Delayed))
    graph, _ = cull(HighLevelGraph.merge(*graphs).to_dict(), keys)
    try:
        found = dict(zip(keys, threaded.get(graph, keys), strict=True))
    except ValueError as error:
        if not (absent := external_keys(graph)):
            raise
        raise InputError(
            f"a lazy frame reads data that a cluster has ({min(map(str, absent))}), and work is to be done in this "
            "process: pass client=; if that was closed, make the frame again, or call its compute() before"
        ) from error
    return [found[one.key] if isinstance(one, Delayed) else one for one in tasks]
