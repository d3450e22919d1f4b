"""The memory that this process can still allocate, and the error when that is not enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dgraph.errors import RoomError

REMEDY = "use a machine or a limit with more memory"


def free_memory() -> int:
    """The bytes that this process can still allocate: what the machine has, or what a limit leaves."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
        return min(free, _address_space())
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


def _address_space() -> int:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return max(0, limit - taken)


def in_words(size: int) -> str:
    """A number of bytes as people read it: "1.50 GiB"."""
    units = ("TiB", 40), ("GiB", 30), ("MiB", 20), ("kiB", 10)
    return next((f"{size / (1 << bits):,.2f} {unit}" for unit, bits in units if size >= 1 << bits), f"{size} bytes")


@contextmanager
def enough_memory(path: Any) -> Iterator[None]:
    """In the block, which reads a file, a lack of memory raises a RoomError with the sizes."""
    try:
        yield
    except MemoryError as error:
        wanted = f": {error}" if str(error) else ""
        free = in_words(free_memory())
        raise RoomError(f"{path}: not enough memory to read it, {free} are free{wanted} ({REMEDY})") from error
