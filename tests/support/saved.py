"""A graph to save, and its edges to compare with."""

import numpy as np
import pandas as pd

import dgraph as dg

RNG = np.random.default_rng(3)
PAIRS = RNG.integers(0, 40, (300, 2))
SPARSE = RNG.integers(-(2**62), 2**62, 40)
IDS = {
    "dense": lambda x: x,
    "gaps": lambda x: x * 3 - 9,
    "sparse": lambda x: SPARSE[x],
    "string": lambda x: np.array([f"v{i}" for i in x], dtype=object),
}


def example(kind="dense", **options):
    ids = IDS[kind]
    edges = pd.DataFrame({"a": ids(PAIRS[:, 0]), "b": ids(PAIRS[:, 1]), "cost": RNG.integers(1, 9, 300) / 2})
    names = pd.DataFrame({"id": ids(np.arange(38)), "name": [f"n{i}" for i in range(38)], "k": np.arange(38)})
    return dg.Graph.from_edges(edges, source="a", destination="b", weight="cost", vertices=names, **options)


def rows(graph):
    """The edges as a sorted list, undirected ones the smaller end first."""
    frame = graph.edges.compute() if graph.client is None else graph.client.compute(graph.edges).result()
    ends = zip(frame["a"], frame["b"], frame["cost"], strict=True)
    return sorted(ends if graph.directed else ((min(u, v), max(u, v), w) for u, v, w in ends))
