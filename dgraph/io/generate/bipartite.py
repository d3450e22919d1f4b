"""Bipartite random graphs, for matchings: every edge joins a left vertex to a right one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dgraph.errors import OptionError
from dgraph.io.generate.generator import Columns, Generator
from dgraph.io.generate.random_streams import EDGES, stream
from dgraph.io.generate.uniform import draw_pairs


@dataclass(frozen=True)
class Bipartite(Generator):
    """`edges` undirected rows with uniform sources 0 .. left - 1 and destinations left .. left + right - 1.

    Edges may repeat.
    """

    left: int
    right: int
    edges: int
    seed: int = 1
    weights: tuple[float, float] | None = None
    directed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("left", "right", "edges"):
            self._check_whole(name, 0, 1 << 48)
        self._check_seed_and_weights()
        if self.edges and not (self.left and self.right):
            sides = f"left={self.left} and right={self.right}"
            raise OptionError(f"edges={self.edges} with {sides}: give each side a vertex, or no edges")

    @property
    def num_vertices(self) -> int:
        return self.left + self.right

    @property
    def num_indices(self) -> int:
        return self.edges

    def _fill(self, start: int, stop: int, out: Columns) -> None:
        key = stream(self.seed, EDGES)
        draw_pairs(key, np.uint64(start), self.left, self.left, self.right, out["source"], out["destination"])
        self._fill_weights(start, out)
