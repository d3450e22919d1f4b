"""The memory of a worker that takes part in runs: memory that it has freed stays with it, and bytes under way are
bounded."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

SETTING = "MALLOC_TRIM_THRESHOLD_"
OF_NANNIES = "65536"  # what Dask's nannies set it to by default; any other value is somebody's choice
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # glibc's names of its parameters
LARGE = 32 << 20  # bytes: an array from which on it has pages of its own; below, freed memory is used again
KEPT = 64 << 20  # bytes at the end of a heap, beyond which memory goes back to the system; of threads, all of a heap
DEFAULT = 128 << 10  # what glibc begins with


class Heap:
    """The heap of glibc. With the setting of Dask's nannies it takes every array of 128 KB or more from the system,
    page by page: ten times as slow as writing to it, and up to a hundred times on a virtual machine. Nothing is changed
    where somebody has chosen another setting, or the library of C is another."""

    def __init__(self) -> None:
        theirs = sys.platform == "linux" and os.environ.get(SETTING) == OF_NANNIES
        found = ctypes.CDLL(None) if theirs else None
        self._c = found if hasattr(found, "mallopt") and hasattr(found, "malloc_trim") else None

    def keep(self) -> None:
        """Use freed memory again, also in the heaps of threads."""
        self._set({MMAP_THRESHOLD: LARGE, TRIM_THRESHOLD: KEPT, TOP_PAD: KEPT})

    def give_back(self) -> None:
        """Restore the setting, and give free memory back to the system."""
        self._set({MMAP_THRESHOLD: DEFAULT, TRIM_THRESHOLD: int(OF_NANNIES), TOP_PAD: DEFAULT})
        if self._c is not None:
            self._c.malloc_trim(0)

    def _set(self, values: dict[int, int]) -> None:
        if self._c is not None:
            for name, value in values.items():
                self._c.mallopt(name, value)


class SendWindow:
    """Bounds the bytes under way from this worker. Waiting for room ends, because receivers have room or a step that
    makes some."""

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
