"""The memory that a step takes, by the kernel's own record of the process that takes it (Linux)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.bench.peak_memory import reset, resident

PAGE = 4096


def grown(run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What `run` returns, the bytes that the process had more at the most meanwhile, and those that it has kept."""
    before = resident("VmRSS")
    reset()
    result = run()
    return result, max(PAGE, resident("VmHWM") - before), max(0, resident("VmRSS") - before)


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
