"""The memory of a worker that takes part in runs: what it has freed stays with it, what is on its way is bounded."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

SETTING = "MALLOC_TRIM_THRESHOLD_"
OF_NANNIES = "65536"  # what Dask's nannies set it to by default; any other value is somebody's choice
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names of its parameters
LARGE = 32 << 20  # bytes: an array from which on it has pages of its own; below, freed memory is used again
KEPT = 2 * LARGE  # bytes at the end of the heap, beyond which memory goes back to the system


def keep_freed() -> bool:
    """Have glibc use freed memory again as it would if nothing were set: it then comes to these two bounds by itself.
    The setting of Dask's nannies keeps it from that, so every array of 128 KB or more comes from the system, page by
    page, which takes ten times as long as to write to it. Returns whether anything was changed."""
    if os.environ.get(SETTING) != OF_NANNIES or sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries of C have none
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGE) and mallopt(TRIM_THRESHOLD, KEPT))


class Window:
    """Bounds the bytes on their way from this worker. The wait ends: receivers have room, or a step that makes some."""

    def __init__(self, limit: int):
        self.limit, self.used = limit, 0
        self._changed = threading.Condition()

    def acquire(self, size: int, check: Callable[[], None]) -> None:
        with self._changed:
            while self.used and self.used + size > self.limit:
                check()
                self._changed.wait(0.1)
            self.used += size

    def release(self, size: int) -> None:
        with self._changed:
            self.used -= size
            self._changed.notify_all()
