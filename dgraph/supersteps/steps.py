"""Steps: a chain of tasks, one per worker and step, on threads of this process or on a Dask cluster.

A step begins when its worker has the tokens of all workers for the previous step. Tokens say what was sent and hold
each worker's part of the global values, so all workers make the same decisions, including that the run is over. Tokens
and mail travel through the exchange, without passing the scheduler. A round of a program, which is what the report
counts, takes one or two steps.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import Route, StepReport, Token

CHUNK = 10  # steps per submission: the end of a chunk cuts the lineage, and a run can be resumed there
LIGHT_SECONDS = 0.05  # seconds: shorter steps are fused into one task per worker
MOST_FUSED_STEPS, MOST_FUSED_SECONDS = 100, 0.2  # in one task; ending it takes 0.01 seconds
QUEUED = "/proc/thread-self/schedstat"  # nanoseconds that a thread has run, and has waited for a core
COUNTED = ("round", "fired", "edges", "bytes", "residual")  # what the live page shows of a worker
SUMMARY, MAIL_ROUTE = "summary", "mail route"  # keys of the values of the last token


@dataclass(frozen=True)
class Steps:
    """What each worker does. A report with a true `done` ends the run; all workers must report it in the same step."""

    # the worker's partitions by index -> its state; sends nothing
    setup: Callable[[Exchange, dict[int, Any]], Any]
    # state, step number, each worker's last report -> this worker's report; sends mail of this step and collects mail
    # of the previous one
    step: Callable[[Any, int, list[StepReport]], StepReport]
    # state -> this worker's result
    finish: Callable[[Any], Any]
    # result -> the part that the caller needs immediately
    summary: Callable[[Any], Any] | None = None
    # whether a step may wait for other workers in the same step; if so, its task on a cluster secedes while it waits
    waits_within_steps: bool = False
    title: str = ""  # what the live page calls the run
    # state -> counts so far, for the live page, on any thread; by default those of the last report
    counts: Callable[[Any], Mapping[str, Any]] | None = None

    def standing(self, state: Any, last: StepReport) -> dict[str, Any]:
        """What a worker has done so far, for the live page."""
        counts = last if self.counts is None else self.counts(state)
        return {"title": self.title, **{name: counts[name] for name in COUNTED if name in counts}}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run after its last step. Lists have one entry per worker."""

    steps: int  # the number of steps that each worker took
    values: list[StepReport]  # the last reports
    results: list[Any]  # futures on a cluster
    summaries: list[Any]
    route: Route
    exchange: str  # how mail travelled: "threads", "workers" or "graph"
    mail_route: str  # and how it got from worker to worker: see `Exchange.mail_route`

    def place_of(self, part: int) -> tuple[Any, int]:
        """The result of the worker that has a partition, and the partition's place among those of that worker."""
        worker = self.route.homes[part]
        return self.results[worker], self.route.partitions_of(worker).index(part)


def new_route(workers: Sequence[str], homes: Sequence[int]) -> Route:
    return Route(uuid.uuid4().hex, tuple(workers), tuple(homes))


# -- the bodies of the tasks, on any transport -------------------------------------------------------------------------


def is_done(tokens: Sequence[Token]) -> bool:
    return any(token.values.get("done") for token in tokens)


def open_steps(end: Exchange, steps: Steps, partitions: dict[int, Any], count: int, secedes: bool = False) -> Token:
    """The first task of a worker: create the state, which stays with the worker's end of the exchange, and take the
    first `count` steps."""
    with end.stop_on_error():
        end.steps_and_state = steps, steps.setup(end, partitions)
    return take_steps(end, count, secedes)


def take_steps(end: Exchange, count: int, secedes: bool = False) -> Token:
    """Take the next `count` steps of one worker, or fewer if the run ends or they take long; returns the last token. A
    task that `secedes` leaves its thread to other tasks before a long wait."""
    with end.one_task_at_a_time(secedes):
        spent = 0.0
        for taken in range(count):
            if is_done([end.last_token]):
                break
            with end.stop_on_error():
                end.check()
                tokens = end.gather(end.last_token.step, secedes)
                spent += max(token.seconds for token in tokens)
                if taken >= CHUNK and spent > MOST_FUSED_SECONDS:  # all decide alike, because they have the same tokens
                    break
                take_step(end, end.last_token.step + 1, tokens)
        return end.last_token


def take_step(end: Exchange, number: int, tokens: list[Token]) -> None:
    steps, state = end.steps_and_state
    begun, queued = time.perf_counter(), seconds_queued()
    values = steps.step(state, number, [token.values for token in tokens])
    if done := bool(values.get("done")):
        end.result = steps.finish(state)
        if steps.summary is not None:
            values = {**values, SUMMARY: steps.summary(end.result)}
        values = {**values, MAIL_ROUTE: end.mail_route}
    # after the last step, all workers know that the run is over, so none waits for this token
    took = time.perf_counter() - begun - (seconds_queued() - queued)
    end.flush(number, values, took, share=not done)


def seconds_queued() -> float:
    """How long this thread could have run while others had the cores; 0 where the system does not tell. Among many
    workers on few cores, short steps would look long otherwise."""
    with suppress(OSError, ValueError, IndexError):
        file = os.open(QUEUED, os.O_RDONLY)  # takes half as long as `open`
        try:
            return int(os.read(file, 100).split()[1]) / 1e9
        finally:
            os.close(file)
    return 0.0
