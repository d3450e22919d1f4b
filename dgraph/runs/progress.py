"""Progress while a run goes on: one line on a terminal or in a notebook, and nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from dgraph.errors import OptionError

EVERY = 0.2  # seconds
CLEAR = "\r\033[K"  # the line of a terminal


def check_progress(wanted: Any) -> None:
    """Check the option before anything begins."""
    if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
        raise OptionError(f"progress={wanted!r} is not known; choose True, False, None, or give a function of a dict")


class Progress:
    """Calls `show` with a dict: superstep, vertices fired, edges, bytes and seconds so far."""

    def __init__(self, show: Callable[[dict[str, Any]], Any] | None, close: Callable[[], Any] = lambda: None):
        self.show, self.close = show, close
        self.begun = self.shown = time.perf_counter()

    @classmethod
    def of(cls, wanted: Any) -> Progress:
        """From the option `progress=`. None: a line, if somebody looks."""
        if callable(wanted):
            return cls(wanted)
        line = Line()
        return cls(line.write, line.close) if (line.is_seen if wanted is None else wanted) else cls(None)

    @property
    def active(self) -> bool:
        return self.show is not None

    def after_chunk(self, tokens: Sequence[Any]) -> None:
        """Called with the tokens of all workers after each chunk of steps."""
        now = time.perf_counter()
        if self.show is None or now - self.shown < EVERY:
            return
        self.shown = now
        told = [token.values for token in tokens]
        sums = {what: sum(one[what] for one in told) for what in ("fired", "edges", "bytes")}
        self.show({"superstep": max(one["round"] for one in told), **sums, "seconds": now - self.begun})

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


class Line:
    """One line that is written over and over; in the end it is gone from a terminal."""

    written = float("-inf")  # when the last of all was

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
        sys.stderr.write(f"\r{text:<{self.length}}")
        sys.stderr.flush()
        self.length, Line.written = len(text), time.perf_counter()

    def close(self) -> None:
        if self.length:
            sys.stderr.write(CLEAR if self.on_terminal else "\n")
            sys.stderr.flush()
