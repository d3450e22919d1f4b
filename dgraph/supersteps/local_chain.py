"""The steps of a run on threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from dgraph.errors import RunError
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Token
from dgraph.supersteps.steps import Steps, new_route, open_steps, take_steps


class LocalChain:
    """Uses threads of this process as workers; a single worker uses the calling thread."""

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
