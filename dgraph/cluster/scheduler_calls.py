"""Calls from the client of a Dask cluster to the scheduler, about workers and about runs (answered by
`exchange/run_registry.py`). Each call takes about a millisecond."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
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

END_TIMEOUT = 5.0  # seconds within which the scheduler must answer when a run is over; it may be gone
LONGEST_CACHED = 1.0  # seconds: workers report their memory no more often
RECONNECT_TIMEOUT = 5.0  # seconds for a client that has lost the scheduler to reconnect; a call would wait for thirty


Wait = Callable[[Client, Coroutine[Any, Any, Any]], Any]  # returns the coroutine's result, however long that takes


@dataclass
class ClientRecord:
    """What is known about one client's cluster."""

    installed: bool = False  # whether the scheduler has the plugins
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: float = float("-inf")  # when `workers` was last updated


_known: WeakKeyDictionary[Client, ClientRecord] = WeakKeyDictionary()


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
    """The addresses of all workers."""
    return sorted(worker_infos(client))


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
    try:
        client.register_plugin(ExchangeOnScheduler(ExchangeOnWorker()))
    except Exception as cause:
        if client.status != "running":
            raise not_connected(client) from cause
        raise RunError(
            f"cannot install plugins on {client!r} ({cause}); try dg.Optimizations(direct_exchange=False)"
        ) from cause
    known.installed = True


def begin_run(client: Client, route: Route, wait: Wait, patience: float = PATIENCE, lend: bool = False) -> None:
    """Have all workers join a run; `lend` waits until the run has exclusive use of them."""
    place = {"run": route.run, "workers": list(route.workers), "homes": list(route.homes)}
    arguments = {**place, "patience": patience, "client": client.id, "lend": lend}
    if not wait(client, _request(client, "dgraph_begin", **arguments)):  # a restarted scheduler has no such handler
        _known.pop(client, None)
        install(client)
        wait(client, _request(client, "dgraph_begin", **arguments))


def yield_workers(client: Client, route: Route, wait: Wait) -> None:
    """Give up the run's exclusive use of its workers, and wait for it again."""
    wait(client, _request(client, "dgraph_lend", run=route.run))


async def tokens_of(client: Client, route: Route) -> list[Token]:
    """The tokens of all workers at the end of a chunk. If they say that the run is over, the scheduler ends it."""
    scheduler: Any = client.scheduler
    answer = await scheduler.dgraph_tokens(run=route.run)
    if isinstance(answer, str):
        raise RunError(answer)
    return [loads(token) for token in answer]


def end_run(client: Client, route: Route, stop: str | None = None) -> tuple[str | None, BaseException | None]:
    """End a run, and delete its state on the workers. If it failed, returns the reason as a line, and the exception."""
    reason, error = _call(client, "dgraph_end", run=route.run, stop=stop, callback_timeout=END_TIMEOUT)
    try:
        return reason, None if error is None else loads(error)
    except Exception:  # this process cannot import the exception's class, so only the line is returned
        return reason, None


def _call(client: Client, handler: str, /, **arguments: Any) -> Any:
    """Call a handler of the scheduler. Raises RunError if the client is closed, or closes during the call."""
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
    return RunError(f"the connection to the scheduler of {client!r} was lost; check that the cluster is running")


def not_connected(client: Client) -> RunError:
    return RunError(
        f"{client!r} is not connected, perhaps because it was closed. A graph belongs to one client: make the graph "
        "again with a new client"
    )
