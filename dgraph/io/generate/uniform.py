"""Uniform random graphs (Erdős–Rényi G(n, m), with repeats): no skew and no locality, hard on caches.

Ends are drawn among all vertices or, for bipartite graphs, each on its side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dgraph.errors import OptionError
from dgraph.io.generate.generator import Columns, Generator
from dgraph.io.generate.random_streams import EDGES, below, draw, stream
from dgraph.native.machine_code import cached_njit


@dataclass(frozen=True)
class Uniform(Generator):
    """`edges` rows with both ends uniform among `vertices`; self loops and repeated edges occur.

    With directed=False each row stands for both directions.
    """

    vertices: int
    edges: int
    seed: int = 1
    weights: tuple[float, float] | None = None
    directed: bool = True

    def __post_init__(self) -> None:
        self._check_whole("vertices", 0, 1 << 48)
        self._check_whole("edges", 0, 1 << 48)
        self._check_seed_and_weights()
        if self.edges and not self.vertices:
            raise OptionError(f"edges={self.edges} with vertices=0: give at least one vertex, or no edges")

    @property
    def num_vertices(self) -> int:
        return self.vertices

    @property
    def num_indices(self) -> int:
        return self.edges

    def _fill(self, start: int, stop: int, out: Columns) -> None:
        key = stream(self.seed, EDGES)
        draw_pairs(key, np.uint64(start), self.vertices, 0, self.vertices, out["source"], out["destination"])
        self._fill_weights(start, out)


@cached_njit()
def draw_pairs(key, start, sources, first, destinations, source, destination):
    """Writes row start + k: a source below `sources`, and a destination among `destinations` ids from `first` on."""
    for k in range(np.uint64(source.size)):
        at = np.uint64(2) * (start + k)
        source[k] = below(draw(key, at), sources)
        destination[k] = first + below(draw(key, at + np.uint64(1)), destinations)


@dataclass(frozen=True)
class Bipartite(Generator):
    """`edges` undirected rows with uniform sources 0 .. left - 1 and destinations left .. left + right - 1.

    Every edge joins a left vertex to a right one, as in matchings. Edges may repeat.
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
