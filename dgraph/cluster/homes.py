"""The home of a partition: the worker that holds it and runs its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from distributed import Client, Future

from dgraph.cluster.scheduler_calls import places_of, workers_of
from dgraph.cluster.waits import wait_for
from dgraph.errors import OptionError


def homes_of(client: Client, partitions: Sequence[Any]) -> list[str]:
    """The worker of each partition: the one that holds its future, or else all workers in equal shares."""
    if all(isinstance(partition, Future) for partition in partitions):
        wait_for(client, partitions)
        places = places_of(client, partitions)
        if all(places):
            return _evenly(places)
    workers = workers_of(client)
    if not workers:
        raise OptionError(f"{client!r} has no workers; start some, or pass client=None to run in this process")
    return [workers[partition * len(workers) // len(partitions)] for partition in range(len(partitions))]


def _evenly(places: Sequence[list[str]]) -> list[str]:
    """One of the workers that hold each result, chosen so that workers get equal shares. (A worker that has read
    another worker's result holds a copy.)"""
    homes, held = [""] * len(places), Counter[str]()
    for one in sorted(range(len(places)), key=lambda one: len(places[one])):
        homes[one] = min(sorted(places[one]), key=held.__getitem__)
        held[homes[one]] += 1
    return homes
