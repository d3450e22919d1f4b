"""Betweenness from 256 sources, against igraph from the same and NetworKit from as many; NetworkX from 16; and from 1,
4 and 16 sources, against GAP's C++. With `--workers`, 64 sources on two workers of one thread against two threads here.

    .venv/bin/python benchmarks/betweenness.py [--scale 16] [--data FOLDER] [--gapbs FOLDER] [--workers]

R-MAT graphs without repeated edges and, with a folder of them, real ones. Values are compared with igraph's and
NetworkX's. NetworKit and GAP choose their own sources, so only their work is the same; GAP verifies its own values.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
from harness import Claim, parser_of, rmat_edges, simple, take_turns
from peers.gap import write
from peers.workloads import GRAPHS

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.errors import AnswerError
from dgraph.testing.verify import Edges

SOURCES, FEW = 256, 16
NATIVE, NATIVE_SCALE, NATIVE_SOURCES = 1.1, 18, (1, 4, 16)  # GAP: the mean over all rows, its graphs, and sources
FASTER, BY_100 = 0.9, 0.01  # the most that ours may take, relative to theirs
THREADS = 2
ON_WORKERS, WORKERS_SCALE, WORKERS_SOURCES = 3.0, 18, 64  # the most that two workers may take, and of what
REAL = ("wiki-Vote", "facebook_combined", "musae_git", "PGPgiantcompo", "wave", "p2p-31", "twitter")
Find = Callable[[], np.ndarray]


def igraph_of(edges: Edges) -> Any:
    ends = np.stack([edges.source, edges.destination], axis=1)
    return importlib.import_module("igraph").Graph(n=edges.vertices, edges=ends, directed=edges.directed)


def networkit_of(edges: Edges) -> Any:
    nk = importlib.import_module("networkit")
    nk.setNumberOfThreads(THREADS)
    ends = (edges.source, edges.destination)
    return nk.GraphFromCoo(ends, n=edges.vertices, weighted=False, directed=edges.directed)


def igraph(edges: Edges, sources: np.ndarray) -> Find:
    graph = igraph_of(edges)
    return lambda: np.array(graph.betweenness(directed=edges.directed, sources=sources.tolist()))


def networkit(edges: Edges, sources: np.ndarray) -> Find:
    graph, nk = networkit_of(edges), importlib.import_module("networkit")
    return lambda: np.array(nk.centrality.EstimateBetweenness(graph, len(sources), False, True).run().scores())


class Given(random.Random):
    """Draws the sources that are given."""

    def __init__(self, sources: np.ndarray):
        super().__init__()
        self.sources = sources.tolist()

    def sample(self, *_: Any, **__: Any) -> list[int]:
        return self.sources


def networkx(edges: Edges, sources: np.ndarray) -> Find:
    graph: Any = (nx.DiGraph if edges.directed else nx.Graph)()
    graph.add_nodes_from(range(edges.vertices))
    graph.add_edges_from(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))

    def find() -> np.ndarray:
        values = nx.betweenness_centrality(graph, k=len(sources), normalized=True, seed=Given(sources))  # type: ignore[arg-type]
        return np.array([values[v] for v in range(edges.vertices)])

    return find


PEERS: dict[str, tuple[Callable[[Edges, np.ndarray], Find], int, float]] = {
    "igraph": (igraph, SOURCES, FASTER),
    "NetworKit": (networkit, SOURCES, FASTER),
    "NetworkX": (networkx, FEW, BY_100),
}


def main() -> None:
    options = parser_of(__doc__, scale=16, trials=3)
    options.add_argument("--data", type=Path, help="a folder of real graphs")
    options.add_argument("--gapbs", type=Path, help="a folder in which GAP has been built")
    options.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    options.add_argument("--workers", action="store_true", help="compare two workers with two threads, nothing else")
    given = options.parse_args()
    if given.workers and (given.data or given.gapbs):
        options.error("--workers compares nothing else: leave out --data and --gapbs")
    if given.workers:
        on_workers(given.trials)
        return
    for title, edges in graphs(given.scale, given.data, REAL):
        for peer in given.peers:
            make, count, most = PEERS[peer]
            compare(title, edges, peer, make, min(count, edges.vertices), most, given.trials)
    if given.gapbs is not None:
        against_gap(given.gapbs, given.trials)


def against_gap(folder: Path, trials: int) -> None:
    """GAP times a process of its own, after one that does not count; only the search itself."""
    ratios = []
    for name, make in GRAPHS.items():
        workload = make(NATIVE_SCALE)
        graph = ours_of(workload.edges)
        with TemporaryDirectory() as place:
            write(Path(place) / "graph.sg", workload.edges, False)
            for count in NATIVE_SOURCES:
                what = f"betweenness, {workload.title}, {count} sources"
                command = [
                    folder.resolve() / "bc",
                    "-f",
                    Path(place) / "graph.sg",
                    "-i",
                    str(count),
                    "-n",
                    str(trials),
                    "-v",
                ]
                how = {"env": {**os.environ, "OMP_NUM_THREADS": str(THREADS)}, "capture_output": True, "text": True}
                said = subprocess.run(command, check=True, **how).stdout
                if re.findall(r"Verification:\s+(\w+)", said) != ["PASS"] * trials:
                    raise AnswerError(f"{what}: GAP's own verifier refuses its values")
                theirs = [float(one) for one in re.findall(r"Trial Time:\s+([\d.]+)", said)]
                found = partial(dg.betweenness, graph, sources=count, endpoints=count == 1)
                found()
                seconds = take_turns({"ours": (found, lambda one: None)}, trials)
                kept = Claim("betweenness", what, "GAP", None).record(seconds["ours"], theirs)
                ratios.append(kept["ratio"])
        print(f"{name}: done")
    mean = float(np.exp(np.mean(np.log(ratios))))
    what = f"betweenness, {NATIVE_SOURCES} sources, scale {NATIVE_SCALE}: geometric mean of the ratios"
    Claim("betweenness", what, "GAP", NATIVE, unit="").record([mean], [1.0])


def on_workers(trials: int) -> None:
    what = f"betweenness, R-MAT scale {WORKERS_SCALE}, {WORKERS_SOURCES} sources"
    edges = simple(*rmat_edges(WORKERS_SCALE), 1 << WORKERS_SCALE)
    here = ours_of(edges)
    with local_cluster(2, 1) as client:
        frame = {"src": edges.source, "dst": edges.destination}
        there = dg.Graph.from_edges(frame, directed=False, vertices=edges.vertices, client=client)
        find = partial(dg.betweenness, sources=WORKERS_SOURCES)
        expected = find(here).by_number("betweenness")

        def check(found: np.ndarray) -> None:
            if not np.allclose(found, expected, rtol=1e-9, atol=1e-15):
                raise AnswerError(f"{what}: two workers find other values")

        find(there).by_number("betweenness")
        calls = {
            name: (lambda graph=graph: find(graph).by_number("betweenness"), check)
            for name, graph in {"workers": there, "threads": here}.items()
        }
        seconds = take_turns(calls, trials)
    claim = Claim("betweenness", f"{what}, two workers", "two threads", ON_WORKERS)
    claim.record(seconds["workers"], seconds["threads"])


def graphs(scale: int, data: Path | None, names: Sequence[str]) -> Iterator[tuple[str, Edges]]:
    yield f"R-MAT scale {scale}", simple(*rmat_edges(scale), 1 << scale)
    if data is not None:
        yield from real(data, names)


def real(data: Path, names: Sequence[str]) -> Iterator[tuple[str, Edges]]:
    """Real graphs of a folder, without loops and repeated edges."""
    os.environ["DGRAPH_DATA"] = str(data.resolve())  # read when the module is imported
    for name in names:
        edges = Edges.of(importlib.import_module("real_graphs").real_graph(name).graph())
        pairs = np.unique(np.stack([edges.source, edges.destination]), axis=1)
        pairs = pairs[:, pairs[0] != pairs[1]]
        if edges.directed:
            yield name, Edges(*pairs, edges.vertices, directed=True)
        else:
            yield name, simple(*pairs, edges.vertices)


def ours_of(edges: Edges) -> dg.Graph:
    frame = {"src": edges.source, "dst": edges.destination}
    graph = dg.Graph.from_edges(frame, directed=edges.directed, vertices=edges.vertices)
    graph.partitioned(("out", "incoming") if edges.directed else ("out",))
    return graph


def compare(title: str, edges: Edges, peer: str, make: Any, count: int, most: float, trials: int) -> None:
    what = f"betweenness, {title}, {count} sources"
    sources = np.sort(np.random.default_rng(1).choice(edges.vertices, count, replace=False))
    try:
        theirs = make(edges, sources)
    except ImportError as error:
        Claim("betweenness", what, peer, most).absent(str(error))
        return
    graph = ours_of(edges)

    def ours() -> np.ndarray:
        return dg.betweenness(graph, sources=sources.tolist(), normalized=True).by_number("betweenness")

    known: dict[str, np.ndarray] = {}

    def check(found: np.ndarray, name: str) -> None:
        expected = known.setdefault(name, found)
        if not np.allclose(found, expected, rtol=1e-6, atol=1e-12):
            raise AnswerError(f"{what}: {name} has found other values before")

    seconds = take_turns(
        {"ours": (ours, lambda one: check(one, "dgraph")), "theirs": (theirs, lambda one: None)}, trials
    )
    if peer != "NetworKit":
        compared(known["dgraph"], theirs(), edges, sources, what, peer)
    Claim("betweenness", what, peer, most).record(seconds["ours"], seconds["theirs"])


def compared(ours: np.ndarray, theirs: np.ndarray, edges: Edges, sources: np.ndarray, what: str, peer: str) -> None:
    """Refuse values that differ. igraph's are plain sums over sources, halved in an undirected graph."""
    if peer == "igraph":
        others = edges.vertices - 1
        pairs = np.full(edges.vertices, len(sources) * (others - 1), np.float64)
        pairs[sources] -= others - 1
        theirs = theirs * (1 if edges.directed else 2) / pairs
    if not np.allclose(ours, theirs, rtol=1e-6, atol=1e-12):
        raise AnswerError(f"{what}: {peer} finds other values, for example at vertex {np.abs(ours - theirs).argmax()}")


if __name__ == "__main__":
    main()
