"""What the partitions of one worker do, and how long it takes: the rows of the report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dgraph.states.state import State


class Log:
    """Who has a partition do something goes through `each`, which knows when it is busy."""

    def __init__(self, states: Sequence[State]):
        self.states = states
        self.rows: list[dict[str, Any]] = []
        self.exchanges = 0  # since the last row
        self.found_end_in: float | None = None  # seconds from the last work here, where nobody agrees on the end
        self._opened, self._busy = time.perf_counter(), [0.0] * len(states)

    def each(self, some: Sequence[Any], what: str, *arguments: Any) -> list[Any]:
        """Have `some`, one for each partition, do something; the time in which it waits for mail is not its own."""
        answers = []
        for i, (state, one) in enumerate(zip(self.states, some, strict=True)):
            begun, waited = time.perf_counter(), state.post.waited
            answers.append(getattr(one, what)(*arguments))
            self._busy[i] += time.perf_counter() - begun - (state.post.waited - waited)
        return answers

    def close(self, round: int, more: Sequence[dict[str, Any]] | None = None) -> None:
        """A row a partition: what it did since the last, and more columns of each."""
        now = time.perf_counter()
        for i, state in enumerate(self.states):
            row = {"superstep": round, "partition": state.partition.index, **state.counted()}
            row |= {"exchanges": self.exchanges, "skipped": state.partition.parts > 1 and not self.exchanges}
            row |= {"busy": self._busy[i], "idle": max(0.0, now - self._opened - self._busy[i])}
            self.rows.append(row | (more[i] if more else {}))
            self._busy[i] = 0.0
        self._opened, self.exchanges = now, 0
