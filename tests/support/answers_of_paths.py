"""Distances, paths, and what is made of them."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import networkx as nx
import numpy as np
from answers import (
    POSITIVE,
    close,
    columns,
    numbers,
    operation,
    refused,
    rows,
    same,
    some,
    turned,
    vertex,
    vertices,
    weighted,
)
from multigraphs import Multigraph

from dgraph.errors import InputError

INF = math.inf


def sources_of(source) -> list[int]:
    return list(source) if isinstance(source, list) else [source]


def nearest(graph: Multigraph, source, weighted: bool) -> list[float] | None:
    """The least sums of weights of paths from any source: Bellman and Ford. None if a cycle is negative."""
    distance = [INF] * graph.n
    for s in sources_of(source):
        distance[s] = 0
    arcs = graph.arcs(weighted)
    for _ in range(graph.n + 1):
        before = list(distance)
        for u, v, w in arcs:
            distance[v] = min(distance[v], before[u] + w)
        if distance == before:
            return distance
    return None


def nearer(graph: Multigraph, distance: list[float], source, weighted: bool) -> list[int | None]:
    """The predecessor of each vertex by the rules of docs/semantics.md, for weights that are not negative."""
    arcs = [arc for arc in graph.arcs(weighted) if distance[arc[0]] < INF]
    best: list[int | None] = [None] * graph.n
    for v in range(graph.n):
        if v not in sources_of(source):
            best[v] = min(
                (u for u, x, w in arcs if x == v and distance[u] + w == distance[v] > distance[u]), default=None
            )
    steps = [0 if best[v] is not None or v in sources_of(source) else INF for v in range(graph.n)]  # of length 0
    flat = [(u, v) for u, v, w in arcs if w == 0]
    for k in range(graph.n):
        for v in range(graph.n):
            if steps[v] == INF and any(x == v and steps[u] == k for u, x in flat):
                steps[v] = k + 1
                best[v] = min(u for u, x in flat if x == v and steps[u] == k)
    return best


def cut_off(distance: list[float], most: float) -> list[float]:
    return [one if one <= most else INF for one in distance]


def check_path(found: list[int | None], predecessor: list[int | None], source, target: int, reached: bool) -> None:
    expected, v = [], target
    while v is not None and reached:
        expected.append(v)
        v = predecessor[v]
    same(found, expected[::-1], f"path to {target}")


def _bfs(graph: Multigraph, rng: random.Random):
    if graph.n:
        source = vertex(graph, rng) if rng.random() < 0.7 else vertices(graph, rng)
        return {"source": source} | some(rng, 0.25, target=vertex(graph, rng), depth_limit=rng.randrange(5))
    return None


@operation(_bfs)
def bfs(graph: Multigraph, call, source, target=None, depth_limit=None, **_):
    distance = nearest(graph, source, False)
    most = INF if depth_limit is None else depth_limit
    if target is not None and distance[target] <= most:
        most = distance[target]
    distance, result = cut_off(distance, most), call()
    predecessor = nearer(graph, distance, source, False)
    found, before = columns(graph, result, "distance", "predecessor")
    same(found, distance, "distance")
    same(numbers(graph, before), predecessor, "predecessor")
    for v in range(graph.n):
        check_path(numbers(graph, result.path(graph.ids[v])), predecessor, source, v, distance[v] < INF)


def _sssp(graph: Multigraph, rng: random.Random):
    if not graph.n:
        return None
    options = {"source": vertex(graph, rng)}
    if graph.kind != "negative":
        if rng.random() < 0.3:
            options["source"] = vertices(graph, rng)
            options |= some(rng, per_source=True)
        if "per_source" not in options:
            options |= some(rng, 0.25, target=vertex(graph, rng))
    return options | some(rng, 0.2, predecessors=False)


@operation(_sssp)
def sssp(graph: Multigraph, call, source, target=None, per_source=False, predecessors=True, **_):
    distance = nearest(graph, source, graph.weighted)
    if distance is None:
        refused(call, InputError, "less than 0")
        return
    result = call()
    if per_source:
        (found,) = columns(graph, result, "distance")
        close(np.array(found).T, [nearest(graph, one, graph.weighted) for one in source], rtol=0, what="distances")
        return
    if target is not None and distance[target] < INF:
        distance = cut_off(distance, distance[target])
    negative = any(w < 0 for _, _, w in graph.arcs(graph.weighted))
    if not (predecessors or negative):
        same(columns(graph, result, "distance"), [distance], "distance")
        return
    found, before = columns(graph, result, "distance", "predecessor")
    same(found, distance, "distance")
    before = numbers(graph, before)
    if negative:
        same(before, fewest(graph, distance, source), "predecessor")
    else:
        same(before, nearer(graph, distance, source, graph.weighted), "predecessor")
    for v in range(graph.n):
        check_path(numbers(graph, result.path(graph.ids[v])), before, source, v, distance[v] < INF)


def fewest(graph: Multigraph, distance: list[float], source) -> list[int | None]:
    """The smallest predecessor on a path with the fewest edges, among those of the least weight."""
    tight = [(u, v) for u, v, w in graph.arcs(True) if distance[u] < INF and distance[u] + w == distance[v]]
    steps = nx.single_source_shortest_path_length(nx.DiGraph([*tight, (source, source)]), source)
    return [
        min((u for u, x in tight if x == v and steps[u] + 1 == steps[v]), default=None) if v in steps else None
        for v in range(graph.n)
    ]


def _shortest_path(graph: Multigraph, rng: random.Random):
    if not graph.n or graph.kind == "negative":
        return None
    return {"source": vertex(graph, rng), "target": vertex(graph, rng)} | some(rng, 0.3, weighted=False)


@operation(_shortest_path)
def shortest_path(graph: Multigraph, call, source, target, weighted=None):
    by_weight = graph.weighted and weighted is not False
    distance = nearest(graph, source, by_weight)
    predecessor = nearer(graph, distance, source, by_weight)
    check_path(numbers(graph, call()), predecessor, source, target, distance[target] < INF)


# -- eccentricities ----------------------------------------------------------------------------------------------------


def largest(graph: Multigraph) -> list[set[int]]:
    """The largest components, of the strongly connected ones if the graph is directed."""
    found = list(nx.strongly_connected_components(graph.steps))
    return [one for one in found if len(one) == max(map(len, found))]


def _eccentricity(graph: Multigraph, rng: random.Random):
    return some(rng, components="largest") | (weighted(graph, rng) or some(rng, 0.2, max_searches=rng.randrange(1, 4)))


@operation(_eccentricity)
def eccentricity(graph: Multigraph, call, components="all", weighted=False, max_searches=None, **_):
    distance, result = graph.distances(weighted), call()
    names = ("eccentricity",) if max_searches is None else ("eccentricity", "lower", "upper")
    inside, *found = columns(graph, result, *names, some_vertices=True)
    if components == "all" or not graph.n:
        same(inside, list(range(graph.n)), "vertices")
    else:
        assert set(inside) in largest(graph), f"{inside} is not a largest component"
        same(inside, min(sorted(one) for one in largest(graph)), "of several, the component of the smallest vertex")
    expected = [max(distance[u, v] for v in inside) for u in inside]
    if max_searches is None:
        same(found[0], expected, "eccentricity")
        return
    for one, value, lower, upper in zip(expected, *found, strict=True):
        assert lower <= one <= upper, f"bounds {lower} and {upper} of {one}"
        assert value == one if lower == upper else value != value, f"{value}, not {one}, with {lower} and {upper}"


def _extent(graph: Multigraph, rng: random.Random):
    return some(rng, components="largest") if graph.n else None


@operation(_extent)
def diameter(graph: Multigraph, call, components="all", of=max):
    distance = graph.distances()
    inside = range(graph.n) if components == "all" else min(sorted(one) for one in largest(graph))
    same(call(), of(max(distance[u, v] for v in inside) for u in inside))


@operation(_extent)
def radius(graph: Multigraph, call, components="all"):
    diameter(graph, call, components, of=min)


# -- centralities of paths ---------------------------------------------------------------------------------------------


def counts_of_paths(graph: Multigraph, weighted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Distances, and how many shortest paths there are, of which repeated edges make several."""
    distance, arcs = graph.distances(weighted), [arc for arc in graph.arcs(weighted) if arc[0] != arc[1]]
    paths = np.zeros((graph.n, graph.n))
    for s in range(graph.n):
        paths[s, s] = 1
        for v in sorted(range(graph.n), key=lambda v: distance[s, v]):
            if v != s and distance[s, v] < INF:
                paths[s, v] = sum(paths[s, u] for u, x, w in arcs if x == v and distance[s, u] + w == distance[s, v])
    return distance, paths


def _betweenness(graph: Multigraph, rng: random.Random):
    options = weighted(graph, rng, *POSITIVE) | some(rng, 0.3, normalized=False)
    if rng.random() < 0.2:
        return options | {"edges": True}
    options |= some(rng, 0.3, endpoints=True)
    if graph.n > 2 and rng.random() < 0.3:
        options["sources"] = vertices(graph, rng, graph.n)
        if len(options["sources"]) == 1:
            options["endpoints"] = True
    return options


@operation(_betweenness)
def betweenness(
    graph: Multigraph, call, weighted=False, normalized=True, endpoints=False, edges=False, sources=None, **_
):
    n, (distance, paths) = graph.n, counts_of_paths(graph, weighted)
    starts = range(n) if sources is None else sources
    pairs = [(s, t) for s in starts for t in range(n) if s != t and distance[s, t] < INF]
    half = 1 if graph.directed else 2  # pairs are unordered
    if edges:
        expected = {}
        for k, (u, v, w) in enumerate(graph.edges):
            w, ways = (w if weighted else 1), [(u, v)] if graph.directed or u == v else [(u, v), (v, u)]
            on = [(s, a, b, t) for s, t in pairs for a, b in ways if u != v]
            share = sum(
                paths[s, a] * paths[b, t] / paths[s, t]
                for s, a, b, t in on
                if distance[s, a] + w + distance[b, t] == distance[s, t]
            )
            scale = n * (n - 1) / half if normalized and n > 1 else 1
            expected[k] = share / half / scale
        found = turned(graph, rows(graph, call(), "betweenness"))
        wanted = turned(graph, [(*edge, expected[k]) for k, edge in enumerate(graph.edges)])
        same([one[:3] for one in found], [one[:3] for one in wanted], "edges")
        close([one[3] for one in found], [one[3] for one in wanted])
        return
    (found,) = columns(graph, call(), "betweenness")
    total = np.zeros(n)
    for s, t in pairs:
        for v in range(n):
            if v not in (s, t) and distance[s, v] + distance[v, t] == distance[s, t]:
                total[v] += paths[s, v] * paths[v, t] / paths[s, t]
        if endpoints:
            total[[s, t]] += 1
    close(found, [total[v] * scale_of(graph, v, starts, normalized, endpoints) for v in range(n)])


def scale_of(graph: Multigraph, v: int, starts, normalized: bool, endpoints: bool) -> float:
    """As if all vertices had been sources (NetworkX 3.6): unless ends count, a source is on no path of its own."""
    others = graph.n if endpoints else graph.n - 1
    if others < 2:
        return 1
    counted = len(starts) if endpoints or v not in starts else len(starts) - 1
    return others / counted / (others * (others - 1) if normalized else 1 if graph.directed else 2)


def _near(graph: Multigraph, rng: random.Random):
    options = weighted(graph, rng, *POSITIVE) | some(rng, direction=rng.choice(("in", "out")))
    if graph.n and rng.random() < 0.25:
        options["sources"] = vertices(graph, rng)
    return options


def _turned_distances(graph: Multigraph, weighted: bool, direction: str) -> np.ndarray:
    """A row for each vertex: the distances from all others to it, or with "out" from it."""
    distance = graph.distances(weighted)
    return distance.T if direction == "in" else distance


def _values(graph: Multigraph, call, name: str, expected: list[float], sources) -> None:
    listed, found = columns(graph, call(), name, some_vertices=True)
    same(listed, list(range(graph.n)) if sources is None else sorted(sources), "vertices")
    close(found, [expected[v] for v in listed])


def _lengths(graph: Multigraph, weighted: bool, direction: str) -> nx.DiGraph:
    lengths = graph.lengths(weighted)
    return lengths if direction == "in" else lengths.reverse()


@operation(lambda graph, rng: _near(graph, rng) | some(rng, 0.3, wf_improved=False))
def closeness(graph: Multigraph, call, weighted=False, direction="in", sources=None, wf_improved=True, **_):
    lengths = _lengths(graph, weighted, direction)
    expected = nx.closeness_centrality(lengths, distance="weight", wf_improved=wf_improved)
    _values(graph, call, "closeness", expected, sources)


@operation(_near)
def harmonic(graph: Multigraph, call, weighted=False, direction="in", sources=None, **_):
    expected = nx.harmonic_centrality(_lengths(graph, weighted, direction), distance="weight")
    _values(graph, call, "harmonic", expected, sources)


@operation(lambda graph, rng: {"log2m": 12} | some(rng, direction=rng.choice(("out", "in"))))
def neighborhood_function(graph: Multigraph, call, log2m, direction="out", **_):
    distance, result = graph.distances(), call()
    found = result.pairs["pairs"].tolist()
    same(result.pairs["distance"].tolist(), list(range(len(found))), "distances")
    exact = [int((distance <= k).sum()) for k in range(len(found))]
    assert max(exact, default=0) == int((distance < INF).sum()), f"{len(found)} distances are too few"
    assert all(one <= other for one, other in pairwise(found)), found
    close(found, exact, rtol=0.05, atol=1)
