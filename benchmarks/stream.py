"""Thousands of small updates in a row, with answers that go on after each: right, and as quick and small at the end.

    .venv/bin/python benchmarks/stream.py [--batches 10000]

Half of each batch is removed from an R-MAT graph, half is added, so that it keeps its size. After each batch,
components, distances and, every tenth time, ranks go on from their last answers. At 50 random moments and at the end
they are compared with those of a graph that is built anew from a list of the edges. Time and memory of the last tenth
of the batches are relative to those of the second tenth; merging is in both.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from harness import Claim, parser_of, rmat_edges, same, simple

import dgraph as dg
from dgraph.bench.resources import resident, restart_peak

BATCH = 100  # edges
MOMENTS = 50
RANKS = 10  # every so many batches
TOL = 1e-6
MOST = 1.2  # the most time and memory of the last batches, relative to early ones


class ListedEdges:
    """The edges of the graph as keys, in any order."""

    def __init__(self, scale: int):
        listed = simple(*rmat_edges(scale), 1 << scale)
        self.size = 1 << scale
        self.keys = np.unique(listed.source * self.size + listed.destination)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Edges that go, and edges that come."""
        gone = rng.choice(len(self.keys), BATCH // 2, replace=False)
        less = self.keys[gone]
        more = np.unique(rng.integers(0, self.size**2, BATCH // 2))
        kept = np.delete(self.keys, gone)
        more = more[~np.isin(more, self.keys)]
        self.keys = np.concatenate([kept, more])
        return less, more

    def frame(self, keys: np.ndarray) -> dict[str, np.ndarray]:
        return {"src": keys // self.size, "dst": keys % self.size}

    def built(self) -> dg.Graph:
        return dg.Graph.from_edges(self.frame(self.keys), vertices=self.size, directed=False)


def check(answers: dict[str, Any], fresh: dg.Graph, after: int) -> None:
    same(answers["wcc"].by_number("component"), dg.wcc(fresh).by_number("component"), f"components after {after}")
    distance = dg.bfs(fresh, 0).by_number("distance")
    same(answers["bfs"].by_number("distance"), distance, f"distances after {after}")
    exact = dg.pagerank(fresh, tol=TOL / 1e3, max_iter=1000).by_number("pagerank")
    off = np.abs(answers["pagerank"].by_number("pagerank") - exact).sum()
    if off > TOL:
        raise SystemExit(f"ranks after {after} batches are {off:.1e} from the fixed point")


def main() -> None:
    options = parser_of(__doc__)
    options.add_argument("--scale", type=int, default=16)
    options.add_argument("--batches", type=int, default=10_000)
    given = options.parse_args()
    rng, edges = np.random.default_rng(1), ListedEdges(given.scale)
    graph = edges.built()
    answers: dict[str, Any] = {"wcc": dg.wcc(graph), "bfs": dg.bfs(graph, 0), "pagerank": dg.pagerank(graph, tol=TOL)}
    moments = {*rng.choice(given.batches, MOMENTS, replace=False).tolist(), given.batches - 1}
    seconds, memory, asked, anew = np.zeros(given.batches), np.zeros(given.batches), 0, 0
    for turn in range(given.batches):
        less, more = edges.draw(rng)
        begun = time.perf_counter()
        graph = graph.updated(added=edges.frame(more), removed=edges.frame(less))
        found = {"wcc": dg.wcc(graph, previous=answers["wcc"]), "bfs": dg.bfs(graph, 0, previous=answers["bfs"])}
        if turn % RANKS == 0 or turn in moments:
            found["pagerank"] = dg.pagerank(graph, tol=TOL, previous=answers["pagerank"])
        seconds[turn] = time.perf_counter() - begun
        answers |= found
        asked += len(found)
        anew += sum(one.report.options["previous"].startswith("computed anew") for one in found.values())
        memory[turn] = resident("VmRSS")
        if turn in moments:
            check(answers, edges.built(), turn + 1)
            restart_peak()
            print(f"{turn + 1:,} batches, right; {anew} answers computed anew", flush=True)
    tenth = max(1, given.batches // 10)
    early, late = slice(tenth, 2 * tenth), slice(-tenth, None)
    what = f"after {given.batches:,} batches of {BATCH} edges, R-MAT scale {given.scale}"
    claim = Claim("stream", f"a batch and its answers, {what}", "early batches", MOST)
    claim.record([float(seconds[late].mean())], [float(seconds[early].mean())])
    kept = Claim("stream", f"memory, {what}", "early batches", MOST, unit="bytes")
    kept.record([float(memory[late].max())], [float(memory[early].max())])
    Claim("stream", f"answers computed anew, {what}", "all", None, unit="").record([anew], [asked])


if __name__ == "__main__":
    main()
