"""The rows of the report: what the partitions of one worker do, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dgraph.vertex_state.partition_state import PartitionState

S = TypeVar("S")
T = TypeVar("T")


class ReportRows:
    """Engines have partitions work through `each`, which measures; `close` makes rows of that."""

    def __init__(self, states: Sequence[PartitionState]):
        self.states = states
        self.rows: list[dict[str, Any]] = []
        self.exchanges = 0  # since the last row
        self.found_end_in: float | None = None  # seconds from the last work here, where nobody agrees on the end
        self._opened, self._busy = time.perf_counter(), [0.0] * len(states)

    def each(self, some: Sequence[S], work: Callable[[S], T]) -> list[T]:
        """Do `work` with each of `some`, one for each partition; returns the answers. Time in which a partition waits
        for mail does not count as busy."""
        answers = []
        for i, (state, one) in enumerate(zip(self.states, some, strict=True)):
            begun, waited = time.perf_counter(), state.post.waited
            answers.append(work(one))
            self._busy[i] += time.perf_counter() - begun - (state.post.waited - waited)
        return answers

    def close(self, round: int, more: Sequence[dict[str, Any]] | None = None) -> None:
        """Add a row for each partition: what it did since the last row, and its columns of `more`."""
        now = time.perf_counter()
        for i, state in enumerate(self.states):
            row = {"superstep": round, "partition": state.partition.index, **state.counted()}
            row |= {"exchanges": self.exchanges, "skipped": state.partition.parts > 1 and not self.exchanges}
            row |= {"busy": self._busy[i], "idle": max(0.0, now - self._opened - self._busy[i])}
            self.rows.append(row | (more[i] if more else {}))
            self._busy[i] = 0.0
        self._opened, self.exchanges = now, 0
