"""Steps: a chain of tasks, one for each worker and step, on threads of this process or on a Dask cluster.

A step begins when its worker has the tokens of all workers for the step before: these say what was sent, and hold each
worker's part of the global values. So all workers decide alike, also that the run is over. Tokens and mail travel past
the scheduler, through the exchange. A round of a program, which the report counts, takes one step or two.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from dgraph.errors import OptionError, RunError
from dgraph.exchange.exchange import PATIENCE, Exchange
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Route, Token, TokenValues

CHUNK = 10  # steps a submission: a chunk's end cuts the lineage, and is where a run can be resumed
LIGHT = 0.05  # seconds: steps that take less are fused into one task a worker,
LONGEST, BRIEF = 100, 0.2  # of so many at most, or until they have taken so many seconds: an end of one takes 0.01
SUMMARY = "summary"  # among the values of a last token
EXCHANGES = ("auto", "workers", "graph")


@dataclass(frozen=True)
class Steps:
    """What each worker does. A true `done` in what a step tells ends the run; all workers must tell it in the same
    step."""

    # the worker's partitions by index -> its state; sends nothing
    setup: Callable[[Exchange, dict[int, Any]], Any]
    # state, number, what each worker told last -> what this one tells; it sends mail of this number, collects the last
    step: Callable[[Any, int, list[TokenValues]], TokenValues]
    # state -> this worker's result
    finish: Callable[[Any], Any]
    # result -> what the caller must know of it at once
    summary: Callable[[Any], Any] | None = None
    # whether a step may wait for others that take the same one: who does leaves its thread to other tasks, on a cluster
    meets: bool = False


@dataclass(frozen=True)
class Outcome:
    """What is left of a run when all its steps are done."""

    steps: int  # of each worker
    values: list[TokenValues]  # what each worker told last
    results: list[Any]  # of each worker; futures on a cluster
    summaries: list[Any]  # of each worker's result
    route: Route
    exchange: str  # how mail went: "threads", "workers", "graph"


class Chain(AbstractContextManager["Chain"], Protocol):
    """The steps of one run, on threads or on a cluster."""

    route: Route
    exchange: str

    def start(self, count: int) -> list[Token]:
        """Make the states and, where steps can be fused, take some steps in the same tasks."""
        ...

    def advance(self, first: int, count: int, fuse: bool) -> list[Token]: ...

    def finish(self) -> list[Any]:
        """The result of each worker; futures on a cluster."""
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
) -> Outcome:
    """Run steps over partitions (objects; futures with a client) until they are done.

    `client=None` means this process, on `threads` threads. `homes` are the addresses of the partitions' workers;
    without them a future is used where it lies. `fuse=None` fuses a chunk's steps into one task a worker while light;
    then, unless `chunk` is `exact`, all but the first are longer, but no longer than `after_chunk` says.
    `exchange` is how mail travels on a cluster: from worker to worker ("workers"), which takes plugins, or as edges of
    the task graph ("graph"), which takes nothing and never fuses; "auto" is the first where plugins can be installed.
    """
    if not partitions:
        raise OptionError("there are no partitions to run on")
    if chunk < 1:
        raise OptionError(f"chunk={chunk}: a submission has at least one step")
    if client is None and exchange != "auto":
        raise OptionError(f"exchange={exchange!r} is for a cluster; pass a client, or leave it out")
    with _chain(steps, partitions, client, homes, threads, exchange) as chain:
        if fuse and chain.exchange == "graph":
            raise OptionError(
                "steps that need all workers at once cannot run with exchange='graph'; choose engine='gas'"
            )
        tokens, taken, most = chain.start(0 if fuse is False else chunk), 0, LONGEST
        while True:
            if after_chunk is not None and tokens[0].step >= taken:
                most = min(LONGEST, after_chunk(tokens[0].step + 1, tokens) or LONGEST)
            taken = tokens[0].step + 1
            if is_done(tokens):
                break
            light = max(token.seconds for token in tokens) < LIGHT
            fused = chain.exchange != "graph" and (light if fuse is None else fuse)
            tokens = chain.advance(taken, most if fused and not exact else chunk, fused)
        results, values = chain.finish(), [token.values for token in tokens]
        summaries = [one.pop(SUMMARY, None) for one in values]
        return Outcome(taken, values, results, summaries, chain.route, chain.exchange)


def _chain(steps: Steps, partitions: Sequence[Any], client: Any, homes: Any, threads: Any, exchange: str) -> Chain:
    if client is None:
        workers = min(len(partitions), threads or os.cpu_count() or 1)
        return LocalChain(steps, partitions, workers, PATIENCE)
    from dgraph.supersteps.mail_graph import choose_chain

    return choose_chain(client, exchange)(steps, partitions, client, homes, PATIENCE)


def new_route(workers: Sequence[str], homes: Sequence[int]) -> Route:
    return Route(uuid.uuid4().hex, tuple(workers), tuple(homes))


# -- the bodies of the tasks, the same everywhere ----------------------------------------------------------------------


def is_done(tokens: Sequence[Token]) -> bool:
    return any(token.values.get("done") for token in tokens)


def open_steps(end: Exchange, steps: Steps, partitions: dict[int, Any], count: int, secedes: bool = False) -> Token:
    """The first task of a worker: it makes the state, which stays with its end of the exchange, and takes the first
    steps while other workers take theirs."""
    with end.failing():
        end.held = steps, steps.setup(end, partitions)
    return take_steps(end, count, secedes)


def take_steps(end: Exchange, count: int, secedes: bool = False) -> Token:
    """Take the next steps of one worker, fewer if the run is over or they take long; returns the last token. Before a
    long wait a task that `secedes` leaves its thread to other tasks."""
    with end.stepping(secedes):
        spent = 0.0
        for taken in range(count):
            if is_done([end.told]):
                break
            with end.failing():
                end.check()
                tokens = end.gather(end.told.step, secedes)
                spent += max(token.seconds for token in tokens)
                if taken >= CHUNK and spent > BRIEF:  # all find so, by the same tokens
                    break
                take_step(end, end.told.step + 1, tokens)
        return end.told


def take_step(end: Exchange, number: int, tokens: list[Token]) -> None:
    steps, state = end.held
    begun = time.perf_counter()
    values = steps.step(state, number, [token.values for token in tokens])
    if done := bool(values.get("done")):
        end.result = steps.finish(state)
        if steps.summary is not None:
            values = {**values, SUMMARY: steps.summary(end.result)}
    # all decide alike that the run is over, so nobody waits for the last token
    end.flush(number, values, time.perf_counter() - begun, share=not done)


# -- in this process ---------------------------------------------------------------------------------------------------


class LocalChain:
    """Threads of this process as the workers; with one worker, the calling thread itself."""

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
        if error is not None:  # Ctrl-C among others: wake the threads that wait for mail
            self.ends[0].fail(RunError("the run was stopped") if isinstance(error, KeyboardInterrupt) else error)
        if self.pool is not None:
            self.pool.shutdown(wait=error is None, cancel_futures=True)
        for end in self.ends:
            end.close()
