"""Slices of an array, each handled by a thread: the kernels release the GIL, so plain threads are enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import current_thread
from typing import Any

NAME = "dgraph-kernel"
SMALL = 1 << 15  # below this many entries a second thread costs more than it saves


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix=NAME)


def _begin_anew() -> None:
    """A forked process has no thread of this pool, nor of Dask's, and would wait for one for ever."""
    _pool.cache_clear()
    threaded: Any = sys.modules.get("dask.threaded")
    if threaded is not None:
        threaded.default_pool = None
        threaded.pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def slices(size: int, threads: int) -> list[slice]:
    """`size` entries in at most `threads` slices of equal length."""
    pieces = max(1, min(threads, size // SMALL))
    edges = [size * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def each(function: Callable[..., Any], items: Iterable[Any], entries: int = SMALL) -> list[Any]:
    """`function` of every item, on threads when there are several, with enough entries in all; the first error is
    raised. Called by one of these threads it takes no other, for all might be waiting for one."""
    items = list(items)
    if len(items) < 2 or entries < SMALL or current_thread().name.startswith(NAME):
        return [function(item) for item in items]
    return list(_pool().map(function, items))
