"""Louvain and Leiden: quality against igraph and leidenalg, recovery of planted communities, and edges per second.

    .venv/bin/python benchmarks/communities.py --data FOLDER [--only LFR wiki-Vote --seeds 30]

Planted communities are LFR graphs. FOLDER holds files of real graphs; without it, those are left out.
`operations.py` compares speed.
"""

from __future__ import annotations

import argparse
import importlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from harness import Claim, parser_of, rmat_edges, simple
from scipy.sparse import coo_array

import dgraph as dg
from dgraph.bench.resources import timed
from dgraph.testing.verify import Edges, verify
from dgraph.testing.verify.communities import quality

LEAST_QUALITY = 0.995  # of the mean, relative to each peer's
PARTS = (2, 4, 8)  # partitions of which each does its share
MOST_LOST = 0.01  # by which the normalised mutual information may be below a peer's
FAST = 1e7  # edges a second that a search should read, building excluded
MIXING = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
REAL = {
    "jazz": "jazz/jazz.graph",
    "power": "power/power.graph.xz",
    "PGPgiantcompo": "PGPgiantcompo/PGPgiantcompo.graph.xz",
    "polblogs": "polblogs/polblogs.graph.xz",
    "email-Eu-core": "email-Eu-core/email-Eu-core.csv.xz",
    "facebook": "facebook_combined/facebook_combined.txt.xz",
    "wiki-Vote": "wiki-Vote/wiki-Vote.txt.xz",
    "musae_git": "musae_git/git_edges.csv.xz",
    "usroads-48": "usroads-48/road-usroads-48.mtx.xz",
    "wave": "wave/wave.graph.xz",
}
Graph = tuple[str, Edges, np.ndarray | None]  # a title, the edges, and the planted communities if there are any


def lfr(vertices: int, mixing: float) -> Graph:
    """NetworkX's LFR graph; some seeds find none."""
    sizes = {"average_degree": 15, "max_degree": 50, "min_community": 20, "max_community": 100}
    for seed in range(1, 100):
        try:
            peer = nx.LFR_benchmark_graph(vertices, 2.5, 1.5, mixing, seed=seed, **sizes)
        except nx.ExceededMaxIterations:
            continue
        planted = np.array([min(peer.nodes[v]["community"]) for v in range(vertices)])
        ends = np.array(peer.edges(), np.int64)
        return f"LFR, {vertices:,} vertices, mixing {mixing}", simple(ends[:, 0], ends[:, 1], vertices), planted
    raise SystemExit(f"NetworkX finds no LFR graph of {vertices} vertices with mixing {mixing}")


def graphs(data: Path | None, scale: int) -> Iterator[Graph]:
    for vertices in (1000, 10_000):
        for mixing in MIXING:
            yield lfr(vertices, mixing)
    yield f"R-MAT scale {scale}", simple(*rmat_edges(scale), 1 << scale), None
    for title, path in REAL.items() if data is not None else ():
        assert data is not None
        read = dg.read_edges(data / path)
        ends = Edges.of(read)
        yield title, simple(ends.source, ends.destination, ends.vertices), None


def igraph_of(edges: Edges) -> Any:
    igraph = importlib.import_module("igraph")
    return igraph.Graph(n=edges.vertices, edges=np.stack([edges.source, edges.destination], axis=1))


def igraph_leiden(edges: Edges) -> Callable[[int], np.ndarray]:
    peer = igraph_of(edges)

    def found(seed: int) -> np.ndarray:
        random.seed(seed)
        return np.array(peer.community_leiden("modularity", n_iterations=2).membership)

    return found


def reference_leiden(edges: Edges) -> Callable[[int], np.ndarray]:
    leidenalg, peer = importlib.import_module("leidenalg"), igraph_of(edges)
    kind = leidenalg.ModularityVertexPartition
    return lambda seed: np.array(leidenalg.find_partition(peer, kind, n_iterations=2, seed=seed).membership)


PEERS = {"igraph": igraph_leiden, "leidenalg": reference_leiden}


def agreement(labels: np.ndarray, planted: np.ndarray) -> float:
    """The normalised mutual information of two divisions."""
    one, other = (np.unique(each, return_inverse=True)[1] for each in (labels, planted))
    joint = coo_array((np.ones(len(one)), (one, other))).tocsr().tocoo()
    shares, n = joint.data / len(one), len(one)
    left, right = np.bincount(one) / n, np.bincount(other) / n
    mutual = (shares * np.log(shares / (left[joint.coords[0]] * right[joint.coords[1]]))).sum()
    entropies = [-(side * np.log(side)).sum() for side in (left, right)]
    return float(2 * mutual / sum(entropies)) if sum(entropies) else 1.0


def modularities(edges: Edges, found: list[np.ndarray]) -> list[float]:
    return [quality(edges, labels, 1.0, "modularity", weighted=False) for labels in found]


def hold(title: str, edges: Edges, planted: np.ndarray | None, given: argparse.Namespace) -> None:
    frame = pd.DataFrame({"src": edges.source, "dst": edges.destination})
    graph = dg.Graph.from_edges(frame, directed=False, vertices=edges.vertices)
    ours: dict[str, list[np.ndarray]] = {}
    for name in ("leiden", "louvain"):
        search: Any = getattr(dg, name)
        search(graph)
        trials = [timed(partial(search, graph, random_seed=seed)) for seed in range(given.seeds)]
        ours[name] = [result.by_number("community") for _, result in trials]
        for labels in ours[name]:
            verify(name, edges, {"community": labels})
        rates = [len(edges.source) / seconds for seconds, _ in trials]
        what = f"{name.capitalize()}, edges a second, {title}"
        Claim("communities", what, "10 million", None, unit="", floor=1.0).record([max(rates)], [FAST])
    for parts in PARTS if planted is None else ():
        spread = dg.Graph.from_edges(frame, directed=False, vertices=edges.vertices, parts=parts)
        found = [dg.leiden(spread, random_seed=seed).by_number("community") for seed in range(given.seeds)]
        means = [float(np.mean(modularities(edges, some))) for some in (found, ours["leiden"])]
        what = f"Leiden, modularity, {parts} partitions, {title}"
        Claim("communities", what, "one partition", None, unit="", floor=LEAST_QUALITY).record([means[0]], [means[1]])
    found = modularities(edges, ours["leiden"])
    for peer, make in PEERS.items():
        claim = Claim("communities", f"Leiden, modularity, {title}", peer, None, unit="", floor=LEAST_QUALITY)
        seeds = given.seeds if len(edges.source) < given.large else 1
        try:
            of_peer = make(edges)
        except ImportError as missing:
            claim.absent(str(missing))
            continue
        labels = [of_peer(seed) for seed in range(seeds)]
        theirs = modularities(edges, labels)
        claim.record([float(np.mean(found))], [float(np.mean(theirs))])
        if planted is not None:
            both = ours["leiden"], labels
            mine, other = (float(np.mean([agreement(one, planted) for one in each])) for each in both)
            what, floor = f"Leiden, recovered communities, {title}", max(0.0, 1 - MOST_LOST / other)
            Claim("communities", what, peer, None, unit="", floor=floor).record([mine], [other])


def main() -> None:
    options = parser_of(__doc__)
    options.add_argument("--data", type=Path, help="the folder of real graphs")
    options.add_argument("--scale", type=int, default=18, help="of the R-MAT graph")
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--large", type=int, default=1_000_000, help="edges from which peers run with one seed")
    options.add_argument("--only", nargs="+", default=[""], help="graphs in whose title one of these words is")
    given = options.parse_args()
    for title, edges, planted in graphs(given.data, given.scale):
        if any(word in title for word in given.only):
            hold(title, edges, planted, given)


if __name__ == "__main__":
    main()
