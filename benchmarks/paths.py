"""One shortest path between random vertices of R-MAT graphs, against NetworkX, igraph and NetworKit, and against a
search from one end; and the triad census.

    .venv/bin/python benchmarks/paths.py

A trial finds the paths of all pairs of vertices. Their lengths are compared with those of the first trial. The census
of a large graph is compared with numbers that are known otherwise, and with igraph's if that ends within --limit
seconds; if not, its time counts as the limit.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from math import comb
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import networkx as nx
import numpy as np
from harness import Claim, parser_of, take_turns

import dgraph as dg
from dgraph.bench.resources import timed
from dgraph.errors import AnswerError
from dgraph.measures.triads import NAMES

FASTER, NETWORKX, CENSUS_OF_NETWORKX = 0.9, 0.5, 1 / 20  # the most that ours may take, relative to theirs
THREADS = 2
PAIRS = 20
Ends = list[tuple[int, int]]
Find = Callable[[], Any]  # the lengths of the paths: their vertices, or the sums of their weights


class Arcs:
    """The arcs of a graph without loops and repeats, with weights."""

    def __init__(self, scale: int):
        self.graph = dg.rmat(scale=scale, seed=1, weights=(1, 255), loops="drop", repeats="min")
        frame = self.graph.edges.compute()
        self.source, self.destination = (frame[name].to_numpy(np.int64) for name in ("source", "destination"))
        self.weight = frame["weight"].to_numpy(np.float64)
        self.vertices = 1 << scale
        self.title = f"R-MAT scale {scale}, {len(frame) / 1e6:.2g} M edges"

    def pairs(self, count: int) -> Ends:
        """Random vertices with a path from the first to the second."""
        draws = np.random.default_rng(1)
        ends = draws.choice(np.unique(self.source), 4 * count), draws.choice(np.unique(self.destination), 4 * count)
        drawn = [(int(a), int(b)) for a, b in zip(*ends, strict=True) if a != b]
        return [one for one in drawn if dg.shortest_path(self.graph, *one, weighted=False)][:count]

    def networkx(self) -> nx.DiGraph:
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(range(self.vertices))
        rows = zip(self.source.tolist(), self.destination.tolist(), self.weight.tolist(), strict=True)
        graph.add_weighted_edges_from(rows)
        return graph

    def igraph(self) -> Any:
        ends = np.stack([self.source, self.destination], axis=1)
        graph = importlib.import_module("igraph").Graph(n=self.vertices, edges=ends, directed=True)
        graph.es["weight"] = self.weight
        return graph


def ours(arcs: Arcs, pairs: Ends, weighted: bool) -> Find:
    length = _length_of(arcs) if weighted else len
    return lambda: [length(dg.shortest_path(arcs.graph, *ends, weighted=weighted)) for ends in pairs]


def whole(arcs: Arcs, pairs: Ends, weighted: bool) -> Find:
    """A search from the source that stops at the target."""
    search, length = (dg.sssp, _length_of(arcs)) if weighted else (dg.bfs, len)
    return lambda: [length(search(arcs.graph, a, target=b).path(b)) for a, b in pairs]


def networkx(arcs: Arcs, pairs: Ends, weighted: bool) -> Find:
    graph = arcs.networkx()

    if weighted:
        return lambda: [nx.bidirectional_dijkstra(graph, a, b)[0] for a, b in pairs]
    return lambda: [len(nx.bidirectional_shortest_path(graph, a, b)) for a, b in pairs]


def igraph(arcs: Arcs, pairs: Ends, weighted: bool) -> Find:
    graph, length = arcs.igraph(), _length_of(arcs) if weighted else len
    weights = "weight" if weighted else None
    return lambda: [length(graph.get_shortest_path(a, b, weights=weights)) for a, b in pairs]


def networkit(arcs: Arcs, pairs: Ends, weighted: bool) -> Find:
    nk = importlib.import_module("networkit")
    nk.setNumberOfThreads(THREADS)
    ends = arcs.source, arcs.destination
    data = (arcs.weight, ends) if weighted else ends
    graph = nk.GraphFromCoo(data, n=arcs.vertices, weighted=weighted, directed=True)
    search = nk.distance.BidirectionalDijkstra if weighted else nk.distance.BidirectionalBFS

    more = 0 if weighted else 1  # vertices of a path, and not edges
    return lambda: [search(graph, a, b).run().getDistance() + more for a, b in pairs]


def _length_of(arcs: Arcs) -> Callable[[list[int]], float]:
    keys = arcs.source * arcs.vertices + arcs.destination
    order = np.argsort(keys)
    keys, weights = keys[order], arcs.weight[order]

    def length(path: list[int]) -> float:
        steps = np.array(path, np.int64)
        return float(weights[np.searchsorted(keys, steps[:-1] * arcs.vertices + steps[1:])].sum())

    return length


PEERS = {
    "igraph": (igraph, FASTER),
    "NetworKit": (networkit, FASTER),
    "NetworkX": (networkx, NETWORKX),
    "a search from one end": (whole, None),
}


def compare_paths(arcs: Arcs, weighted: bool, trials: int, slow: bool) -> None:
    pairs = arcs.pairs(PAIRS)
    title = f"{len(pairs)} {'weighted ' if weighted else ''}shortest paths, {arcs.title}"
    claims, finds = {}, {"dgraph": ours(arcs, pairs, weighted)}
    for peer, (make, target) in PEERS.items():
        claims[peer] = Claim("paths", title, peer, target)
        try:
            if peer == "NetworkX" and slow:
                raise ImportError("its graph takes too much memory")
            finds[peer] = make(arcs, pairs, weighted)
        except ImportError as missing:
            claims.pop(peer).absent(str(missing))
    expected = finds["dgraph"]()

    def check(name: str, found: list[float]) -> None:
        if not np.allclose(found, expected, rtol=1e-9):
            raise AnswerError(f"{title}: {name} finds paths of other lengths than dgraph")

    seconds = take_turns({name: (find, partial(check, name)) for name, find in finds.items()}, trials)
    for peer, claim in claims.items():
        claim.record(seconds["dgraph"], seconds[peer])


def compare_census(scale: int, trials: int) -> None:
    """Against NetworkX and igraph, on a small graph, because both take minutes for larger ones."""
    arcs = Arcs(scale)
    expected = dg.triad_census(arcs.graph)

    def check(found: list[float]) -> None:
        if list(found) != list(expected.values()):
            raise AnswerError(f"triad census, {arcs.title}: dgraph and a peer find different numbers")

    turns = {"dgraph": (lambda: dg.triad_census(arcs.graph).values(), check)}
    networkx_graph = arcs.networkx()
    turns["NetworkX"] = (lambda: nx.triadic_census(networkx_graph).values(), check)
    try:
        graph = arcs.igraph()
        turns["igraph"] = (lambda: census_of_igraph(graph), check)
    except ImportError as missing:
        Claim("paths", f"triad census, {arcs.title}", "igraph", FASTER).absent(str(missing))
    seconds = take_turns(turns, trials)
    for peer in seconds.keys() - {"dgraph"}:
        target = FASTER if peer == "igraph" else CENSUS_OF_NETWORKX
        Claim("paths", f"triad census, {arcs.title}", peer, target).record(seconds["dgraph"], seconds[peer])


def census_of_igraph(graph: Any) -> list[float]:
    census = graph.triad_census()
    return [getattr(census, f"t{name}") for name in NAMES]


def compare_large_census(scale: int, trials: int, limit: float) -> None:
    """Against the time for triangles, and against igraph, which may have `limit` seconds."""
    arcs = Arcs(scale)
    title, triangles = f"triad census, {arcs.title}", partial(dg.triangles, arcs.graph)
    closed = triangles().totals["triangles"]
    runs = {"census": (partial(dg.triad_census, arcs.graph), partial(check_census, arcs, closed))}
    seconds = take_turns({**runs, "triangles": (triangles, lambda _: None)}, trials)
    Claim("paths", title, "triangles", None).record(seconds["census"], seconds["triangles"])
    if importlib.util.find_spec("igraph") is None:
        Claim("paths", title, "igraph", FASTER).absent("No module named 'igraph'")
    elif (found := igraph_within(limit, scale)) is not None:
        if found[1] != list(dg.triad_census(arcs.graph).values()):
            raise AnswerError(f"{title}: dgraph and igraph find different numbers")
        Claim("paths", title, "igraph", FASTER).record(seconds["census"], [found[0]])
    else:
        stopped = f"igraph, stopped after {limit:g} s: it takes longer, so the ratio is less"
        Claim("paths", title, stopped, FASTER).record(seconds["census"], [limit])


def check_census(arcs: Arcs, closed: int, census: dict[str, int]) -> None:
    """By counts that are known otherwise: of all triads, of those with a triangle, of pairs with arcs, and of arcs."""
    keys = arcs.source * arcs.vertices + arcs.destination
    mutual = int(np.isin(arcs.destination * arcs.vertices + arcs.source, keys).sum()) // 2
    single, others = len(keys) - 2 * mutual, arcs.vertices - 2
    expected = [comb(arcs.vertices, 3), closed, mutual * others, single * others]
    found = [
        sum(census.values()),
        sum(count for name, count in census.items() if name[2] == "0"),
        *(sum(int(name[digit]) * count for name, count in census.items()) for digit in (0, 1)),
    ]
    if found != expected:
        raise AnswerError(f"triad census, {arcs.title}: sums are {found}, and not {expected}")


def igraph_within(limit: float, scale: int) -> tuple[float, list[float]] | None:
    """The seconds of igraph's census and what it finds, in a process of its own; None if it has not ended in time."""
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=tell_census_of_igraph, args=(there, scale))
    process.start()
    there.close()
    try:
        here.recv()  # its graph is there
        return here.recv() if here.poll(limit) else None
    finally:
        process.kill()
        process.join()


def tell_census_of_igraph(connection: Connection, scale: int) -> None:
    graph = Arcs(scale).igraph()
    connection.send("ready")
    connection.send(timed(partial(census_of_igraph, graph)))


def main() -> None:
    options = parser_of(__doc__, trials=3)
    options.add_argument("--scales", type=int, nargs="*", default=[18, 20], help="for paths")
    options.add_argument("--slow", type=int, default=18, help="the largest scale for NetworkX")
    options.add_argument(
        "--census", type=int, nargs=2, default=[11, 16], help="the scales of a small and a large graph"
    )
    options.add_argument("--limit", type=float, default=100.0, help="seconds for igraph's census of the large graph")
    given = options.parse_args()
    for scale in given.scales:
        arcs = Arcs(scale)
        for weighted in (False, True):
            compare_paths(arcs, weighted, given.trials, scale > given.slow)
    small, large = given.census
    compare_census(small, given.trials)
    compare_large_census(large, given.trials, given.limit)


if __name__ == "__main__":
    main()
