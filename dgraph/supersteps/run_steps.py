"""Runs the steps of all workers until they are done, and fuses short steps into longer tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dgraph.cluster.scheduler import install
from dgraph.errors import OptionError, RunError
from dgraph.exchange.exchange import PATIENCE, Exchange
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Route, Token
from dgraph.supersteps.steps import (
    CHUNK,
    LIGHT_SECONDS,
    MAIL_ROUTE,
    MOST_FUSED_STEPS,
    SUMMARY,
    Outcome,
    Steps,
    is_done,
    new_route,
    open_steps,
    take_steps,
)


class LocalChain:
    """The steps of a run on threads of this process, as its workers; a single worker uses the calling thread."""

    exchange = "threads"

    def __init__(self, steps: Steps, partitions: Sequence[Any], workers: int, patience: float):
        homes = [partition * workers // len(partitions) for partition in range(len(partitions))]
        self.route = new_route([f"thread {worker}" for worker in range(workers)], homes)
        self.steps, self.partitions = steps, partitions
        self.ends: Sequence[Exchange] = LocalExchange.ends(self.route, patience)
        self.pool = ThreadPoolExecutor(workers, "dgraph") if workers > 1 else None

    def start(self, count: int) -> list[Token]:
        shares = [{p: self.partitions[p] for p in end.partitions} for end in self.ends]
        return self._each(open_steps, [(self.steps, share, count) for share in shares])

    def advance(self, first: int, count: int, fuse: bool) -> list[Token]:
        return self._each(take_steps, [(count,)] * len(self.ends))

    def finish(self) -> list[Any]:
        return [end.result for end in self.ends]

    def _each(self, task: Callable[..., Any], arguments: Sequence[tuple]) -> list[Any]:
        if self.pool is None:
            return [task(self.ends[0], *arguments[0])]
        futures = [self.pool.submit(task, end, *rest) for end, rest in zip(self.ends, arguments, strict=True)]
        wait(futures, return_when=FIRST_EXCEPTION)
        if causes := [end.cause for end in self.ends if end.cause is not None]:
            raise causes[0]
        return [future.result() for future in futures]

    def __enter__(self) -> LocalChain:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:  # after Ctrl-C, for example, wake the threads that wait for mail
            self.ends[0].fail(RunError("the run was stopped") if isinstance(error, KeyboardInterrupt) else error)
        if self.pool is not None:
            self.pool.shutdown(wait=error is None, cancel_futures=True)
        for end in self.ends:
            end.close()


class Chain(AbstractContextManager["Chain"], Protocol):
    """The steps of one run, on threads or on a cluster."""

    route: Route
    exchange: str

    def start(self, count: int) -> list[Token]:
        """Create the states, and if steps can be fused, take some steps in the same tasks."""
        ...

    def advance(self, first: int, count: int, fuse: bool) -> list[Token]: ...

    def finish(self) -> list[Any]:
        """The result of each worker, as futures on a cluster."""
        ...


def run_steps(
    steps: Steps,
    partitions: Sequence[Any],
    *,
    client: Any = None,
    homes: Sequence[str] | None = None,
    threads: int | None = None,
    fuse: bool | None = None,
    chunk: int = CHUNK,
    exact: bool = False,
    after_chunk: Callable[[int, list[Token]], int | None] | None = None,
    exchange: str = "auto",
) -> Outcome | None:
    """Run steps over partitions until they are done, or until `after_chunk` returns 0; then the result is None.

    Parameters
    ----------
    partitions : sequence
        Objects; with a client, objects or futures.
    client : Client, optional
        None runs in this process.
    homes : sequence of str, optional
        The address of each partition's worker. By default futures are used on the workers that hold them.
    threads : int, optional
        The number of threads in this process.
    fuse : bool, optional
        Whether to run a chunk's steps as one task per worker. None does so while steps are short.
    chunk : int
        The number of steps per submission. Unless it is `exact`, fused chunks after the first are longer.
    after_chunk : callable, optional
        Called after each chunk with the number of steps taken and the last tokens. It returns the largest size of the
        next chunk; None sets no limit, and 0 stops the run.
    exchange : {"auto", "workers", "graph"}
        How mail travels on a cluster. "workers" sends it from worker to worker, which requires plugins. "graph" sends
        it along edges of the task graph, which requires nothing and never fuses steps. "auto" is "workers" if plugins
        can be installed, else "graph".
    """
    if not partitions:
        raise OptionError("there are no partitions to run on")
    if chunk < 1:
        raise OptionError(f"chunk={chunk} must be >= 1")
    if client is None and exchange != "auto":
        raise OptionError("direct_exchange=False is for a cluster; make the graph with client=, or leave it out")
    with _chain(steps, partitions, client, homes, threads, exchange) as chain:
        if fuse and chain.exchange == "graph":
            raise OptionError(
                "steps that need all workers at once cannot run with direct_exchange=False, nor where plugins cannot "
                "be installed; choose engine='gas'"
            )
        tokens, taken, most = chain.start(0 if fuse is False else chunk), 0, MOST_FUSED_STEPS
        while True:
            if after_chunk is not None and tokens[0].step >= taken:
                limit = after_chunk(tokens[0].step + 1, tokens)
                if limit == 0:
                    return None
                most = min(MOST_FUSED_STEPS, limit or MOST_FUSED_STEPS)
            taken = tokens[0].step + 1
            if is_done(tokens):
                break
            light = max(token.seconds for token in tokens) < LIGHT_SECONDS
            fused = chain.exchange != "graph" and (light if fuse is None else fuse)
            tokens = chain.advance(taken, most if fused and not exact else chunk, fused)
        results, values = chain.finish(), [token.values for token in tokens]
        summaries = [one.pop(SUMMARY, None) for one in values]
        mail_routes = sorted({one.pop(MAIL_ROUTE) for one in values})
        return Outcome(taken, values, results, summaries, chain.route, chain.exchange, " and ".join(mail_routes))


def _chain(steps: Steps, partitions: Sequence[Any], client: Any, homes: Any, threads: Any, exchange: str) -> Chain:
    if client is None:
        workers = min(len(partitions), threads or os.cpu_count() or 1)
        return LocalChain(steps, partitions, workers, PATIENCE)
    from dgraph.supersteps.mail_graph import MailChain
    from dgraph.supersteps.step_graph import DaskChain

    kind = DaskChain if exchange != "graph" else MailChain
    try:
        if exchange != "graph":
            install(client)
    except RunError:
        if exchange == "workers" or client.status != "running":
            raise
        kind = MailChain
    return kind(steps, partitions, client, homes, PATIENCE)
