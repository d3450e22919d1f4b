"""What NetworkX may choose freely: one of several shortest paths, communities, sets and colors. Each is checked for
what it promises."""

import random
import re
from inspect import signature
from itertools import pairwise

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms
from networkx_calls import ANY, GRAPH, PATHS, UNDIRECTED, graphs

import dgraph as dg

ENDS = {"source": "3", "target": "8", "sources": ["3", "5"], "weight": "km"}


def arguments_of(name):
    """The ends that a function needs, and the weight if it takes one."""
    taken = signature(_registered_algorithms[name].orig_func).parameters
    needed = {one for one, value in taken.items() if value.default is value.empty and one in ENDS}
    return {one: ENDS[one] for one in ENDS if one in needed or (one == "weight" and one in taken)}


def cost(graph, path, weight):
    """Where a path ends, and its length; it must be one. Of several sources, either may be where it starts."""
    total = 0
    for pair in pairwise(path):
        data = graph.get_edge_data(*pair)
        edges = data.values() if graph.is_multigraph() else [data]
        total += min(one.get(weight, 1) if weight else 1 for one in edges)
    return path[-1], total


def priced(graph, found, weight):
    """A result with its paths replaced by their last nodes and lengths, without an order of nodes."""
    if isinstance(found, dict):
        return {node: priced(graph, one, weight) for node, one in found.items()}
    if isinstance(found, list) and all(node in graph for node in found):
        return cost(graph, found, weight)
    return tuple(priced(graph, one, weight) for one in found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("name", [name for name in PATHS if name != "bfs_layers"])
def test_paths_are_shortest_paths(name):
    function, arguments = _registered_algorithms[name], arguments_of(name)
    for graph in graphs(GRAPH if name.startswith("all") else ANY):
        found = []
        for backend in ("dgraph", "networkx"):
            try:
                result = function(graph, **arguments, backend=backend)
            except nx.NetworkXNoPath:
                result = "no path"
            several = dict(result) if name.startswith("all") or name == "shortest_path" else result
            found.append(priced(graph, several, arguments.get("weight")))
        assert found[0] == found[1]


def test_layers_have_the_nodes_of_one_distance():
    for graph in graphs(ANY):
        ours, theirs = (nx.bfs_layers(graph, ["3", "5"], backend=one) for one in ("dgraph", "networkx"))
        assert list(map(set, ours)) == list(map(set, theirs))


def test_negative_cycles_are_unbounded():
    graph = nx.DiGraph([(0, 1, {"weight": -2}), (1, 0, {"weight": 1})])
    with pytest.raises(nx.NetworkXUnbounded, match="Negative cycle detected"):
        nx.single_source_bellman_ford(graph, 0, backend="dgraph")
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra(graph, 0, backend="dgraph")


def test_harmonic_centrality_and_centers_in_any_order():
    for graph in graphs(ANY):
        for wanted in (None, ["5", "2"]):
            ours, theirs = (nx.harmonic_centrality(graph, wanted, backend=one) for one in ("dgraph", "networkx"))
            assert ours == pytest.approx(theirs)
            few = {"distance": "km", "sources": ["3", "8"]}
            ours, theirs = (nx.harmonic_centrality(graph, wanted, **few, backend=one) for one in ("dgraph", "networkx"))
            assert ours == pytest.approx(theirs)
        if not graph.is_directed() and nx.is_connected(graph):
            assert set(nx.center(graph, backend="dgraph")) == set(nx.center(graph))


@pytest.mark.parametrize("name", ["louvain_communities", "leiden_communities"])
def test_communities_are_as_good_as_those_of_networkx(name):
    function = getattr(nx.community, name)
    graph = nx.connected_caveman_graph(6, 8)
    found = function(graph, seed=3, backend="dgraph")
    assert nx.community.is_partition(graph, found)
    theirs = nx.community.louvain_communities(graph, seed=3)
    assert nx.community.modularity(graph, found) >= nx.community.modularity(graph, theirs) - 1e-9
    assert found == function(graph, seed=3, backend="dgraph")
    with pytest.raises(ValueError, match="max_level"):
        function(graph, max_level=0, backend="dgraph")


@pytest.mark.parametrize("name", ["asyn_lpa_communities", "fast_label_propagation_communities"])
def test_labels_spread_within_cliques(name):
    graph = nx.disjoint_union_all([nx.complete_graph(n) for n in (4, 5, 6)])
    found = list(getattr(nx.community, name)(graph, seed=1, backend="dgraph"))
    assert sorted(map(sorted, found)) == [list(range(4)), list(range(4, 9)), list(range(9, 15))]


def test_sets_are_independent_and_maximal():
    for graph in graphs(UNDIRECTED, loops=False):
        chosen = nx.maximal_independent_set(graph, seed=1, backend="dgraph")
        assert not any(graph.has_edge(u, v) for u in chosen for v in chosen)
        assert all(node in chosen or set(graph[node]) & set(chosen) for node in graph)
        given = {*chosen[1:3], "5"} if not set(graph["5"]) & set(chosen[1:3]) else {"5"}
        more = nx.maximal_independent_set(graph, given, seed=1, backend="dgraph")
        assert given <= set(more) and not any(graph.has_edge(u, v) for u in more for v in more)
        assert all(node in more or set(graph[node]) & set(more) for node in graph)


@pytest.mark.parametrize("algorithm", ["prim", "boruvka"])
def test_spanning_trees_have_the_least_weight_for_any_algorithm(algorithm):
    for graph in graphs(GRAPH):
        ours, theirs = (
            nx.minimum_spanning_tree(graph, "km", algorithm=algorithm, backend=one) for one in ("dgraph", "networkx")
        )
        assert ours.size("km") == theirs.size("km")
        assert set(map(frozenset, nx.connected_components(ours))) == set(map(frozenset, nx.connected_components(graph)))


def test_functions_as_weights_that_depend_on_the_direction_are_refused():
    def later(u, v, _):
        return 1 if u < v else 5

    assert nx.dijkstra_path_length(nx.DiGraph([(1, 2), (2, 1)]), 2, 1, later, backend="dgraph") == 5
    refused = [
        (nx.dijkstra_path_length, nx.path_graph(3), {"source": 0, "target": 2, "weight": later}, "each direction"),
        (nx.shortest_path_length, nx.DiGraph([(1, 2)]), {"target": 2, "weight": later}, "reversed edges"),
        (nx.diameter, nx.path_graph(3), {"weight": lambda *_: None}, "what the function returns is not a number"),
    ]
    for function, graph, arguments, reason in refused:
        with pytest.raises(NotImplementedError) as caught:
            function(graph, **arguments, backend="dgraph")
        assert re.search(reason, f"{caught.value} {caught.value.__cause__}")


def test_colors_in_a_random_order_are_those_of_networkx():
    for graph in graphs(UNDIRECTED):
        found = []
        for one in ("dgraph", "networkx"):
            random.seed(4)
            found.append(nx.greedy_color(graph, "random_sequential", backend=one))
        assert list(found[0].items()) == list(found[1].items())


def test_colors_of_a_graph_of_dgraph_differ_between_neighbors():
    graph = nx.gnp_random_graph(30, 0.2, seed=2)
    ends = {"src": [u for u, _ in graph.edges], "dst": [v for _, v in graph.edges]}
    colors = nx.greedy_color(dg.Graph.from_edges(ends, directed=False, vertices=30))
    assert all(colors[u] != colors[v] for u, v in graph.edges)


def test_strategies_that_depend_on_colors_are_refused():
    with pytest.raises(NotImplementedError):
        nx.greedy_color(nx.path_graph(3), lambda G, colors: iter(G), backend="dgraph")


def test_a_division_that_leaves_out_a_node_is_no_partition():
    with pytest.raises(nx.community.quality.NotAPartition):
        nx.community.modularity(nx.path_graph(3), [{0}, {1}], backend="dgraph")
