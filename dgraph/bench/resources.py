"""What a run takes: its seconds, and the memory of processes as the Linux kernel records it, now and at the peak since
the last `reset`.

This module needs only Python, because it also runs in environments without dgraph's dependencies.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a run takes, and what it returns. Garbage of earlier runs is collected first."""
    gc.collect()
    begun = time.perf_counter()
    result = run()
    return time.perf_counter() - begun, result


def resident(field: str, process: int | str = "self") -> int:
    """The resident bytes of a process: "VmRSS" now, "VmHWM" at the peak since `reset`."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


def restart_peak() -> int:
    """Reset the peak of this process, and return its current bytes. Freed memory is returned to the system first;
    otherwise a step that reused it would seem to need less."""
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    reset()
    return resident("VmRSS")


def reset(client: Any = None) -> None:
    """Reset the peaks of this process and of the client's workers."""
    gc.collect()
    with suppress(OSError):  # if not permitted or not on Linux, the peak covers the whole life of the process
        Path("/proc/self/clear_refs").write_text("5")
    if client is not None:
        client.run(reset)


def peak(client: Any = None) -> int:
    """The peak resident bytes since `reset`, summed over this process and the client's workers."""
    try:
        own = resident("VmHWM")
    except OSError:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
    return own + (0 if client is None else sum(client.run(peak).values()))
