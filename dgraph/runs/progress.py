"""Shows the progress of a run: one line on a terminal or in a notebook, and nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from dgraph.phrases.printable import printable

EVERY = 0.2  # seconds
CLEAR = "\r\033[K"  # the line of a terminal


class Progress:
    """Calls `show` with a dict of counts so far: superstep, fired vertices, edges, bytes and seconds. When a worker
    does not answer, `silent` is its address."""

    def __init__(self, show: Callable[[dict[str, Any]], Any] | None, close: Callable[[], Any] = lambda: None):
        self.show, self.close = show, close
        self.started = self.shown = time.perf_counter()
        self.counts: dict[str, Any] = {"superstep": 0, "fired": 0, "edges": 0, "bytes": 0}

    @classmethod
    def of(cls, option: Any) -> Progress:
        """Progress as the option `progress=` says. None shows a line on a terminal or in a notebook."""
        if callable(option):
            return cls(option)
        line = ProgressLine()
        return cls(line.write, line.close) if (line.is_seen if option is None else option) else cls(None)

    @property
    def active(self) -> bool:
        return self.show is not None

    def after_chunk(self, tokens: Sequence[Any]) -> None:
        """Called with the tokens of all workers after each chunk of steps."""
        now = time.perf_counter()
        if self.show is None or now - self.shown < EVERY:
            return
        self.shown = now
        counts = [token.values for token in tokens]
        sums = {name: sum(one[name] for one in counts) for name in ("fired", "edges", "bytes")}
        self.counts = {"superstep": max(one["round"] for one in counts), **sums}
        self.show({**self.counts, "seconds": now - self.started})

    def silent(self, worker: str) -> None:
        """Called with the address of a worker that does not answer, for which the run waits."""
        if self.show is not None:
            self.show({**self.counts, "seconds": time.perf_counter() - self.started, "silent": worker})


class ProgressLine:
    """One line that is overwritten again and again, and erased from a terminal at the end."""

    written = float("-inf")  # when any line was last written

    def __init__(self) -> None:
        self.length = 0
        self.on_terminal = bool(getattr(sys.stderr, "isatty", lambda: False)())
        self.is_seen = self.on_terminal or "ipykernel" in sys.modules  # a notebook

    def write(self, done: dict[str, Any]) -> None:
        rate = done["edges"] / max(done["seconds"], 1e-9) / 1e6
        text = (
            f"superstep {done['superstep']}: {done['fired']:,} fired, {rate:,.0f} M edges/s, "
            f"{done['bytes'] / 1e6:,.1f} MB exchanged"
        )
        if "silent" in done:
            text += f"; {done['silent']} does not answer"
        text = printable(text)
        sys.stderr.write(f"\r{text:<{self.length}}")
        sys.stderr.flush()
        self.length, ProgressLine.written = len(text), time.perf_counter()

    def close(self) -> None:
        if self.length:
            sys.stderr.write(CLEAR if self.on_terminal else "\n")
            sys.stderr.flush()
