"""Closeness and harmonic centrality against igraph and NetworKit: of all vertices of an R-MAT graph without repeated
edges, and, with a folder of real graphs, of 1,000 vertices of a road network.

    .venv/bin/python benchmarks/closeness.py [--scale 14] [--data FOLDER]

Values are compared with theirs. NetworKit has no harmonic centrality of some vertices, and estimates closeness by
searches from as many; there only the work is the same.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from betweenness import Find, graphs, igraph_of, networkit_of, ours_of
from harness import Claim, parser_of, take_turns

import dgraph as dg
from dgraph.errors import AnswerError
from dgraph.testing.verify import Edges

FASTER = 0.5  # the most that ours may take, relative to theirs
ROADS, SOME = "usroads-48", 1000
OPERATIONS = ("closeness", "harmonic")


def igraph(name: str, edges: Edges, sources: np.ndarray) -> Find:
    graph, listed = igraph_of(edges), sources.tolist()
    if name == "closeness":
        return lambda: np.array(graph.closeness(listed, mode="in", normalized=True))
    return lambda: np.array(graph.harmonic_centrality(listed, mode="in", normalized=False))


def networkit(name: str, edges: Edges, sources: np.ndarray) -> Find | None:
    graph, nk = networkit_of(edges), importlib.import_module("networkit")
    if len(sources) < edges.vertices:
        estimate = lambda: np.array(nk.centrality.ApproxCloseness(graph, len(sources)).run().scores())  # noqa: E731
        return estimate if name == "closeness" else None
    if name == "closeness":
        kind = nk.centrality.ClosenessVariant.GENERALIZED
        return lambda: np.array(nk.centrality.Closeness(graph, True, kind).run().scores())
    return lambda: np.array(nk.centrality.HarmonicCloseness(graph, False).run().scores())


PEERS: dict[str, Any] = {"igraph": igraph, "NetworKit": networkit}


def main() -> None:
    options = parser_of(__doc__, scale=14, trials=3)
    options.add_argument("--data", type=Path, help="a folder of real graphs")
    options.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    given = options.parse_args()
    for title, edges in graphs(given.scale, given.data, (ROADS,)):
        count = SOME if title == ROADS else edges.vertices
        sources = np.sort(np.random.default_rng(1).choice(edges.vertices, count, replace=False))
        for name in OPERATIONS:
            for peer in given.peers:
                compare(title, edges, name, peer, sources, given.trials)


def compare(title: str, edges: Edges, name: str, peer: str, sources: np.ndarray, trials: int) -> None:
    of_all = len(sources) == edges.vertices
    what = f"{name}, {title}, {'all' if of_all else len(sources)} vertices"
    try:
        theirs = PEERS[peer](name, edges, sources)
    except ImportError as error:
        Claim("closeness", what, peer, FASTER).absent(str(error))
        return
    if theirs is None:
        return
    graph = ours_of(edges)

    def ours() -> np.ndarray:
        listed = None if of_all else sources.tolist()
        return getattr(dg, name)(graph, sources=listed, **how).compute()[name].to_numpy()

    how: dict[str, Any] = {"wf_improved": peer != "igraph"} if name == "closeness" else {}
    known: dict[str, np.ndarray] = {}

    def check(found: np.ndarray, by: str) -> None:
        same_vertices = peer == "igraph" or of_all
        expected = known.setdefault("any" if same_vertices else by, np.nan_to_num(found))
        if not np.allclose(np.nan_to_num(found), expected, rtol=1e-6, atol=1e-12):
            raise AnswerError(f"{what}: {by} finds other values, for example {found[:3]}, not {expected[:3]}")

    turns = {"ours": (ours, lambda one: check(one, "dgraph")), "theirs": (theirs, lambda one: check(one, peer))}
    if not of_all and peer == "NetworKit":
        turns["theirs"] = (theirs, lambda one: None)  # from other vertices each time
    seconds = take_turns(turns, trials)
    Claim("closeness", what, peer, FASTER).record(seconds["ours"], seconds["theirs"])


if __name__ == "__main__":
    main()
