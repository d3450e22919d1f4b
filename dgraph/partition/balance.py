"""How edges and capacities go together so that all workers are done at once: the two lemmas of GX-Plug. A worker of
capacity 1/c takes c d for d edges, so the slowest worker says how long a round takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dgraph.errors import OptionError
from dgraph.options import is_number

ENOUGH = 0.05  # seconds that a calibration measures


def rate(work: Callable[[], Any], edges: int, *, seconds: float = ENOUGH) -> float:
    """Edges a second of whoever does `work`, which looks at so many edges: a short calibration. The first time does
    not count, for it compiles and warms up; then the best of as many as fit in `seconds`, and of one at least."""
    work()
    best, begun, times = math.inf, time.perf_counter(), 0
    while not times or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        work()
        best, times = min(best, time.perf_counter() - start), times + 1
    return edges / max(best, 1e-9)


def split_for(total: float, capacities: Iterable[float]) -> list[float]:
    """First lemma: of `total` edges, each worker gets d_j = D (1/c_j) / sum(1/c), so that none waits for another."""
    capacities = _above_zero("capacities", capacities)
    whole = sum(capacities)
    return [total * capacity / whole for capacity in capacities]


def daemons_for(split: Iterable[float], *, largest: float = 1.0) -> list[float]:
    """Second lemma: the capacity that each worker needs when its edges are given; more would be waited away.

    split:   edges, or any measure of the work, of each worker.
    largest: the capacity f of the worker that has the most; each of the others needs f d_j / max(d).

        >>> dg.daemons_for([4_000_000, 1_000_000], largest=8)
        [8.0, 2.0]
    """
    edges = _listed("split", split)
    if not edges or not all(_is_number(d) and d >= 0 for d in edges) or max(edges) == 0:
        raise OptionError(f"split={edges!r} must be numbers, none below zero and one above: the edges of each worker")
    if not _is_number(largest) or largest <= 0:
        raise OptionError(f"largest={largest!r} must be a number above zero: the capacity of the busiest worker")
    most = max(edges)
    return [float(largest * d / most) for d in edges]


def slowest(split: Sequence[float], capacities: Sequence[float]) -> float:
    """The time of a round, in the unit of the split over that of capacities: the most that any worker takes."""
    return max(d / capacity for d, capacity in zip(split, capacities, strict=True))


class WorkerLoad(NamedTuple):
    """What a worker had to do: its partitions, the edges and vertices that they hold, the edges that it has looked at,
    and the seconds that it was busy."""

    partitions: int
    held: int
    edges: int
    seconds: float


def better_split(loads: Sequence[WorkerLoad]) -> tuple[list[float], float]:
    """The share of each worker by its measured speed; and of the seconds that the slowest was busy, how many that would
    have saved. Where all are as fast nothing would, however unlike their work was: that is the frontier's doing."""
    shares = split_for(1.0, [load.edges / load.seconds for load in loads])
    held = sum(load.held for load in loads)
    then = [load.seconds * share * held / load.held for load, share in zip(loads, shares, strict=True)]
    return shares, max(load.seconds for load in loads) - max(then)


def _above_zero(name: str, values: Iterable[float]) -> list[float]:
    """Values as a list; one that is no number above zero is refused."""
    found = _listed(name, values)
    if not found or not all(_is_number(value) and value > 0 for value in found):
        raise OptionError(f"{name}={found!r} must be numbers above zero, one a worker")
    return found


def _listed(name: str, values: Any) -> list[Any]:
    """Values as a list. A mapping is refused: its keys would be taken, which nobody means."""
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise OptionError(f"{name}={values!r} must be a list of numbers, one a worker")
    return list(values)


def _is_number(value: Any) -> bool:
    return is_number(value) and not isinstance(value, bool) and math.isfinite(value)
