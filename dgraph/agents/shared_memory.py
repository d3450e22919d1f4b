"""Memory that an agent and its daemon's process both see. It has no name, so nothing is left when both are gone,
however they ended; `multiprocessing.shared_memory` leaves a file behind when its owner is killed."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping

import numpy as np

from dgraph.agents.daemon import ArraySpec

ALIGNED = 64  # bytes: a cache line


def size_of(spaces: Mapping[str, ArraySpec]) -> int:
    """Bytes that arrays take, each on cache lines of its own."""
    return max(ALIGNED, sum(_aligned(space) for space in spaces.values()))


def arrays_in(memory: mmap.mmap, spaces: Mapping[str, ArraySpec]) -> dict[str, np.ndarray]:
    """The arrays, one after the other: both processes find them by the same spaces."""
    found, begin = {}, 0
    for name, space in spaces.items():
        count = int(np.prod(space.shape))
        found[name] = np.frombuffer(memory, space.dtype, count, begin).reshape(space.shape)
        begin += _aligned(space)
    return found


def memory_file(size: int) -> int:
    """A descriptor of new memory, zero all over; it can be passed to another process."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("dgraph")
    else:  # a file whose name is gone at once
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


def mapped(descriptor: int) -> mmap.mmap:
    """The memory behind a descriptor."""
    return mmap.mmap(descriptor, os.fstat(descriptor).st_size)


def _aligned(space: ArraySpec) -> int:
    size = int(np.prod(space.shape)) * np.dtype(space.dtype).itemsize
    return -(-size // ALIGNED) * ALIGNED
