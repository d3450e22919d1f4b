"""Random walks by node2vec, against alias tables on NetworkX as in the authors' program; seconds and memory of many
steps on a larger graph; and the milliseconds of a sample of neighbours, warm.

    .venv/bin/python benchmarks/walks.py [--scale 18] [--small 12] [--sample 20]

Every step of our walks is an edge of the graph, and the share of steps back is compared with NetworkX's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from betweenness import ours_of
from harness import Claim, in_new_process, parser_of, rmat_edges, simple, take_turns

import dgraph as dg
from dgraph.bench.resources import resident, restart_peak
from dgraph.errors import AnswerError
from dgraph.testing.verify import Edges
from dgraph.walks.neighbor_sample import NeighborSample

BY_50 = 1 / 50  # the most that ours may take, relative to NetworkX
LENGTH, STEPS = 80, 10_000_000
SECONDS = {(1.0, 1.0): 3.0, (0.5, 2.0): 6.0}  # for so many steps, by p and q
BYTES_OF_WALK, BYTES_OF_EDGE = 4 + 24, 16  # for a step, as it is held and as a row of the frame; for an edge
SEEDS, FANOUTS, MILLISECONDS = 1024, [15, 10], 10.0


def main() -> None:
    options = parser_of(__doc__, scale=18, trials=5)
    options.add_argument("--small", type=int, default=12, help="scale of the graph for NetworkX")
    options.add_argument("--sample", type=int, default=20, help="scale of the graph for samples")
    options.add_argument("--steps", type=int, default=STEPS)
    given = options.parse_args()
    against_networkx(given.small)
    many_steps(given.scale, given.steps, given.trials)
    samples(given.sample, given.trials)


# -- NetworkX ----------------------------------------------------------------------------------------------------------


def alias_setup(weights: list[float]) -> tuple[list[int], list[float]]:
    """Vose's tables: for each place, another one, and the chance to stay."""
    count, total = len(weights), sum(weights)
    stay, other = [count * one / total for one in weights], [0] * count
    smaller = [place for place, one in enumerate(stay) if one < 1]
    larger = [place for place, one in enumerate(stay) if one >= 1]
    while smaller and larger:
        small, large = smaller.pop(), larger.pop()
        other[small] = large
        stay[large] += stay[small] - 1
        (smaller if stay[large] < 1 else larger).append(large)
    return other, stay


class AliasWalker:
    """node2vec with a table for each vertex and each arc."""

    def __init__(self, graph: nx.Graph, p: float, q: float):
        self.near = {v: sorted(graph.neighbors(v)) for v in graph}
        self.of_vertex = {v: alias_setup([1.0] * len(near)) for v, near in self.near.items() if near}
        self.of_arc = {}
        for t in graph:
            for v in self.near[t]:
                biased = [1 / p if x == t else 1.0 if graph.has_edge(x, t) else 1 / q for x in self.near[v]]
                self.of_arc[t, v] = alias_setup(biased)

    def walk(self, start: Any, length: int, random: np.random.RandomState) -> list[Any]:
        walk = [start]
        for _ in range(length):
            v = walk[-1]
            if not self.near[v]:
                break
            other, stay = self.of_vertex[v] if len(walk) == 1 else self.of_arc[walk[-2], v]
            place = int(random.rand() * len(stay))
            walk.append(self.near[v][place if random.rand() < stay[place] else other[place]])
        return walk


def against_networkx(scale: int) -> None:
    """A walk from each vertex."""
    edges = simple(*rmat_edges(scale), 1 << scale)
    graph, theirs = ours_of(edges), nx.Graph(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    starts, shares = np.union1d(edges.source, edges.destination), {}
    p, q = 0.5, 2.0

    def of_networkx() -> np.ndarray:
        walker, random = AliasWalker(theirs, p, q), np.random.RandomState(1)
        return np.array([walker.walk(start, LENGTH, random) for start in starts.tolist()])

    def of_dgraph() -> np.ndarray:
        return vertices_of(dg.random_walks(graph, starts, LENGTH, p=p, q=q).compute(), LENGTH)

    def check(name: str) -> Callable[[np.ndarray], None]:
        def steps_are_edges(found: np.ndarray) -> None:
            check_steps(found, edges)
            shares[name] = float((found[:, 2:] == found[:, :-2]).mean())

        return steps_are_edges

    of_dgraph()  # compiled, as in the trials
    runs = {"ours": (of_dgraph, check("ours")), "theirs": (of_networkx, check("theirs"))}
    seconds = take_turns(runs, 1, warmups=0)
    if abs(shares["ours"] / shares["theirs"] - 1) > 0.05:
        raise AnswerError(f"{shares['ours']:.4f} of our steps lead back, and {shares['theirs']:.4f} of NetworkX's")
    what = f"node2vec, R-MAT scale {scale}, a walk of {LENGTH} steps from each vertex, p={p}, q={q}"
    Claim("walks", what, "NetworkX", BY_50).record(seconds["ours"], seconds["theirs"])


def vertices_of(frame: pd.DataFrame, length: int) -> np.ndarray:
    """The vertices of walks that all have this length."""
    return frame["vertex"].to_numpy().reshape(-1, length + 1)


def check_steps(found: np.ndarray, edges: Edges) -> None:
    steps = np.sort(np.stack([found[:, :-1].ravel(), found[:, 1:].ravel()]), axis=0)
    known = edges.source.astype(np.int64) * edges.vertices + edges.destination
    if not np.isin(steps[0] * edges.vertices + steps[1], known).all():
        raise AnswerError("a walk follows an edge that the graph does not have")


# -- many steps --------------------------------------------------------------------------------------------------------


def many_steps(scale: int, steps: int, trials: int) -> None:
    for (p, q), limit in SECONDS.items():
        found = in_new_process(measure, scale, steps, trials, p, q)
        what = f"random_walks, R-MAT scale {scale}, {steps:,} steps, p={p:g}, q={q:g}"
        Claim("walks", what, f"{limit:g} s", 1.0).record(found["seconds"], [limit * steps / STEPS] * trials)
        allowed = BYTES_OF_WALK * steps + BYTES_OF_EDGE * found["edges"]
        claim = Claim("walks", f"{what}, memory", "the rows and 16 bytes an edge", 1.0, unit="MB")
        claim.record([found["bytes"] / 1e6], [allowed / 1e6])


def measure(scale: int, steps: int, trials: int, p: float, q: float) -> dict[str, Any]:
    """Seconds of each trial, and the peak of this process beyond the graph, if the frame is read by partitions."""
    edges = simple(*rmat_edges(scale), 1 << scale)
    graph, ends = ours_of(edges), np.concatenate([edges.source, edges.destination])
    graph.partitioned(("out",))
    starts = np.random.default_rng(1).choice(ends, steps // LENGTH)
    dg.random_walks(ours_of(simple(*rmat_edges(6), 64)), None, 2, p=p, q=q).compute()  # compiled
    before, seconds = restart_peak(), []
    frame = dg.random_walks(graph, starts, LENGTH, p=p, q=q)
    rows = sum(len(one.compute()) for one in frame.partitions)
    bytes_used = resident("VmHWM") - before
    if rows != len(starts) * (LENGTH + 1):
        raise AnswerError(f"{rows:,} rows for {len(starts):,} walks of {LENGTH} steps")
    for _ in range(trials):
        begun = time.perf_counter()
        found = dg.random_walks(graph, starts, LENGTH, p=p, q=q).compute()
        seconds.append(time.perf_counter() - begun)
        check_steps(vertices_of(found, LENGTH)[:1000], edges)
        del found
    return {"seconds": seconds, "bytes": bytes_used, "edges": len(edges.source)}


# -- samples -----------------------------------------------------------------------------------------------------------


def samples(scale: int, trials: int) -> None:
    """One batch after the other."""
    edges = simple(*rmat_edges(scale), 1 << scale)
    graph, random = ours_of(edges), np.random.default_rng(1)
    ids = np.union1d(edges.source, edges.destination)
    degrees = np.bincount(np.concatenate([edges.source, edges.destination]), minlength=edges.vertices)

    def batch() -> NeighborSample:
        return dg.sample_neighbors(graph, random.choice(ids, SEEDS, replace=False), FANOUTS, random_seed=trials)

    def check(found: NeighborSample) -> None:
        first = found.edges[found.hops == 1]
        taken = first.iloc[:, 1].value_counts()
        if not (taken == np.minimum(degrees[taken.index], FANOUTS[0])).all():
            raise AnswerError("a seed has another number of neighbours than its fan-out")

    milliseconds = [1000 * one for one in take_turns({"ours": (batch, check)}, trials)["ours"]]
    what = f"sample_neighbors, R-MAT scale {scale}, {SEEDS:,} seeds, fan-outs {FANOUTS}"
    Claim("walks", what, f"{MILLISECONDS:g} ms", 1.0, unit="ms").record(milliseconds, [MILLISECONDS] * trials)


if __name__ == "__main__":
    main()
