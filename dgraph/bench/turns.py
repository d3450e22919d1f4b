"""Timing: runs take turns, every result is verified, and the first round, which compiles and warms up, does not count.

Taking turns makes a ratio robust: a machine that is slow for a while is slow for all runs. This module needs only
Python, because it also runs in environments without dgraph's dependencies.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

Name = TypeVar("Name", bound=Hashable)
Timed = Callable[[], Any]
Check = Callable[[Any], None]  # raises an AnswerError if a result is wrong


def timed(run: Timed) -> tuple[float, Any]:
    """The seconds that a run takes, and what it returns. Garbage of earlier runs is collected first."""
    gc.collect()
    begun = time.perf_counter()
    result = run()
    return time.perf_counter() - begun, result


def take_turns(runs: Mapping[Name, tuple[Timed, Check]], trials: int, *, warmups: int = 1) -> dict[Name, list[float]]:
    """The seconds of the trials of each run, by name, after `warmups` rounds that do not count. Each result is verified
    and released before the next run."""
    seconds: dict[Name, list[float]] = {name: [] for name in runs}
    for trial in range(-warmups, trials):
        for name, (run, check) in runs.items():
            elapsed, result = timed(run)
            check(result)
            del result
            if trial >= 0:
                seconds[name].append(elapsed)
    return seconds
