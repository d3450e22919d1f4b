"""Load balance: how edges and worker capacities must match so that all workers finish a round together.

These are the two lemmas of GX-Plug. A worker of capacity 1/c needs c d seconds for d edges, so the slowest worker
determines how long a round takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dgraph.arguments import is_number, known_options
from dgraph.errors import OptionError

MEASURED_SECONDS = 0.05  # seconds that a calibration measures


def measure_rate(work: Callable[[], Any], edges: int, *, seconds: float = MEASURED_SECONDS) -> float:
    """Measure edges per second, where one call of `work` processes `edges` edges. The first call compiles and warms up,
    so it is not timed. The fastest of the calls that fit in `seconds` (at least one) counts."""
    work()
    best, begun, times = math.inf, time.perf_counter(), 0
    while not times or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        work()
        best, times = min(best, time.perf_counter() - start), times + 1
    return edges / max(best, 1e-9)


def split_for(total: float, capacities: Sequence[float]) -> list[float]:
    """First lemma: of `total` edges, worker j gets d_j = D (1/c_j) / sum(1/c), so that no worker waits for another."""
    whole = sum(capacities)
    return [total * capacity / whole for capacity in capacities]


@known_options()
def daemons_for(split: Iterable[float], *, largest: float = 1.0) -> list[float]:
    """The capacity that each worker needs to keep up when the split of the edges is fixed.

    This is GX-Plug's second lemma. More capacity would be idle, because all workers wait for the busiest one.

    Parameters
    ----------
    split : iterable of float
        The edges of each worker, or any other measure of its work.
    largest : float, default 1.0
        The capacity of the worker with the most work.

    Returns
    -------
    list of float
        One capacity per worker: ``largest * d / max(split)``.

    Raises
    ------
    OptionError
        If `split` is not a list of numbers >= 0 with at least one above zero, or if `largest` is not above zero.

    Examples
    --------
    >>> dg.daemons_for([4_000_000, 1_000_000], largest=8)
    [8.0, 2.0]
    """
    if isinstance(split, Mapping) or not isinstance(split, Iterable):  # iterating a mapping would give its keys
        raise OptionError(f"split={split!r} must be a list of numbers, one per worker")
    edges = list(split)
    if not edges or not all(_is_finite(d) and d >= 0 for d in edges) or max(edges) == 0:
        raise OptionError(f"split={edges!r} must be numbers >= 0, at least one of them above zero: each worker's edges")
    if not _is_finite(largest) or largest <= 0:
        raise OptionError(f"largest={largest!r} must be a number above zero: the capacity of the busiest worker")
    most = max(edges)
    return [float(largest * d / most) for d in edges]


class WorkerLoad(NamedTuple):
    """The work of one worker in some rounds."""

    partitions: int
    size: int  # edges and vertices of its partitions
    edges: int  # edges read
    seconds: float  # busy


def better_split(loads: Sequence[WorkerLoad]) -> tuple[list[float], float]:
    """Return each worker's share by its measured speed, and how many busy seconds this split would have saved the
    slowest worker. If all workers are equally fast, it saves nothing, however unequal their work: the frontier causes
    the imbalance, and another split does not help."""
    shares = split_for(1.0, [load.edges / load.seconds for load in loads])
    total = sum(load.size for load in loads)
    expected = [load.seconds * share * total / load.size for load, share in zip(loads, shares, strict=True)]
    return shares, max(load.seconds for load in loads) - max(expected)


def _is_finite(value: Any) -> bool:
    return is_number(value) and not isinstance(value, bool) and math.isfinite(value)
