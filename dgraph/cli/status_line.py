"""What a command is at, while it is: one line on a terminal, gone when that is done; nothing in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dgraph.runs.progress import CLEAR, Line

EVERY = 0.5  # seconds, the first of which pass in silence
LATELY = 5.0  # seconds in which the line of a run, which says more, is let be


@contextmanager
def show_status(what: str) -> Iterator[None]:
    """Show on a terminal what the block does, and for how many seconds it has, from half a second on."""
    if not sys.stderr.isatty():
        yield
        return
    done, stream, begun = threading.Event(), sys.stderr, time.perf_counter()

    def show() -> None:
        while not done.wait(EVERY):
            now = time.perf_counter()
            if now - Line.written > LATELY:
                stream.write(f"{CLEAR}{what}: {now - begun:.0f} s")
                stream.flush()
        stream.write(CLEAR)
        stream.flush()

    thread = threading.Thread(target=show, name="dgraph-doing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
