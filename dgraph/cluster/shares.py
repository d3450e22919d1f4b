"""Each partition's share of the edges, in proportion to the capacity of the worker that will hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError

MOST_PARTS = 2**16 - 1  # owners are stored in two bytes
ALLOWED_CAPACITIES = 'pass None, "measure", {worker: number} or a list of numbers'


def check_capacities(workers: Workers, capacities: Any, parts: int) -> None:
    """Refuse invalid capacities before anything is measured."""
    if capacities is not None and not (isinstance(capacities, str) and capacities == "measure"):
        shares_of(workers, capacities, parts)


def shares_of(workers: Workers, capacities: Any, parts: int) -> list[float]:
    """The share of each partition. With `capacities=None`, shares are equal, unless only some workers have a GPU: then
    capacities are measured. A worker's capacity is divided among its partitions."""
    measured = isinstance(capacities, str) and capacities == "measure"
    if capacities is None and 0 < len(workers.with_cuda()) < len(workers.addresses):
        capacities = _measured(workers)
    elif measured and workers.client is not None:
        capacities = _measured(workers, anew=True)
    elif capacities is None or measured:
        return [1.0] * parts
    if isinstance(capacities, Mapping):
        hosts, values = _by_worker(workers, capacities, parts)
    elif isinstance(capacities, Iterable) and not isinstance(capacities, str):
        hosts, values = [str(part) for part in range(parts)], list(capacities)
        if len(values) != parts:
            raise OptionError(
                f"capacities={capacities!r} has {len(values)} entries for {parts} partitions; pass one per partition"
            )
    else:
        raise OptionError(f"capacities={capacities!r} is not known; {ALLOWED_CAPACITIES}")
    try:
        shares = [float(value) / hosts.count(host) for value, host in zip(values, hosts, strict=True)]
    except (TypeError, ValueError) as cause:
        raise OptionError(f"capacities={capacities!r}: {cause}") from cause
    if not all(0 < share < float("inf") for share in shares):
        raise OptionError(f"capacities={capacities!r}: each must be a finite number above zero")
    return shares


def _measured(workers: Workers, *, anew: bool = False) -> dict[str, float]:
    from dgraph.cluster.calibration import speeds

    return speeds(workers, anew=anew)


def _by_worker(workers: Workers, capacities: Mapping[Any, Any], parts: int) -> tuple[list[str], list[Any]]:
    """The worker of each partition and its capacity; the keys are the addresses or names of workers."""
    hosts = [workers.host(part, parts) or "this process" for part in range(parts)]
    addresses = workers.by_name
    known = {addresses.get(key, key): value for key, value in capacities.items()}
    missing = [host for host in hosts if host not in known]
    if workers.client is None or missing:
        raise OptionError(f"capacities={dict(capacities)!r} must have a number for each worker; missing: {missing}")
    return hosts, [known[host] for host in hosts]
