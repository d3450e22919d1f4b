"""The home of a partition: the worker that has it, and takes its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from distributed import Client, Future

from dgraph.cluster.scheduler_calls import places_of, workers_of
from dgraph.cluster.waits import wait_for
from dgraph.errors import OptionError


def homes_of(client: Client, partitions: Sequence[Any]) -> list[str]:
    """The worker of each partition: where its future lies, else evenly over all workers."""
    if all(isinstance(partition, Future) for partition in partitions):
        wait_for(client, partitions)
        places = places_of(client, partitions)
        if all(places):
            return _shared_out(places)
    workers = workers_of(client)
    if not workers:
        raise OptionError(f"{client!r} has no workers; start some, or pass client=None to run in this process")
    return [workers[partition * len(workers) // len(partitions)] for partition in range(len(partitions))]


def _shared_out(places: Sequence[list[str]]) -> list[str]:
    """For each result one of the places that it is at, as evenly as can be: a worker that has read another's result has
    a copy."""
    homes, held = [""] * len(places), Counter[str]()
    for one in sorted(range(len(places)), key=lambda one: len(places[one])):
        homes[one] = min(sorted(places[one]), key=held.__getitem__)
        held[homes[one]] += 1
    return homes
