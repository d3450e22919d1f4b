"""Ratings of items by users for collaborative filtering, with a known answer: low rank plus noise of known size.

A converged factorisation has a root mean square error of about `noise`; a lower error means overfitting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dgraph.errors import OptionError
from dgraph.io.generate.generator import Columns, Generator
from dgraph.io.generate.random_streams import EDGES, FACTORS, NOISE, draw, normal, stream
from dgraph.io.generate.uniform import draw_pairs
from dgraph.native.machine_code import cached_njit, part_of_kernels

# A factor's entry is an odd integer in [-65535, 65535], four per hash: dot products are exact in any order.
_VARIANCE = ((1 << 32) - 1) / 3  # the variance of an entry


@dataclass(frozen=True)
class Ratings(Generator):
    """`ratings` undirected rows from uniform users 0 .. users - 1 to uniform items users .. users + items - 1.

    rating = mean + u . v + noise * N(0, 1), where u and v are the `rank` factors of user and item, and u . v has mean
    0 and standard deviation `spread`. A pair may repeat, each time with its own noise.
    """

    users: int
    items: int
    ratings: int
    rank: int = 8
    noise: float = 0.1
    seed: int = 1
    mean: float = 3.5
    spread: float = 1.0
    directed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("users", "items", "ratings"):
            self._check_whole(name, 0, 1 << 48)
        self._check_whole("rank", 1, 1024)
        self._check_real("noise", 0)
        self._check_real("mean", -math.inf)
        self._check_real("spread", 0)
        self._check_seed_and_weights()
        if self.ratings and not (self.users and self.items):
            sides = f"users={self.users} and items={self.items}"
            raise OptionError(f"ratings={self.ratings} with {sides}: give at least one of each, or no ratings")

    @property
    def num_vertices(self) -> int:
        return self.users + self.items

    @property
    def num_indices(self) -> int:
        return self.ratings

    @property
    def columns(self) -> dict[str, np.dtype]:
        return {**super().columns, "rating": np.dtype(np.float64)}

    def factors(self, ids: np.ndarray) -> np.ndarray:
        """The true factors of these users or items, one row each."""
        ids = np.asarray(ids)
        out = np.empty((ids.size, self.rank))
        _draw_factors(stream(self.seed, FACTORS), ids.astype(np.int64), out)
        return out * math.sqrt(self._scale)

    @property
    def _scale(self) -> float:
        return self.spread / (math.sqrt(self.rank) * _VARIANCE)

    def _fill(self, start: int, stop: int, out: Columns) -> None:
        source, destination, at = out["source"], out["destination"], np.uint64(start)
        draw_pairs(stream(self.seed, EDGES), at, self.users, self.users, self.items, source, destination)
        factors, noise = stream(self.seed, FACTORS), stream(self.seed, NOISE)
        terms = (self.mean, self._scale, self.noise)
        _draw_ratings(factors, noise, at, self.rank, *terms, source, destination, out["rating"])


@part_of_kernels()
def _entry(h, e):
    """Entry e (0 .. 3) of a hash."""
    return np.int64((h >> (np.uint64(16) * e)) & np.uint64(0xFFFF)) * 2 - 65535


@cached_njit()
def _draw_factors(key, ids, out):
    rank = np.uint64(out.shape[1])
    hashes = (rank + np.uint64(3)) >> np.uint64(2)
    for k in range(np.uint64(ids.size)):
        for r in range(rank):
            h = draw(key, np.uint64(ids[k]) * hashes + (r >> np.uint64(2)))
            out[k, r] = _entry(h, r & np.uint64(3))


@cached_njit()
def _draw_ratings(factors, noises, start, rank, mean, scale, noise, source, destination, rating):
    """Writes rating[k] of row start + k; reads its source and destination."""
    hashes = (np.uint64(rank) + np.uint64(3)) >> np.uint64(2)
    for k in range(np.uint64(rating.size)):
        u = np.uint64(source[k]) * hashes
        v = np.uint64(destination[k]) * hashes
        dot = np.int64(0)
        left = np.uint64(rank)
        for j in range(hashes):
            x = draw(factors, u + j)
            y = draw(factors, v + j)
            for e in range(min(left, np.uint64(4))):
                dot += _entry(x, e) * _entry(y, e)
            left -= np.uint64(4)
        rating[k] = mean + scale * dot + noise * normal(noises, start + k)
