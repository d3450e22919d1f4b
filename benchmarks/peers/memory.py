"""The memory that a step takes, by the kernel's own record of the process that takes it (Linux)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = 4096


def grown(run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What `run` returns, the bytes that the process had more at the most meanwhile, and those that it has kept."""
    before = _bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
    result = run()
    return result, max(PAGE, _bytes("VmHWM") - before), max(0, _bytes("VmRSS") - before)


def _bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


class Needs:
    """The memory of a graph that is loaded once and run many times: while it is loaded, and what a run adds to it."""

    def __init__(self) -> None:
        self.loading, self.kept = 0, 0

    def load(self, run: Callable[[], Any]) -> Any:
        result, self.loading, self.kept = grown(run)
        return result

    def trial(self, run: Callable[[], Any]) -> tuple[Any, int]:
        """What `run` returns, and the bytes that loading and running take at the most, beyond the caller's arrays."""
        result, more, _ = grown(run)
        return result, max(self.loading, self.kept + more)
