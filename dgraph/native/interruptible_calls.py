"""Calls that Ctrl-C ends. Python handles signals in its main thread alone, and only between calls, of which a kernel
may be a long one. So another thread makes the call, and the main thread waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

STOP = 8  # in `signals`: raised when nobody wants the answer any more
PATIENCE = 0.2  # seconds after which an interrupt that was no signal is heard of (`_thread.interrupt_main`)

T = TypeVar("T")


class InterruptibleCall(threading.Thread):
    """The thread that makes the call; `signals` are those of the teams that it has at work."""

    def __init__(self, call: Callable[[], Any]):
        super().__init__(name="dgraph-call", daemon=True)
        self.outcome: Future[Any] = Future()
        self.signals = _signals()
        self._work, self._surroundings = call, copy_context()

    def run(self) -> None:
        try:
            self.outcome.set_result(self._surroundings.run(self._work))
        except BaseException as error:
            self.outcome.set_exception(error)


def call_interruptibly(call: Callable[[], T]) -> T:
    """What `call` returns. After Ctrl-C, kernels of many rounds stop at the next round; other calls end by themselves,
    and nobody hears of it."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    thread = InterruptibleCall(call)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(PATIENCE)
    except KeyboardInterrupt:
        thread.signals[STOP] = 1
        raise
    return thread.outcome.result()


def signals_here() -> np.ndarray:
    """New signals for a team that this thread starts."""
    here = threading.current_thread()
    return here.signals if isinstance(here, InterruptibleCall) else _signals()


def _signals() -> np.ndarray:
    return np.zeros(32, np.int64)
