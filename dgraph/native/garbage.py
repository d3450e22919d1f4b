"""Postpones garbage collection while modules are imported and kernels compiled. Nearly all objects that these create
are kept, and scanning them again and again takes a sixth of the time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside, _was_on = 0, False  # how many threads are in the body, and whether collection was on before the first


@contextmanager
def defer_collection() -> Iterator[None]:
    """Disable garbage collection in the body. Of several threads, the first turns it off and the last turns it on
    again."""
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
