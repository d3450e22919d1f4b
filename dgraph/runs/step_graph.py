"""The chain of steps as Dask tasks: a chunk of supersteps is one small expression that the scheduler unfolds.

Every task is pinned to the worker that has its partitions. A task pinned to a worker that left would wait for ever, so
the registry on the scheduler cancels it in the same moment. (With pins that Dask may override it would steal a step for
an idle worker, which lacks the partitions.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dask.core import quote
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future, secede
from distributed.protocol.pickle import dumps, loads

from dgraph.errors import LostError, OptionError, RunError
from dgraph.exchange import dask as exchange
from dgraph.exchange.mail import Token
from dgraph.exchange.registry import key_of
from dgraph.runs.steps import START, Steps, is_done, new_route, open_steps, take_step, take_steps
from dgraph.waiting import wait_for

try:
    from dask._expr import Expr
except ImportError:  # it is not public; without it a HighLevelGraph says the same in more bytes
    Expr = None  # type: ignore[assignment, misc]

STOPPED = "the run was stopped"

# -- the tasks ---------------------------------------------------------------------------------------------------------


def start_task(run: str, address: str, steps: bytes, rounds: int, partitions: list[Any]) -> Any:
    job = loads(steps)
    if job.secedes:
        secede()
    with exchange.taking_part(run, address) as end:
        return _told(end, open_steps(end, job, dict(zip(end.partitions, partitions, strict=True)), rounds))


def step_task(run: str, address: str, round: int, tokens: list[Token]) -> Token:
    with exchange.taking_part(run, address) as end:
        return take_step(end, round, tokens)


def fused_task(run: str, address: str, first: int, rounds: int, tokens: list[Token]) -> Any:
    with exchange.taking_part(run, address) as end:
        if end.held[0].secedes:
            secede()
        return _told(end, take_steps(end, range(first, first + rounds), tokens))


def last_task(run: str, address: str, tokens: list[Token]) -> Any:
    """After the steps of a chunk, where each is a task: their own values are tokens."""
    with exchange.taking_part(run, address) as end:
        return _told(end, *tokens)


def _told(end: exchange.DaskExchange, token: Token) -> Any:
    """What the last task of a worker in a chunk gives: the result of the run, if there is one. Its token goes another
    way, so that the client has it as soon as it knows that the tasks have ended."""
    end.tell(token)
    return end.result if is_done([token]) else None


class Chunk:
    """Some supersteps of a run: a task a worker and superstep, after all of the round before, and one at the end; or
    all in a task a worker."""

    def __init__(self, run: str, workers: Sequence[str], first: int, rounds: int, tokens: list[Token], fuse: bool):
        self.run, self.workers, self.first, self.rounds = run, workers, first, rounds
        self.tokens, self.fuse = tokens, fuse

    def keys(self, round: int) -> list[tuple]:
        return self.named("steps" if self.fuse else "step", round)

    def named(self, kind: str, round: int) -> list[tuple]:
        return [key_of(kind, self.run, round, worker) for worker in range(len(self.workers))]

    def last_keys(self) -> list[tuple]:
        """Of the last task of each worker."""
        return list(self.tasks())[-len(self.workers) :]

    def tasks(self) -> dict[tuple, tuple]:
        if self.fuse:
            calls = zip(self.keys(self.first), self.workers, strict=True)
            return {key: (fused_task, self.run, on, self.first, self.rounds, self.tokens) for key, on in calls}
        tasks: dict[tuple, tuple] = {}
        before: list[Any] = self.tokens
        for round in range(self.first, self.first + self.rounds):
            keys = self.keys(round)
            tasks |= {key: (step_task, self.run, on, round, before) for key, on in zip(keys, self.workers, strict=True)}
            before = keys
        ends = zip(self.named("last", self.first), self.workers, before, strict=True)
        return tasks | {key: (last_task, self.run, on, [token]) for key, on, token in ends}

    def graph(self) -> HighLevelGraph:
        """A layer a task, because only layers carry annotations."""
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
        """Some hundred bytes on the wire, whatever the number of tasks."""
        return StepGraph(self, _determ_token=f"{self.run}-{self.first}")


class Opening(Chunk):
    """The first: a worker's state from its partitions, and some supersteps in the same task."""

    def __init__(self, run: str, workers: Sequence[str], rounds: int, setup: bytes, shares: list[list[Any]]):
        super().__init__(run, workers, START, rounds, [], fuse=True)
        self.setup, self.shares = setup, shares

    def tasks(self) -> dict[tuple, tuple]:
        calls = zip(self.named("start", START), self.workers, self.shares, strict=True)
        return {key: (start_task, self.run, on, self.setup, self.rounds, share) for key, on, share in calls}


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
    """Workers of a cluster. State stays there, tokens come back at each chunk's end, so no chunk depends on another."""

    exchange = "workers"

    def __init__(
        self, steps: Steps, partitions: Sequence[Any], client: Client, homes: Sequence[str] | None, patience: float
    ):
        self.steps, self.partitions, self.client, self.patience = steps, partitions, client, patience
        self.futures: list[Future] = []  # of the last tasks of the last chunk
        self.over = False  # whether the scheduler knows that the run is
        homes = list(homes or where(client, partitions))
        workers = list(dict.fromkeys(homes))
        self.route, self.workers = new_route(workers, [workers.index(home) for home in homes]), range(len(workers))

    def __enter__(self) -> DaskChain:
        try:
            exchange.begin(self.client, self.route, self.patience)
        except BaseException as error:  # Ctrl-C among others: no run may stay behind
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def start(self, rounds: int) -> list[Token]:
        shares = [[self.partitions[p] for p in self.route.partitions_of(w)] for w in self.workers]
        shares = [[one if isinstance(one, Future) else quote(one) for one in share] for share in shares]
        steps = dumps(self.steps)  # bytes: the scheduler need not look into them, nor keep objects in its logs
        return self._run(Opening(self.route.run, self.route.workers, rounds, steps, shares))

    def advance(self, first: int, rounds: int, tokens: list[Token], fuse: bool) -> list[Token]:
        return self._run(Chunk(self.route.run, self.route.workers, first, rounds, tokens, fuse))

    def finish(self) -> list[Future]:
        return self.futures

    def _ended(self, futures: list[Future]) -> list[Future]:
        self._wait(futures)
        for future in futures:
            if future.status != "finished":
                future.result()  # raises
        return futures

    def _run(self, chunk: Chunk) -> list[Token]:
        if chunk.fuse and chunk.rounds and not self.steps.secedes:
            exchange.lend(self.client, self.route)
        graph = self._graph(chunk)
        # The futures before are released only now: the client sends every 10 ms, and this must not wait for that.
        before, self.futures = self.futures, self.client.get(graph, chunk.last_keys(), sync=False)
        release(before)
        return self._tokens()

    def _graph(self, chunk: Chunk) -> Any:
        return chunk.graph() if Expr is None else chunk.expression()

    def _tokens(self) -> list[Token]:
        self._ended(self.futures)
        tokens = exchange.tokens_of(self.client, self.route)
        self.over = is_done(tokens)
        return tokens

    def _wait(self, futures: Sequence[Future]) -> None:
        wait_for(self.client, futures)

    def _submit(self, kind: str, worker: int, task: Any, *arguments: Any) -> Future:
        key, on = key_of(kind, self.route.run, worker), [self.route.workers[worker]]
        return self.client.submit(task, *arguments, key=key, workers=on, pure=False)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self.over:
            return
        try:
            reason, cause = exchange.end(self.client, self.route, stop=STOPPED)
        except Exception as lost:
            raise RunError(f"the scheduler of {self.client!r} cannot be reached; is the cluster alive?") from lost
        if not isinstance(error, Exception):  # Ctrl-C
            return
        if isinstance(error, LostError):
            return
        if cause is not None:
            raise cause from error
        if reason != STOPPED:
            raise RunError(reason) from error


def where(client: Client, partitions: Sequence[Any]) -> list[str]:
    """The worker of each partition: where its future lies, else evenly over all workers."""
    if all(isinstance(partition, Future) for partition in partitions):
        wait_for(client, partitions)
        places = exchange.places_of(client, partitions)
        if all(places):
            return _shared_out(places)
    workers = exchange.workers_of(client)
    if not workers:
        raise OptionError(f"{client!r} has no workers; start some, or pass client=None to run in this process")
    return [workers[partition * len(workers) // len(partitions)] for partition in range(len(partitions))]


def _shared_out(places: Sequence[list[str]]) -> list[str]:
    """One of the places of each result, as evenly as can be: a worker that has once read another's holds a copy."""
    homes, held = [""] * len(places), Counter[str]()
    for one in sorted(range(len(places)), key=lambda one: len(places[one])):
        homes[one] = min(sorted(places[one]), key=held.__getitem__)
        held[homes[one]] += 1
    return homes


def release(futures: Sequence[Future]) -> None:
    """Let go of futures here and now. Left to their finalizers, a Ctrl-C that arrives meanwhile is lost: Python drops
    exceptions there, and the run would go on.
    """
    for future in futures:
        future.release()
