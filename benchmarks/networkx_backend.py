"""NetworkX's functions on the backend against NetworkX itself, with conversion and with the cached graph.

    .venv/bin/python benchmarks/networkx_backend.py
    .venv/bin/python benchmarks/networkx_backend.py --scales 8 10 12 14 16
    .venv/bin/python benchmarks/networkx_backend.py --conversion
    .venv/bin/python benchmarks/networkx_backend.py --plot docs/networkx.svg
    .venv/bin/python benchmarks/networkx_backend.py --crossover

NetworkX runs once per function, as it takes minutes. Each answer is compared with that of NetworkX.

With --conversion, graphs of 1 million random edges between integers are converted.

With --plot, the recorded speeds are drawn over the sizes of the graphs, and nothing is measured.

With --crossover, every function of the backend runs on graphs of growing size, to find from which size it is faster
than NetworkX. The lines that are printed are those of dgraph/networkx_backend/sizes.py; answers are not compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import numpy as np
from harness import RESULTS, Claim, parser_of, rmat_edges, simple
from networkx.utils.backends import _registered_algorithms

from dgraph.bench.plots import lines
from dgraph.bench.resources import timed
from dgraph.networkx_backend.conversion import convert_from_nx
from dgraph.networkx_backend.function_table import FUNCTIONS

CONVERTED, CACHED = 1 / 8, 1 / 100  # the geometric mean of the shares of NetworkX's time, with and without conversion
CONVERSION = 1.2  # seconds that converting a graph of a million edges may take, the best of some trials
OF_TARGETS = 16  # the scale of the graph for which these are
OF_NX_PARALLEL = ("betweenness, 16 sources",)  # the only one of these calls that nx-parallel has
EDGES = (100, 1000, 10_000, 100_000)
LARGEST = 1_000_000  # nodes and edges; where a function would be faster only beyond this, NetworkX keeps it
LONGEST = 1.0  # seconds that a call may be expected to take
ARGUMENTS = {"source": 0, "n": 0, "u": 0, "sources": [0, 3], "distance": 2, "k": 3}
PAIRS = {"ebunch": [(node, node + 7) for node in range(10)]}
DRAWING = ("asyn_lpa_communities", "fast_label_propagation_communities", "maximal_independent_set")
OPTIONS = {
    "katz_centrality": {"alpha": 0.01},  # below the reciprocal of the largest eigenvalue
    "eigenvector_centrality": {"max_iter": 1000},
    "jaccard_coefficient": PAIRS,
    "adamic_adar_index": PAIRS,
    "resource_allocation_index": PAIRS,
    "preferential_attachment": PAIRS,
    **{name: {"seed": Random(1)} for name in DRAWING},
}
ON_TREES = ("is_tree", "is_forest", "is_bipartite", "color", "sets")
WITHOUT_CYCLES = ("topological_generations", "topological_sort", "is_directed_acyclic_graph")
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
        if name in OF_NX_PARALLEL:
            claim = Claim("networkx_backend", f"{name}, with conversion, {where}", "nx-parallel", None)
            if "parallel" in nx.config.backends and (problem := _cannot_run(call)):
                claim.absent(problem)
            elif "parallel" in nx.config.backends:
                ours = [_trial(graph, call, name, agree, theirs, cached=False) for _ in range(trials)]
                claim.record(ours, [timed(lambda call=call: call(graph, "parallel"))[0] for _ in range(trials)])
            else:
                claim.absent("nx-parallel is not installed")
    targets = (CONVERTED, CACHED) if scale == OF_TARGETS else (None, None)
    for (kind, found), target in zip(shares.items(), targets, strict=True):
        mean = float(np.exp(np.mean(np.log(found))))
        Claim("networkx_backend", f"geometric mean, {kind}, {where}", "NetworkX", target).record([mean], [1.0])


def _cannot_run(call: Call) -> str:
    """Why nx-parallel cannot run; empty if it can, and then its processes have started."""
    try:
        call(nx.path_graph(20), "parallel")
    except ImportError as error:  # it reads what is private in NetworkX, and may be of another version
        return f"nx-parallel cannot be imported beside NetworkX {nx.__version__}: {error.msg.partition(' (')[0]}"
    return ""


def _trial(graph: nx.Graph, call: Call, name: str, agree: Agree, theirs: Any, *, cached: bool) -> float:
    """The seconds of a call, once its answer is checked."""
    if not cached:
        graph.__networkx_cache__.clear()
    seconds, ours = timed(lambda: call(graph, "dgraph"))
    if not agree(graph, ours, theirs):
        raise SystemExit(f"{name}: dgraph's answer is not that of NetworkX")
    return seconds


def convert(trials: int) -> None:
    ends = np.random.default_rng(1).integers(0, LARGEST // 10, (LARGEST, 2))
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        graph, seconds = kind(), []
        graph.add_edges_from(ends.tolist())
        for _ in range(trials):
            elapsed, found = timed(lambda graph=graph: convert_from_nx(graph))
            seconds.append(elapsed)
            source, target = (np.array(found.nodes)[ends] for ends in found.ends())
            pairs = np.array(list(graph.edges()), np.int64)
            if not (np.array_equal(source, pairs[:, 0]) and np.array_equal(target, pairs[:, 1])):
                raise SystemExit(f"the edges of the converted {kind.__name__} are not its edges")
        claim = Claim(
            "networkx_backend",
            f"conversion of a {kind.__name__} of {graph.number_of_edges() / 1e6:.2f} M random edges, best trial",
            f"{CONVERSION} s",
            1.0,
            facts={"seconds": seconds},
        )
        claim.record([min(seconds)], [CONVERSION])


def plot() -> str:
    """How many times as fast as NetworkX each call is, over the edges of the graph, as recorded last."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in map(json.loads, (RESULTS / "networkx_backend.jsonl").read_text().splitlines()):
        found = re.fullmatch(r"(.+), (with conversion|cached), R-MAT scale (\d+), .*", row["what"])
        if found and found[1] in CALLS and row["peer"] == "NetworkX":
            name, kind, scale = found.groups()
            edges = len(simple(*rmat_edges(int(scale)), 1 << int(scale)).source)
            times = 1 / row["minimum"]["ratio"]
            rows[name, kind, scale] = {"edges": edges, "times": times, "call": name, "graph": kind, "setting": scale}
    title = "Times as fast as NetworkX: conversion included, and with a graph that is converted already"
    ordered = sorted(rows.values(), key=lambda row: (row["graph"] == "cached", row["edges"]))
    return lines.draw(ordered, x="edges", value="times", by="call", across="graph", title=title, unit="times as fast")


def crossover(names: list[str], trials: int) -> None:
    """Print the sizes by function, those of equal sizes together."""
    found: dict[tuple[int | None, ...], list[str]] = {}
    for name in names:
        try:
            sizes = tuple(crossing(points) for points in zip(*_shares_of_sizes(name, trials), strict=True))
        except NotImplementedError:  # NetworkX itself has no such function
            sizes = (0, 0)
        found.setdefault(sizes, []).append(name)
        print(f"# {name}: {sizes}", flush=True)
    for sizes, alike in sorted(found.items(), key=lambda one: [LARGEST if size is None else size for size in one[0]]):
        print(f'    {sizes}: "{" ".join(alike)}",')


def _shares_of_sizes(name: str, trials: int) -> Iterator[list[tuple[int, float]]]:
    """For each size of a graph, that size and the share of NetworkX's time that ours is: with conversion, and without.

    It ends where the next graph is likely to take either library longer than the limit."""
    call, directed = _call_of(name)
    before = 0.0
    call(nx.path_graph(20, nx.DiGraph if directed else nx.Graph), "dgraph")  # compiles
    for edges in EDGES:
        graph = _graph_for(name, edges, directed)
        theirs = min(timed(partial(call, graph, "networkx"))[0] for _ in range(trials))
        seconds = [min(_seconds(graph, call, cached=cached) for _ in range(trials)) for cached in (False, True)]
        size = len(graph) + graph.number_of_edges()
        yield [(size, ours / theirs) for ours in seconds]
        longest = max(theirs, *seconds)
        if longest * max(10, longest / before if before else 10) > LONGEST:
            return
        before = longest


def _graph_for(name: str, edges: int, directed: bool) -> nx.Graph:
    if name in ON_TREES:
        return nx.random_labeled_tree(edges, seed=1)
    graph = _connected_graph(edges, directed)
    return nx.DiGraph((min(ends), max(ends)) for ends in graph.edges) if name in WITHOUT_CYCLES else graph


@cache
def _connected_graph(edges: int, directed: bool) -> nx.Graph:
    """A random graph in which each node reaches each."""
    graph = nx.gnm_random_graph(edges // 4, edges, seed=1, directed=directed)
    graph.add_edges_from(nx.utils.pairwise(range(edges // 4), cyclic=True))
    return graph


def _seconds(graph: nx.Graph, call: Call, *, cached: bool) -> float:
    if not cached:
        graph.__networkx_cache__.clear()
    return timed(partial(call, graph, "dgraph"))[0]


def crossing(points: Sequence[tuple[int, float]]) -> int | None:
    """The size from which shares are below 1, rounded to 1, 2 or 5 and zeros. Beyond the largest graph it is where the
    last two shares lead to, and None if they do not fall or lead too far."""
    sizes, shares = (np.log(column) for column in zip(*points, strict=True))
    above = np.flatnonzero(shares > 0)
    if len(above) == 0:
        return rounded(np.exp(sizes[0]))
    if len(sizes) == 1:
        return None
    i = min(above[-1], len(sizes) - 2)
    slope = (shares[i + 1] - shares[i]) / (sizes[i + 1] - sizes[i])
    if slope >= 0:
        return None
    size = rounded(np.exp(sizes[i] - shares[i] / slope))
    return size if size <= LARGEST else None


def rounded(size: float) -> int:
    power = 10 ** int(np.log10(size))
    return int(min((1, 2, 5, 10), key=lambda digit: abs(np.log(digit * power / size))) * power)


def _call_of(name: str) -> tuple[Call, bool]:
    """A call with the arguments that a function needs, and whether it is for directed graphs."""
    function = _registered_algorithms[name]
    needed = [one.name for one in signature(function.orig_func).parameters.values() if one.default is one.empty]

    def call(graph: nx.Graph, backend: str) -> Any:
        last = len(graph) - 1
        halves = [range(len(graph) // 2), range(len(graph) // 2, len(graph))]
        values = {**ARGUMENTS, "target": last, "v": last, "communities": halves}
        arguments = {one: values[one] for one in needed[1:]} | OPTIONS.get(name, {})
        found = function(graph, **arguments, backend=backend)
        return list(found) if isinstance(found, Iterator) else found

    try:
        call(nx.path_graph(20), "networkx")
    except (nx.NetworkXException, AttributeError):  # as functions for directed graphs end without a check of theirs
        return call, True
    return call, False


def main() -> None:
    nx.config.warnings_to_ignore.add("cache")
    options = parser_of(__doc__, trials=3)
    options.add_argument("--scales", type=int, nargs="+", default=[16])
    options.add_argument("--conversion", action="store_true", help="how long conversion takes")
    options.add_argument("--crossover", action="store_true", help="find the sizes from which functions are faster")
    options.add_argument("--functions", nargs="+", help="with --crossover, only these functions")
    options.add_argument("--plot", type=Path, metavar="FILE", help="write a plot of what is recorded")
    given = options.parse_args()
    if given.plot:
        given.plot.write_text(plot())
        return
    if given.conversion:
        convert(given.trials)
        return
    if given.crossover:
        crossover(given.functions or list(FUNCTIONS), given.trials)
        return
    for scale in given.scales:
        hold(scale, given.trials)


if __name__ == "__main__":
    main()
