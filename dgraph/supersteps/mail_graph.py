"""The chain of steps for clusters on which plugins cannot be installed: mail travels along edges of the task graph,
using only Dask's public API.

A worker's end of the exchange, with its state, is the result of a task, and stays in that worker's memory as long as
the client holds the future. Every step receives it and changes it in place, so a step that Dask repeats is rejected.
The last tasks of a chunk deliver its mail to the ends, after which nothing in the cluster depends on the chunk. A step
reads everything that its peers have sent to any worker. This takes few tasks, but more bytes than with plugins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distributed import Future
from distributed.protocol.pickle import dumps, loads

from dgraph.cluster.scheduler import gather_results, wait_for, workers_of
from dgraph.errors import LostError, RunError
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import START_STEP, Packet, Route, Token
from dgraph.exchange.run_registry import key_of
from dgraph.supersteps.step_graph import DaskChain, StepChunk, release
from dgraph.supersteps.steps import open_steps, take_steps

StepMail = list[tuple[int, Packet]]  # the packets of one step, including tokens, each with its receiving worker

# -- the tasks ---------------------------------------------------------------------------------------------------------


class MailExchange(Exchange):
    """Gathers the mail of a step, which becomes the result of its task. It needs no patience, because all mail has
    arrived before a step starts."""

    def __init__(self, route: Route, worker: int):
        super().__init__(route, worker, patience=0)
        self.mail: StepMail = []
        self.next = START_STEP  # the step that may come next

    def post(self, peer: int, message: Packet) -> None:
        self.mail.append((peer, message))

    def last_posted_step(self, peer: int) -> int:
        return self.next

    def report(self, reason: str, error: BaseException) -> None:
        """Do nothing, because the task raises the error, and Dask fails all tasks that depend on it."""

    def sum(self, values: list[float]) -> list[float]:
        raise RunError("sums during a step are not available with direct_exchange=False, nor without plugins")

    def __reduce__(self) -> Any:
        raise RunError(f"the state of run {self.route.run} cannot leave {self.route.workers[self.worker]}")

    @property
    def mail_route(self) -> str:
        return "task graph"

    def turn(self, step: int) -> None:
        """Check that this step comes next."""
        if step != self.next:
            place = f"{self.route.workers[self.worker]} cannot take step {step}, because its state is at {self.next}"
            raise LostError(f"{place}: Dask repeated a task whose result was lost; run again")
        self.next += 1

    def take(self, all_mail: list[StepMail]) -> None:
        for mail in all_mail:
            for peer, message in mail:
                if peer == self.worker:
                    self.mailbox.deliver(message)

    def give(self) -> StepMail:
        mail, self.mail = self.mail, []
        return mail


def start_task(end: MailExchange, steps: bytes, partitions: list[Any]) -> Token:
    end.turn(START_STEP)
    return open_steps(end, loads(steps), dict(zip(end.partitions, partitions, strict=True)), 0)


def step_task(end: MailExchange, step: int, mail: list[StepMail]) -> StepMail:
    end.turn(step)
    end.take(mail)
    take_steps(end, 1)
    return end.give()


def deliver_task(end: MailExchange, mail: list[StepMail]) -> Token:
    end.take(mail)
    return end.last_token


def finish_task(end: MailExchange, taken: int) -> Any:
    end.turn(taken)
    return end.result


class MailChunk(StepChunk):
    """Some steps of a run: one task per worker and step, which depends on all tasks of the previous step; then one task
    per worker that delivers the last mail."""

    def __init__(self, route: Route, ends: Sequence[Future], first: int, count: int):
        super().__init__(route.run, route.workers, first, count, fuse=False)
        self.ends = ends

    def last_keys(self) -> list[tuple]:
        return [key_of("mail", self.run, self.first, worker) for worker in range(len(self.workers))]

    def tasks(self) -> dict[tuple, tuple]:
        tasks: dict[tuple, tuple] = {}
        before: list[tuple] = []
        for step in range(self.first, self.first + self.count):
            keys = [self.key(step, worker) for worker in range(len(self.workers))]
            tasks |= {key: (step_task, end, step, before) for key, end in zip(keys, self.ends, strict=True)}
            before = keys
        return tasks | {key: (deliver_task, end, before) for key, end in zip(self.last_keys(), self.ends, strict=True)}


# -- the chain ---------------------------------------------------------------------------------------------------------


class MailChain(DaskChain):
    """A chain that only the client watches, because a step pinned to a worker that has left would wait forever."""

    exchange = "graph"

    def __enter__(self) -> MailChain:
        self.taken, self.ends = 0, [self._submit("end", w, MailExchange, self.route, w) for w in self.workers]
        return self

    def start(self, count: int) -> list[Token]:
        shares = [[self.partitions[p] for p in self.route.partitions_of(w)] for w in self.workers]
        steps = dumps(self.steps)
        self.futures = [self._submit("start", w, start_task, self.ends[w], steps, shares[w]) for w in self.workers]
        return self._tokens()

    def advance(self, first: int, count: int, fuse: bool) -> list[Token]:
        self.taken = first + count
        return self._run(MailChunk(self.route, self.ends, first, count))

    def finish(self) -> list[Future]:
        futures = [self._submit("finish", w, finish_task, self.ends[w], self.taken) for w in self.workers]
        wait_for(self.client, futures, self._look)
        for future in futures:
            if future.status != "finished":
                future.result()  # raises
        return futures

    def _tokens(self) -> list[Token]:
        try:
            return gather_results(self.client, self.futures, self._look)
        except RunError as error:
            self._blame(error)
            raise

    def _blame(self, error: RunError) -> None:
        """Raise LostError if a worker has left. Other workers may have failed first, because its mail was missing."""
        try:
            self._look()
        except LostError as loss:
            raise loss from error
        except (OSError, RunError):  # the scheduler does not answer
            return

    def _graph(self, chunk: StepChunk) -> Any:
        return chunk.graph()

    def _look(self) -> None:
        if absent := set(self.route.workers) - set(workers_of(self.client)):
            left = ", ".join(sorted(absent))
            raise LostError(f"worker {left} left the cluster during the run; run again on the remaining workers")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        release([*self.futures, *self.ends])
