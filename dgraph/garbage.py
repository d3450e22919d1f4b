"""Garbage collection, put off while modules are imported and kernels compiled: nearly all that they make stays, and to
look through it again and again takes a sixth of that time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside, _was_on = 0, False  # how many are at it now, and how it was before the first of them


@contextmanager
def put_off() -> Iterator[None]:
    """In any number of threads at once: the first that comes puts it off, the last that leaves lets it go on."""
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
