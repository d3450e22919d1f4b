"""The chain of steps where plugins cannot be installed: mail is data edges of the task graph, by Dask's public names
alone.

A worker's end of the exchange, with its state, is the result of a task, and stays in that worker's memory as long as
the client holds the future. Every step is given it and changes it in place, so a step that Dask repeats is refused. The
last tasks of a chunk put its mail into the ends; then nothing in the cluster depends on the chunk any more. A step
reads all that its peers have sent, to whomever: few tasks, but more bytes than with plugins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distributed import Client, Future
from distributed.protocol.pickle import dumps, loads

from dgraph.cluster.scheduler_calls import install, workers_of
from dgraph.cluster.waits import gather_results, wait_for
from dgraph.errors import LostError, RunError
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import START, Packet, Route, Token
from dgraph.exchange.run_registry import key_of
from dgraph.supersteps.step_graph import DaskChain, StepChunk, release
from dgraph.supersteps.steps import open_steps, take_steps

StepMail = list[tuple[int, Packet]]  # of one step, tokens included; each with the worker that it is for

# -- the tasks ---------------------------------------------------------------------------------------------------------


class MailExchange(Exchange):
    """Gathers the mail of a step, which becomes its result. There is no patience: all mail is there before a step
    starts."""

    def __init__(self, route: Route, worker: int):
        super().__init__(route, worker, patience=0)
        self.mail: StepMail = []
        self.next = START  # the step that may come next

    def post(self, peer: int, message: Packet) -> None:
        self.mail.append((peer, message))

    def ask(self, peer: int) -> int:
        return self.next

    def report(self, reason: str, error: BaseException) -> None:
        """Nothing to do: the error is the task's, and Dask tells all that depend on it."""

    def sum(self, values: list[float]) -> list[float]:
        raise RunError("adding up during a step needs the plugins of exchange='workers'")

    def __reduce__(self) -> Any:
        raise RunError(f"the state of run {self.route.run} cannot leave {self.route.workers[self.worker]}")

    def turn(self, step: int) -> None:
        """Check that this step comes next."""
        if step != self.next:
            lost = f"{self.route.workers[self.worker]} is to take step {step} and its state is at {self.next}"
            raise LostError(f"{lost}: Dask has repeated a task, because a result was lost; run again")
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
    end.turn(START)
    return open_steps(end, loads(steps), dict(zip(end.partitions, partitions, strict=True)), 0)


def step_task(end: MailExchange, step: int, mail: list[StepMail]) -> StepMail:
    end.turn(step)
    end.take(mail)
    take_steps(end, 1)
    return end.give()


def deliver_task(end: MailExchange, mail: list[StepMail]) -> Token:
    end.take(mail)
    return end.told


def finish_task(end: MailExchange, taken: int) -> Any:
    end.turn(taken)
    return end.result


class MailChunk(StepChunk):
    """Some steps: a task for each worker and step, after all of the step before, and one that delivers the last
    mail."""

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
    """The client alone watches over the run: a step pinned to a worker that left would wait for ever."""

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
        """The error to raise: where a worker left, others may have failed before for want of its mail."""
        try:
            self._look()
        except LostError as loss:
            raise loss from error
        except (OSError, RunError):  # the scheduler cannot tell
            return

    def _graph(self, chunk: StepChunk) -> Any:
        return chunk.graph()

    def _look(self) -> None:
        if absent := set(self.route.workers) - set(workers_of(self.client)):
            left = ", ".join(sorted(absent))
            raise LostError(f"worker {left} left the cluster during the run; run again on the workers that are left")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        release([*self.futures, *self.ends])


def choose_chain(client: Client, how: str) -> type[DaskChain]:
    """The chain with plugins where they can be installed, unless the user asks for the other one."""
    if how == "graph":
        return MailChain
    try:
        install(client)
    except RunError:
        if how == "workers" or client.status != "running":
            raise
        return MailChain
    return DaskChain
