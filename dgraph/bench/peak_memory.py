"""The most memory that this process and the workers of a cluster have had since the last `reset`."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def reset(client: Any = None) -> None:
    """Forget the peaks so far, of this process and of the client's workers."""
    _reset()
    if client is not None:
        client.run(_reset)


def peak(client: Any = None) -> int:
    """The most bytes resident in each process since `reset`, added up over this one and the client's workers."""
    return _peak() + (0 if client is None else sum(client.run(_peak).values()))


def _reset() -> None:
    with suppress(OSError):  # no Linux, or not allowed: then the peak is that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
