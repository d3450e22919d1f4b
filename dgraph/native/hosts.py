"""Which workers share a host, as far as addresses tell: these share out its cores, and copies are kept on another
host."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def host(address: str) -> str:
    """The host of a worker."""
    return address.rpartition(":")[0]


def backup_worker(workers: Sequence[str], worker: int) -> int | None:
    """The worker that keeps a copy for a worker: the next one on another host, or the next one; None if it is alone."""
    others = [(worker + step) % len(workers) for step in range(1, len(workers))]
    here = host(workers[worker])
    return next((other for other in others if host(workers[other]) != here), next(iter(others), None))


def share_of_cores(workers: Sequence[str], worker: int, cores: Sequence[int]) -> set[int]:
    """The cores of its host that a worker of a run has to itself; each worker there has as many. Empty if there are
    more workers than cores, or only one worker."""
    there = [one for one, address in enumerate(workers) if host(address) == host(workers[worker])]
    place, count = there.index(worker), len(there)
    if not 1 < count <= len(cores):
        return set()
    return set(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def own_cores(workers: Sequence[str], worker: int) -> set[int]:
    """The same for a worker that is this process. Empty where the system does not let it choose, and in a process that
    may not use all cores: somebody has bound it already."""
    every = all_cores()
    return share_of_cores(workers, worker, sorted(every)) if len(every) == os.cpu_count() else set()


def all_cores() -> set[int]:
    """The cores that this process may use; empty where the system does not let it choose."""
    return os.sched_getaffinity(os.getpid()) if hasattr(os, "sched_setaffinity") else set()


@contextmanager
def pin_to_cores(cores: set[int]) -> Iterator[None]:
    """Keep this thread, and those that it starts, on some cores; if there are none, nothing happens. Left to itself,
    Linux brings threads that wake each other onto one core, where they take turns while another core is idle: a round
    of two workers on two cores then takes twice as long."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
