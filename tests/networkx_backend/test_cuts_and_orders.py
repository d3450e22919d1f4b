"""Cuts, topological orders and colors of two kinds, which NetworkX returns in another order; and spanning trees where
NetworkX has a rule of its own."""

import math
from itertools import count

import networkx as nx
import pytest
from networkx_calls import ANY, DIRECTED, UNDIRECTED, graphs

import dgraph as dg


def by_set(components):
    return {frozenset(map(frozenset, edges)) for edges in components}


def test_articulation_points_are_those_of_networkx():
    for graph in graphs(UNDIRECTED):
        ours = list(nx.articulation_points(graph, backend="dgraph"))
        assert set(ours) == set(nx.articulation_points(graph)) and len(ours) == len(set(ours))


def test_edges_of_biconnected_components_are_those_of_networkx():
    for graph in graphs(UNDIRECTED, loops=False):
        ours = list(nx.biconnected_component_edges(graph, backend="dgraph"))
        assert by_set(ours) == by_set(nx.biconnected_component_edges(graph))
        assert sum(map(len, ours)) == nx.Graph(graph).number_of_edges()
    with pytest.raises(NotImplementedError):
        nx.biconnected_component_edges(nx.Graph([(0, 0)]), backend="dgraph")


def outcome(items):
    """The items before an error, and the class of that."""
    found, error = [], None
    try:
        found.extend(items)
    except nx.NetworkXException as problem:
        error = type(problem)
    return found, error


def test_generations_are_those_of_networkx_up_to_a_cycle():
    for graph in [*graphs(DIRECTED), *map(without_cycles, graphs(DIRECTED)), nx.DiGraph()]:
        ours, theirs = (outcome(nx.topological_generations(graph, backend=one)) for one in ("dgraph", "networkx"))
        assert list(map(set, ours[0])) == list(map(set, theirs[0])) and ours[1] == theirs[1]


def without_cycles(graph):
    """The edges that lead forward in the order of the nodes."""
    places = dict(zip(graph, count(), strict=False))
    return graph.edge_subgraph([edge for edge in graph.edges if places[edge[0]] < places[edge[1]]]).copy()


def test_edges_lead_forward_in_a_topological_order():
    for graph in map(without_cycles, graphs(DIRECTED)):
        places = {node: place for place, node in enumerate(nx.topological_sort(graph, backend="dgraph"))}
        assert len(places) == len(graph)
        assert all(places[u] < places[v] for u, v in graph.edges())


def test_an_undirected_graph_has_no_topological_order():
    for backend in ("dgraph", "networkx"):
        items = nx.topological_sort(nx.path_graph(3), backend=backend)
        with pytest.raises(nx.NetworkXError, match="not defined on undirected graphs"):
            next(items)


def test_colors_of_bipartite_graphs_are_those_of_networkx():
    grid = nx.relabel_nodes(nx.grid_2d_graph(4, 5), str)
    for graph in [*graphs(ANY), nx.disjoint_union(nx.path_graph(4), nx.star_graph(3)), nx.DiGraph(grid)]:
        found = []
        for backend in ("dgraph", "networkx"):
            try:
                found.append(nx.bipartite.color(graph, backend=backend))
            except nx.NetworkXError as error:
                found.append(str(error))
        assert found[0] == found[1]


@pytest.mark.parametrize("name", ["minimum_spanning_edges", "maximum_spanning_edges"])
def test_edges_without_a_number_as_weight_are_errors_or_left_out(name):
    graph = nx.Graph([("a", "b", {"weight": float("nan")}), ("b", "c", {"weight": 2.0}), ("a", "c", {})])
    found = []
    for backend in ("dgraph", "networkx"):
        function = getattr(nx, name)
        with pytest.raises(ValueError, match=r"NaN found as an edge weight. Edge \('a', 'b'") as caught:
            next(function(graph, backend=backend))
        found.append((str(caught.value), list(function(graph, ignore_nan=True, backend=backend))))
    assert found[0] == found[1]


def test_data_of_edges_is_that_of_the_graph():
    graph = nx.MultiGraph()
    graph.add_edge("b", "a", key="long", weight=5, name="x")
    graph.add_edge("a", "b", key="short", weight=3, name="y")
    [(u, v, key, data)] = nx.minimum_spanning_edges(graph, backend="dgraph")
    assert (u, v, key) == ("b", "a", "short") and data is graph["a"]["b"]["short"]


def test_edges_of_a_view_are_those_that_it_shows():
    graph = nx.MultiGraph([("a", "b"), ("b", "c"), ("a", "c"), ("a", "c")])
    view = graph.edge_subgraph([("a", "b", 0), ("a", "c", 1)])
    assert list(nx.minimum_spanning_edges(view, data=False, backend="dgraph")) == [("a", "b", 0), ("a", "c", 1)]


def test_large_weights_are_compared_exactly_or_refused():
    most = 2**53 - 1
    graph = nx.Graph([(0, 1, {"weight": most - 1}), (0, 2, {"weight": most - 2}), (1, 2, {"weight": most})])
    assert set(nx.minimum_spanning_edges(graph, data=False, backend="dgraph")) == {(0, 1), (0, 2)}
    graph.add_edge(2, 3, weight=most + 1)
    with pytest.raises(NotImplementedError):
        nx.minimum_spanning_edges(graph, data=False, backend="dgraph")


def test_bridges_of_a_component_are_in_the_order_of_its_copy():
    graph = nx.Graph()
    graph.add_nodes_from([5, 3, 1, 0, 2, 4, "z", *range(6, 13)])
    graph.add_edges_from([(3, 1), (5, 3), (2, 1), ("z", 6), (7, 8)])
    for drawn in (graph, nx.MultiGraph(graph)):
        assert list(nx.bridges(drawn, root=3, backend="dgraph")) == list(nx.bridges(drawn, root=3, backend="networkx"))


@pytest.mark.parametrize(("nodes", "weight"), [(5, 0.3), (6, 0.1), (7, 0.1), (9, 0.7)])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_degrees_that_are_all_the_same_have_no_correlation(nodes, weight):
    graph = nx.cycle_graph(nodes)
    nx.set_edge_attributes(graph, weight, "weight")
    assert math.isnan(nx.degree_assortativity_coefficient(graph, weight="weight", backend="dgraph"))


def test_a_large_cutoff_is_no_limit():
    graph = nx.path_graph(4)
    for cutoff in (2**70, 1e300):
        lengths = nx.single_source_shortest_path_length(graph, 0, cutoff=cutoff, backend="dgraph")
        assert lengths == dict(enumerate(range(4)))
        assert len(nx.ego_graph(graph, 0, radius=cutoff, backend="dgraph")) == 4


def test_cuts_and_orders_of_a_graph_of_dgraph(client):
    """On a cluster, from several partitions."""
    drawn = nx.relabel_nodes(without_cycles(nx.gnp_random_graph(25, 0.1, seed=2, directed=True)), str)
    edges = {"src": [u for u, _ in drawn.edges], "dst": [v for _, v in drawn.edges]}
    graph = dg.Graph.from_edges(edges, client=client, parts=3)
    assert list(map(set, nx.topological_generations(graph))) == list(map(set, nx.topological_generations(drawn)))
    assert nx.triadic_census(graph) == nx.triadic_census(drawn)
    graph = dg.Graph.from_edges(edges, directed=False, client=client, parts=3)
    drawn = drawn.to_undirected()
    assert set(map(frozenset, nx.bridges(graph))) == set(map(frozenset, nx.bridges(drawn)))
    assert set(nx.articulation_points(graph)) == set(nx.articulation_points(drawn))
    assert by_set(nx.biconnected_component_edges(graph)) == by_set(nx.biconnected_component_edges(drawn))
