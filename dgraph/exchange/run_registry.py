"""The scheduler's half of the exchange: a registry of the runs that are alive.

It fails a run as soon as one of its workers leaves, ends it when its client does, keeps its workers from being scaled
away, lends whole sets of workers to fused steps, and adds numbers up. Beside `dask.py` this is the only user of hooks
of distributed that are not public.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.protocol.pickle import dumps

from dgraph.errors import LostError

NAME = "dgraph-exchange"  # of both plugins
REMEDY = "Values of a result went away with their worker. Take `result.frame` again: it finds them first."


def key_of(kind: str, run: str, *place: int) -> tuple:
    """The key of a task of a run; `run_of` is its inverse. Dask shows tasks by the part before the run's id."""
    return (f"dgraph-{kind}-{run}", *place)


def run_of(key: Any) -> str:
    return key[0].rpartition("-")[2] if isinstance(key, tuple) and isinstance(key[0], str) else ""


@dataclass
class Run:
    """What the scheduler knows of a run that is alive."""

    workers: list[str]
    client: str
    keys: set[Any] = field(default_factory=set)  # that the client waits for
    over: bool = False  # whether the tokens are the last
    reason: str | None = None  # why it failed
    error: bytes | None = None
    tokens: dict[str, bytes] = field(default_factory=dict)  # that each worker has told, and the client has not had
    told: asyncio.Event = field(default_factory=asyncio.Event)  # by all; or there is nothing to wait for any more
    ended: asyncio.Event = field(default_factory=asyncio.Event)  # or failed
    sums: dict[int, tuple[dict[str, list[float]], asyncio.Event]] = field(default_factory=dict)

    def stop(self) -> None:
        """Wake everybody who waits for something of this run."""
        for event in (self.told, self.ended, *(complete for _, complete in self.sums.values())):
            event.set()


class ExchangeOnScheduler(SchedulerPlugin):
    """The registry, one for each cluster; it gives each worker its half."""

    name = NAME
    idempotent = True

    def __init__(self, worker_half: WorkerPlugin):
        self.worker_half = worker_half

    async def start(self, scheduler: Any) -> None:
        if NAME in scheduler.plugins:  # another client was first
            return
        scheduler.add_plugin(self, name=NAME, idempotent=True)  # before the first await: there is only one registry
        self.scheduler, self.ready = scheduler, asyncio.Event()
        self.runs: dict[str, Run] = {}
        self.kept: set[Any] = set()  # results of runs that have ended
        handlers = {"begin": self.begin, "end": self.end, "lend": self.lend, "sum": self.sum, "tokens": self.tokens}
        scheduler.handlers.update({f"dgraph_{name}": handler for name, handler in handlers.items()})
        scheduler.stream_handlers |= {"dgraph-failed": self.failed, "dgraph-told": self.told}
        await scheduler.register_worker_plugin(None, dumps(self.worker_half), name=NAME, idempotent=True)
        self.ready.set()

    async def begin(
        self, run: str, workers: list[str], homes: list[int], patience: float, client: str, lend: bool
    ) -> bool:
        """Have all workers join a run; `lend` waits until it has all of them to itself."""
        await self.ready.wait()
        self._need(workers, dict.fromkeys(self.scheduler.workers, True))  # others would be called for half a minute
        self.runs[run] = Run(list(workers), client)
        message = {"op": "dgraph_open", "run": run, "workers": workers, "homes": homes, "patience": patience}
        answers = await self.scheduler.broadcast(msg=message, workers=list(workers), on_error="return")
        try:
            self._need(workers, {worker: answers[worker] for worker in workers if worker in self.scheduler.workers})
        except LostError:
            await self.end(run)
            raise
        if lend:
            await self.lend(run)
        return True

    @staticmethod
    def _need(workers: list[str], answers: dict[str, Any]) -> None:
        """All are there and have joined, or a LostError."""
        if absent := [worker for worker in workers if answers.get(worker) is not True]:
            raise LostError(
                f"worker {', '.join(absent)} cannot take part ({answers.get(absent[0], 'not in the cluster')!r}); "
                "has it left, or does it lack dgraph in this version?"
            )

    async def end(self, run: str, stop: str | None = None) -> tuple[str | None, bytes | None]:
        """Forget a run everywhere; returns why it failed, if it did."""
        if stop is not None:
            self.fail(run, stop)
        if (ended := self.runs.pop(run, None)) is None:
            return f"run {run} had ended on the scheduler", None
        ended.stop()
        self._keep(ended)
        self._give_back(run)
        self._tell(ended.workers, op="dgraph-close", run=run)
        return ended.reason, ended.error

    async def tokens(self, run: str) -> list[bytes] | str:
        """The tokens of all workers at the end of a chunk, once they are here; if they are the last, the run ends. Or
        why there are none: Dask's server would print all that is raised here."""
        if why := self._no_more(run):
            return why
        record = self.runs[run]
        await record.told.wait()
        if why := self._no_more(run):
            return why
        told, record.tokens = record.tokens, {}
        record.told.clear()
        if record.over:
            await self.end(run)
        return [told[worker] for worker in record.workers]

    async def lend(self, run: str) -> None:
        """Give a run all its workers at once. It has them until it asks again, and then other runs go first.

        These are the locks of `distributed.MultiLock` on the workers' addresses, which XGBoost takes too.
        """
        self._give_back(run)
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
            self._give_back(run)

    async def sum(self, run: str, number: int, worker: str, values: list[float]) -> list[float] | str:
        """The sums of what all workers give, once they have; or why there are none."""
        if why := self._no_more(run):
            return why
        record = self.runs[run]
        parts, complete = record.sums.setdefault(number, ({}, asyncio.Event()))
        parts[worker] = values
        if len(parts) == len(record.workers):
            del record.sums[number]
            complete.set()
        await complete.wait()
        if why := self._no_more(run):
            return why
        return [sum(column) for column in zip(*(parts[w] for w in record.workers), strict=True)]

    def fail(self, run: str, reason: str, error: bytes | None = None) -> None:
        """Stop a run on all workers, and whatever its client waits for. The first reason stays."""
        record = self.runs.get(run)
        if record is None or record.reason is not None:
            return
        record.reason, record.error = reason, error
        record.stop()
        self._tell(record.workers, op="dgraph-fail", run=run, reason=reason)
        self.scheduler.loop.add_callback(self._cancel, record)

    # -- what the scheduler calls --------------------------------------------------------------------------------------

    def told(self, worker: str, run: str, token: bytes, last: bool) -> None:
        """A worker has come to the end of a chunk, or of the run."""
        if run in self.runs:
            record = self.runs[run]
            record.tokens[worker] = token
            record.over |= last
            if len(record.tokens) == len(record.workers):
                record.told.set()

    def failed(self, worker: str, run: str, reason: str, error: bytes | None) -> None:
        """A step failed on a worker."""
        self.fail(run, reason, error)

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        for run, record in list(self.runs.items()):
            if worker in record.workers:
                reason = f"worker {worker} left the cluster during the run; run again on the workers that are left"
                self.fail(run, reason, dumps(LostError(reason)))
        scheduler.loop.add_callback(self._let_go, f"lost with worker {worker}")

    def remove_client(self, scheduler: Any, client: str) -> None:
        for run, record in list(self.runs.items()):
            if record.client == client:
                scheduler.loop.add_callback(self.end, run, f"client {client} left")
        self._tell(list(scheduler.workers), op="dgraph-forget", client=client)

    def restart(self, scheduler: Any) -> None:
        for run in list(self.runs):
            reason = "the cluster was restarted during the run; run again"
            self.fail(run, reason, dumps(LostError(reason)))
        self.kept.clear()

    def valid_workers_downscaling(self, scheduler: Any, workers: list[Any]) -> list[Any]:
        busy = {worker for record in self.runs.values() for worker in record.workers}
        return [worker for worker in workers if worker.address not in busy]

    def update_graph(self, scheduler: Any, *, keys: set[Any], **kwargs: Any) -> None:
        """New tasks: steps of a run that has failed in the meantime are cancelled, for they are pinned and would wait
        for ever."""
        record = self.runs.get(run_of(next(iter(keys), None)))  # those of a run come without any others
        if record is not None:
            record.keys = {old for old in record.keys if old in scheduler.tasks} | set(keys)
            if record.reason is not None:
                scheduler.loop.add_callback(self._cancel, record)

    def _no_more(self, run: str) -> str:
        """Why a run has ended or failed; nothing while it is alive."""
        record = self.runs.get(run)
        return f"run {run} has ended" if record is None else record.reason or ""

    def _keep(self, record: Run) -> None:
        """Remember the results of a run that has ended: no task can make them again."""
        tasks = self.scheduler.tasks
        self.kept = {key for key in [*self.kept, *record.keys] if key in tasks}

    def _let_go(self, reason: str) -> None:
        """Cancel results that went away with a worker, and all that would be made from them: Dask would wait for
        ever."""
        gone, look = set(), [self.scheduler.tasks[key] for key in self.kept if key in self.scheduler.tasks]
        while look:
            task = look.pop()
            if not (task.who_has or task.processing_on or task in gone):
                gone.add(task)
                look += task.dependents
        for task in gone:
            for client in [client.client_key for client in task.who_wants or ()]:
                self.scheduler.client_releases_keys(keys=[task.key], client=client)
                message = {"op": "cancelled-keys", "keys": [task.key], "reason": reason, "msg": REMEDY}
                self.scheduler.report(message, client=client)

    def _cancel(self, record: Run) -> None:
        tasks = [self.scheduler.tasks[key] for key in record.keys if key in self.scheduler.tasks]
        wanted = [task.key for task in tasks if task.who_wants]
        reason = {"reason": "run failed", "msg": record.reason}
        self.scheduler.stimulus_cancel(keys=wanted, client=record.client, force=True, **reason)

    def _give_back(self, run: str) -> None:
        locks = self.scheduler.extensions["multi_locks"]
        if run in locks.requests:
            locks.release(id=run)

    def _tell(self, workers: list[str], **message: Any) -> None:
        self.scheduler.send_all({}, {worker: [message] for worker in workers})
