"""Generated graphs: what users call. The same edges for the same seed, however many workers make them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError
from dgraph.frames.any_frame import LazyPieces
from dgraph.graph import Graph
from dgraph.io import generate

BLOCK = 1 << 21  # edges that one task makes


def rmat(
    *,
    scale: int,
    edge_factor: int = 16,
    seed: int = 1,
    weights: tuple[float, float] | None = None,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    permute: bool = True,
    directed: bool = True,
    **options: Any,
) -> Graph:
    """A graph in which few vertices have most of the edges, as on the web (R-MAT, Chakrabarti et al., SDM 2004); the
    defaults are those of Graph500. Self loops and repeated edges occur.

    scale:       there are 2**scale vertices.
    edge_factor: how many edges there are for each.
    seed:        decides what is drawn: the same graph for the same number.
    weights:     the lowest and the highest; whole numbers give whole weights. By default there are none.
    a:           how likely a bit is 0 in the numbers of both ends of an edge.
    b:           0 in that of the source and 1 in that of the destination.
    c:           1 in that of the source and 0 in that of the destination.
    permute:     numbers say nothing of degrees; else those with few bits set have the most edges.
    directed:    with False each listed edge stands for both directions.
    Other options are those of `Graph.from_edges`.
    """
    return _generated(generate.Rmat(scale, edge_factor, seed, weights, a, b, c, permute, directed), options)


def uniform(
    *,
    vertices: int,
    edges: int,
    seed: int = 1,
    weights: tuple[float, float] | None = None,
    directed: bool = True,
    **options: Any,
) -> Graph:
    """A graph of edges whose ends are drawn uniformly. Self loops and repeated edges occur.

    vertices: how many vertices there are: the ids 0, 1, 2 ...
    edges:    how many are listed.
    seed:     decides what is drawn: the same graph for the same number.
    weights:  the lowest and the highest; whole numbers give whole weights. By default there are none.
    directed: with False each listed edge stands for both directions.
    Other options are those of `Graph.from_edges`.
    """
    return _generated(generate.Uniform(vertices, edges, seed, weights, directed), options)


def grid(
    *,
    rows: int,
    cols: int,
    seed: int = 1,
    removed: float = 0.1,
    weights: tuple[float, float] | None = (1, 255),
    **options: Any,
) -> Graph:
    """An undirected graph like a map of roads: edges between the four neighbours in a grid, some of them removed.

    rows:    how many the grid has.
    cols:    how many vertices there are in each.
    seed:    decides what is drawn: the same graph for the same number.
    removed: how likely each edge is to be missing.
    weights: the lowest and the highest; whole numbers give whole weights. None gives none.
    Other options are those of `Graph.from_edges`.
    """
    return _generated(generate.Grid(rows, cols, seed, removed, weights), options)


def ratings(
    *,
    users: int,
    items: int,
    ratings: int,
    rank: int = 8,
    noise: float = 0.1,
    seed: int = 1,
    mean: float = 3.5,
    spread: float = 1.0,
    **options: Any,
) -> Graph:
    """A bipartite graph with ratings of items by users as weights, of which the best possible model is known. Items are
    numbered after users.

    users:   how many there are: 0, 1, 2 ...
    items:   how many there are, numbered after users.
    ratings: how many; a pair may occur twice.
    rank:    the length of the vectors; the products of a user's and an item's are the ratings, but for mean and noise.
    noise:   its standard deviation: the error that no model can go below.
    seed:    decides what is drawn: the same graph for the same number.
    mean:    of all ratings.
    spread:  the standard deviation of the products.
    Other options are those of `Graph.from_edges`.
    """
    return _generated(generate.Ratings(users, items, ratings, rank, noise, seed, mean, spread), options)


def bipartite(
    *,
    left: int,
    right: int,
    edges: int,
    seed: int = 1,
    weights: tuple[float, float] | None = None,
    **options: Any,
) -> Graph:
    """An undirected graph of edges between two sides, drawn uniformly; repeated edges occur.

    left:    how many vertices are on that side: 0, 1, 2 ...
    right:   how many are on the other, numbered after these.
    edges:   how many are listed.
    seed:    decides what is drawn: the same graph for the same number.
    weights: the lowest and the highest; whole numbers give whole weights. By default there are none.
    Other options are those of `Graph.from_edges`.
    """
    return _generated(generate.Bipartite(left, right, edges, seed, weights), options)


def _generated(generator: generate.Generator, options: dict[str, Any]) -> Graph:
    for name in ("source", "destination", "weight", "vertices"):
        if name in options:
            raise OptionError(f"{name}={options[name]!r}: a generated graph has its own columns and vertices")
    workers = Workers.find(options.pop("client", None))
    frame: Any = generator.build() if workers.client is None else _blocks(generator, workers)
    weight = next((name for name in ("weight", "rating") if name in generator.columns), None)
    return Graph.from_edges(
        frame,
        source="source",
        destination="destination",
        weight=weight,
        **{"directed": generator.directed, **options},
        vertices=range(generator.num_vertices),
        client=workers.client,
    )


def _blocks(generator: generate.Generator, workers: Workers) -> LazyPieces:
    """The edges as tasks, each of which makes a block."""
    pieces = max(len(workers.addresses), -(-generator.num_indices // BLOCK))
    cuts = [generator.num_indices * i // pieces for i in range(pieces + 1)]
    meta = pd.DataFrame({name: np.empty(0, dtype) for name, dtype in generator.columns.items()})
    return LazyPieces(lambda: meta, lambda: [workers.call(generator.block, a, z) for a, z in pairwise(cuts)])
