"""The scheduler's half of the exchange: a registry of live runs.

It fails a run as soon as one of its workers leaves, ends the run when its client leaves, protects its workers from
adaptive downscaling, gives fused steps exclusive use of all workers at once, and adds up numbers. Only this module and
`dask.py` use non-public hooks of distributed.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps

from dgraph.dashboard.live_history import LiveHistory
from dgraph.errors import LostError

VERSION = sys.modules["dgraph"].__version__  # of the package in this process, loaded before any of its modules
PLUGIN_NAME = "dgraph-exchange"  # the name of both plugins
PAGE = "/dgraph"  # on the dashboard
REMEDY = "Part of a result was lost with its worker. Take `result.frame` again, which recovers it first."


def key_of(kind: str, run: str, *place: int) -> tuple:
    """The key of a task of a run; `run_of` is the inverse. Dask's dashboard groups tasks by the part before the id."""
    return (f"dgraph-{kind}-{run}", *place)


def run_of(key: Any) -> str:
    return key[0].rpartition("-")[2] if isinstance(key, tuple) and isinstance(key[0], str) else ""


@dataclass
class RunRecord:
    """What the scheduler knows about a live run."""

    workers: list[str]
    client: str
    keys: set[Any] = field(default_factory=set)  # the tasks that the client waits for
    over: bool = False  # whether these tokens are the last
    reason: str | None = None  # why the run failed
    error: bytes | None = None
    tokens: dict[str, bytes] = field(default_factory=dict)  # by worker: tokens not yet passed to the client
    complete: asyncio.Event = field(default_factory=asyncio.Event)  # all tokens are here, or the run has stopped
    ended: asyncio.Event = field(default_factory=asyncio.Event)  # the run has ended or failed
    sums: dict[int, tuple[dict[str, list[float]], asyncio.Event]] = field(default_factory=dict)

    def stop(self) -> None:
        """Wake every call that waits for this run."""
        for event in (self.complete, self.ended, *(complete for _, complete in self.sums.values())):
            event.set()


class ExchangeOnScheduler(SchedulerPlugin):
    """The registry, one per cluster. It installs the other half on each worker."""

    name = PLUGIN_NAME
    idempotent = True

    def __init__(self, worker_half: Any):
        self.worker_half = worker_half

    async def start(self, scheduler: Any) -> None:
        if PLUGIN_NAME in scheduler.plugins:  # another client has installed one
            return
        # Add the plugin before the first await, so that there is only one.
        scheduler.add_plugin(self, name=PLUGIN_NAME, idempotent=True)
        self.scheduler, self.ready = scheduler, asyncio.Event()
        self.runs: dict[str, RunRecord] = {}
        self.ended_results: set[Any] = set()  # keys of results of runs that have ended
        self.history = scheduler.extensions[PLUGIN_NAME] = LiveHistory(self.runs)  # whose `heartbeat` Dask calls
        self.worker_half.heard = True
        self.has_page = show_live_page(scheduler, self.history)
        handlers = {"begin": self.begin, "end": self.end, "lend": self.lend, "sum": self.sum, "tokens": self.tokens}
        handlers["page"] = self.page
        scheduler.handlers.update({f"dgraph_{name}": handler for name, handler in handlers.items()})
        scheduler.stream_handlers |= {"dgraph-failed": self.failed, "dgraph-told": self.receive_token}
        try:
            with suppress(OSError):  # a worker was leaving; `begin` rejects workers that did not get their half
                await scheduler.register_worker_plugin(None, dumps(self.worker_half), name=PLUGIN_NAME, idempotent=True)
        finally:
            self.ready.set()  # otherwise, all runs on this cluster would wait for ever

    async def begin(
        self, run: str, workers: list[str], homes: list[int], patience: float, client: str, lend: bool
    ) -> bool:
        """Have all workers join a run; `lend` waits until the run has exclusive use of them."""
        await self.ready.wait()
        # Calls to workers that have left would take half a minute.
        self._require_all(workers, dict.fromkeys(self.scheduler.workers, True))
        self.runs[run] = RunRecord(list(workers), client)
        message = {"op": "dgraph_open", "run": run, "workers": workers, "homes": homes, "patience": patience}
        message["version"] = VERSION
        answers = await self.scheduler.broadcast(msg=message, workers=list(workers), on_error="return")
        try:
            self._require_all(
                workers, {worker: answers[worker] for worker in workers if worker in self.scheduler.workers}
            )
        except LostError as error:
            await self.end(run, str(error))
            raise
        if lend:
            await self.lend(run)
        return True

    async def page(self) -> bool:
        """Whether there is a live page."""
        return self.has_page

    @staticmethod
    def _require_all(workers: list[str], answers: dict[str, Any]) -> None:
        """Raise LostError unless every worker's answer is True."""
        if absent := [worker for worker in workers if answers.get(worker) is not True]:
            raise LostError(
                f"worker {', '.join(absent)} cannot take part ({answers.get(absent[0], 'not in the cluster')!r}); "
                "check that it is connected and has this version of dgraph"
            )

    async def end(self, run: str, stop: str | None = None) -> tuple[str | None, bytes | None]:
        """Delete a run here and on its workers; returns the reason for its failure, if it failed."""
        if stop is not None:
            self.fail(run, stop)
        if (ended := self.runs.pop(run, None)) is None:
            return f"run {run} had already ended on the scheduler", None
        ended.stop()
        self.history.end(run, ended.reason)
        self._remember_results(ended)
        self._release_locks(run)
        self._tell(ended.workers, op="dgraph-close", run=run)
        return ended.reason, ended.error

    async def tokens(self, run: str) -> list[bytes] | str:
        """Wait for the tokens of all workers at the end of a chunk; after the last ones the run ends. If there are
        none, returns the reason as a string, because Dask's server would log an exception."""
        if reason := self._why_over(run):
            return reason
        record = self.runs[run]
        await record.complete.wait()
        if reason := self._why_over(run):
            return reason
        tokens, record.tokens = record.tokens, {}
        record.complete.clear()
        if record.over:
            await self.end(run)
        return [tokens[worker] for worker in record.workers]

    async def lend(self, run: str) -> None:
        """Give a run exclusive use of all its workers at once. The run keeps them until it calls this again, and then
        other runs go first.

        It uses the locks of `distributed.MultiLock` on the workers' addresses, as XGBoost does.
        """
        self._release_locks(run)
        record, locks = self.runs[run], self.scheduler.extensions["multi_locks"]
        waiting = [
            asyncio.ensure_future(locks.acquire(locks=record.workers, id=run, num_locks=len(record.workers))),
            asyncio.ensure_future(record.ended.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for future in waiting:
                future.cancel()
        if record.ended.is_set():
            self._release_locks(run)

    async def sum(self, run: str, number: int, worker: str, values: list[float]) -> list[float] | str:
        """The sums of the values of all workers, once all have called this; or, if there are none, the reason as a
        string."""
        if reason := self._why_over(run):
            return reason
        record = self.runs[run]
        parts, complete = record.sums.setdefault(number, ({}, asyncio.Event()))
        parts[worker] = values
        if len(parts) == len(record.workers):
            del record.sums[number]
            complete.set()
        await complete.wait()
        if reason := self._why_over(run):
            return reason
        return [sum(column) for column in zip(*(parts[w] for w in record.workers), strict=True)]

    def fail(self, run: str, reason: str, error: bytes | None = None) -> None:
        """Stop a run on all workers, and cancel what its client waits for. The first reason is kept."""
        record = self.runs.get(run)
        if record is None or record.reason is not None:
            return
        record.reason, record.error = reason, error
        record.stop()
        self._tell(record.workers, op="dgraph-fail", run=run, reason=reason)
        self.scheduler.loop.add_callback(self._cancel, record)

    # -- called by the scheduler ---------------------------------------------------------------------------------------

    def receive_token(self, worker: str, run: str, token: bytes, last: bool, standing: dict[str, Any]) -> None:
        """Called when a worker has reached the end of a chunk, or of the run."""
        if run in self.runs:
            self.history.hear(run, worker, standing)
            record = self.runs[run]
            record.tokens[worker] = token
            record.over |= last
            if len(record.tokens) == len(record.workers):
                record.complete.set()

    def failed(self, worker: str, run: str, reason: str, error: bytes | None) -> None:
        """Called when a step failed on a worker."""
        self.fail(run, reason, error)

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        for run, record in list(self.runs.items()):
            if worker in record.workers:
                reason = f"worker {worker} left the cluster during the run; run again on the remaining workers"
                self.fail(run, reason, dumps(LostError(reason)))
        scheduler.loop.add_callback(self._cancel_lost_results, f"lost with worker {worker}")

    def remove_client(self, scheduler: Any, client: str) -> None:
        for run, record in list(self.runs.items()):
            if record.client == client:
                scheduler.loop.add_callback(self.end, run, f"client {client} left")
        self._tell(list(scheduler.workers), op="dgraph-forget", client=client)

    def restart(self, scheduler: Any) -> None:
        for run in list(self.runs):
            reason = "the cluster was restarted during the run; run again"
            self.fail(run, reason, dumps(LostError(reason)))
        self.ended_results.clear()

    def valid_workers_downscaling(self, scheduler: Any, workers: list[Any]) -> list[Any]:
        busy = {worker for record in self.runs.values() for worker in record.workers}
        return [worker for worker in workers if worker.address not in busy]

    def update_graph(self, scheduler: Any, *, keys: set[Any], **kwargs: Any) -> None:
        """Record new tasks of a run. If the run has failed in the meantime, cancel them, because tasks that are pinned
        to workers would wait forever."""
        record = self.runs.get(run_of(next(iter(keys), None)))  # a graph has tasks of one run only
        if record is not None:
            record.keys = {old for old in record.keys if old in scheduler.tasks} | set(keys)
            if record.reason is not None:
                scheduler.loop.add_callback(self._cancel, record)

    def _why_over(self, run: str) -> str:
        """Why a run has ended or failed; an empty string while it is alive."""
        record = self.runs.get(run)
        return f"run {run} has ended" if record is None else record.reason or ""

    def _remember_results(self, record: RunRecord) -> None:
        """Remember the results of a run that has ended, because no task can compute them again."""
        tasks = self.scheduler.tasks
        self.ended_results = {key for key in [*self.ended_results, *record.keys] if key in tasks}

    def _cancel_lost_results(self, reason: str) -> None:
        """Cancel results that were lost with a worker, and all tasks that depend on them, because Dask would wait for
        them forever."""
        gone, queue = set(), [self.scheduler.tasks[key] for key in self.ended_results if key in self.scheduler.tasks]
        while queue:
            task = queue.pop()
            if not (task.who_has or task.processing_on or task in gone):
                gone.add(task)
                queue += task.dependents
        for task in gone:
            for client in [client.client_key for client in task.who_wants or ()]:
                self.scheduler.client_releases_keys(keys=[task.key], client=client)
                message = {"op": "cancelled-keys", "keys": [task.key], "reason": reason, "msg": REMEDY}
                self.scheduler.report(message, client=client)

    def _cancel(self, record: RunRecord) -> None:
        tasks = [self.scheduler.tasks[key] for key in record.keys if key in self.scheduler.tasks]
        wanted = [task.key for task in tasks if task.who_wants]
        reason = {"reason": "run failed", "msg": record.reason}
        self.scheduler.stimulus_cancel(keys=wanted, client=record.client, force=True, **reason)

    def _release_locks(self, run: str) -> None:
        locks = self.scheduler.extensions["multi_locks"]
        if run in locks.requests:
            locks.release(id=run)

    def _tell(self, workers: list[str], **message: Any) -> None:
        self.scheduler.send_all({}, {worker: [message] for worker in workers})


# -- the live page -----------------------------------------------------------------------------------------------------


def show_live_page(scheduler: Any, history: LiveHistory) -> bool:
    """Add the page to the scheduler's dashboard, beside its other pages; returns whether there is one. Without Bokeh,
    Dask shows none."""
    application: Any = getattr(scheduler, "http_application", None)
    prefixes = [one.prefix for one in getattr(application, "applications", ()) if hasattr(one, "prefix")]
    if not prefixes:
        return False
    try:
        from distributed.dashboard.core import BokehApplication

        pages = BokehApplication({PAGE: partial(_fill, history)}, scheduler, prefixes[0])
        pages.initialize(scheduler.loop)
        pages.start()
    except Exception:  # no run needs the page
        logging.getLogger("distributed.scheduler").exception("dgraph's live page cannot be shown")
        return False
    application.add_application(pages)
    return True


def _fill(history: LiveHistory, scheduler: Any, extra: Any, doc: Any) -> None:
    """Called by Bokeh when somebody opens the page."""
    from dgraph.dashboard.live_charts import fill

    fill(doc, history, scheduler)
