"""The public functions that generate graphs. A seed gives the same edges on any number of workers."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import pandas as pd

from dgraph.arguments import AUTO, is_default, known_options
from dgraph.building.edge_room import scratch_folder
from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError
from dgraph.frames.any_frame import LazyPieces
from dgraph.graph import Graph
from dgraph.io import generate
from dgraph.io.declared_sizes import VERTEX
from dgraph.native.free_memory import has_room, refuse_beyond_memory, within

BLOCK = 1 << 21  # edges per task
PARTITIONED = 4  # the least number of bytes per edge in a partition
LISTED_AND_PLACED = 2  # times the bytes of all columns, while they become a partition
# with other options, all edges are held while they are merged, or placed into several partitions
STREAMED: dict[str, Any] = {"repeats": "keep", "symmetrize": False, "parts": 1, "policy": AUTO, "capacities": None}


@known_options(Graph.from_edges)
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
    """A random graph with a skewed degree distribution, like the web.

    This is R-MAT (Chakrabarti et al., SDM 2004); the defaults are those of Graph500. Self loops and repeated edges
    may occur.

    Parameters
    ----------
    scale : int
        The graph has ``2**scale`` vertices.
    edge_factor : int, default 16
        The number of edges per vertex.
    seed : int, default 1
        Seed of the random number generator: the same seed gives the same graph.
    weights : (low, high), optional
        The lowest and the highest edge weight. Integers give integer weights; by default the graph is unweighted.
    a : float, default 0.57
        Probability that a bit is 0 in the ids of both ends of an edge.
    b : float, default 0.19
        Probability that a bit is 0 in the id of the source and 1 in that of the destination.
    c : float, default 0.19
        Probability that a bit is 1 in the id of the source and 0 in that of the destination.
    permute : bool, default True
        Whether to shuffle the ids. Otherwise ids with few bits set have the most edges.
    directed : bool, default True
        Whether edges are directed. If False, each listed edge represents both directions.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.rmat(scale=10, edge_factor=8)
    >>> G.num_vertices, G.num_edges
    (1024, 8192)
    """
    return _generated(generate.Rmat(scale, edge_factor, seed, weights, a, b, c, permute, directed), options)


@known_options(Graph.from_edges)
def uniform(
    *,
    vertices: int,
    edges: int,
    seed: int = 1,
    weights: tuple[float, float] | None = None,
    directed: bool = True,
    **options: Any,
) -> Graph:
    """A random graph in which both ends of each edge are drawn uniformly. Self loops and repeated edges may occur.

    Parameters
    ----------
    vertices : int
        Number of vertices; their ids are 0, 1, 2, ...
    edges : int
        The number of edges.
    seed : int, default 1
        Seed of the random number generator: the same seed gives the same graph.
    weights : (low, high), optional
        The lowest and the highest edge weight. Integers give integer weights; by default the graph is unweighted.
    directed : bool, default True
        Whether edges are directed. If False, each listed edge represents both directions.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.uniform(vertices=100, edges=500, weights=(1, 9))
    >>> G.edges.compute()["weight"].agg(["min", "max"]).tolist()
    [1, 9]
    """
    return _generated(generate.Uniform(vertices, edges, seed, weights, directed), options)


@known_options(Graph.from_edges)
def grid(
    *,
    rows: int,
    cols: int,
    seed: int = 1,
    removed: float = 0.1,
    weights: tuple[float, float] | None = (1, 255),
    **options: Any,
) -> Graph:
    """An undirected graph like a road map: neighbours in a grid are joined, and some edges are removed.

    Parameters
    ----------
    rows : int
        The number of rows of the grid.
    cols : int
        The number of columns. The vertex at (``row``, ``column``) has the id ``row * cols + column``.
    seed : int, default 1
        Seed of the random number generator: the same seed gives the same graph.
    removed : float, default 0.1
        Probability that an edge is missing.
    weights : (low, high), default (1, 255)
        The lowest and the highest edge weight. Integers give integer weights; if None, the graph is unweighted.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.grid(rows=2, cols=3, removed=0, weights=None)
    >>> G.edges.compute()[["source", "destination"]].values.tolist()
    [[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5]]
    """
    return _generated(generate.Grid(rows, cols, seed, removed, weights), options)


@known_options(Graph.from_edges)
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
    """A bipartite graph of users and items with ratings as weights, for which the best possible model is known.

    A rating is `mean`, plus the product of the vectors of its user and its item (of length `rank`), plus noise.

    Parameters
    ----------
    users : int
        The number of users; their ids are 0, 1, 2, ...
    items : int
        The number of items; their ids follow those of the users.
    ratings : int
        The number of ratings. A pair of user and item may occur twice.
    rank : int, default 8
        Length of the factor vectors.
    noise : float, default 0.1
        Standard deviation of the noise: no model can have a lower error.
    seed : int, default 1
        Seed of the random number generator: the same seed gives the same graph.
    mean : float, default 3.5
        The mean of all ratings.
    spread : float, default 1.0
        Standard deviation of the products of vectors.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.ratings(users=20, items=10, ratings=100)
    >>> G.num_vertices, G.weight
    (30, 'rating')
    """
    return _generated(generate.Ratings(users, items, ratings, rank, noise, seed, mean, spread), options)


@known_options(Graph.from_edges)
def bipartite(
    *,
    left: int,
    right: int,
    edges: int,
    seed: int = 1,
    weights: tuple[float, float] | None = None,
    **options: Any,
) -> Graph:
    """A random undirected graph of edges between two sides, drawn uniformly. Repeated edges may occur.

    Parameters
    ----------
    left : int
        The number of vertices on the left; their ids are 0, 1, 2, ...
    right : int
        The number of vertices on the right; their ids follow those on the left.
    edges : int
        The number of edges.
    seed : int, default 1
        Seed of the random number generator: the same seed gives the same graph.
    weights : (low, high), optional
        The lowest and the highest edge weight. Integers give integer weights; by default the graph is unweighted.
    **options
        Further options are passed to `Graph.from_edges`.

    Returns
    -------
    Graph

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.bipartite(left=4, right=6, edges=12)
    >>> G.num_vertices, G.num_edges, G.directed
    (10, 12, False)
    """
    return _generated(generate.Bipartite(left, right, edges, seed, weights), options)


def _generated(generator: generate.Generator, options: dict[str, Any]) -> Graph:
    for name in ("source", "destination", "weight", "vertices"):
        if name in options:
            problem = f"{name}={options[name]!r} is not allowed"
            raise OptionError(f"{problem}: a generated graph has its own columns and vertices")
    memory = options.pop("memory", None)
    workers = Workers.find(options.pop("client", None), memory)
    given = ((options.get(name), usual) for name, usual in STREAMED.items())
    streams = all(value is None or is_default(value, usual) for value, usual in given)
    with within(workers.limit):
        in_blocks = workers.client is not None or (streams and not _fits(generator))
        _check_memory(generator, workers, in_blocks)
        frame: Any = _blocks(generator, workers) if in_blocks else generator.build()
    weight = next((name for name in ("weight", "rating") if name in generator.columns), None)
    return Graph.from_edges(
        frame,
        source="source",
        destination="destination",
        weight=weight,
        **{"directed": generator.directed, **options},
        vertices=range(generator.num_vertices),
        memory=memory,
        client=workers.client,
    )


def _fits(generator: generate.Generator) -> bool:
    """Whether this process has room for all edges and their partition."""
    return has_room(LISTED_AND_PLACED * _listed(generator))


def _listed(generator: generate.Generator) -> int:
    """The bytes of all columns."""
    return generator.expected_rows * sum(dtype.itemsize for dtype in generator.columns.values())


def _check_memory(generator: generate.Generator, workers: Workers, in_blocks: bool) -> None:
    """Refuse a graph that does not fit in memory, before anything is drawn. In this process, the columns of all edges
    must fit; or the vertices, and on disk the partition, if edges are drawn in blocks whenever they are read. On a
    cluster, where edges may be on disk while partitions are built, the partitions must fit."""
    rows, vertices = generator.expected_rows, generator.num_vertices
    what, partition = f"{rows:,} generated edges between {vertices:,} vertices", rows * PARTITIONED + vertices * VERTEX
    if workers.client is not None:
        least = workers.memory
        refuse_beyond_memory(what, partition, sys.maxsize if least is None else least * len(workers.addresses))
    elif in_blocks:
        refuse_beyond_memory(what, vertices * VERTEX)
        if not has_room(partition):
            remedy = "choose a larger folder with Dask's setting temporary-directory"
            refuse_beyond_memory(f"{what}, on disk,", partition, scratch_folder().free, remedy)
    else:
        refuse_beyond_memory(what, _listed(generator) + vertices * VERTEX)


def _blocks(generator: generate.Generator, workers: Workers) -> LazyPieces:
    """The edges as tasks, one per block."""
    pieces = max(len(workers.addresses), -(-generator.num_indices // BLOCK))
    cuts = [generator.num_indices * i // pieces for i in range(pieces + 1)]
    meta = pd.DataFrame(generator.empty(0))
    return LazyPieces(lambda: meta, lambda: [workers.call(generator.block, a, z) for a, z in pairwise(cuts)])
