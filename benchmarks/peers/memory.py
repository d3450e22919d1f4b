"""The memory that a step takes, as the kernel records it for the process (Linux)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.bench.peak_memory import reset, resident

PAGE = 4096


def grown(run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What `run` returns, the peak growth of the process in bytes, and the bytes that it has kept."""
    before = resident("VmRSS")
    reset()
    result = run()
    return result, max(PAGE, resident("VmHWM") - before), max(0, resident("VmRSS") - before)


class Needs:
    """The memory of a graph that is loaded once and used many times: the peak during loading, and what a run adds."""

    def __init__(self) -> None:
        self.loading, self.kept = 0, 0

    def load(self, run: Callable[[], Any]) -> Any:
        result, self.loading, self.kept = grown(run)
        return result

    def trial(self, run: Callable[[], Any]) -> tuple[Any, int]:
        """What `run` returns, and the peak bytes of loading and running, beyond the caller's arrays."""
        result, more, _ = grown(run)
        return result, max(self.loading, self.kept + more)
