"""What generators share: checked arguments, columns, and blocks that any thread or worker can fill."""

from __future__ import annotations

import math
import numbers
import os
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dgraph.arguments import check_integer
from dgraph.errors import OptionError
from dgraph.io.generate.random_streams import WEIGHTS, draw_weights, stream

Columns = dict[str, np.ndarray]

_SLICE = 1 << 19  # indices that a thread takes at a time: about 12 MB of columns, milliseconds of work
_EXACT = 1 << 52  # whole weights in [-_EXACT, _EXACT], and the size of any such interval, are exact in float64


class Generator(ABC):
    """A graph's edges, generated on demand: `block(start, stop)` builds any range of them.

    However range(num_indices) is divided, the concatenated blocks hold the same edges in the same order.
    """

    seed: int
    weights: tuple[float, float] | None = None  # the lowest and the highest; integers give an int64 column

    @property
    @abstractmethod
    def directed(self) -> bool:
        """Whether a row is a directed edge; otherwise it stands for both directions."""

    @property
    @abstractmethod
    def num_vertices(self) -> int:
        """Ids are 0 .. num_vertices - 1, including isolated vertices."""

    @property
    @abstractmethod
    def num_indices(self) -> int:
        """The upper bound of `start` and `stop`. Equals the number of rows, unless some are removed."""

    @property
    def expected_rows(self) -> int:
        """An estimate of the number of rows, made without drawing them."""
        return self.num_indices

    def count(self, start: int, stop: int) -> int:
        """The number of rows of block(start, stop)."""
        return stop - start

    @abstractmethod
    def _fill(self, start: int, stop: int, out: Columns) -> None:
        """Write the rows of indices start .. stop - 1 into `out`."""

    @property
    def num_rows(self) -> int:
        """The total number of rows."""
        return self.count(0, self.num_indices)

    @property
    def columns(self) -> dict[str, np.dtype]:
        """Names and types of the columns of a block."""
        columns: dict[str, np.dtype] = {"source": np.dtype(np.int64), "destination": np.dtype(np.int64)}
        if self.weights is not None:
            columns["weight"] = np.dtype(np.int64 if _whole_weights(self.weights) else np.float64)
        return columns

    def block(self, start: int = 0, stop: int | None = None) -> Columns:
        """The edges of indices start .. stop - 1."""
        stop = self.num_indices if stop is None else stop
        if not 0 <= start <= stop <= self.num_indices:
            raise OptionError(f"block({start}, {stop}): give 0 <= start <= stop <= {self.num_indices}")
        out = self.empty(self.count(start, stop))
        self._fill(start, stop, out)
        return out

    def empty(self, rows: int) -> Columns:
        """Columns with room for some rows."""
        return {name: np.empty(rows, dtype) for name, dtype in self.columns.items()}

    def build(self, threads: int | None = None) -> Columns:
        """All edges in one set of arrays, built by `threads` threads (by default one per processor)."""
        cuts = [*range(0, self.num_indices, _SLICE), self.num_indices]
        with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            counts = list(pool.map(self.count, cuts[:-1], cuts[1:]))
            ends = np.cumsum([0, *counts]).tolist()
            whole = self.empty(ends[-1])

            def fill(start: int, stop: int, first: int, last: int) -> None:
                self._fill(start, stop, {name: column[first:last] for name, column in whole.items()})

            list(pool.map(fill, cuts[:-1], cuts[1:], ends[:-1], ends[1:]))
        return whole

    def _fill_weights(self, start: int, out: Columns) -> None:
        if self.weights is not None:
            draw_weights(stream(self.seed, WEIGHTS), np.uint64(start), *self._weight_draw(), out["weight"])

    def _weight_draw(self) -> tuple[float, float, bool]:
        """The arguments low, span and whole of `between`."""
        low, high = self.weights or (0.0, 0.0)
        whole = _whole_weights((low, high))
        return float(low), float(high - low + whole), whole

    # A frozen dataclass can set its fields only like this, in __post_init__.

    def _check_whole(self, name: str, low: int, high: int) -> None:
        object.__setattr__(self, name, check_integer(name, getattr(self, name), low, high))

    def _check_real(self, name: str, low: float, high: float = math.inf) -> float:
        value = getattr(self, name)
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not (real and low <= value <= high and math.isfinite(value)):
            raise OptionError(f"{name}={value!r} must be a finite number from {low:g} to {high:g}")
        object.__setattr__(self, name, float(value))
        return float(value)

    def _check_seed_and_weights(self) -> None:
        self._check_whole("seed", 0, (1 << 64) - 1)
        if self.weights is None:
            return
        try:
            low, high = self.weights
            if not (isinstance(low, numbers.Real) and isinstance(high, numbers.Real)):
                raise TypeError
            whole = _whole_weights((low, high))
            low, high = (int(low), int(high)) if whole else (float(low), float(high))
            usable = low <= high and (max(-low, high) <= _EXACT if whole else math.isfinite(high - low))
        except (TypeError, ValueError):
            usable = False
        if not usable:
            remedy = "give (lowest, highest), whole numbers up to 2**52 or finite real ones, or None for no weights"
            raise OptionError(f"weights={self.weights!r}: {remedy}")
        object.__setattr__(self, "weights", (low, high))


def _whole_weights(weights: tuple[float, float]) -> bool:
    return all(isinstance(bound, numbers.Integral) for bound in weights)
