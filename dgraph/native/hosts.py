"""Which workers share a host, judged by their addresses. Workers on one host divide its cores, and copies are kept on
another host. And what the C library does there with freed memory."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

TRIM_SETTING = "MALLOC_TRIM_THRESHOLD_"
NANNY_DEFAULT = "65536"  # Dask's nannies set it to this; any other value was chosen by a user
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # parameters of glibc's mallopt
LARGE_ARRAY = 32 << 20  # bytes: arrays of this size or more get their own pages; smaller ones reuse freed memory
KEPT_FREE = 64 << 20  # bytes: free memory at the end of a heap above this is returned to the system
GLIBC_DEFAULT = 128 << 10


def host(address: str) -> str:
    """The host of a worker."""
    return address.rpartition(":")[0]


def backup_worker(workers: Sequence[str], worker: int) -> int | None:
    """The worker that keeps a copy for this worker: the next one on another host, else the next one, else None."""
    others = [(worker + step) % len(workers) for step in range(1, len(workers))]
    own_host = host(workers[worker])
    return next((other for other in others if host(workers[other]) != own_host), next(iter(others), None))


def share_of_cores(workers: Sequence[str], worker: int, cores: Sequence[int]) -> set[int]:
    """The cores of its host that a worker of a run has to itself: an equal share for each worker there. Empty if the
    host has more workers than cores, or only one worker."""
    on_host = [other for other, address in enumerate(workers) if host(address) == host(workers[worker])]
    place, count = on_host.index(worker), len(on_host)
    if not 1 < count <= len(cores):
        return set()
    return set(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def own_cores(workers: Sequence[str], worker: int) -> set[int]:
    """Like `share_of_cores`, for the worker of this process. Empty if the system has no CPU affinity, or if this
    process may not use all cores, because its affinity has already been set."""
    usable = all_cores()
    return share_of_cores(workers, worker, sorted(usable)) if len(usable) == os.cpu_count() else set()


def all_cores() -> set[int]:
    """The cores that this process may use; empty if the system has no CPU affinity."""
    return os.sched_getaffinity(os.getpid()) if hasattr(os, "sched_setaffinity") else set()


@contextmanager
def pin_to_cores(cores: set[int]) -> Iterator[None]:
    """Keep this thread and the threads that it starts on these cores; does nothing if the set is empty.

    By default, Linux moves threads that wake each other onto one core, where they take turns while another core is
    idle. A round of two workers on two cores then takes twice as long."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


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
