"""Workers and their hosts, so far as addresses tell: those on one share out its cores, copies are kept on another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def host(address: str) -> str:
    """Of a worker."""
    return address.rpartition(":")[0]


def neighbour(workers: Sequence[str], worker: int) -> int | None:
    """Who keeps a copy for a worker: the next one, on another host if there is any."""
    others = [(worker + step) % len(workers) for step in range(1, len(workers))]
    here = host(workers[worker])
    return next((other for other in others if host(workers[other]) != here), next(iter(others), None))


def share_of_cores(workers: Sequence[str], worker: int, cores: Sequence[int]) -> set[int]:
    """Those of its host's cores that a worker of a run has to itself: each worker there has as many. None if there are
    more workers than cores, or nobody to share them with."""
    there = [one for one, address in enumerate(workers) if host(address) == host(workers[worker])]
    place, count = there.index(worker), len(there)
    if not 1 < count <= len(cores):
        return set()
    return set(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def own_cores(workers: Sequence[str], worker: int) -> set[int]:
    """Of a worker that is this process. None where the system does not let it choose; and a process that may not use
    all cores has been bound by somebody who knows better."""
    every = all_cores()
    return share_of_cores(workers, worker, sorted(every)) if len(every) == os.cpu_count() else set()


def all_cores() -> set[int]:
    """That this process may use; none where the system does not let it choose."""
    return os.sched_getaffinity(os.getpid()) if hasattr(os, "sched_setaffinity") else set()


@contextmanager
def kept_on(cores: set[int]) -> Iterator[None]:
    """Keep this thread, and those that it starts, on some cores, if there are any. Left to itself, an operating system
    brings threads that wake each other onto one core, where they take turns while another is idle: a round of two
    workers on two cores then takes twice as long."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
