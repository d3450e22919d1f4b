"""What a plot of a column needs: counts of its values, made where they are, so that no vertices are gathered.

Functions here run on the worker that holds a partition of a result; the others add up what they return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Spread(NamedTuple):
    """The values of a column, in short. Without finite values, `low` is above `high`."""

    size: int  # of the column
    missing: int  # NaN
    infinite: int
    zeros: int
    low: float  # the smallest finite value
    high: float
    least_positive: float  # infinite if there is none
    whole: bool  # whether all finite values are whole numbers

    @property
    def finite(self) -> int:
        return self.size - self.missing - self.infinite


def spread_of(result: Any, part: int, name: str) -> Spread:
    """The spread of a partition's values."""
    values = np.asarray(result.parts[part].columns[name])
    values = values.astype(np.uint8) if values.dtype == bool else values
    finite = values[np.isfinite(values)]
    missing, above = int(np.isnan(values).sum()), finite[finite > 0]
    return Spread(
        len(values),
        missing,
        len(values) - len(finite) - missing,
        int((finite == 0).sum()),
        float(finite.min()) if len(finite) else np.inf,
        float(finite.max()) if len(finite) else -np.inf,
        float(above.min()) if len(above) else np.inf,
        bool((finite == np.floor(finite)).all()),
    )


def sum_of_spreads(spreads: Sequence[Spread]) -> Spread:
    """The spread of all partitions."""
    return Spread(
        sum(one.size for one in spreads),
        sum(one.missing for one in spreads),
        sum(one.infinite for one in spreads),
        sum(one.zeros for one in spreads),
        min(one.low for one in spreads),
        max(one.high for one in spreads),
        min(one.least_positive for one in spreads),
        all(one.whole for one in spreads),
    )


def histogram_of(result: Any, part: int, name: str, edges: np.ndarray) -> np.ndarray:
    """How many of a partition's values are between each two edges."""
    values = np.asarray(result.parts[part].columns[name])
    return np.histogram(values[np.isfinite(values)].astype(np.float64), edges)[0]


def label_counts(result: Any, part: int, name: str, slots: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """A partition's labels, which are numbers of vertices, and how many vertices have each; in slots by label."""
    labels, counts = np.unique(np.asarray(result.parts[part].columns[name]).astype(np.int64), return_counts=True)
    return [(labels[chosen], counts[chosen]) for chosen in (labels % slots == slot for slot in range(slots))]


def group_sizes(pieces: Sequence[tuple[np.ndarray, np.ndarray]], vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of the groups in a slot of all partitions, and how many groups have each. A label that is not the
    number of a vertex stands for none."""
    labels, places = np.unique(np.concatenate([one for one, _ in pieces]), return_inverse=True)
    sizes = np.bincount(places, np.concatenate([counts for _, counts in pieces]), len(labels)).astype(np.int64)
    return np.unique(sizes[(labels >= 0) & (labels < vertices)], return_counts=True)


def sum_of_sizes(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of the groups in all slots, in ascending order, and how many groups have each."""
    sizes, places = np.unique(np.concatenate([one for one, _ in found]), return_inverse=True)
    return sizes, np.bincount(places, np.concatenate([one for _, one in found]), len(sizes)).astype(np.int64)
