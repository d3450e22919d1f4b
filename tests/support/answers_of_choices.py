"""Answers of which several may be right (communities, labels, matchings, colorings, walks, samples), checked by their
laws, and graphs cut out of graphs."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise

import networkx as nx
from answers import Vertex, close, columns, numbers, operation, rows, same, some, turned, vertex, vertices, weighted
from multigraphs import Multigraph

# -- labels ------------------------------------------------------------------------------------------------------------


def votes(graph: Multigraph, weighted: bool = False) -> list[list[tuple[int, float]]]:
    """For each vertex, whose labels it hears, each with its weight: along in-edges and out-edges."""
    heard: list[list[tuple[int, float]]] = [[] for _ in range(graph.n)]
    for u, v, w in graph.arcs(weighted):
        heard[v].append((u, w))
        if graph.directed:
            heard[u].append((v, w))
    return heard


def polls(near: list[tuple[int, float]], label: list) -> dict:
    """The votes for each label."""
    found: dict = defaultdict(float)
    for u, w in near:
        if w > 0:
            found[label[u]] += w
    return found


@operation(lambda graph, rng: some(rng, max_iter=rng.randrange(1, 5)))
def cdlp(graph: Multigraph, call, max_iter=10, **_):
    label, heard = list(range(graph.n)), votes(graph)
    for _ in range(max_iter):
        found = [polls(near, label) for near in heard]
        label = [min(found[v], key=lambda one: (-found[v][one], one)) if found[v] else label[v] for v in range(graph.n)]
    (labels,) = columns(graph, call(), "label")
    same(numbers(graph, labels), label)


@operation(lambda graph, rng: weighted(graph, rng) | some(rng, random_seed=rng.randrange(9)))
def label_propagation(graph: Multigraph, call, weighted=False, **_):
    result = call()
    (labels,) = columns(graph, result, "label")
    label, restless = numbers(graph, labels), 0
    for v, near in enumerate(votes(graph, weighted)):
        found = polls(near, label)
        restless += bool(found) and found.get(label[v], 0) < max(found.values())
        if not found:
            same(label[v], v, "label of a vertex that hears none")
    same(result.totals["restless"], restless, "restless vertices")
    assert restless == 0 or result.rounds >= 100
    parts = smallest_of_components(graph)
    assert all(parts[v] == parts[one] for v, one in enumerate(label)), "a label from another component"


def smallest_of_components(graph: Multigraph) -> dict[int, int]:
    return {u: min(one) for one in nx.connected_components(graph.simple) for u in one}


# -- matchings, sets, colorings ----------------------------------------------------------------------------------------


def _matching(graph: Multigraph, rng: random.Random):
    sources, destinations = ({edge[end] for edge in graph.edges} for end in (0, 1))
    if sources & destinations:
        return None
    left = [Vertex(u) for u in sorted(sources)]
    return {"random_seed": rng.randrange(9)} | some(rng, 0.3 if graph.directed else 1.0, left=left)


@operation(_matching)
def matching(graph: Multigraph, call, **_):
    (mates,) = columns(graph, call(), "mate")
    mate = numbers(graph, mates)
    assert all(one is None or (mate[one] == v and graph.simple.has_edge(v, one)) for v, one in enumerate(mate)), mate
    free = [(u, v) for u, v, _ in graph.edges if mate[u] is None and mate[v] is None]
    assert not free, f"{mate} leaves {free}"


@operation(lambda graph, rng: some(rng, random_seed=rng.randrange(9)))
def maximal_independent_set(graph: Multigraph, call, **_):
    result = call()
    (inside,) = columns(graph, result, "in_set")
    same(result.totals["size"], sum(inside), "size")
    for v in range(graph.n):
        near = any(inside[u] for u in graph.simple[v])
        assert inside[v] != near, f"{inside}: vertex {v}"


@operation(lambda graph, rng: some(rng, random_seed=rng.randrange(9)))
def coloring(graph: Multigraph, call, **_):
    result = call()
    (color,) = columns(graph, result, "color")
    same(result.totals["colors"], max(color, default=-1) + 1, "colors")
    for part in nx.connected_components(graph.simple):
        simple = graph.simple.subgraph(part)
        if nx.is_bipartite(simple):
            near = nx.single_source_shortest_path_length(simple, min(part))
            same([color[v] for v in sorted(part)], [near[v] % 2 for v in sorted(part)], "sides")
            continue
        for v in part:
            assert color[v] not in [color[u] for u in simple[v]], f"{color}: neighbours of {v}"
            earlier = {color[u] for u in simple[v] if simple.degree(u) >= simple.degree(v)}
            assert set(range(color[v])) <= earlier, f"{color}: vertex {v} could have a smaller one"


# -- communities -------------------------------------------------------------------------------------------------------


def quality_of(
    graph: Multigraph, label: list, resolution: float, weighted: bool, objective: str = "modularity"
) -> float:
    """By the definition in docs/semantics.md."""
    edges = [(u, v, w if weighted else 1) for u, v, w in graph.edges]
    inside, total = sum(w for u, v, w in edges if label[u] == label[v]), sum(w for _, _, w in edges)
    if objective == "cpm":
        sizes = Counter(label).values()
        return inside - resolution * sum(one * (one - 1) for one in sizes) / (1 if graph.directed else 2)
    if not total:
        return 0.0
    leave, enter = Counter(), Counter()
    for u, v, w in edges:
        leave[label[u]] += w
        enter[label[v]] += w
        if not graph.directed:
            leave[label[v]] += w
            enter[label[u]] += w
    whole = total if graph.directed else 2 * total
    return inside / total - resolution * sum(leave[one] * enter[one] for one in leave) / whole**2


def _communities(graph: Multigraph, rng: random.Random):
    options = weighted(graph, rng) | {"random_seed": rng.randrange(9)}
    options |= some(rng, 0.3, resolution=rng.choice((0.5, 2.0)), objective="cpm")
    return options | some(rng, 0.3, deterministic=True)


@operation(_communities)
def louvain(graph: Multigraph, call, resolution=1.0, objective="modularity", weighted=False, **_):
    result = call()
    (labels,) = columns(graph, result, "community")
    label = numbers(graph, labels)
    assert all(label[v] == min(u for u in range(graph.n) if label[u] == label[v]) for v in range(graph.n)), label
    quality = quality_of(graph, label, resolution, weighted, objective)
    close(result.totals[objective], quality, what=objective, atol=1e-9)
    alone = quality_of(graph, list(range(graph.n)), resolution, weighted, objective)
    assert quality >= alone - 1e-9, f"{label}: {quality}, but {alone} if all vertices are alone"
    parts = smallest_of_components(graph)
    assert all(parts[v] == parts[one] for v, one in enumerate(label)), "a community of two components"
    for v in range(graph.n):  # no move of a single vertex improves it by much
        for other in {label[u] for u in graph.simple[v]}:
            moved = [other if u == v else one for u, one in enumerate(label)]
            better = quality_of(graph, moved, resolution, weighted, objective)
            allowed = 0.1 if objective == "modularity" else 0.1 * max(1.0, sum(w for _, _, w in graph.arcs(weighted)))
            assert better <= quality + allowed, f"{label}: {quality}, but {better} with {v} in {other}"
    levels = [one.compute().sort_values("vertex")["community"].tolist() for one in result.levels] if graph.n else []
    for fine, coarse in pairwise(levels):
        assert len(set(zip(fine, coarse, strict=True))) == len(set(fine)), "levels are not nested"


@operation(_communities)
def leiden(graph: Multigraph, call, weighted=False, **options):
    kept = []

    def again():
        kept.append(call())
        return kept[-1]

    louvain(graph, again, weighted=weighted, **options)
    (labels,) = columns(graph, kept[0], "community")
    connected = nx.Graph([(u, v) for u, v, w in graph.arcs(weighted) if w > 0])
    connected.add_nodes_from(range(graph.n))
    for one in set(labels):
        part = connected.subgraph([v for v in range(graph.n) if labels[v] == one])
        assert nx.is_connected(part), f"{labels}: {one} is not connected"


def _labels(graph: Multigraph, rng: random.Random) -> list[int]:
    few = rng.randrange(1, 5)
    return [rng.randrange(few) for _ in range(graph.n)]


@operation(
    lambda graph, rng: (
        {"labels": _labels(graph, rng)} | weighted(graph, rng) | some(rng, 0.3, resolution=rng.choice((0.5, 2.0)))
    )
)
def modularity(graph: Multigraph, call, labels, resolution=1.0, weighted=False):
    found = call()
    close(found, quality_of(graph, labels, resolution, weighted), atol=1e-9)
    if found and len(graph.edges):
        sets = [{u for u in range(graph.n) if labels[u] == one} for one in set(labels)]
        known = nx.community.modularity(graph.multi(weighted), sets, resolution=resolution)
        close(found, known, atol=1e-9, what="NetworkX")


@operation(
    lambda graph, rng: (
        {"labels": _labels(graph, rng)} | weighted(graph, rng) | some(rng, 0.3, resolution=rng.choice((0.5, 2.0)))
    )
)
def partition_quality(graph: Multigraph, call, labels, resolution=1.0, weighted=False):
    found, edges = call(), [(u, v, w if weighted else 1) for u, v, w in graph.edges]
    close(found.modularity, quality_of(graph, labels, resolution, weighted), atol=1e-9, what="modularity")
    inside, total = [edge for edge in edges if labels[edge[0]] == labels[edge[1]]], sum(w for _, _, w in edges)
    close(found.coverage, sum(w for _, _, w in inside) / total if total else 0, what="coverage")
    close(found.internal_edges, len(inside) / len(edges) if edges else 0, what="internal edges")
    degree = Counter()
    for u, v, w in edges:
        degree[labels[u]] += w
        degree[labels[v]] += w
    expected = []
    for one in sorted(set(labels)):
        members = [u for u in range(graph.n) if labels[u] == one]
        cut = sum(w for u, v, w in edges if (labels[u] == one) != (labels[v] == one))
        least = min(degree[one], sum(degree.values()) - degree[one])
        part = nx.Graph([(u, v) for u, v, w in edges if labels[u] == labels[v] == one and w > 0])
        part.add_nodes_from(members)
        size = len(members), sum(labels[u] == one for u, _, _ in inside)
        expected.append((one, *size, cut / least if least else 0.0, nx.is_connected(part)))
    table = found.communities
    same(table.columns.tolist(), ["community", "size", "edges", "conductance", "connected"])
    for k, name in enumerate(table):
        values = [row[k] for row in expected]
        close(table[name], values, what=name) if name == "conductance" else same(table[name].tolist(), values, name)
    same(found.disconnected, sum(not row[4] for row in expected), "disconnected")
    conductances = [row[3] for row in expected] or [0.0]
    close(found.conductance, sum(conductances) / len(conductances), what="mean conductance")
    close(found.worst_conductance, max(conductances), what="worst conductance")


def _coarsen(graph: Multigraph, rng: random.Random):
    if graph.kind == "negative":
        return {"labels": _labels(graph, rng), "weights": "count"}
    return {"labels": _labels(graph, rng)} | some(rng, 0.3, weights="count")


@operation(_coarsen)
def coarsen(graph: Multigraph, call, labels, weights="sum"):
    made = call()
    same(made.directed, graph.directed, "directed")
    sizes = made.vertices.compute().sort_values("id")
    same(sizes["id"].tolist(), sorted(set(labels)), "vertices")
    same(sizes["size"].tolist(), [size for _, size in sorted(Counter(labels).items())], "size")
    expected: dict = defaultdict(float)
    for u, v, w in graph.edges:
        ends = labels[u], labels[v]
        expected[ends if graph.directed else (min(ends), max(ends))] += w if weights == "sum" and graph.weighted else 1
    table = made.edges.compute()
    found = list(zip(table[table.columns[0]], table[table.columns[1]], table["weight"], strict=True))
    wanted = [(*ends, w) for ends, w in expected.items() if w > 0 or weights == "count"]
    close(turned(graph, found), turned(graph, wanted))


# -- graphs cut out of graphs ------------------------------------------------------------------------------------------


def check_cut(graph: Multigraph, made, kept: list[int], edges: list[tuple]) -> None:
    """A graph has these vertices and edges."""
    same(made.directed, graph.directed, "directed")
    same(numbers(graph, sorted(made.vertices.compute()["id"])), sorted(kept), "vertices")
    same((made.num_vertices, made.num_edges), (len(kept), len(edges)), "numbers of vertices and edges")
    same(turned(graph, rows(graph, made.edges)), turned(graph, edges), "edges")


def inner(graph: Multigraph, kept) -> list[tuple]:
    return [edge for edge in graph.edges if edge[0] in kept and edge[1] in kept]


@operation(lambda graph, rng: {"vertices": vertices(graph, rng, graph.n)} if graph.n else None)
def subgraph(graph: Multigraph, call, vertices):
    check_cut(graph, call(), list(set(vertices)), inner(graph, set(vertices)))


def _ego(graph: Multigraph, rng: random.Random):
    if not graph.n:
        return None
    center = vertex(graph, rng) if rng.random() < 0.7 else vertices(graph, rng)
    return {"vertex": center} | some(rng, radius=rng.randrange(4), direction=rng.choice(("out", "in", "both")))


@operation(_ego)
def ego(graph: Multigraph, call, vertex, radius=1, direction="out"):
    near = graph.distances()
    centers = vertex if isinstance(vertex, list) else [vertex]
    if direction == "both":
        both = Multigraph(graph.n, graph.listed, False, ids=graph.ids, rules=())
        near = both.distances()
    near = near.T if direction == "in" else near
    kept = [v for v in range(graph.n) if min(near[u, v] for u in centers) <= radius]
    check_cut(graph, call(), kept, inner(graph, kept))


@operation()
def largest_component(graph: Multigraph, call):
    parts = [sorted(one) for one in nx.connected_components(graph.simple)]
    kept = min((one for one in parts if len(one) == max(map(len, parts))), default=[])
    check_cut(graph, call(), kept, inner(graph, kept))


@operation()
def reverse(graph: Multigraph, call):
    edges = [(v, u, w) for u, v, w in graph.edges]
    check_cut(graph, call(), list(range(graph.n)), edges)


def _simplify(graph: Multigraph, rng: random.Random):
    return some(rng, 0.3, loops="keep") | some(rng, repeats=rng.choice(("keep", "sum", "min", "max")))


@operation(_simplify)
def simplify(graph: Multigraph, call, loops="drop", repeats="first"):
    listed, made = tuple(graph.edges), call()
    merge = repeats if graph.weighted or repeats == "keep" else "first"
    plain = Multigraph(graph.n, listed, graph.directed, graph.kind, rules=(("loops", loops), ("repeats", merge)))
    if repeats != "first" or not graph.weighted:
        check_cut(graph, made, list(range(graph.n)), plain.edges)
        return
    # which edge comes first depends on the door
    found = turned(graph, rows(graph, made.edges))
    same([one[:2] for one in found], [one[:2] for one in turned(graph, plain.edges)], "edges")
    assert set(found) <= set(turned(graph, listed)), found


def heavy(edges):
    """Edges with a weight of at least 2 or, without weights, that do not lead to themselves."""
    if "weight" in edges:
        return edges["weight"] >= 2
    return edges[edges.columns[0]] != edges[edges.columns[1]]


@operation(lambda graph, rng: {"function": heavy})
def filter_edges(graph: Multigraph, call, function):
    kept = [edge for edge in graph.edges if (edge[2] >= 2 if graph.weighted else edge[0] != edge[1])]
    check_cut(graph, call(), list(range(graph.n)), kept)


# -- walks and samples -------------------------------------------------------------------------------------------------


def _random_walks(graph: Multigraph, rng: random.Random):
    if not graph.n:
        return None
    options = {"starts": vertices(graph, rng) * rng.randrange(1, 3), "length": rng.randrange(1, 6)}
    if rng.random() < 0.3:
        options["starts"] = None
    options |= weighted(graph, rng) | some(rng, 0.3, p=rng.choice((0.25, 4.0)), q=rng.choice((0.5, 2.0)), restart=0.3)
    return options | {"random_seed": rng.randrange(9)}


@operation(_random_walks)
def random_walks(graph: Multigraph, call, starts, length, weighted=False, restart=0.0, **_):
    table = call().compute()
    same(table.columns.tolist(), ["walk", "step", "vertex"])
    begins = list(range(graph.n)) if starts is None else starts
    steps = {(u, v) for u, v, w in graph.arcs(weighted) if w > 0}
    ends = {u for u in range(graph.n) if not any(a == u for a, _ in steps)}
    walks = table.groupby("walk")
    same(list(walks.groups), list(range(len(begins))), "walks")
    for k, walk in walks:
        same(walk["step"].tolist(), list(range(len(walk))), "steps")
        at = numbers(graph, walk["vertex"])
        same(at[0], begins[k], "start")
        for u, v in pairwise(at):
            assert (u, v) in steps or (restart and v == at[0]), f"walk {at}: no edge from {u} to {v}"
        assert len(at) == length + 1 or at[-1] in ends, f"walk {at} ends early"


def _sample(graph: Multigraph, rng: random.Random):
    if not graph.n:
        return None
    fanouts = [rng.choice((-1, 1, 2, 3)) for _ in range(rng.randrange(1, 4))]
    options = {"seeds": vertices(graph, rng), "fanouts": fanouts} | weighted(graph, rng)
    if -1 not in fanouts:
        options |= some(rng, 0.3, replace=True)
    return options | some(rng, direction="out") | {"random_seed": rng.randrange(9)}


@operation(_sample)
def sample_neighbors(graph: Multigraph, call, seeds, fanouts, weighted=False, replace=False, direction="in", **_):
    sample = call()
    table = sample.edges
    far, near = (numbers(graph, table[table.columns[k]]) for k in ((0, 1) if direction == "in" else (1, 0)))
    hops, last = table["hop"].tolist(), list(seeds)
    reached = list(seeds)
    choices: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v, w in graph.arcs(weighted):
        if w > 0:
            choices[v if direction == "in" else u].append(u if direction == "in" else v)
    for hop, most in enumerate(fanouts, 1):
        drawn = defaultdict(list)
        for k in range(len(hops)):
            if hops[k] == hop:
                drawn[near[k]].append(far[k])
        assert set(drawn) <= set(last), f"hop {hop} samples edges of {set(drawn) - set(last)}"
        for v in last:
            many = len(choices[v]) if most == -1 else most if replace and choices[v] else min(most, len(choices[v]))
            same(len(drawn[v]), many, f"edges of {v} in hop {hop}")
            assert set(drawn[v]) <= set(choices[v]), f"{drawn[v]} are no neighbours of {v}"
            assert replace or not Counter(drawn[v]) - Counter(choices[v]), f"an edge of {v} is drawn twice"
        last = sorted({u for one in drawn.values() for u in one} - set(reached))
        reached += last
    same(max(hops, default=0) <= len(fanouts), True, "hops")
    found = numbers(graph, sample.vertices)
    same((found[: len(seeds)], sorted(found)), (list(seeds), sorted(reached)), "vertices")
    same(sample.num_seeds, len(seeds), "seeds")
    ends = [[found[one] for one in side] for side in sample.edge_index.tolist()]
    same(ends, [far, near] if direction == "in" else [near, far], "edge index")
