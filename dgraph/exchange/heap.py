"""Memory that a worker has freed stays with it for its next arrays: to have it given by the system anew costs ten times
as much as to write to it, and a run of a tenth of a second would spend a third of that time on it."""

from __future__ import annotations

import ctypes
import os
import sys

SETTING = "MALLOC_TRIM_THRESHOLD_"
OF_NANNIES = "65536"  # what Dask's nannies set it to by default; any other value is somebody's choice
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names of its parameters
LARGE = 32 << 20  # bytes: an array from which on it has pages of its own; below, freed memory is used again
KEPT = 2 * LARGE  # bytes at the end of the heap, beyond which memory goes back to the system


def keep_freed() -> bool:
    """Have glibc treat freed memory as it would if nothing were set: it then learns these two bounds by itself. The
    setting of Dask's nannies keeps it from that, so every array of 128 KB or more comes from the system, page by page.
    Returns whether anything was changed."""
    if os.environ.get(SETTING) != OF_NANNIES or sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries of C have none
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGE) and mallopt(TRIM_THRESHOLD, KEPT))
