"""Which workers share a host, judged by their addresses. Workers on one host divide its cores, and copies are kept on
another host."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def host(address: str) -> str:
    """The host of a worker."""
    return address.rpartition(":")[0]


def backup_worker(workers: Sequence[str], worker: int) -> int | None:
    """The worker that keeps a copy for this worker: the next one on another host, else the next one, else None."""
    others = [(worker + step) % len(workers) for step in range(1, len(workers))]
    own_host = host(workers[worker])
    return next((other for other in others if host(workers[other]) != own_host), next(iter(others), None))


def share_of_cores(workers: Sequence[str], worker: int, cores: Sequence[int]) -> set[int]:
    """The cores of its host that a worker of a run has to itself: an equal share for each worker there. Empty if the
    host has more workers than cores, or only one worker."""
    on_host = [other for other, address in enumerate(workers) if host(address) == host(workers[worker])]
    place, count = on_host.index(worker), len(on_host)
    if not 1 < count <= len(cores):
        return set()
    return set(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def own_cores(workers: Sequence[str], worker: int) -> set[int]:
    """Like `share_of_cores`, for the worker of this process. Empty if the system has no CPU affinity, or if this
    process may not use all cores, because its affinity has already been set."""
    usable = all_cores()
    return share_of_cores(workers, worker, sorted(usable)) if len(usable) == os.cpu_count() else set()


def all_cores() -> set[int]:
    """The cores that this process may use; empty if the system has no CPU affinity."""
    return os.sched_getaffinity(os.getpid()) if hasattr(os, "sched_setaffinity") else set()


@contextmanager
def pin_to_cores(cores: set[int]) -> Iterator[None]:
    """Keep this thread and the threads that it starts on these cores; does nothing if the set is empty.

    By default, Linux moves threads that wake each other onto one core, where they take turns while another core is
    idle. A round of two workers on two cores then takes twice as long."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
