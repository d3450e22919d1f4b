"""How messages and reprs say how many there are of something, what somebody gave, and may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

ALIKE, ALMOST = 0.6, 0.8  # how like a misspelt word is to what it means; to what else it would hardly mean
_PLURALS = {"vertex": "vertices"}
_SHOWN = (str, bytes, int, float, list, tuple, type(None), np.generic)  # whose repr is a line


def format_count(number: float, what: str) -> str:
    """A number with its noun, which is given for one: "1 vertex", "2,000 edges", "1.5 cores"."""
    figure = f"{number:,g}" if isinstance(number, float) else f"{number:,}"
    return f"{figure} {what if number == 1 else _PLURALS.get(what, f'{what}s')}"


def format_option(name: str, value: Any) -> str:
    """An option as somebody gave it: `engine='fast'`. Of a frame, an array or another object only its type, in
    brackets: their reprs have many lines, or tell nothing."""
    return f"{name}={value!r}" if isinstance(value, _SHOWN) else f"{name}=<{type(value).__name__}>"


ELSEWHERE = {  # our names, and what other libraries call the same
    "wcc": ("components", "connected_components", "weakly_connected_components"),
    "scc": ("strongly_connected_components", "strong_components"),
    "sssp": ("shortest_path", "shortest_paths", "dijkstra", "bellman_ford", "single_source_shortest_path"),
    "bfs": ("breadth_first_search", "breadth_first_order"),
    "lcc": ("clustering", "clustering_coefficient", "local_clustering_coefficient"),
    "core_number": ("coreness", "core_decomposition"),
    "triangles": ("triangle_count", "count_triangles"),
    "katz": ("katz_centrality",),
    "degrees": ("degree", "in_degree", "out_degree"),
    "label_propagation": ("lpa", "communities"),
    "alpha": ("damping", "damping_factor", "damp"),
    "tol": ("tolerance", "eps", "epsilon", "threshold"),
    "max_iter": ("iterations", "num_iterations", "niter"),
    "personalization": ("reset", "teleport"),
    "weighted": ("weight", "weights"),
    "source_vertex": ("root", "start", "start_vertex"),  # on the command line, where --source is a column
    "source": ("root", "start", "start_vertex"),
    "destination": ("target", "to"),
    "weight": ("edge_attr", "edge_weight", "cost", "capacity"),
    "vertices": ("nodes",),
    "num_vertices": ("num_nodes", "number_of_nodes", "number_of_vertices", "vcount"),
    "num_edges": ("number_of_edges", "ecount"),
    "Graph.from_edges": (
        *("from_edges", "from_pandas", "from_pandas_edgelist", "from_arrow", "from_polars", "from_dask_dataframe"),
        *("from_cudf_edgelist", "from_dask_cudf_edgelist", "DiGraph", "MultiGraph", "MultiDiGraph", "GraphFrame"),
    ),
    "read_edges": ("read_edgelist", "read_edge_list", "read_graph", "read_csv", "read_parquet", "from_csv", "load"),
    "from_scipy": ("from_scipy_sparse_array", "from_numpy", "from_numpy_array", "from_adjacency"),
    "parts": ("npartitions", "num_partitions", "n_partitions"),
    "depth_limit": ("cutoff", "max_depth"),
}


def nearest(word: str, known: Iterable[str], likeness: float = ALIKE) -> str:
    """The known word that another library's word stands for, or a misspelt one may mean; "" if none is near."""
    known = list(known)
    theirs = [ours for ours, words in ELSEWHERE.items() if word in words and ours in known]
    return next(iter(theirs or get_close_matches(word, known, 1, likeness)), "")
