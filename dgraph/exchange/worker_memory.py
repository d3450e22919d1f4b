"""The memory of a worker: how much of it mail under way takes, and what the C library does with freed memory."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

TRIM_SETTING = "MALLOC_TRIM_THRESHOLD_"
NANNY_DEFAULT = "65536"  # Dask's nannies set it to this; any other value was chosen by a user
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # parameters of glibc's mallopt
LARGE_ARRAY = 32 << 20  # bytes: arrays of this size or more get their own pages; smaller ones reuse freed memory
KEPT_FREE = 64 << 20  # bytes: free memory at the end of a heap above this is returned to the system
GLIBC_DEFAULT = 128 << 10


class SendWindow:
    """Bounds the bytes in flight from this worker. A sender that waits for room calls `check` now and then, which may
    raise, or free a thread for the step that makes room."""

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


class Heap:
    """The heap of glibc, which keeps freed memory while runs are in progress.

    With the setting of Dask's nannies, glibc takes every array of 128 KB or more from the system page by page, which is
    ten times as slow as writing to it, and up to a hundred times on a virtual machine. Nothing is changed where a user
    has chosen another setting, or where the C library is not glibc.
    """

    def __init__(self) -> None:
        by_nanny = sys.platform == "linux" and os.environ.get(TRIM_SETTING) == NANNY_DEFAULT
        library = ctypes.CDLL(None) if by_nanny else None
        self._c = library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None

    def keep(self) -> None:
        """Reuse freed memory, including in the heaps of threads."""
        self._set({MMAP_THRESHOLD: LARGE_ARRAY, TRIM_THRESHOLD: KEPT_FREE, TOP_PAD: KEPT_FREE})

    def give_back(self) -> None:
        """Restore the setting, and return free memory to the system."""
        self._set({MMAP_THRESHOLD: GLIBC_DEFAULT, TRIM_THRESHOLD: int(NANNY_DEFAULT), TOP_PAD: GLIBC_DEFAULT})
        if self._c is not None:
            self._c.malloc_trim(0)

    def _set(self, values: dict[int, int]) -> None:
        if self._c is not None:
            for name, value in values.items():
                self._c.mallopt(name, value)
