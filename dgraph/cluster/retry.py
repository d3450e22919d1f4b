"""After the loss of a worker: the same work again, on the workers that are left or have come.

Dask computes again what it has a recipe for. What it has none for is made again here: frames that were sent from this
process, the state of a run, results that stayed where they were found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from itertools import count, pairwise
from typing import Any, TypeVar

from dgraph.cluster.workers import Workers, identity
from dgraph.errors import DgraphError, LostError, OptionError, RunError
from dgraph.native.hosts import backup_worker

ATTEMPTS = 10  # losses in one piece of work, beyond which something is killing the workers
GRACE = 8.0  # seconds until some worker must be there again
PAUSE = 0.2  # seconds after a loss: a worker that leaves is told of in pieces

T = TypeVar("T")


def retry(client: Any, work: Callable[[], T], forget_lost: Callable[[], None]) -> T:
    """The answer of `work`, which is done again after each loss, once `forget_lost` has let go of what went away."""
    if client is None:
        return work()
    from dgraph.cluster.scheduler_calls import lost_scheduler, not_connected, workers_of

    seen: list[set[str]] = []  # who was there after each loss
    for losses in count(1):
        try:
            return work()
        except Exception as error:
            empty = isinstance(error, OptionError) and client.status == "running" and not workers_of(client)
            if client.status != "running" and is_loss(error):
                raise lost_scheduler(client) from error
            if client.status == "closed" and not isinstance(error, DgraphError):
                raise not_connected(client) from error
            if not (is_loss(error) or empty):  # or all had left before the loss was told
                if any(one.exception is error for one in list(client.futures.values())):
                    raise _ours(error) from error.__cause__
                raise
            if losses == ATTEMPTS:
                if any(before - after for before, after in pairwise(seen)):
                    what = f"workers were lost {losses} times in a row ({error}); do they lack memory?"
                else:
                    what = f"{losses} attempts on the same workers failed ({error}); make the graph again"
                raise RunError(what) from error
            seen.append(await_workers(client, error))
            _forget_frames(error)
            forget_lost()
    raise AssertionError("count() has no end")


def _ours(error: Exception) -> Exception:
    """An error that came from a worker, as one that Dask does not keep."""
    try:
        found = copy(error).with_traceback(error.__traceback__)
    except Exception:  # of a class that cannot be copied
        return error
    _forget_frames(error)
    return found


def _forget_frames(error: BaseException | None) -> None:
    """An error that Dask has told it keeps as long as the client lives, and with its traceback the frames through which
    it came, which know the graph: that and what workers have of it would stay, too."""
    while error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def retry_on_loss(work: Callable[..., T]) -> Callable[..., T]:
    """Decorates a function of a graph: its work is done again after each loss."""

    @wraps(work)
    def until_done(graph: Any, *arguments: Any, **options: Any) -> T:
        return retry(graph.client, lambda: work(graph, *arguments, **options), graph.forget_lost)

    return until_done


def replicate(workers: Workers, held: Sequence[Any]) -> list[Any]:
    """A copy of each result on another worker (on another host, if there is one), once all are there; with a single
    worker, the results themselves. A reader can do without either of the two: if the copy goes, Dask makes it again
    from the first."""
    homes, everybody = workers.where(held) or [], workers.addresses
    if absent := set(homes).difference(everybody):
        raise LostError(f"worker {min(absent)} has left with values of a result")
    others = [backup_worker(everybody, everybody.index(home)) for home in homes]
    places = [everybody[other] for other in others if other is not None]
    if len(places) < len(held):
        return workers.wait(list(held))
    sent = [
        workers.call(identity, one, on=home) for one, home in zip(held, homes, strict=True)
    ]  # which keeps no replica
    copies = [workers.call(identity, one, on=place) for one, place in zip(sent, places, strict=True)]
    return workers.wait(workers.hold(copies))


def is_loss(error: BaseException) -> bool:
    """Whether work failed because a worker was lost."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    return isinstance(error, LostError | CancelledError | KilledWorker | CommClosedError)


def await_workers(client: Any, loss: BaseException) -> set[str]:
    """Wait until there is a worker; returns all there are. Workers that are left go on at once; a nanny's replacement
    takes seconds."""
    from dgraph.cluster.scheduler_calls import workers_of

    begun = time.monotonic()
    time.sleep(PAUSE)
    while not (there := workers_of(client)):
        if time.monotonic() - begun > GRACE:
            raise RunError(
                f"{client!r} has no worker, and none came within {GRACE:g} s ({loss}); start some and run again"
            ) from loss
        time.sleep(PAUSE)
    return set(there)
