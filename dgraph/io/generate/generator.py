"""What generators share: arguments that are checked, columns, and blocks that any thread or worker can fill."""

from __future__ import annotations

import math
import numbers
import os
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dgraph.errors import OptionError
from dgraph.io.generate.random_streams import WEIGHTS, draw_weights, stream

Columns = dict[str, np.ndarray]

_SLICE = 1 << 19  # indices a thread takes at a time: some 12 MB of columns, milliseconds of work
_EXACT = 1 << 52  # whole weights up to here, and as many as lie within +-, are exact in float64


class Generator(ABC):
    """Edges of a graph that nobody has to hold: `block(start, stop)` builds any stretch of them.

    The concatenation of the blocks of any partition of range(num_indices) is always the same edges.
    """

    seed: int

    @property
    def weights(self) -> tuple[float, float] | None:
        """The lowest and the highest weight; whole numbers give an int64 column."""
        return None

    @property
    @abstractmethod
    def directed(self) -> bool:
        """Whether a row is an arc; otherwise it stands for both directions."""

    @property
    @abstractmethod
    def num_vertices(self) -> int:
        """Ids are 0 .. num_vertices - 1, whether they have edges or not."""

    @property
    @abstractmethod
    def num_indices(self) -> int:
        """The domain of `start` and `stop`: the rows, unless some are removed."""

    def count(self, start: int, stop: int) -> int:
        """How many rows block(start, stop) has."""
        return stop - start

    @abstractmethod
    def _fill(self, start: int, stop: int, out: Columns) -> None: ...

    @property
    def num_rows(self) -> int:
        """How many edges are listed in all."""
        return self.count(0, self.num_indices)

    @property
    def columns(self) -> dict[str, np.dtype]:
        """Names and types of the columns of a block."""
        columns: dict[str, np.dtype] = {"source": np.dtype(np.int64), "destination": np.dtype(np.int64)}
        if self.weights is not None:
            columns["weight"] = np.dtype(np.int64 if _whole_weights(self.weights) else np.float64)
        return columns

    def block(self, start: int = 0, stop: int | None = None, out: Columns | None = None) -> Columns:
        """The edges of indices start .. stop - 1, written into `out` if given: arrays of count(start, stop) rows."""
        stop = self.num_indices if stop is None else stop
        if not 0 <= start <= stop <= self.num_indices:
            raise OptionError(f"block({start}, {stop}): give 0 <= start <= stop <= {self.num_indices}")
        rows = self.count(start, stop)
        if out is None:
            out = {name: np.empty(rows, dtype) for name, dtype in self.columns.items()}
        for name, dtype in self.columns.items():
            found = out.get(name)
            if found is None or found.dtype != dtype or found.shape != (rows,):
                shape = "nothing" if found is None else f"{found.dtype} of shape {found.shape}"
                raise OptionError(f"out[{name!r}] is {shape}; this block needs {dtype} of shape ({rows},)")
        if rows:
            self._fill(start, stop, out)
        return out

    def build(self, threads: int | None = None) -> Columns:
        """All edges, built by `threads` threads (None: one a processor) in one set of arrays."""
        cuts = [*range(0, self.num_indices, _SLICE), self.num_indices]
        with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            counts = list(pool.map(self.count, cuts[:-1], cuts[1:]))
            ends = np.cumsum([0, *counts]).tolist()
            whole = {name: np.empty(ends[-1], dtype) for name, dtype in self.columns.items()}

            def fill(start: int, stop: int, first: int, last: int) -> None:
                self.block(start, stop, {name: column[first:last] for name, column in whole.items()})

            list(pool.map(fill, cuts[:-1], cuts[1:], ends[:-1], ends[1:]))
        return whole

    def _fill_weights(self, start: int, out: Columns) -> None:
        if self.weights is not None:
            draw_weights(stream(self.seed, WEIGHTS), np.uint64(start), *self._weight_draw(), out["weight"])

    def _weight_draw(self) -> tuple[float, float, bool]:
        """Low, span and whole, as `between` takes them."""
        low, high = self.weights or (0.0, 0.0)
        whole = _whole_weights((low, high))
        return float(low), float(high - low + whole), whole

    # Arguments. A frozen dataclass sets its fields past its own guard, only from __post_init__.

    def _check_whole(self, name: str, low: int, high: int) -> int:
        given = getattr(self, name)
        value = int(given) if isinstance(given, numbers.Integral) and not isinstance(given, bool) else None
        if value is None or not low <= value <= high:
            raise OptionError(f"{name}={given!r} must be a whole number from {low} to {high}")
        object.__setattr__(self, name, value)
        return value

    def _check_real(self, name: str, low: float, high: float = math.inf) -> float:
        given = getattr(self, name)
        value = float(given) if isinstance(given, numbers.Real) and not isinstance(given, bool) else math.nan
        if not low <= value <= high or math.isinf(value):
            raise OptionError(f"{name}={given!r} must be a finite number from {low:g} to {high:g}")
        object.__setattr__(self, name, value)
        return value

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
