"""Every function gives what NetworkX gives, on random graphs of every kind that it takes; errors included."""

from collections.abc import Iterator
from random import Random

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms
from networkx_calls import BY_SET, CALLS, DIRECTED, FREE, PATHS, UNDIRECTED, alike, graphs, sorted_by_node

import dgraph as dg
from dgraph.networkx_backend.entry_points import backend
from dgraph.networkx_backend.function_table import FUNCTIONS

WITHOUT_LOOPS = {
    *("core_number", "k_core", "k_shell", "k_crust", "k_corona", "k_truss", "jaccard_coefficient"),
    *("adamic_adar_index", "resource_allocation_index", "preferential_attachment"),
}
# Without edges, in several components, or (HITS) in a bipartite graph, their scores are not determined.
CONNECTED = {"hits", "eigenvector_centrality"}
EMPTY = {kind: getattr(nx, kind) for kind in (*UNDIRECTED, *DIRECTED)}


def outcome(function, graph, arguments, backend):
    """The result, or the class of the error."""
    try:
        found = function(graph, **arguments, backend=backend)
        found = list(found) if isinstance(found, Iterator) else found
        return sorted_by_node(found) if "path_length" in function.__name__ else found
    except NotImplementedError:
        raise
    except Exception as error:
        return type(error)


def test_every_function_is_compared():
    assert {*CALLS, *BY_SET, *PATHS, *FREE} == set(FUNCTIONS)


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_networkx(name):
    kinds, calls = CALLS[name]
    function = _registered_algorithms[name]
    for graph in graphs(kinds, loops=name not in WITHOUT_LOOPS):
        if name in CONNECTED and (not nx.is_connected(graph) or (name == "hits" and nx.is_bipartite(graph))):
            continue
        for arguments in calls:
            theirs = outcome(function, graph, arguments, "networkx")
            assert alike(outcome(function, graph, arguments, "dgraph"), theirs), (graph, arguments)


NAMING_NO_NODE = [name for name, (_, calls) in CALLS.items() if not calls[0]]


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("name", NAMING_NO_NODE)
def test_a_graph_without_nodes_or_edges_ends_as_in_networkx(name):
    kinds, calls = CALLS[name]
    function = _registered_algorithms[name]
    for kind in kinds:
        for graph in (EMPTY[kind](), nx.empty_graph(0 if name in CONNECTED else 3, create_using=EMPTY[kind])):
            theirs = outcome(function, graph, calls[0], "networkx")
            assert alike(outcome(function, graph, calls[0], "dgraph"), theirs), graph


@pytest.mark.parametrize("name", BY_SET)
def test_sets_are_those_of_networkx(name):
    for graph in graphs(BY_SET[name]):
        ours, theirs = (list(getattr(nx, name)(graph, backend=one)) for one in ("dgraph", "networkx"))
        assert sorted(map(sorted, ours)) == sorted(map(sorted, theirs))


def test_strong_components_are_in_reverse_topological_order():
    for graph in graphs(DIRECTED):
        components = list(nx.strongly_connected_components(graph, backend="dgraph"))
        places = {node: place for place, component in enumerate(components) for node in component}
        assert all(places[u] >= places[v] for u, v in graph.edges())


@pytest.mark.filterwarnings("ignore:(divide|invalid):RuntimeWarning")  # NumPy's, in NetworkX, for a sum of 0
@pytest.mark.parametrize(
    ("name", "graph", "arguments", "error"),
    [
        ("pagerank", nx.cycle_graph(9), {"max_iter": 0}, nx.PowerIterationFailedConvergence),
        ("pagerank", nx.star_graph(9), {"max_iter": 2, "tol": 1e-14}, nx.PowerIterationFailedConvergence),
        ("pagerank", nx.star_graph(9), {"tol": 0}, nx.PowerIterationFailedConvergence),
        ("pagerank", nx.star_graph(9), {"personalization": {0: 0}}, ZeroDivisionError),
        ("pagerank", nx.star_graph(9), {"nstart": {0: 1, 1: -1}}, nx.PowerIterationFailedConvergence),
        ("katz_centrality", nx.complete_graph(9), {"alpha": 0.5}, nx.PowerIterationFailedConvergence),
        ("eigenvector_centrality", nx.star_graph(9), {"max_iter": 1}, nx.PowerIterationFailedConvergence),
        ("eigenvector_centrality", nx.star_graph(2), {"nstart": {0: 0, 1: 0, 2: 0}}, nx.NetworkXError),
        ("hits", nx.star_graph(9), {"max_iter": 0}, nx.PowerIterationFailedConvergence),
        ("is_connected", nx.DiGraph([(0, 1)]), {}, nx.NetworkXNotImplemented),
        ("is_strongly_connected", nx.Graph([(0, 1)]), {}, nx.NetworkXNotImplemented),
        ("node_connected_component", nx.path_graph(3), {"n": 5}, KeyError),
        ("core_number", nx.Graph([(0, 0)]), {}, nx.NetworkXNotImplemented),
        ("core_number", nx.MultiGraph([(0, 1)]), {}, nx.NetworkXNotImplemented),
        ("triangles", nx.DiGraph([(0, 1)]), {}, nx.NetworkXNotImplemented),
        ("triangles", nx.path_graph(3), {"nodes": 9}, nx.NetworkXError),
        ("minimum_spanning_edges", nx.MultiGraph([(0, 1)]), {"algorithm": "boruvka"}, nx.NetworkXNotImplemented),
        ("triadic_census", nx.DiGraph([(0, 1)]), {"nodelist": [0, 9]}, ValueError),
        ("reciprocity", nx.empty_graph(2, nx.DiGraph), {"nodes": 1}, nx.NetworkXError),
        ("katz_centrality", nx.path_graph(3), {"beta": {0: 1}}, nx.NetworkXError),
        ("katz_centrality", nx.path_graph(3), {"beta": "wrong"}, nx.NetworkXError),
        ("betweenness_centrality", nx.path_graph(3), {"k": 0, "seed": Random(5)}, ZeroDivisionError),
        ("eccentricity", nx.path_graph(3), {"v": 9}, nx.NetworkXError),
        ("maximal_independent_set", nx.path_graph(3), {"nodes": [9]}, nx.NetworkXUnfeasible),
        ("maximal_independent_set", nx.path_graph(3), {"nodes": [0, 1]}, nx.NetworkXUnfeasible),
        ("greedy_color", nx.path_graph(3), {"strategy": "wrong"}, nx.NetworkXError),
        ("greedy_color", nx.path_graph(3), {"strategy": "DSATUR", "interchange": True}, nx.NetworkXPointlessConcept),
    ],
)
def test_errors_are_those_of_networkx(name, graph, arguments, error):
    function = _registered_algorithms[name] if error is not nx.NetworkXNotImplemented else getattr(nx, name)
    for one in ("dgraph", "networkx"):
        with pytest.raises(error):
            list(function(graph, **arguments, backend=one))


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_errors_of_dgraph_are_causes_only(bad):
    graph = nx.Graph([(0, 1, {"weight": bad})])
    with pytest.raises(NotImplementedError) as caught:
        nx.pagerank(graph, backend="dgraph")
    assert isinstance(caught.value.__cause__, NotImplementedError)
    assert isinstance(caught.value.__cause__.__cause__, dg.errors.WeightError)


@pytest.mark.parametrize(
    ("name", "graph", "arguments", "reason"),
    [
        ("katz_centrality", nx.path_graph(3), {"beta": {0: 1, 1: 2, 2: 3}}, "one number"),
        ("eigenvector_centrality", nx.path_graph(3), {"nstart": {0: 1, 1: 2, 2: 3}}, "nstart"),
        ("hits", nx.path_graph(3), {"normalized": False}, "normalized"),
        ("transitivity", nx.DiGraph([(0, 1)]), {}, "undirected"),
        ("clustering", nx.MultiGraph([(0, 1)]), {}, "simple graphs"),
        ("hits", nx.path_graph(3), {"nstart": {0: 1, 1: 2}}, "nstart must have the nodes"),
        ("hits", nx.path_graph(3), {"nstart": dict.fromkeys(range(3), 0.0)}, "not be 0"),
        ("katz_centrality", nx.path_graph(3), {"nstart": {0: 1}}, "nstart must have the nodes"),
        ("ego_graph", nx.DiGraph([(0, 1)]), {"n": 0, "undirected": True, "distance": "km"}, "each direction"),
        ("pagerank", nx.path_graph(3), {"weight": lambda u, v, data: 1}, "a function"),
        ("closeness_centrality", nx.DiGraph([(1, 2)]), {"distance": lambda u, v, data: 1}, "reversed edges"),
        ("pagerank", nx.path_graph(3), {"no_option": 1}, "unexpected keyword"),
    ],
)
def test_what_cannot_be_run_is_said(name, graph, arguments, reason):
    said = backend.can_run(name, (graph,), arguments)
    assert isinstance(said, str) and reason in said


def test_a_graph_of_dgraph_gives_what_its_networkx_graph_gives(client):
    """On a cluster, from several partitions."""
    g = nx.gnp_random_graph(40, 0.08, seed=3)
    edges = {"src": [u for u, _ in g.edges], "dst": [v for _, v in g.edges]}
    for graph in (
        dg.Graph.from_edges(edges, directed=False, vertices=40, client=client, parts=3),
        dg.Graph.from_edges(edges, directed=False, vertices=40, parts=1),
    ):
        for function in (nx.pagerank, nx.is_connected, nx.core_number, nx.transitivity, nx.clustering, nx.is_forest):
            assert alike(function(graph), function(g)), function.__name__
        assert list(nx.connected_components(graph)) == list(nx.connected_components(g))
