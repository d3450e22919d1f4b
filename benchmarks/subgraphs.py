"""Graphs cut out of an R-MAT graph: half of its vertices, against building the graph from arrays, igraph and NetworkX.

    .venv/bin/python benchmarks/subgraphs.py

The subgraph is cut out of partitions, and out of edges that are numbered but not partitioned. Its degrees are compared
with those that NumPy counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
from harness import Claim, parser_of, rmat_edges, take_turns

import dgraph as dg

WHOLE = 1.0  # the most that half of the graph may take, relative to building all of it
Degrees = np.ndarray  # the out-degree of each chosen vertex


def with_igraph(source: np.ndarray, destination: np.ndarray, chosen: np.ndarray) -> Callable[[], Any]:
    igraph = importlib.import_module("igraph")
    graph = igraph.Graph(n=len(chosen), edges=np.stack([source, destination], axis=1), directed=True)
    vertices = np.flatnonzero(chosen).tolist()
    return lambda: graph.induced_subgraph(vertices)


def with_networkx(source: np.ndarray, destination: np.ndarray, chosen: np.ndarray) -> Callable[[], Any]:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(chosen)))
    graph.add_edges_from(zip(source.tolist(), destination.tolist(), strict=True))
    vertices = np.flatnonzero(chosen).tolist()
    return lambda: graph.subgraph(vertices).copy()


def degrees_of(graph: Any) -> Degrees:
    if isinstance(graph, dg.Graph):
        return np.diff(graph.partitions[0].out.indptr)
    if isinstance(graph, nx.Graph):
        return np.array([degree for _, degree in sorted(graph.out_degree())])
    return np.array(graph.outdegree())


def hold(scale: int, trials: int, slow: int) -> None:
    """Trials in turn. NetworkX runs on graphs up to the scale `slow`."""
    (source, destination), size = rmat_edges(scale), 1 << scale
    chosen = np.random.default_rng(1).random(size) < 0.5
    inside = chosen[source] & chosen[destination]
    expected = np.bincount(source[inside], minlength=size)[chosen]
    where = f"half of R-MAT scale {scale}, {len(source) / 1e6:.1f} M edges"

    def unbuilt() -> dg.Graph:
        return dg.Graph.from_edges({"src": source, "dst": destination}, vertices=size)

    def build() -> dg.Graph:
        graph = unbuilt()
        graph.partitioned()
        return graph

    def cut(graph: dg.Graph) -> dg.Graph:
        half = dg.subgraph(graph, chosen)
        half.partitioned()
        return half

    def check(found: Any) -> None:
        if not np.array_equal(degrees_of(found), expected):
            raise SystemExit("the subgraph has other edges")

    def accept(found: Any) -> None:
        if found.num_edges != len(source):
            raise SystemExit("the graph has other edges")

    runs: dict[str, Any] = {
        "partition": (partial(cut, build()), check),
        "edges": (partial(cut, unbuilt()), check),
        "building": (build, accept),
    }
    claims = {
        "building": Claim("subgraphs", where, "building the graph from arrays", WHOLE),
        "igraph": Claim("subgraphs", where, "igraph", None),
        "NetworkX": Claim("subgraphs", where, "NetworkX", None),
    }
    for peer, make in (("igraph", with_igraph), ("NetworkX", with_networkx)):
        try:
            if peer == "NetworkX" and scale > slow:
                raise ImportError("takes longer than it is given")
            runs[peer] = (make(source, destination, chosen), check)
        except ImportError as missing:
            claims.pop(peer).absent(str(missing))
    seconds = take_turns(runs, trials)
    for peer, claim in claims.items():
        claim.record(seconds["partition"], seconds[peer])
    whole = Claim("subgraphs", f"{where}, without a partition", "building the graph from arrays", WHOLE)
    whole.record(seconds["edges"], seconds["building"])


def main() -> None:
    options = parser_of(__doc__, trials=5)
    options.add_argument("--scales", type=int, nargs="+", default=[16, 20])
    options.add_argument("--slow", type=int, default=16, help="the largest scale for NetworkX")
    given = options.parse_args()
    for scale in given.scales:
        hold(scale, given.trials, given.slow)


if __name__ == "__main__":
    main()
