"""Minimum spanning forests against SciPy, igraph and NetworKit, and on two workers; bridges, articulation points and
biconnected components against igraph and NetworkX.

    .venv/bin/python benchmarks/trees.py [--scale 20] [--only forest] [--graphs rmat grid roads]

On an R-MAT graph without repeated edges, on a grid with as many edges, and, with a folder of real graphs, on roads.
dgraph's seconds end with the frame of the user's edges, those of others with an object of theirs. The weight of each
forest is compared with SciPy's, and what cuts the graph with igraph's.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from harness import Claim, parser_of, rmat_edges, simple, take_turns
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.testing.verify import Edges

FASTER, OF_NETWORKX, WORKERS = 0.9, 1 / 10, 3.5  # the most that ours may take, relative to theirs
ROADS, LARGE = "usroads-48", 1_000_000  # edges
Run = Callable[[], Any]


def graphs_of(scale: int, names: list[str]) -> Iterator[tuple[str, Edges, np.ndarray]]:
    """Each graph, with weights that are all different."""
    for name in names:
        for where, edges in GRAPHS[name](scale):
            yield where, edges, weights_of(edges)


def rmat(scale: int) -> Iterator[tuple[str, Edges]]:
    yield f"R-MAT scale {scale}", simple(*rmat_edges(scale), 1 << scale)


def grid(scale: int) -> Iterator[tuple[str, Edges]]:
    side = math.isqrt(8 << scale)
    corner = np.arange(side * side).reshape(side, side)
    sources = np.concatenate([corner[:, :-1].ravel(), corner[:-1].ravel()])
    destinations = np.concatenate([corner[:, 1:].ravel(), corner[1:].ravel()])
    yield f"grid of {side} x {side}", Edges(sources, destinations, side * side, directed=False)


def roads(scale: int) -> Iterator[tuple[str, Edges]]:
    real = importlib.import_module("real_graphs")
    if real.DATA.is_dir():
        listed = Edges.of(real.real_graph(ROADS).graph())
        yield ROADS, simple(listed.source, listed.destination, listed.vertices)


GRAPHS = {"rmat": rmat, "grid": grid, "roads": roads}


def weights_of(edges: Edges) -> np.ndarray:
    return np.random.default_rng(1).permutation(len(edges.source)) + 1.0


# -- spanning forests --------------------------------------------------------------------------------------------------


def scipy(edges: Edges, weights: np.ndarray) -> Run:
    matrix = coo_matrix((weights, (edges.source, edges.destination)), shape=(edges.vertices,) * 2).tocsr()
    return lambda: minimum_spanning_tree(matrix).sum()


def igraph_of(edges: Edges) -> Any:
    ends = np.stack([edges.source, edges.destination], axis=1)
    return importlib.import_module("igraph").Graph(n=edges.vertices, edges=ends)


def igraph(edges: Edges, weights: np.ndarray) -> Run:
    graph = igraph_of(edges)
    graph.es["weight"] = weights
    return lambda: weights[graph.spanning_tree(weights="weight", return_tree=False)].sum()


def networkit(method: str, edges: Edges, weights: np.ndarray) -> Run:
    nk = importlib.import_module("networkit")
    nk.setNumberOfThreads(2)
    ends = weights, (edges.source, edges.destination)
    graph = nk.GraphFromCoo(ends, n=edges.vertices, weighted=True, directed=False)

    def run() -> float:
        found = getattr(nk.graph, method)(graph)
        found.run()
        return float(found.getTotalWeight())

    return run


FORESTS: dict[str, Callable[[Edges, np.ndarray], Run]] = {
    "SciPy": scipy,
    "igraph": igraph,
    "NetworKit, Kruskal": partial(networkit, "KruskalMSF"),
    "NetworKit, Prim": partial(networkit, "PrimMSF"),
}


def hold_forests(where: str, edges: Edges, weights: np.ndarray, client: Any, trials: int) -> None:
    frame = pd.DataFrame({"src": edges.source, "dst": edges.destination, "weight": weights})
    expected = float(scipy(edges, weights)())

    def ours(graph: dg.Graph) -> float:
        return float(dg.spanning_forest(graph).compute()["weight"].sum())

    runs: dict[str, Run] = {}
    for place, one in (("dgraph", None), ("workers", client)):
        graph = dg.Graph.from_edges(frame, directed=False, vertices=edges.vertices, client=one)
        graph.partitioned(("out",), ("weight",))
        runs[place] = partial(ours, graph)
    what = f"spanning forest, {where}, {len(edges.source) / 1e6:.1f} M edges"
    is_small = len(edges.source) < LARGE  # which takes as long to begin and to end, so it only informs
    claims = {}
    for peer, make in FORESTS.items():
        claims[peer] = Claim("trees", what, peer, None if is_small else FASTER)
        try:
            runs[peer] = make(edges, weights)
        except ImportError as missing:
            claims.pop(peer).absent(str(missing))

    def check(name: str, weight: float) -> None:
        if not math.isclose(weight, expected, rel_tol=1e-9):
            raise SystemExit(f"{name}: the forest weighs {weight}, not {expected}")

    seconds = take_turns({name: (run, partial(check, name)) for name, run in runs.items()}, trials)
    for peer, claim in claims.items():
        claim.record(seconds["dgraph"], seconds[peer])
    Claim("trees", f"{what}, two workers of one thread", "two threads", None if is_small else WORKERS).record(
        seconds["workers"], seconds["dgraph"]
    )


# -- cuts --------------------------------------------------------------------------------------------------------------
# Each run returns how many bridges, articulation points or components there are.

CUTS = {
    "bridges": {
        "dgraph": lambda graph: len(dg.bridges(graph).compute()),
        "igraph": lambda graph: len(graph.bridges()),
        "NetworkX": lambda graph: sum(1 for _ in nx.bridges(graph)),
    },
    "articulation points": {
        "dgraph": lambda graph: len(dg.articulation_points(graph).compute()),
        "igraph": lambda graph: len(graph.articulation_points()),
        "NetworkX": lambda graph: sum(1 for _ in nx.articulation_points(graph)),
    },
    "biconnected components": {
        "dgraph": lambda graph: dg.biconnected_components(graph).compute()["component"].max() + 1,
        "igraph": lambda graph: len(graph.biconnected_components()),
        "NetworkX": lambda graph: sum(1 for _ in nx.biconnected_component_edges(graph)),
    },
}


def networkx_of(edges: Edges) -> nx.Graph:
    return nx.Graph(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))


def hold_cuts(where: str, edges: Edges, trials: int, slow: float) -> None:
    """Against igraph, and on graphs of up to so many million edges against NetworkX."""
    frame = pd.DataFrame({"src": edges.source, "dst": edges.destination})
    graph = dg.Graph.from_edges(frame, directed=False, vertices=edges.vertices)
    graph.partitioned(("out",))
    millions, graphs = len(edges.source) / 1e6, {"dgraph": graph}
    peers = {"igraph": (igraph_of, FASTER), "NetworkX": (networkx_of, OF_NETWORKX)}
    for name, of in CUTS.items():
        what, claims = f"{name}, {where}, {millions:.1f} M edges", {}
        for peer, (make, target) in peers.items():
            claims[peer] = Claim("trees", what, peer, target)
            try:
                if peer == "NetworkX" and millions > slow:
                    raise ImportError("takes longer than it is given")
                graphs[peer] = graphs[peer] if peer in graphs else make(edges)
            except ImportError as missing:
                claims.pop(peer).absent(str(missing))
        expected = of["igraph"](graphs["igraph"]) if "igraph" in graphs else of["dgraph"](graph)

        def check(peer: str, found: int, name: str = name, expected: int = expected) -> None:
            if found != expected:
                raise SystemExit(f"{peer} finds {found} {name}, not {expected}")

        runs = {peer: (partial(of[peer], one), partial(check, peer)) for peer, one in graphs.items()}
        seconds = take_turns(runs, trials)
        for peer, claim in claims.items():
            claim.record(seconds["dgraph"], seconds[peer])


def main() -> None:
    options = parser_of(__doc__, scale=20, trials=3)
    options.add_argument("--only", choices=("forest", "cuts"), help="one of them alone")
    options.add_argument("--slow", type=float, default=1.0, help="millions of edges, up to which NetworkX runs")
    options.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    given = options.parse_args()
    with local_cluster(2, 1) as client:
        for where, edges, weights in graphs_of(given.scale, given.graphs):
            if given.only != "cuts":
                hold_forests(where, edges, weights, client, given.trials)
            if given.only != "forest":
                hold_cuts(where, edges, given.trials, given.slow)


if __name__ == "__main__":
    main()
