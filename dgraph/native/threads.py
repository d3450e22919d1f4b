"""Runs kernels on slices of an array, each on its own thread: kernels release the GIL, so plain threads suffice."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from threading import current_thread
from typing import Any

THREAD_NAME = "dgraph-kernel"
LOOK_EVERY = 0.2  # seconds
FEWEST_ENTRIES = 1 << 15  # with fewer entries, a second thread costs more than it saves


@cache
def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix=THREAD_NAME)


def _forget_pools() -> None:
    """A forked process has none of the threads of this pool or of Dask's, and would wait for them forever."""
    _pool.cache_clear()
    threaded: Any = sys.modules.get("dask.threaded")
    if threaded is not None:
        threaded.default_pool = None
        threaded.pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def slices(size: int, threads: int) -> list[slice]:
    """Divide `size` entries into at most `threads` slices of equal length."""
    pieces = max(1, min(threads, size // FEWEST_ENTRIES))
    edges = [size * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def parallel_map(function: Callable[..., Any], items: Iterable[Any], entries: int = FEWEST_ENTRIES) -> list[Any]:
    """Call `function` on every item and return the results; the first error is raised. It uses threads if there are
    several items with enough entries in total, unless it is called on one of those threads, since all of them might
    then wait for a free one."""
    items, look = list(items), _look.get()
    if len(items) < 2 or entries < FEWEST_ENTRIES or current_thread().name.startswith(THREAD_NAME):
        return [function(item) for item in items]
    if look is None:
        return list(_pool().map(function, items))
    futures = [_pool().submit(function, item) for item in items]
    try:
        while wait(futures, LOOK_EVERY, FIRST_EXCEPTION).not_done and not any(map(_has_failed, futures)):
            look()
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def looking(look: Callable[[], Any]) -> Iterator[None]:
    """Within the block, this thread calls `look` now and then while it waits for others in `parallel_map`."""
    before = _look.set(look)
    try:
        yield
    finally:
        _look.reset(before)


_look: ContextVar[Callable[[], Any] | None] = ContextVar("look", default=None)


def _has_failed(future: Future[Any]) -> bool:
    return future.done() and future.exception() is not None
