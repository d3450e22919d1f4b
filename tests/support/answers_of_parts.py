"""Components, cores, triangles, trusses, trees and cuts; degrees and similarity; what describes a whole graph."""

from __future__ import annotations

import math
import random
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
from answers import close, columns, numbers, operation, refused, rows, same, some, turned, vertex, weighted
from multigraphs import Multigraph

from dgraph.errors import InputError, OptionError


def smallest_of(graph: Multigraph, components) -> list[int]:
    label = {u: min(one) for one in components for u in one}
    return [label[u] for u in range(graph.n)]


@operation()
def wcc(graph: Multigraph, call, **_):
    (found,) = columns(graph, call(), "component")
    same(numbers(graph, found), smallest_of(graph, nx.connected_components(graph.simple)))


@operation()
def scc(graph: Multigraph, call, **_):
    (found,) = columns(graph, call(), "component")
    same(numbers(graph, found), smallest_of(graph, nx.strongly_connected_components(graph.steps)))


@operation()
def triangles(graph: Multigraph, call, **_):
    result = call()
    (found,) = columns(graph, result, "triangles")
    same(found, [count for _, count in sorted(nx.triangles(graph.simple).items())])


@operation()
def lcc(graph: Multigraph, call, **_):
    (found,) = columns(graph, call(), "lcc")
    expected = []
    for u in range(graph.n):
        near = set(graph.simple[u])
        arcs = sum(v in near for w in near for v in graph.steps[w])
        expected.append(arcs / (len(near) * (len(near) - 1)) if len(near) > 1 else 0)
    close(found, expected)


def cores(graph: Multigraph) -> list[int]:
    return [core for _, core in sorted(nx.core_number(graph.simple).items())]


@operation()
def core_number(graph: Multigraph, call, **_):
    same(columns(graph, call(), "core"), [cores(graph)])


@operation(lambda graph, rng: some(rng, k=rng.randrange(4)) | some(rng, 0.3, remove=True))
def k_core(graph: Multigraph, call, k=None, remove=False, **_):
    core = cores(graph)
    expected = [one >= (max(core, default=0) if k is None else k) for one in core]
    result = call()
    if remove:
        inside = numbers(graph, result.compute()["vertex"])
        same(inside, [u for u in range(graph.n) if expected[u]], "vertices")
    else:
        same(columns(graph, result, "in_core"), [expected])


def truss_numbers(graph: Multigraph) -> dict[frozenset, int]:
    found = {frozenset(edge): 2 for edge in graph.simple.edges}
    k = 3
    while (truss := nx.k_truss(graph.simple, k)).number_of_edges():
        found |= {frozenset(edge): k for edge in truss.edges}
        k += 1
    return found


@operation()
def truss_number(graph: Multigraph, call):
    number = truss_numbers(graph)
    expected = [(*edge, number.get(frozenset(edge[:2]), 2)) for edge in graph.edges]
    same(turned(graph, rows(graph, call(), "truss_number")), turned(graph, expected))


@operation(lambda graph, rng: {"k": rng.randrange(2, 5)})
def k_truss(graph: Multigraph, call, k):
    number = truss_numbers(graph)
    expected = [edge for edge in graph.edges if number.get(frozenset(edge[:2]), 2) >= k]
    same(turned(graph, rows(graph, call())), turned(graph, expected))


# -- trees and cuts ----------------------------------------------------------------------------------------------------


@operation()
def bridges(graph: Multigraph, call):
    count = Counter(frozenset(edge[:2]) for edge in graph.edges)
    cut = {frozenset(edge) for edge in nx.bridges(graph.simple)}
    expected = [edge for edge in graph.edges if frozenset(edge[:2]) in cut and count[frozenset(edge[:2])] == 1]
    same(turned(graph, rows(graph, call())), turned(graph, expected))


@operation()
def articulation_points(graph: Multigraph, call):
    table = call().compute()
    same(table.columns.tolist(), ["vertex"])
    same(numbers(graph, table["vertex"]), sorted(nx.articulation_points(graph.simple)))


@operation()
def biconnected_components(graph: Multigraph, call):
    components = sorted(nx.biconnected_components(graph.simple), key=lambda one: sorted(one)[:2])
    number = {frozenset(edge): k for k, one in enumerate(components) for edge in graph.simple.subgraph(one).edges}
    table = call().compute()
    table["component"] = table["component"].astype(object).where(table["component"].notna(), -1)
    expected = [(*edge, number.get(frozenset(edge[:2]), -1)) for edge in graph.edges]
    same(turned(graph, rows(graph, table, "component")), turned(graph, expected))


@operation(lambda graph, rng: some(rng, 0.3, minimum=False, weighted=False))
def spanning_forest(graph: Multigraph, call, minimum=True, weighted=True):
    """Kruskal's method, which takes edges in the documented order."""
    by_weight = graph.weighted and weighted

    def place(at):
        u, v, w = graph.edges[at]
        return (w if minimum else -w) if by_weight else 0, min(u, v), max(u, v), at

    tree, label = [], list(range(graph.n))
    for at in sorted(range(len(graph.edges)), key=place):
        u, v, _ = graph.edges[at]
        if label[u] != label[v]:
            tree.append(graph.edges[at])
            label = [label[u] if one == label[v] else one for one in label]
    result = call()
    if by_weight:
        same(turned(graph, rows(graph, result)), turned(graph, tree))
    else:  # of repeated edges, which one depends on the order in which a door lists them
        same([e[:2] for e in turned(graph, rows(graph, result))], [e[:2] for e in turned(graph, tree)])
    close(result.totals["weight"], sum(w for _, _, w in tree) if by_weight else len(tree), what="weight")
    same((result.totals["edges"], result.totals["trees"]), (len(tree), len(set(label))), "edges and trees")


# -- neighbours --------------------------------------------------------------------------------------------------------


def degrees_of(graph: Multigraph) -> tuple[list[int], list[int], list[int]]:
    matrix = graph.matrix()
    heard, told = matrix.sum(axis=0).astype(int).tolist(), matrix.sum(axis=1).astype(int).tolist()
    return heard, told, [a + b for a, b in zip(heard, told, strict=True)] if graph.directed else told


@operation()
def degrees(graph: Multigraph, call, **_):
    same(columns(graph, call(), "in_degree", "out_degree", "degree"), list(degrees_of(graph)))


@operation()
def degree_centrality(graph: Multigraph, call, **_):
    heard, told, both = degrees_of(graph)
    found = columns(graph, call(), "degree_centrality", "in_degree_centrality", "out_degree_centrality")
    if graph.n == 1:
        same(found, [[1.0]] * 3)
    else:
        close(found, [[one / (graph.n - 1) for one in values] for values in (both, heard, told)])


MEASURES = ("jaccard", "overlap", "cosine", "common_neighbors", "adamic_adar", "resource_allocation")


def _similarity(graph: Multigraph, rng: random.Random):
    measure = rng.choice((*MEASURES, "preferential_attachment"))
    options = {"measure": measure} | some(rng, direction=rng.choice(("out", "in")))
    if measure in MEASURES[:3]:
        options |= weighted(graph, rng)
    if graph.n and (measure == "preferential_attachment" or rng.random() < 0.5):
        first, second = ([vertex(graph, rng) for _ in range(5)] for _ in range(2))
        options["pairs"] = {"first": first, "second": second}
    elif measure == "preferential_attachment":
        return None
    else:
        options |= some(rng, top_k=rng.randrange(1, 4)) | some(rng, 0.3, at_least=0.3)
    return options | some(rng, 0.2, max_degree=rng.randrange(1, 4))


def likeness(a: dict, b: dict, measure: str, heard: Counter) -> float:
    """Of two vertices with these neighbours, each with its weight."""
    shared = a.keys() & b.keys()
    size = {id(one): sum(one.values()) for one in (a, b)}
    if measure == "cosine":
        lengths = math.sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))
        return sum(a[w] * b[w] for w in shared) / lengths if lengths else 0.0
    common = sum(min(a[w], b[w]) for w in shared)
    match measure:
        case "jaccard":
            whole = sum(max(a.get(w, 0), b.get(w, 0)) for w in a.keys() | b.keys())
        case "overlap":
            whole = min(size[id(a)], size[id(b)])
        case "common_neighbors":
            return common
        case "preferential_attachment":
            return size[id(a)] * size[id(b)]
        case "adamic_adar":
            return sum(1 / math.log(heard[w]) for w in shared if heard[w] > 1)
        case "resource_allocation":
            return sum(1 / heard[w] for w in shared)
    return common / whole if whole else 0.0


@operation(_similarity)
def similarity(
    graph: Multigraph,
    call,
    measure,
    pairs=None,
    top_k=10,
    direction="out",
    weighted=False,
    max_degree=None,
    at_least=0.0,
):
    if top_k != 10 and top_k > max(graph.n - 1, 0):
        refused(call, OptionError, "to compare with each")
        return
    near: list[dict[int, float]] = [{} for _ in range(graph.n)]
    for u, v, w in graph.arcs(weighted):
        if u != v:
            a, b = (u, v) if direction == "out" else (v, u)
            near[a][b] = near[a].get(b, 0) + w if weighted else 1
    heard = Counter(w for one in near for w in one)
    if max_degree is not None:
        near = [{w: weight for w, weight in one.items() if heard[w] <= max_degree} for one in near]
    table = call().compute()
    same(table.columns.tolist(), ["first", "second", "similarity"])
    first, second, found = (
        *(numbers(graph, table[name]) for name in ("first", "second")),
        table["similarity"].tolist(),
    )
    values = [[likeness(a, b, measure, heard) for b in near] for a in near]
    if pairs is not None:
        same(list(zip(first, second, strict=True)), list(zip(*pairs.values(), strict=True)), "pairs")
        close(found, [values[u][v] for u, v in zip(first, second, strict=True)])
        return
    expected = []
    for u in range(graph.n):
        others = [v for v in range(graph.n) if v != u and near[u].keys() & near[v].keys()]
        others = [v for v in others if values[u][v] > 0 and values[u][v] >= at_least - 1e-12]
        ordered = sorted(others, key=lambda v: (-round(values[u][v], 9), v))
        expected += [(u, v) for v in ordered[:top_k]]
    same(list(zip(first, second, strict=True)), expected, "pairs")
    close(found, [values[u][v] for u, v in expected])


# -- whole graphs ------------------------------------------------------------------------------------------------------


@operation()
def is_dag(graph: Multigraph, call):
    same(call(), graph.directed and nx.is_directed_acyclic_graph(graph.multi()))


@operation()
def find_cycle(graph: Multigraph, call):
    cycle = numbers(graph, call())
    steps = Counter((u, v) if graph.directed else (min(u, v), max(u, v)) for u, v, _ in graph.edges)
    if not cycle:
        if graph.directed:
            acyclic = nx.is_directed_acyclic_graph(graph.multi())
        else:
            acyclic = not nx.cycle_basis(graph.simple) and len(steps) == len(graph.edges)
            acyclic &= all(u != v for u, v in steps)
        assert acyclic, "there is a cycle"
        return
    same(len(set(cycle)), len(cycle), f"vertices of {cycle}")
    used = Counter()
    for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        used[(u, v) if graph.directed else (min(u, v), max(u, v))] += 1
    assert all(steps[step] >= count for step, count in used.items()), f"{cycle} is no cycle"


@operation(lambda graph, rng: {} if graph.directed else None)
def triad_census(graph: Multigraph, call):
    if graph.n < 3:
        same(sum(call().values()), 0)
        return
    same(call(), nx.triadic_census(graph.steps))


@operation()
def topological_generations(graph: Multigraph, call, **_):
    if not graph.directed:
        refused(call, InputError, "undirected")
        return
    if graph.n and not nx.is_directed_acyclic_graph(graph.multi()):
        refused(call, InputError, "cycle")
        return
    expected = {u: k for k, one in enumerate(nx.topological_generations(graph.multi())) for u in one}
    same(columns(graph, call(), "generation"), [[expected[u] for u in range(graph.n)]])


@operation()
def summary(graph: Multigraph, call):
    found, pairs = call(), [(u, v) if graph.directed else (min(u, v), max(u, v)) for u, v, _ in graph.edges]
    n, m = graph.n, len(pairs)
    weak, strong = (
        [len(one) for one in components]
        for components in (nx.connected_components(graph.simple), nx.strongly_connected_components(graph.steps))
    )
    same((found.vertices, found.edges, found.directed), (n, m, graph.directed))
    ordered = n * (n - 1) / (1 if graph.directed else 2)
    close(found.density, m / ordered if ordered else 0, what="density")
    same((found.loops, found.repeats), (sum(u == v for u, v in pairs), m - len(set(pairs))), "loops and repeats")
    same(found.isolated, n - len({u for pair in pairs for u in pair}), "isolated")
    same((found.components, found.largest_component), (len(weak), max(weak, default=0)), "components")
    same((found.strong_components, found.largest_strong_component), (len(strong), max(strong, default=0)), "strong")
    once = {pair for pair in pairs if pair[0] != pair[1]}
    back = sum((v, u) in once for u, v in once) if graph.directed else len(once)
    close(found.reciprocity, back / len(once) if once else 1 if not graph.directed and once else 0, what="reciprocity")
    close(found.transitivity, nx.transitivity(graph.simple) if n else 0, what="transitivity")
    heard, told, both = degrees_of(graph)
    ends = np.array([(told[u], heard[v]) for u, v, _ in graph.arcs()], float).reshape(-1, 2)
    if len(ends) and ends.std(axis=0).min() > 0:
        close(found.assortativity, np.corrcoef(ends.T)[0, 1], what="assortativity")
    else:
        same(found.assortativity, None, "assortativity")
    names = {"degree": both, "in_degree": heard, "out_degree": told} if graph.directed else {"degree": both}
    for name, values in names.items():
        table = found.degrees[name]
        shares = {"least": 0, "25 %": 0.25, "half": 0.5, "75 %": 0.75, "90 %": 0.9, "99 %": 0.99, "most": 1}
        close(table["mean"], np.mean(values) if n else 0, what=f"mean {name}")
        for row, share in shares.items():
            close(table[row], pd.Series(values).quantile(share) if n else 0, what=f"{row} of {name}")
