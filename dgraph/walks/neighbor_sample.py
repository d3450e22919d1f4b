"""The result of `sample_neighbors`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dgraph.phrases.phrases import format_count


class NeighborSample:
    """Sampled edges around some vertices, with the user's ids or with local numbers.

    Parameters
    ----------
    vertices : array
        The ids of all vertices: first the seeds in their order, then others in the order in which they were reached.
        The place of a vertex here is its local number.
    edge_index : numpy.ndarray
        The ends of the sampled edges, as local numbers: an array of two rows, for sources and destinations.
    hops : numpy.ndarray
        The hop of each edge, from 1 on.
    num_seeds : int
        The number of seeds.
    names : tuple of str
        What the graph calls the sources and destinations of its edges.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
    >>> sample = dg.sample_neighbors(G, ["d"], [5, 5])
    >>> sample
    <NeighborSample: 2 edges and 3 vertices around 1 seed>
    >>> sample.vertices.tolist(), sample.edge_index.tolist(), sample.num_seeds
    (['d', 'c', 'b'], [[1, 2], [0, 1]], 1)
    """

    def __init__(self, vertices: Any, edge_index: np.ndarray, hops: np.ndarray, num_seeds: int, names: tuple[str, str]):
        self.vertices, self.edge_index, self.hops, self.num_seeds = vertices, edge_index, hops, num_seeds
        self._names = names

    @cached_property
    def edges(self) -> pd.DataFrame:
        """The sampled edges: both ends with the user's ids, in columns called as in the graph, and ``hop``.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
        >>> dg.sample_neighbors(G, ["d"], [5, 5]).edges
          src dst  hop
        0   c   d    1
        1   b   c    2
        """
        ends = zip(self._names, self.edge_index, strict=True)
        return pd.DataFrame({**{name: self.vertices[end] for name, end in ends}, "hop": self.hops})

    def __repr__(self) -> str:
        edges, vertices = format_count(len(self.hops), "edge"), format_count(len(self.vertices), "vertex")
        return f"<NeighborSample: {edges} and {vertices} around {format_count(self.num_seeds, 'seed')}>"
