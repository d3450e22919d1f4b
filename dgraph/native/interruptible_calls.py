"""Calls that Ctrl-C can end. Python handles signals only in its main thread, and only between bytecodes, but a kernel
may run for a long time. So another thread makes the call, and the main thread waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

from dgraph.native.team import STOP, new_signals

SHORT_CALL_LOOKS = 1 << 22  # as many edges take at most tenths of a second, for which Ctrl-C may wait
EDGES_PER_LOOK = np.uint64(1 << 20)  # that a kernel of one thread reads before it looks again at its signals
POLL_INTERVAL = 0.2  # seconds until an interrupt is noticed that was not a signal (`_thread.interrupt_main`)

T = TypeVar("T")


class InterruptibleCall(threading.Thread):
    """The thread that makes the call; the teams that it starts listen to its `signals`."""

    def __init__(self, call: Callable[[], Any]):
        super().__init__(name="dgraph call", daemon=True)
        self.outcome: Future[Any] = Future()
        self.signals = new_signals()
        self._call, self._context = call, copy_context()

    def run(self) -> None:
        try:
            self.outcome.set_result(self._context.run(self._call))
        except BaseException as error:
            self.outcome.set_exception(error)


def call_interruptibly(call: Callable[[], T]) -> T:
    """Return what `call` returns. After Ctrl-C, kernels of many rounds stop at the next round; other calls run to their
    end in the background, and their results are dropped."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    thread = InterruptibleCall(call)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL_INTERVAL)
    except KeyboardInterrupt:
        thread.signals[STOP] = 1
        raise
    return thread.outcome.result()


def call_team(threads: int, call: Callable[[], T], looks: int = 0) -> T:
    """What a call returns that starts teams of at most so many threads, and reads about `looks` edges. The main thread
    makes only short calls without a team itself: Ctrl-C in the middle of a team would leave its other threads
    waiting."""
    return call() if threads == 1 and looks <= SHORT_CALL_LOOKS else call_interruptibly(call)
