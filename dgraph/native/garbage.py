"""Garbage collection, put off while modules are imported and kernels compiled: nearly all that these make stays, and
looking through it again and again takes a sixth of their time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside, _was_on = 0, False  # how many are at it now, and how it was before the first of them


@contextmanager
def defer_collection() -> Iterator[None]:
    """In the body there is no collection. Several threads may be inside: the first turns it off, the last on again."""
    global _inside, _was_on
    with _lock:
        if not _inside:
            _was_on = gc.isenabled()
        _inside += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _was_on:
                gc.enable()
