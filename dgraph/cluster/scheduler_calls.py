"""What the client of a Dask cluster asks the scheduler: about workers, and about runs (answered by
`exchange/run_registry.py`). Every question takes a millisecond."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from distributed import Client, Future
from distributed.protocol.pickle import loads

from dgraph.errors import OptionError, RunError
from dgraph.exchange.dask import ExchangeOnWorker
from dgraph.exchange.exchange import PATIENCE
from dgraph.exchange.mail import Route, Token
from dgraph.exchange.run_registry import ExchangeOnScheduler

PATIENCE_OF_END = 5.0  # seconds that the scheduler has to answer when a run is over; it may be gone
A_MOMENT = 1.0  # seconds: workers tell of their memory no more often
LOST = 5.0  # seconds in which a client that has lost the scheduler may find it again; a call would wait for thirty


@dataclass
class ClientCache:
    """What one client knows already."""

    installed: bool = False  # whether the scheduler has taken the plugins
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: float = float("-inf")  # when it was told of them


_known: WeakKeyDictionary[Client, ClientCache] = WeakKeyDictionary()


# -- about workers -----------------------------------------------------------------------------------------------------


def worker_infos(client: Client, *, fresh: bool = True) -> dict[str, dict[str, Any]]:
    """What the scheduler knows of each worker; unless `fresh`, as of a moment ago. `client.scheduler_info` would answer
    from a cache that the client's own thread replaces every two seconds by one without workers."""
    known, now = _known.setdefault(client, ClientCache()), time.monotonic()
    if fresh or now - known.asked > A_MOMENT:
        known.workers, known.asked = dict(_call(client, "identity", n_workers=-1)["workers"]), now
    return known.workers


def workers_of(client: Client) -> list[str]:
    """The addresses of all workers."""
    return sorted(worker_infos(client))


def places_of(client: Client, futures: Sequence[Future]) -> list[list[str]]:
    """The workers that hold each result now; an empty list where it went away with them."""
    found = _call(client, "who_has", keys=[future.key for future in futures])
    return [list(found.get(future.key) or ()) for future in futures]


# -- of the exchange ---------------------------------------------------------------------------------------------------


def install(client: Client) -> None:
    """Register the plugins, unless this client has done so."""
    known = _known.setdefault(client, ClientCache())
    if known.installed and client.status == "running":
        return
    try:
        client.register_plugin(ExchangeOnScheduler(ExchangeOnWorker()))
    except Exception as cause:
        if client.status != "running":
            raise not_connected(client) from cause
        raise RunError(f"plugins cannot be installed on {client!r} ({cause}); try exchange='graph'") from cause
    known.installed = True


def begin_run(client: Client, route: Route, patience: float = PATIENCE, lend: bool = False) -> None:
    """Have all workers join a run; `lend` waits until the run has all of them to itself."""
    place = {"run": route.run, "workers": list(route.workers), "homes": list(route.homes)}
    asked = {**place, "patience": patience, "client": client.id, "lend": lend}
    if not _ask(client, "begin", **asked):  # a scheduler that was started anew has no such handler
        _known.pop(client, None)
        install(client)
        _ask(client, "begin", **asked)


def yield_workers(client: Client, route: Route) -> None:
    """Give back the run's workers, and wait for them again."""
    _ask(client, "lend", run=route.run)


async def tokens_of(client: Client, route: Route) -> list[Token]:
    """The tokens of all workers at the end of a chunk. If they say that the run is over, the scheduler ends it."""
    scheduler: Any = client.scheduler
    found = await scheduler.dgraph_tokens(run=route.run)
    if isinstance(found, str):
        raise RunError(found)
    return [loads(token) for token in found]


def end_run(client: Client, route: Route, stop: str | None = None) -> tuple[str | None, BaseException | None]:
    """End a run, and forget its state on the workers. Returns why it failed, if it did: a line, and the exception."""
    reason, error = _ask(client, "end", run=route.run, stop=stop, callback_timeout=PATIENCE_OF_END)
    try:
        return reason, None if error is None else loads(error)
    except Exception:  # an exception of a class that this process cannot import: the line has to do
        return reason, None


def _ask(client: Client, what: str, /, **arguments: Any) -> Any:
    return _call(client, f"dgraph_{what}", **arguments)


def _call(client: Client, handler: str, /, **arguments: Any) -> Any:
    """Call a handler of the scheduler. That the client is closed, or closes meanwhile, is a RunError."""
    if client.asynchronous:
        raise OptionError(f"{client!r} runs in this event loop, which would wait for itself; call by asyncio.to_thread")
    _await_scheduler(client)
    try:
        return client.sync(getattr(client.scheduler, handler), **arguments)
    except Exception as cause:
        if client.status == "running":
            raise
        raise not_connected(client) from cause


def _await_scheduler(client: Client) -> None:
    until = time.monotonic() + LOST
    while client.status == "connecting":
        if time.monotonic() > until:
            raise lost_scheduler(client)
        time.sleep(0.02)


def lost_scheduler(client: Client) -> RunError:
    return RunError(f"the connection to the scheduler of {client!r} was lost; is the cluster alive?")


def not_connected(client: Client) -> RunError:
    return RunError(f"{client!r} is not connected; was it closed? A graph is of one client: make it again with another")
