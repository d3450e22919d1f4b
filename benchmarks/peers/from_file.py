"""PageRank from a Parquet file to a Parquet file in one process, as a user of a library would write it.

python -m peers.from_file networkit edges.parquet VERTICES ranks.parquet
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def networkit(source: np.ndarray, destination: np.ndarray, vertices: int) -> np.ndarray:
    import networkit as nk

    graph = nk.GraphFromCoo((source, destination), n=vertices, weighted=False, directed=True)
    found = nk.centrality.PageRank(graph, damp=0.85, tol=0)
    found.maxIterations = 20
    return np.array(found.run().scores())


def igraph(source: np.ndarray, destination: np.ndarray, vertices: int) -> np.ndarray:
    import igraph

    graph = igraph.Graph(n=vertices, edges=np.stack([source, destination], axis=1), directed=True)
    return np.array(graph.pagerank(damping=0.85))


LIBRARIES: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {"networkit": networkit, "igraph": igraph}


def main(library: str, edges: str, vertices: str, ranks: str) -> None:
    ends = [column.to_numpy() for column in pq.read_table(edges).columns]
    found = LIBRARIES[library](*ends, int(vertices))
    pq.write_table(pa.table({"vertex": np.arange(len(found)), "pagerank": found}), ranks)


if __name__ == "__main__":
    main(*sys.argv[1:])
