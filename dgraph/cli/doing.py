"""What a command is at, while it is: one line on a terminal, gone when that is done; nothing in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dgraph.runs.progress import CLEAR

EVERY = 0.5  # seconds, the first of which pass in silence


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Tells what is being done, and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    done, stream, begun = threading.Event(), sys.stderr, time.perf_counter()

    def show() -> None:
        while not done.wait(EVERY):
            stream.write(f"{CLEAR}{what}: {time.perf_counter() - begun:.0f} s")
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
