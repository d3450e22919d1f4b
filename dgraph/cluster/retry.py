"""Retries work after the loss of a worker, on the workers that remain or have joined.

Dask recomputes what it has tasks for. This module makes the rest again: frames sent from this process, the state of a
run, and results kept on the workers that computed them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from itertools import count, pairwise
from typing import Any, TypeVar

from dgraph.cluster.scheduler import lost_scheduler, not_connected, workers_of
from dgraph.cluster.tasks import copy_here
from dgraph.cluster.workers import Workers
from dgraph.errors import DgraphError, LostError, OptionError, RunError
from dgraph.native.hosts import backup_worker

ATTEMPTS = 10  # losses during one piece of work; after more, something must be killing the workers
GRACE = 8.0  # seconds to wait for a first worker
PAUSE = 0.2  # seconds to wait after a loss, because a lost worker is reported bit by bit

T = TypeVar("T")


def retry(client: Any, work: Callable[[], T], forget_lost: Callable[[], None]) -> T:
    """The result of `work`. After each loss, `forget_lost` drops what was lost, and the work is done again."""
    if client is None:
        return work()
    seen: list[set[str]] = []  # the workers after each loss
    for losses in count(1):
        try:
            return work()
        except Exception as error:
            no_workers = isinstance(error, OptionError) and client.status == "running" and not workers_of(client)
            if client.status != "running" and is_loss(error):
                raise lost_scheduler(client) from error
            if client.status == "closed" and not isinstance(error, DgraphError):
                raise not_connected(client) from error
            if not (is_loss(error) or no_workers):  # all may have left before the loss was reported
                if any(one.exception is error for one in list(client.futures.values())):
                    raise _copied(error) from error.__cause__
                raise
            if losses == ATTEMPTS:
                if any(before - after for before, after in pairwise(seen)):
                    what = f"workers were lost {losses} times in a row ({error}); check whether they run out of memory"
                else:
                    what = f"{losses} attempts on the same workers failed ({error}); make the graph again"
                raise RunError(what) from error
            seen.append(await_workers(client, error))
            _forget_frames(error)
            forget_lost()
    raise AssertionError("count() has no end")


def _copied(error: Exception) -> Exception:
    """A copy of an error from a worker, which Dask does not keep."""
    try:
        ours = copy(error).with_traceback(error.__traceback__)
    except Exception:  # the class cannot be copied
        return error
    _forget_frames(error)
    return ours


def _forget_frames(error: BaseException | None) -> None:
    """Drop the tracebacks of an error. Dask keeps a reported error as long as the client lives, and its traceback would
    keep stack frames, and with them the graph and its data on the workers."""
    while error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def retry_on_loss(work: Callable[..., T]) -> Callable[..., T]:
    """Decorates a function whose first argument is a graph, so that it is retried after each loss."""

    @wraps(work)
    def until_done(graph: Any, *arguments: Any, **options: Any) -> T:
        return retry(graph.client, lambda: work(graph, *arguments, **options), graph.forget_lost)

    return until_done


def replicate(workers: Workers, held: Sequence[Any]) -> list[Any]:
    """A copy of each result on another worker (and on another host, if there is one), once all are computed; with a
    single worker, the results themselves. Readers survive the loss of either: if the copy is lost, Dask makes it again
    from the original."""
    homes, addresses = workers.where(held) or [], workers.addresses
    if absent := set(homes).difference(addresses):
        raise LostError(f"worker {min(absent)} left the cluster while holding part of this result")
    others = [backup_worker(addresses, addresses.index(home)) for home in homes]
    places = [addresses[other] for other in others if other is not None]
    if len(places) < len(held):
        return workers.wait(list(held))
    sent = [workers.call(copy_here, one, on=home) for one, home in zip(held, homes, strict=True)]  # keeps no replica
    copies = [workers.call(copy_here, one, on=place) for one, place in zip(sent, places, strict=True)]
    return workers.wait(workers.hold(copies))


def is_loss(error: BaseException) -> bool:
    """Whether an error was caused by the loss of a worker."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    return isinstance(error, LostError | CancelledError | KilledWorker | CommClosedError)


def await_workers(client: Any, loss: BaseException) -> set[str]:
    """Wait until there is a worker, and return all workers. Remaining workers continue at once; a nanny needs seconds
    to start a replacement."""
    begun = time.monotonic()
    time.sleep(PAUSE)
    while not (workers := workers_of(client)):
        if time.monotonic() - begun > GRACE:
            raise RunError(
                f"{client!r} has no workers, and none joined within {GRACE:g} s ({loss}); start some and run again"
            ) from loss
        time.sleep(PAUSE)
    return set(workers)
