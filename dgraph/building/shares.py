"""The share of the edges of each partition: in proportion to the capacities of the workers that will hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError

MOST_PARTS = 2**16 - 1  # an owner is two bytes
KNOWN = 'give None, "measure" or {worker: number}'


def check_capacities(workers: Workers, capacities: Any, parts: int) -> None:
    """Refuse capacities that cannot be, before anything is measured."""
    if capacities is not None and not (isinstance(capacities, str) and capacities == "measure"):
        shares_of(workers, capacities, parts)


def shares_of(workers: Workers, capacities: Any, parts: int) -> list[float]:
    """The share of each partition. With `capacities=None` all are alike, unless some workers have a GPU and others have
    not: then they are measured. A worker's capacity is divided among its partitions."""
    if capacities is None:
        if not 0 < len(workers.abilities.with_cuda) < len(workers.addresses):
            return [1.0] * parts
        capacities = workers.abilities.measured()
    if isinstance(capacities, str):
        if capacities != "measure":
            raise OptionError(f"capacities={capacities!r} is not known; {KNOWN}")
        if workers.client is None:
            return [1.0] * parts
        capacities = workers.abilities.measured(anew=True)
    if isinstance(capacities, Mapping):
        hosts, found = _by_worker(workers, capacities, parts)
    elif isinstance(capacities, Iterable):
        hosts, found = [str(part) for part in range(parts)], list(capacities)
        if len(found) != parts:
            raise OptionError(f"capacities={capacities!r} has {len(found)} entries for {parts} partitions")
    else:
        raise OptionError(f"capacities={capacities!r} is not known; {KNOWN}")
    try:
        found = [float(value) / hosts.count(host) for value, host in zip(found, hosts, strict=True)]
    except (TypeError, ValueError) as cause:
        raise OptionError(f"capacities={capacities!r}: {cause}") from cause
    if not all(0 < value < float("inf") for value in found):
        raise OptionError(f"capacities={capacities!r}: each must be a finite number above zero")
    return found


def _by_worker(workers: Workers, capacities: Mapping[Any, Any], parts: int) -> tuple[list[str], list[Any]]:
    """The worker of each partition, and its capacity; workers are named by address or by name."""
    hosts = [workers.host(part, parts) or "this process" for part in range(parts)]
    addresses = workers.by_name
    known = {addresses.get(key, key): value for key, value in capacities.items()}
    missing = [host for host in hosts if host not in known]
    if workers.client is None or missing:
        raise OptionError(f"capacities={dict(capacities)!r} lacks the workers {missing}; give one for each")
    return hosts, [known[host] for host in hosts]
