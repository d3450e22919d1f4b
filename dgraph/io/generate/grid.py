"""Grids like a road map: four neighbours, long paths, and some roads missing; unlike R-MAT in every respect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dgraph.io.generate.generator import Columns, Generator
from dgraph.io.generate.random_streams import REMOVALS, WEIGHTS, between, draw, stream
from dgraph.native.machine_code import cached_njit, part_of_kernels


@dataclass(frozen=True)
class Grid(Generator):
    """Undirected roads between neighbours in a grid, each listed once. No loops and no repeats.

    The vertex at (row, col) is row * cols + col. Each road is removed with probability `removed`, so a block may
    have fewer rows than indices, and vertices may be isolated. Indices go along the rows: first a vertex's road to the
    right, then its road down.
    """

    rows: int
    cols: int
    seed: int = 1
    removed: float = 0.1
    weights: tuple[float, float] | None = (1, 255)
    directed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._check_whole("rows", 0, 1 << 24)
        self._check_whole("cols", 0, 1 << 24)
        self._check_real("removed", 0, 1)
        self._check_seed_and_weights()

    @property
    def num_vertices(self) -> int:
        return self.rows * self.cols

    @property
    def num_indices(self) -> int:
        return max(0, 2 * self.rows * self.cols - self.rows - self.cols)

    @property
    def expected_rows(self) -> int:
        return round(self.num_indices * (1 - self.removed))

    def count(self, start: int, stop: int) -> int:
        return _count_roads(stream(self.seed, REMOVALS), np.uint64(start), np.uint64(stop), self._threshold)

    @property
    def _threshold(self) -> np.uint64:
        """A road is removed if its 53 random bits are below this."""
        return np.uint64(round(self.removed * (1 << 53)))

    def _fill(self, start: int, stop: int, out: Columns) -> None:
        weight = out.get("weight", np.empty(0))
        _draw_roads(
            stream(self.seed, REMOVALS), stream(self.seed, WEIGHTS), np.uint64(start), np.uint64(stop), self.rows,
            self.cols, self._threshold, *self._weight_draw(), out["source"], out["destination"], weight,
        )  # fmt: skip


@part_of_kernels()
def _stays(key, index, threshold):
    return (draw(key, index) >> np.uint64(11)) >= threshold


@cached_njit()
def _count_roads(key, start, stop, threshold):
    rows = 0
    for i in range(start, stop):
        rows += _stays(key, i, threshold)
    return rows


@cached_njit()
def _draw_roads(key, weights, start, stop, rows, cols, threshold, low, span, whole, source, destination, weight):
    """Writes the remaining roads in the order of their indices, and their weights unless `weight` is empty.

    A row has 2 * cols - 1 roads: right and down from each vertex, only down from the last. The last row has only roads
    to the right.
    """
    per_row = 2 * cols - 1
    row = min(np.int64(start) // per_row, rows - 1)
    at = np.int64(start) - row * per_row
    col = at if row == rows - 1 else at >> 1
    down = row < rows - 1 and (col == cols - 1 or at & 1 == 1)
    k = np.uint64(0)
    for i in range(start, stop):
        if _stays(key, i, threshold):
            vertex = row * cols + col
            source[k] = vertex
            destination[k] = vertex + (cols if down else 1)
            if weight.size:
                weight[k] = between(draw(weights, i), low, span, whole)
            k += np.uint64(1)
        if down or row == rows - 1:
            col += 1
            if col == cols:
                row, col = row + 1, 0
            down = col == cols - 1  # no road to the right; past the end in the last row
        else:
            down = True
