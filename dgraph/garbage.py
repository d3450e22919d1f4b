"""Garbage collection, put off while modules are imported and kernels compiled: nearly all that they make stays, and to
look through it again and again takes a sixth of that time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
