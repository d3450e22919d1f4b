"""Calls of every function of the backend, for comparison with NetworkX: the kinds of its graphs, and arguments.

Results that one library may choose freely are compared by what they promise, in tests of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import pytest

SIMPLE, UNDIRECTED, DIRECTED = ("Graph", "DiGraph"), ("Graph", "MultiGraph"), ("DiGraph", "MultiDiGraph")
ANY = (*UNDIRECTED, *DIRECTED)
GRAPH, DIGRAPH = ("Graph",), ("DiGraph",)

FROM, TO, PAIR = {"source": "3"}, {"target": "8"}, {"source": "3", "target": "8"}
PAIRS = {"ebunch": [("3", "8"), ("1", "2"), ("0", "29")]}
HALVES = [{str(node) for node in range(12)}, {str(node) for node in range(12, 30)}]


def parity(u: str, v: str, data: dict) -> float:
    """A weight by a function, the same in both directions."""
    return 0.5 + (int(u) * int(v) + len(data)) % 3


Calls = list[dict[str, Any]]  # the arguments of several calls

# name -> kinds of graphs, and arguments; nodes are the numbers from 0 to 29 as strings
CALLS: Mapping[str, tuple[tuple[str, ...], Calls]] = {
    "pagerank": (
        ANY,
        [
            {},
            {"weight": None, "alpha": 0.5},
            # The first ranks differ, so only settled ranks are equal.
            {"personalization": {"3": 1, "5": 2}, "dangling": {"1": 1}, "tol": 1e-12, "max_iter": 500},
        ],
    ),
    "hits": (GRAPH, [{"tol": 1e-12}]),
    "katz_centrality": (
        SIMPLE,
        [
            {"alpha": 0.01, "nstart": {str(node * 7 % 30): 1 for node in range(30)}, "tol": 1e-12},
            {"alpha": 0.01, "beta": dict.fromkeys(map(str, range(30)), 2)},
            {"alpha": 0.02, "beta": 0.3, "normalized": False, "weight": "km"},
        ],
    ),
    "eigenvector_centrality": (
        GRAPH,
        [{"max_iter": 5000, "tol": 1e-12}, {"max_iter": 5000, "tol": 1e-12, "weight": "km"}],
    ),
    "connected_components": (UNDIRECTED, [{}]),
    "number_connected_components": (UNDIRECTED, [{}]),
    "is_connected": (UNDIRECTED, [{}]),
    "node_connected_component": (UNDIRECTED, [{"n": "3"}]),
    "weakly_connected_components": (DIRECTED, [{}]),
    "number_weakly_connected_components": (DIRECTED, [{}]),
    "is_weakly_connected": (DIRECTED, [{}]),
    "number_strongly_connected_components": (DIRECTED, [{}]),
    "is_strongly_connected": (DIRECTED, [{}]),
    "number_attracting_components": (DIRECTED, [{}]),
    "is_attracting_component": (DIRECTED, [{}]),
    "is_directed_acyclic_graph": (ANY, [{}]),
    "is_tree": (ANY, [{}]),
    "is_forest": (ANY, [{}]),
    "is_arborescence": (DIRECTED, [{}]),
    "is_branching": (DIRECTED, [{}]),
    "minimum_spanning_edges": (
        UNDIRECTED,
        [{}, {"weight": "km"}, {"weight": "km", "data": False}, {"weight": None, "keys": False}, {"algorithm": "?"}],
    ),
    "maximum_spanning_edges": (UNDIRECTED, [{}, {"weight": "km", "keys": False, "data": False}]),
    "minimum_spanning_tree": (ANY, [{}, {"weight": "km"}]),
    "maximum_spanning_tree": (UNDIRECTED, [{}, {"weight": "km"}]),
    "bridges": (UNDIRECTED, [{}, {"root": "3"}, {"root": "no node"}]),
    "has_bridges": (UNDIRECTED, [{}, {"root": "3"}]),
    "is_biconnected": (UNDIRECTED, [{}]),
    "core_number": (GRAPH, [{}]),
    "triangles": (GRAPH, [{}, {"nodes": "3"}, {"nodes": ["5", "2", "no node"]}]),
    "transitivity": (GRAPH, [{}]),
    "clustering": (SIMPLE, [{}, {"nodes": "3"}, {"nodes": ["5", "2"]}, {"weight": "km"}, {"weight": "no such one"}]),
    "average_clustering": (SIMPLE, [{}, {"count_zeros": False}, {"nodes": ["5", "2", "3"]}, {"weight": "km"}]),
    "triadic_census": (DIRECTED, [{}, {"nodelist": ["3", "8", "5"]}, {"nodelist": ["3", "3"]}]),
    "ego_graph": (
        ANY,
        [
            {"n": "3"},
            {"n": "3", "radius": 2, "center": False},
            {"n": "3", "radius": 2.5, "undirected": True},
            {"n": "3", "radius": 5, "distance": "km"},
            {"n": "no node"},
        ],
    ),
    "k_core": (GRAPH, [{}, {"k": 2}]),
    "k_shell": (GRAPH, [{}, {"k": 1}]),
    "k_crust": (GRAPH, [{}, {"k": 1}]),
    "k_corona": (GRAPH, [{"k": 2}]),
    "k_truss": (GRAPH, [{"k": 3}, {"k": 1}]),
    "single_source_shortest_path_length": (ANY, [FROM, *({**FROM, "cutoff": one} for one in (2, 1.5, 0, -1))]),
    "single_target_shortest_path_length": (ANY, [TO]),
    "all_pairs_shortest_path_length": (GRAPH, [{"cutoff": 2}]),
    "has_path": (ANY, [PAIR]),
    "descendants": (ANY, [FROM]),
    "ancestors": (ANY, [FROM]),
    "descendants_at_distance": (ANY, [{**FROM, "distance": 2}]),
    "single_source_dijkstra_path_length": (
        ANY,
        [FROM, *({**FROM, "cutoff": one, "weight": "km"} for one in (3, 2.5, 0, -1))],
    ),
    "multi_source_dijkstra_path_length": (ANY, [{"sources": ["3", "8"], "weight": "km"}]),
    "dijkstra_path_length": (ANY, [PAIR, {**PAIR, "weight": "km"}, {**PAIR, "weight": parity}]),
    "all_pairs_dijkstra_path_length": (DIGRAPH, [{"weight": "km"}]),
    "single_source_bellman_ford_path_length": (ANY, [FROM, {**FROM, "weight": "km"}]),
    "bellman_ford_path_length": (ANY, [PAIR]),
    "all_pairs_bellman_ford_path_length": (DIGRAPH, [{}]),
    "shortest_path_length": (ANY, [FROM, TO, PAIR, {**PAIR, "weight": "km"}, {**TO, "weight": "km"}]),
    "average_shortest_path_length": (UNDIRECTED, [{}, {"weight": "km"}, {"weight": parity}]),
    "wiener_index": (ANY, [{}, {"weight": "km"}]),
    "efficiency": (GRAPH, [{"u": "3", "v": "8"}]),
    "global_efficiency": (GRAPH, [{}]),
    "eccentricity": (
        ANY,
        [
            *({"v": v, "weight": weight} for v in (None, "3", ["5", "2"]) for weight in (None, "km", "weight")),
            {"weight": parity},
            {"sp": {}},
            {"v": ["5", "2"], "sp": {"5": dict.fromkeys(range(30), 1), "2": dict.fromkeys(range(30), 4)}},
            {"sp": 1},
        ],
    ),
    "diameter": (ANY, [{}, {"weight": "km"}, {"e": {"5": 2, "1": 7}}]),
    "radius": (ANY, [{}, {"weight": "weight"}]),
    "periphery": (ANY, [{}, {"weight": "weight"}]),
    "degree_centrality": (ANY, [{}]),
    "in_degree_centrality": (DIRECTED, [{}]),
    "out_degree_centrality": (DIRECTED, [{}]),
    "closeness_centrality": (ANY, [{}, {"distance": "km"}, {"u": "3", "wf_improved": False}]),
    "betweenness_centrality": (
        ANY,
        [{}, {"weight": "km", "normalized": False}, {"k": 7, "seed": 5, "endpoints": True}],
    ),
    "edge_betweenness_centrality": (
        ANY,
        [{}, {"weight": "km"}, {"k": 7, "seed": 5}, {"weight": parity, "normalized": False}],
    ),
    "greedy_color": (
        ANY,
        [{}, {"strategy": nx.coloring.strategy_largest_first}, {"strategy": lambda G, colors: sorted(G, key=str)}],
    ),
    "isolates": (ANY, [{}]),
    "number_of_isolates": (ANY, [{}]),
    "is_isolate": (ANY, [{"n": "3"}]),
    "is_regular": (ANY, [{}]),
    "is_k_regular": (UNDIRECTED, [{"k": 2}]),
    "is_eulerian": (ANY, [{}]),
    "reciprocity": (DIGRAPH, [{}, {"nodes": "3"}, {"nodes": ["5", "2", "no node"]}]),
    "overall_reciprocity": (DIGRAPH, [{}]),
    "modularity": (ANY, [{"communities": HALVES}, {"communities": HALVES, "weight": None, "resolution": 0.5}]),
    "degree_assortativity_coefficient": (
        ANY,
        [{}, {"x": "in", "weight": "km"}, {"nodes": [str(node) for node in range(0, 30, 2)], "weight": "km"}],
    ),
    "is_bipartite": (ANY, [{}]),
    "sets": (ANY, [{}, {"top_nodes": ["3", "8"]}]),
    "jaccard_coefficient": (GRAPH, [PAIRS]),
    "adamic_adar_index": (GRAPH, [PAIRS]),
    "resource_allocation_index": (GRAPH, [PAIRS]),
    "preferential_attachment": (GRAPH, [PAIRS]),
}
# Results whose order is free: sets of nodes, compared as such.
BY_SET = {
    "strongly_connected_components": DIRECTED,
    "attracting_components": DIRECTED,
    "biconnected_components": UNDIRECTED,
}
# Of several shortest paths, either library finds one; tests of their own check them.
PATHS = [
    "single_source_shortest_path",
    "single_target_shortest_path",
    "all_pairs_shortest_path",
    "bidirectional_shortest_path",
    "bfs_layers",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "dijkstra_path",
    "bidirectional_dijkstra",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "bellman_ford_path",
    "all_pairs_bellman_ford_path",
    "shortest_path",
]
# Choices and orders that are free, with tests of their own.
FREE = [
    "articulation_points",
    "biconnected_component_edges",
    "topological_generations",
    "topological_sort",
    "color",
    "center",
    "harmonic_centrality",
    "louvain_communities",
    "leiden_communities",
    "asyn_lpa_communities",
    "fast_label_propagation_communities",
    "maximal_independent_set",
]


def graphs(kinds: tuple[str, ...], *, loops: bool = True) -> Iterator[nx.Graph]:
    """Random graphs of these kinds, sparse to dense, with loops, repeated edges, weights, and isolated nodes; paths and
    stars as well."""
    for kind in kinds:
        for seed, p in enumerate((0.03, 0.07, 0.2)):
            drawn = nx.gnp_random_graph(30, p, seed=seed, directed="Di" in kind)
            g = _named(kind, drawn)
            if loops and seed == 1:
                g.add_edge("4", "4")
            if "Multi" in kind:
                g.add_edges_from([*g.edges][:10])
            for number, (_, _, data) in enumerate(g.edges(data=True)):
                data["km"] = 1 + number * 7 % 5
                if number % 3:
                    data["weight"] = 0.5 + number * 3 % 4
            yield g
        yield _named(kind, nx.path_graph(30))
        yield _named(kind, nx.star_graph(29))


def _named(kind: str, drawn: nx.Graph) -> nx.Graph:
    """The same graph with strings as nodes, in another order."""
    g = getattr(nx, kind)()
    g.add_nodes_from(str(node * 7 % 30) for node in range(30))
    g.add_edges_from((str(u), str(v)) for u, v in drawn.edges)
    return g


def sorted_by_node(found: Any) -> Any:
    """Lengths of paths in the order of the nodes: those of nodes at one distance may come in any order."""
    if isinstance(found, dict):
        return dict(sorted(found.items()))
    return [(node, sorted_by_node(more)) for node, more in found] if isinstance(found, list) else found


def alike(one: Any, other: Any) -> bool:
    """Whether two results are the same, in the same order; numbers up to rounding."""
    if isinstance(other, nx.Graph):
        return one.graph == other.graph and one._node == other._node and one._adj == other._adj
    if isinstance(other, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in other)
    if isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(other, float):
        return bool(one == pytest.approx(other, rel=1e-6, abs=1e-7, nan_ok=True))
    return bool(one == other) and not hasattr(one, "dtype")
