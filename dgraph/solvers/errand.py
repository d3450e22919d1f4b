"""A call that Ctrl-C ends. Python hears of signals in its main thread alone, and between calls only, of which a kernel
may be a long one: so the main thread sends another thread, and waits."""

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


class Errand(threading.Thread):
    """`signals` are those of the teams that the call has at work, one after the other."""

    def __init__(self, call: Callable[[], Any]):
        super().__init__(name="dgraph errand", daemon=True)
        self.outcome: Future[Any] = Future()
        self.signals = _signals()
        self._work, self._surroundings = call, copy_context()

    def run(self) -> None:
        try:
            self.outcome.set_result(self._surroundings.run(self._work))
        except BaseException as error:
            self.outcome.set_exception(error)


def answered(call: Callable[[], T]) -> T:
    """What `call` gives. After Ctrl-C kernels of many rounds stop at the next; others end by themselves, unheard of."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    errand = Errand(call)
    errand.start()
    try:
        while errand.is_alive():
            errand.join(PATIENCE)
    except KeyboardInterrupt:
        errand.signals[STOP] = 1
        raise
    return errand.outcome.result()


def signals_here() -> np.ndarray:
    """For a team of this thread's."""
    here = threading.current_thread()
    return here.signals if isinstance(here, Errand) else _signals()


def _signals() -> np.ndarray:
    return np.zeros(32, np.int64)
