"""NetworkX's functions on the backend against NetworkX itself, with conversion and with the cached graph.

    .venv/bin/python benchmarks/networkx_backend.py

NetworkX runs once per function, as it takes minutes. Each answer is compared with that of NetworkX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import networkx as nx
import numpy as np
from harness import Claim, parser_of, rmat_edges, simple

from dgraph.bench.resources import timed

CONVERTED, CACHED = 1 / 8, 1 / 100  # the geometric mean of the shares of NetworkX's time, with and without conversion
Call = Callable[[nx.Graph, str], Any]
Agree = Callable[[nx.Graph, Any, Any], bool]


def close(_: nx.Graph, ours: Any, theirs: Any) -> bool:
    return list(ours) == list(theirs) and np.allclose([*ours.values()], [*theirs.values()], rtol=1e-6, atol=1e-9)


def equal(_: nx.Graph, ours: Any, theirs: Any) -> bool:
    return ours == theirs


def as_good(graph: nx.Graph, ours: Any, theirs: Any) -> bool:
    """Whether communities have nearly the modularity of NetworkX's."""
    return nx.community.modularity(graph, ours) > nx.community.modularity(graph, theirs) - 0.02


CALLS: Mapping[str, tuple[Call, Agree]] = {
    "PageRank": (lambda g, one: nx.pagerank(g, tol=1e-10, max_iter=1000, backend=one), close),
    "betweenness, 16 sources": (lambda g, one: nx.betweenness_centrality(g, k=16, seed=1, backend=one), close),
    "Louvain": (lambda g, one: nx.community.louvain_communities(g, backend=one), as_good),
    "triangles": (lambda g, one: nx.triangles(g, backend=one), equal),
    "core numbers": (lambda g, one: nx.core_number(g, backend=one), equal),
    "components": (lambda g, one: list(nx.connected_components(g, backend=one)), equal),
}


def hold(scale: int, trials: int) -> None:
    edges = simple(*rmat_edges(scale), 1 << scale)
    graph = nx.Graph(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    where = f"R-MAT scale {scale}, {graph.number_of_edges() / 1e6:.1f} M edges"
    shares: dict[str, list[float]] = {"with conversion": [], "cached": []}
    for name, (call, agree) in CALLS.items():
        call(nx.path_graph(20), "dgraph")  # compiles
        seconds, theirs = timed(lambda call=call: call(graph, "networkx"))
        for kind, cached in {"with conversion": False, "cached": True}.items():
            ours = [_trial(graph, call, name, agree, theirs, cached=cached) for _ in range(trials)]
            Claim("networkx_backend", f"{name}, {kind}, {where}", "NetworkX", None).record(ours, [seconds])
            shares[kind].append(min(ours) / seconds)
    for (kind, found), target in zip(shares.items(), (CONVERTED, CACHED), strict=True):
        mean = float(np.exp(np.mean(np.log(found))))
        Claim("networkx_backend", f"geometric mean, {kind}, {where}", "NetworkX", target).record([mean], [1.0])


def _trial(graph: nx.Graph, call: Call, name: str, agree: Agree, theirs: Any, *, cached: bool) -> float:
    """The seconds of a call, once its answer is checked."""
    if not cached:
        graph.__networkx_cache__.clear()
    seconds, ours = timed(lambda: call(graph, "dgraph"))
    if not agree(graph, ours, theirs):
        raise SystemExit(f"{name}: dgraph's answer is not that of NetworkX")
    return seconds


def main() -> None:
    nx.config.warnings_to_ignore.add("cache")
    options = parser_of(__doc__, trials=3)
    options.add_argument("--scales", type=int, nargs="+", default=[16])
    given = options.parse_args()
    for scale in given.scales:
        hold(scale, given.trials)


if __name__ == "__main__":
    main()
