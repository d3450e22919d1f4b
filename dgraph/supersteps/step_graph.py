"""The chain of steps as Dask tasks: a chunk of steps is one small expression that the scheduler expands.

Every task is pinned to the worker that holds its partitions. (With pins that Dask may override, work stealing would
move a step to an idle worker that lacks the partitions.) A task pinned to a worker that has left would wait forever, so
the registry on the scheduler cancels it at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask.core import quote
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future
from distributed.protocol.pickle import dumps, loads

from dgraph.cluster import scheduler
from dgraph.cluster.workers import homes_of
from dgraph.errors import LostError, RunError
from dgraph.exchange.dask import DaskExchange, taking_part
from dgraph.exchange.mail import START_STEP, Token
from dgraph.exchange.run_registry import key_of
from dgraph.supersteps.steps import Steps, is_done, new_route, open_steps, take_steps

try:
    from dask._expr import Expr
except ImportError:  # it is not public; without it a HighLevelGraph does the same in more bytes
    Expr = None  # type: ignore[assignment, misc]

STOPPED = "the run was stopped"
TASKS_AHEAD = 2  # tasks that a worker has at a time

# -- the tasks ---------------------------------------------------------------------------------------------------------


def start_task(run: str, address: str, steps: bytes, count: int, partitions: list[Any]) -> Any:
    job = loads(steps)
    with taking_part(run, address) as end:
        own = dict(zip(end.partitions, partitions, strict=True))
        return _finished(end, open_steps(end, job, own, count, secedes=job.waits_within_steps))


def step_task(run: str, address: str, last: bool, before: list[None]) -> Any:
    """The next step of a worker. It secedes before a long wait, because it may be waiting for a task that needs a
    thread."""
    with taking_part(run, address) as end:
        token = take_steps(end, 1, secedes=True)
        return _finished(end, token) if last else None


def fused_task(run: str, address: str, count: int, before: list[None]) -> Any:
    """Several steps of a worker, in its only task of the chunk."""
    with taking_part(run, address) as end:
        return _finished(end, take_steps(end, count, secedes=end.steps_and_state[0].waits_within_steps))


def _finished(end: DaskExchange, token: Token) -> Any:
    """What a worker's last task of a chunk returns: the result of the run, if there is one. The token goes to the
    client separately, because the end of a task takes longer to reach it."""
    result = end.result if is_done([token]) else None
    end.send_token(token)
    return result


class StepChunk:
    """Some supersteps of a run: one task per worker and superstep, or if fused one task per worker.

    A task depends only on an earlier task on its own worker; steps wait for other workers through the exchange. If
    edges led to other workers, Dask would fetch values along them, and a worker that has just reported a new or a
    released value reports the end of a task only 2 ms later. So no edge leads to another worker, and nothing is
    released before the last task, which depends on all others. The scheduler leaves 5 ms between messages to a worker,
    so each worker has two tasks at a time; whichever runs first takes the next step.
    """

    def __init__(self, run: str, workers: Sequence[str], first: int, count: int, fuse: bool):
        self.run, self.workers, self.first, self.count, self.fuse = run, workers, first, count, fuse

    def key(self, step: int, worker: int) -> tuple:
        return key_of("steps" if self.fuse else "step", self.run, step, worker)

    def last_keys(self) -> list[tuple]:
        """The key of the last task of each worker."""
        return list(self.tasks())[-len(self.workers) :]

    def tasks(self) -> dict[tuple, tuple]:
        workers = list(enumerate(self.workers))
        if self.fuse:
            return {self.key(self.first, w): (fused_task, self.run, on, self.count, []) for w, on in workers}
        tasks, numbers = {}, range(self.first, self.first + self.count)
        for step in numbers:
            last = step == numbers[-1]
            before = numbers[:-1] if last else [one for one in numbers if one == step - TASKS_AHEAD]
            for worker, on in workers:
                needs = [self.key(one, worker) for one in before]
                tasks[self.key(step, worker)] = step_task, self.run, on, last, needs
        return tasks

    def graph(self) -> HighLevelGraph:
        """The tasks as a HighLevelGraph with one layer per task, because only layers carry annotations."""
        tasks = self.tasks()
        names = {key: "-".join(map(str, key)) for key in tasks}
        layers = {
            names[key]: MaterializedLayer({key: task}, annotations={"workers": [self.workers[key[-1]]]})
            for key, task in tasks.items()
        }
        needs = {
            names[key]: {names[one] for one in task[-1] if isinstance(one, tuple) and one in names}
            for key, task in tasks.items()
        }
        return HighLevelGraph(layers, needs)

    def expression(self) -> Any:
        """The tasks as an expression, which takes a few hundred bytes on the wire for any number of tasks."""
        return StepGraph(self, _determ_token=f"{self.run}-{self.first}")


class OpeningChunk(StepChunk):
    """The first chunk: each worker creates its state from its partitions and takes some steps in the same task."""

    def __init__(self, run: str, workers: Sequence[str], count: int, setup: bytes, shares: list[list[Any]]):
        super().__init__(run, workers, START_STEP, count, fuse=True)
        self.setup, self.shares = setup, shares

    def tasks(self) -> dict[tuple, tuple]:
        calls = zip(self.workers, self.shares, strict=True)
        return {
            key_of("start", self.run, START_STEP, worker): (start_task, self.run, on, self.setup, self.count, share)
            for worker, (on, share) in enumerate(calls)
        }


if Expr is not None:

    class StepGraph(Expr):
        _parameters = ["chunk"]  # noqa: RUF012  (Dask reads it from the class)

        def _layer(self) -> dict:
            return self.operand("chunk").tasks()

        def __dask_annotations__(self) -> dict[str, dict]:
            chunk = self.operand("chunk")
            return {"workers": {key: (chunk.workers[key[-1]],) for key in chunk.tasks()}}

        def __dask_keys__(self) -> list:
            return self.operand("chunk").last_keys()


# -- the chain ---------------------------------------------------------------------------------------------------------


class DaskChain:
    """Uses the workers of a cluster. States stay on the workers, and tokens return at the end of each chunk, so no
    chunk depends on another."""

    exchange = "workers"

    def __init__(
        self, steps: Steps, partitions: Sequence[Any], client: Client, homes: Sequence[str] | None, patience: float
    ):
        self.steps, self.partitions, self.client, self.patience = steps, partitions, client, patience
        self.futures: list[Future] = []  # the futures of the last tasks in the last chunk
        self.over = False  # whether the scheduler knows that the run is over
        homes = list(homes or homes_of(client, partitions))
        workers = list(dict.fromkeys(homes))
        self.route, self.workers = new_route(workers, [workers.index(home) for home in homes]), range(len(workers))

    def __enter__(self) -> DaskChain:
        return self

    def start(self, count: int) -> list[Token]:
        shares = [[self.partitions[p] for p in self.route.partitions_of(w)] for w in self.workers]
        shares = [[one if isinstance(one, Future) else quote(one) for one in share] for share in shares]
        steps = dumps(self.steps)  # bytes, so that the scheduler does not unpickle them or keep objects in its logs
        opening = OpeningChunk(self.route.run, self.route.workers, count, steps, shares)
        scheduler.begin_run(self.client, self.route, self.patience, self._needs_all(opening))
        return self._run(opening)

    def advance(self, first: int, count: int, fuse: bool) -> list[Token]:
        chunk = StepChunk(self.route.run, self.route.workers, first, count, fuse)
        if self._needs_all(chunk):
            scheduler.yield_workers(self.client, self.route)
        return self._run(chunk)

    def finish(self) -> list[Future]:
        return self.futures

    def _needs_all(self, chunk: StepChunk) -> bool:
        """Whether all tasks must run at the same time, without another run in between."""
        return chunk.fuse and chunk.count > 0 and not self.steps.waits_within_steps

    def _run(self, chunk: StepChunk) -> list[Token]:
        graph = self._graph(chunk)
        # Release the last futures only after submitting: the client sends every 10 ms, and the graph must not wait.
        previous, self.futures = self.futures, self.client.get(graph, chunk.last_keys(), sync=False)
        release(previous)
        return self._tokens()

    def _graph(self, chunk: StepChunk) -> Any:
        return chunk.graph() if Expr is None else chunk.expression()

    def _tokens(self) -> list[Token]:
        tokens = scheduler.run_coroutine(self.client, scheduler.tokens_of(self.client, self.route), self._look)
        self.over = is_done(tokens)
        return tokens

    def _look(self) -> None:
        """Check futures while the client waits, because a task that failed before joining the run reports nothing."""
        for future in self.futures:
            if future.status in ("error", "cancelled"):
                future.result()

    def _submit(self, kind: str, worker: int, task: Any, *arguments: Any) -> Future:
        key, on = key_of(kind, self.route.run, worker), [self.route.workers[worker]]
        return self.client.submit(task, *arguments, key=key, workers=on, pure=False)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self.over:
            return
        try:
            reason, cause = scheduler.end_run(self.client, self.route, stop=STOPPED)
        except Exception as lost:
            if scheduler.is_closed(self.client):
                raise scheduler.closed_client(self.client) from lost
            raise RunError(
                f"the scheduler of {self.client!r} cannot be reached; check that the cluster is running"
            ) from lost
        if not isinstance(error, Exception) or isinstance(error, LostError):  # Ctrl-C is not an Exception
            return
        if cause is not None:
            raise cause from error
        if reason != STOPPED:
            raise RunError(reason) from error


def release(futures: Sequence[Future]) -> None:
    """Release futures explicitly. If that were left to their finalizers, a Ctrl-C during one would be lost, because
    Python drops exceptions there, and the run would go on."""
    for future in futures:
        future.release()
