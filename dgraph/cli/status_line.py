"""The line that shows on a terminal what a command is doing. A pipe shows nothing."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dgraph.phrases.printable import printable
from dgraph.runs.progress import CLEAR, ProgressLine

EVERY = 0.5  # seconds between updates, and until the line appears
LINE_KEPT = 5.0  # seconds for which the more informative progress line of a run is not overwritten


@contextmanager
def show_status(what: str) -> Iterator[None]:
    """Show on a terminal what the block is doing and for how many seconds, once it has run for half a second."""
    if not sys.stderr.isatty():
        yield
        return
    what = printable(what)
    done, stream, begun = threading.Event(), sys.stderr, time.perf_counter()

    def show() -> None:
        while not done.wait(EVERY):
            now = time.perf_counter()
            if now - ProgressLine.written > LINE_KEPT:
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
