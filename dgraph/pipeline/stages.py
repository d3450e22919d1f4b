"""The pipeline: while one block is computed, the next is downloaded and the previous one uploaded. The stages pass on
the numbers of three buffers. Several daemons take blocks from one queue, so a fast one takes more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from dgraph.pipeline.blocks import Block

BUFFERS = 3  # one each for the blocks that are being downloaded, computed and uploaded


class Stages(Protocol):
    """The stages that a block passes through in one daemon. `work` is what one stage hands to the next."""

    def download(self, block: Block, buffer: int) -> Any:
        """Write a block to a buffer; returns None if there is nothing to compute."""

    def compute(self, work: Any) -> None: ...

    def upload(self, work: Any) -> None: ...

    def measure(self, work: Any, seconds: list[float]) -> None:
        """Record the seconds that the stages of a block took."""


def run_sequentially(stages: Stages, blocks: Sequence[Block]) -> None:
    """Run one stage after another on this thread."""
    for block in blocks:
        work, down = timed(stages.download, block, 0)
        if work is not None:
            _, compute = timed(stages.compute, work)
            _, up = timed(stages.upload, work)
            stages.measure(work, [down, compute, up])


def run_concurrently(lanes: Sequence[Stages], blocks: Sequence[Block]) -> None:
    """Run all stages of all daemons concurrently, each on a thread."""
    queue, lock = iter(blocks), threading.Lock()
    failures: list[BaseException] = []

    def take() -> Block | None:
        with lock:
            return None if failures else next(queue, None)

    running = [loop for lane in lanes for loop in _loops(lane, take, failures)]
    threads = [threading.Thread(target=loop, name="dgraph-pipeline", daemon=True) for loop in running[1:]]
    for thread in threads:
        thread.start()
    try:
        running[0]()
    finally:
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def _loops(lane: Stages, take: Callable[[], Block | None], failures: list[BaseException]) -> Iterator[Callable]:
    """The loops of a daemon's three stages. If one fails, all end: a stage that waits for a buffer gets None."""
    free: SimpleQueue[int | None] = SimpleQueue()
    filled: SimpleQueue[Any] = SimpleQueue()
    computed: SimpleQueue[Any] = SimpleQueue()
    for buffer in range(BUFFERS):
        free.put(buffer)

    def guarded(loop: Callable[[], None], *ends: SimpleQueue) -> Callable[[], None]:
        def run() -> None:
            try:
                loop()
            except BaseException as error:
                failures.append(error)
                free.put(None)
            finally:
                for end in ends:
                    end.put(None)

        return run

    def compute() -> None:
        while (item := filled.get()) is not None:
            buffer, work, down = item
            computed.put((buffer, work, down, timed(lane.compute, work)[1]))

    def download() -> None:
        while not failures and (buffer := free.get()) is not None and (block := take()) is not None:
            work, seconds = timed(lane.download, block, buffer)
            if work is None:
                free.put(buffer)
            else:
                filled.put((buffer, work, seconds))

    def upload() -> None:
        while (item := computed.get()) is not None:
            buffer, work, down, seconds = item
            _, up = timed(lane.upload, work)
            free.put(buffer)
            lane.measure(work, [down, seconds, up])

    yield guarded(compute, computed)
    yield guarded(download, filled)
    yield guarded(upload)


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    begun = time.perf_counter()
    answer = function(*arguments)
    return answer, time.perf_counter() - begun
