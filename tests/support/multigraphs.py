"""Random multigraphs, as plain lists of edges between the numbers 0 to n - 1, and smaller ones made of them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
from oracle import edges_of

SHAPES = (
    *(
        "any",
        "any",
        "any",
        "no edges",
        "no vertices",
        "one vertex",
        "star",
        "path",
        "cycle",
        "two components",
        "clique",
    ),
    *("acyclic", "bipartite", "tree", "many repeats"),
)
WEIGHTS = {  # kind -> a weight; those of the last two kinds are refused by operations that cannot use them
    "none": lambda rng: None,
    "whole": lambda rng: rng.randrange(1, 9),
    "quarters": lambda rng: rng.randrange(1, 33) / 4,
    "some 0": lambda rng: rng.choice((0, 0, 1, 2, 3, 5)) / 4,
    "negative": lambda rng: rng.randrange(-3, 20) / 4,
}
KINDS = ("none", "none", "whole", "whole", "quarters", "some 0", "negative")
NAMES = ("a", "b", "ab", "B", "Zoe", "x1", "x10", "x2", "y", "z", "zz", "é", "ω", "a b", "q-r")


@dataclass(frozen=True)
class Multigraph:
    """A graph of n vertices. `listed` are the edges before the rules of `from_edges`; `edges` those that count."""

    n: int
    listed: tuple[tuple[int, int, float | None], ...]
    directed: bool = True
    kind: str = "none"  # of weights
    ids: tuple = ()  # ascending
    rules: tuple[tuple[str, object], ...] = ()
    shape: str = "any"
    kept: dict = field(default_factory=dict, compare=False, repr=False)

    @property
    def edges(self) -> list[tuple[int, int, float | None]]:
        return self._once("edges", lambda: edges_of(list(self.listed), directed=self.directed, **dict(self.rules)))

    @property
    def weighted(self) -> bool:
        return self.kind != "none"

    def arcs(self, weighted: bool = False) -> list[tuple[int, int, float]]:
        """Every way along an edge: an undirected edge has two, but a loop one."""
        edges = [(u, v, w if weighted else 1) for u, v, w in self.edges]
        return edges if self.directed else edges + [(v, u, w) for u, v, w in edges if u != v]

    def matrix(self, weighted: bool = False) -> np.ndarray:
        """The sum of the weights of the arcs from row to column."""
        found = np.zeros((self.n, self.n))
        for u, v, w in self.arcs(weighted):
            found[u, v] += w
        return found

    @property
    def simple(self) -> nx.Graph:
        """Without directions, loops and repeats."""
        return self._once("simple", lambda: self._of(nx.Graph(), [(u, v, 1) for u, v, _ in self.edges if u != v]))

    @property
    def steps(self) -> nx.DiGraph:
        """Where arcs lead, each once, without loops."""
        return self._once("steps", lambda: self._of(nx.DiGraph(), [arc for arc in self.arcs() if arc[0] != arc[1]]))

    def lengths(self, weighted: bool) -> nx.DiGraph:
        """Where arcs lead, each with the least of its weights, without loops."""
        best: dict[tuple[int, int], float] = {}
        for u, v, w in self.arcs(weighted):
            if u != v:
                best[u, v] = min(w, best.get((u, v), math.inf))
        return self._of(nx.DiGraph(), [(u, v, w) for (u, v), w in best.items()])

    def distances(self, weighted: bool = False) -> np.ndarray:
        """All distances; weights are not negative."""
        found = np.full((self.n, self.n), np.inf)
        for u, near in nx.all_pairs_dijkstra_path_length(self.lengths(weighted)):
            for v, distance in near.items():
                found[u, v] = distance
        return found

    def multi(self, weighted: bool = False) -> nx.MultiGraph | nx.MultiDiGraph:
        edges = [(u, v, w if weighted else 1) for u, v, w in self.edges]
        return self._of(nx.MultiDiGraph() if self.directed else nx.MultiGraph(), edges)

    def summed(self, weighted: bool = False) -> nx.Graph | nx.DiGraph:
        """As NetworkX takes it where it knows no repeats: weights of repeated edges are added up."""
        found = self._of(nx.DiGraph() if self.directed else nx.Graph(), [])
        for u, v, w in self.edges:
            before = found.get_edge_data(u, v, {"weight": 0})["weight"]
            found.add_edge(u, v, weight=before + (w if weighted else 1))
        return found

    def _of(self, graph, edges):
        graph.add_nodes_from(range(self.n))
        graph.add_weighted_edges_from(edges)
        return graph

    def _once(self, name, made):
        if name not in self.kept:
            self.kept[name] = made()
        return self.kept[name]


def drawn(rng: random.Random) -> Multigraph:
    """A random multigraph."""
    shape = rng.choice(SHAPES)
    n = {"no vertices": 0, "one vertex": 1}.get(shape) or (0 if shape == "no vertices" else rng.randrange(2, 12))
    pairs = list(_pairs(shape, n, rng))
    if n and rng.random() < 0.4:
        pairs += [rng.choice(pairs) for _ in range(rng.randrange(4))] if pairs else []
        pairs += [(u, u) for u in rng.choices(range(n), k=rng.randrange(3))] if shape != "no edges" else []
    isolated = rng.choice((0, 0, 0, 1, 2)) if n else 0
    names = rng.sample(range(n + isolated), n)  # where the vertices of the shape are among all
    turned = rng.random() < 0.3
    edges = [(names[v], names[u]) if turned and rng.random() < 0.5 else (names[u], names[v]) for u, v in pairs]
    kind = rng.choice(KINDS)
    return Multigraph(
        n + isolated,
        tuple((u, v, WEIGHTS[kind](rng)) for u, v in edges),
        rng.random() < 0.55,
        kind,
        ids_of(rng.choice(("dense", "from one", "from one", "sparse", "negative", "names")), n + isolated, rng),
        shape=shape,
    )


def _pairs(shape: str, n: int, rng: random.Random) -> Iterator[tuple[int, int]]:
    """The edges of a shape."""
    match shape:
        case "star":
            yield from ((0, v) for v in range(1, n))
        case "path":
            yield from ((v, v + 1) for v in range(n - 1))
        case "cycle":
            yield from ((v, (v + 1) % n) for v in range(n))
        case "tree":
            yield from ((rng.randrange(v), v) for v in range(1, n))
        case "clique":
            yield from ((u, v) for v in range(min(n, 6)) for u in range(v))
        case "two components":
            half = max(1, n // 2)
            yield from ((rng.randrange(half), rng.randrange(half)) for _ in range(half + 1))
            yield from ((rng.randrange(half, n), rng.randrange(half, n)) for _ in range(n - half + 1))
        case "acyclic":
            yield from (tuple(sorted(rng.sample(range(n), 2))) for _ in range(rng.randrange(1, 2 * n)))
        case "bipartite":
            yield from ((rng.randrange((n + 1) // 2), rng.randrange((n + 1) // 2, n)) for _ in range(n + 2))
        case "many repeats":
            few = [(rng.randrange(n), rng.randrange(n)) for _ in range(3)]
            yield from (rng.choice(few) for _ in range(12))
        case "any":
            yield from ((rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(1, 3 * n)))


def ids_of(kind: str, n: int, rng: random.Random) -> tuple:
    match kind:
        case "dense":
            return tuple(range(n))
        case "from one":
            return tuple(range(1, n + 1))
        case "sparse":
            return tuple(sorted(rng.sample(range(10**12), n)))
        case "negative":
            return tuple(sorted(rng.sample(range(-50, 50), n)))
    return tuple(sorted(rng.sample(NAMES, n)))


# -- smaller graphs ----------------------------------------------------------------------------------------------------


def smaller(graph: Multigraph, needed: set[int]) -> Iterator[tuple[Multigraph, dict[int, int]]]:
    """Graphs that are simpler by one thing, and the new number of each vertex. The `needed` vertices stay."""
    same = {u: u for u in range(graph.n)}
    if graph.rules:
        yield replace(graph, rules=(), listed=tuple(graph.edges), kept={}), same
    for size in (len(graph.listed) // 2, 1):
        for at in range(0, len(graph.listed), size) if size else ():
            yield replace(graph, listed=graph.listed[:at] + graph.listed[at + size :], kept={}), same
    ends = {end for u, v, _ in graph.listed for end in (u, v)} | needed
    for gone in range(graph.n):
        if gone not in ends:
            moved = {u: u - (u > gone) for u in range(graph.n) if u != gone}
            listed = tuple((moved[u], moved[v], w) for u, v, w in graph.listed)
            yield replace(graph, n=graph.n - 1, listed=listed, ids=graph.ids[:-1], kept={}), moved
    if graph.ids != tuple(range(graph.n)):
        yield replace(graph, ids=tuple(range(graph.n)), kept={}), same
    if graph.weighted:
        yield replace(graph, kind="none", listed=tuple((u, v, None) for u, v, _ in graph.listed), kept={}), same
        for at, (u, v, w) in enumerate(graph.listed):
            if w != 1:
                yield replace(graph, listed=(*graph.listed[:at], (u, v, 1), *graph.listed[at + 1 :]), kept={}), same
