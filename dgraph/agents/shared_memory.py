"""Memory shared by an agent and the process of its daemon. It has no name, so it is freed when both have ended,
however they ended; `multiprocessing.shared_memory` leaves a file behind when its owner is killed."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping

import numpy as np

from dgraph.agents.daemon import ArraySpec

ALIGNMENT = 64  # bytes: a cache line


def size_of(specs: Mapping[str, ArraySpec]) -> int:
    """Bytes that arrays take, each on separate cache lines."""
    return max(ALIGNMENT, sum(map(_aligned, specs.values())))


def arrays_in(memory: mmap.mmap, specs: Mapping[str, ArraySpec]) -> dict[str, np.ndarray]:
    """The arrays, one after another. Both processes derive their places from the same specs."""
    result, begin = {}, 0
    for name, spec in specs.items():
        count = int(np.prod(spec.shape))
        result[name] = np.frombuffer(memory, spec.dtype, count, begin).reshape(spec.shape)
        begin += _aligned(spec)
    return result


def memory_file(size: int) -> int:
    """A descriptor of new, zeroed memory; it can be passed to another process."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("dgraph")
    else:  # a file whose name is removed at once
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


def map_memory(descriptor: int) -> mmap.mmap:
    """The memory behind a descriptor."""
    return mmap.mmap(descriptor, os.fstat(descriptor).st_size)


def _aligned(spec: ArraySpec) -> int:
    return -(-spec.nbytes // ALIGNMENT) * ALIGNMENT
