"""Conversion between graphs of NetworkX and those of the backend, and the cache that NetworkX keeps them in."""

import gc
import pickle
import weakref
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.networkx_backend.conversion import convert_from_nx, convert_to_nx
from dgraph.networkx_backend.entry_points import backend
from dgraph.networkx_backend.node_graphs import node_graph

CLASSES = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def mixed(kind):
    """Loops, repeated edges, isolated nodes, and nodes of all kinds."""
    g = kind()
    g.add_nodes_from([("a", 1), "b", 3.5, frozenset({2}), None.__class__, 7, "lonely"])
    nodes = list(g)
    for u, v, weight in [(0, 1, 2), (1, 0, 5), (1, 1, 1), (3, 2, 4), (0, 1, 3), (5, 4, 9), (4, 4, 1)]:
        g.add_edge(nodes[u], nodes[v], weight=weight)
    return g


@pytest.mark.parametrize("kind", CLASSES)
def test_nodes_edges_and_weights_are_those_of_the_graph(kind):
    g = mixed(kind)
    found = convert_from_nx(g, edge_attrs={"weight": 1})
    assert (found.nodes, found.is_directed(), found.is_multigraph()) == (list(g), g.is_directed(), g.is_multigraph())
    source, target = (ends.tolist() for ends in found.ends())
    weights = found.weights["weight"]
    edges = [(found.nodes[u], found.nodes[v], w) for u, v, w in zip(source, target, weights.tolist(), strict=True)]
    assert edges == list(g.edges(data="weight"))
    assert found.graph("weight").num_edges == g.number_of_edges()


MIXED_TYPES = [0.0, True, 2, 3, 4, 5]
LARGE = [-5, 2**40, 7, -(2**63), 2**63 - 1, 0]


@pytest.mark.parametrize(
    "nodes",
    [range(6), range(5, -1, -1), "abcdef", MIXED_TYPES, LARGE, [*LARGE[:5], 2**63], list(np.array(LARGE))],
)
def test_numbers_of_nodes_follow_the_order_of_the_graph(nodes):
    g = nx.DiGraph()
    g.add_nodes_from(nodes)
    g.add_edges_from(zip(list(nodes)[1:], nodes, strict=False))
    source, target = convert_from_nx(g).ends()
    assert source.tolist() == [1, 2, 3, 4, 5] and target.tolist() == [0, 1, 2, 3, 4]


class Seven:
    """Equal to the integer 7, and no number."""

    def __eq__(self, other):
        return other == 7

    def __hash__(self):
        return hash(7)


def test_neighbours_may_be_anything_that_is_equal_to_a_node():
    g = nx.DiGraph()
    g.add_nodes_from([9, 7, 1])
    g.add_edges_from([(9, 1.0), (7, True), (1, Fraction(9))])
    assert convert_from_nx(g).ends()[1].tolist() == [2, 2, 0]
    g.add_edge(9, Seven())
    assert [ends.tolist() for ends in convert_from_nx(g).ends()] == [[0, 0, 1, 2], [2, 1, 2, 0]]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([3, None], [3, 1]),
        ([True, 2], [1, 2]),
        ([0.5, 2], [0.5, 2.0]),
        ([np.float32(0.5), np.int8(3)], [0.5, 3.0]),
        ([np.uint64(7), np.uint8(3)], [7, 3]),
        ([False, None], [0, 1]),
        ([None, None], None),
    ],
)
def test_weights_are_numbers_and_1_where_the_attribute_is_missing(values, found):
    g = nx.DiGraph()
    for i, value in enumerate(values):
        g.add_edge(i, i + 1, **({} if value is None else {"km": value}))
    weights = convert_from_nx(g, edge_attrs={"km": 1}).weights["km"]
    assert (weights if weights is None else weights.tolist()) == found


REFUSED = {"is not a number": ["3", Decimal(3), Fraction(1, 3), 2**70, 3 + 1j, None, [1, 2], np.longdouble(3), {}]}
REFUSED |= {"2**53": [2**53, -(2**60), np.uint64(2**60), 2**63]}


@pytest.mark.parametrize(("value", "said"), [(value, said) for said, values in REFUSED.items() for value in values])
@pytest.mark.parametrize("other", [1, 0.5, [3]])
def test_weights_that_are_not_exact_numbers_are_left_to_networkx(value, said, other):
    g = nx.Graph([(0, 1, {"weight": value}), (1, 2, {"weight": other})])
    with pytest.raises(NotImplementedError) as caught:
        nx.pagerank(g, backend="dgraph")
    assert "the edge attribute 'weight'" in str(caught.value.__cause__)
    if other == 1:
        assert said in str(caught.value.__cause__)


def test_paths_are_left_to_networkx_where_their_lengths_are_not_exact():
    g = nx.path_graph(6)
    nx.set_edge_attributes(g, 2**52 + 1, "weight")
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(g, 0, backend="dgraph")
    assert nx.pagerank(g, backend="dgraph") == pytest.approx(nx.pagerank(g))
    nx.set_edge_attributes(g, float(2**60), "weight")
    g.__networkx_cache__.clear()
    lengths = nx.single_source_dijkstra_path_length(g, 0, backend="dgraph")
    assert lengths == nx.single_source_dijkstra_path_length(g, 0)


def test_networkx_takes_over_where_weights_are_refused(monkeypatch):
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["dgraph"])
    monkeypatch.setattr(backend, "should_run", lambda *given: True)
    g = nx.Graph([("a", "b", {"weight": None}), ("a", "c", {"weight": 2}), ("b", "c", {"weight": 2})])
    assert nx.dijkstra_path_length(g, "a", "b") == 4  # NetworkX passes over edges whose weight is None
    g = nx.Graph([("a", "b", {"weight": Decimal("0.1")}), ("b", "c", {"weight": Decimal("0.2")})])
    assert nx.dijkstra_path_length(g, "a", "c") == Decimal("0.3")


def test_a_class_that_finds_neighbors_in_its_own_way_is_left_to_networkx():
    class Complement(nx.Graph):
        def __getitem__(self, node):
            return {other: {} for other in self if other != node and other not in self._adj[node]}

    class Named(nx.DiGraph):
        def add_node(self, node, **data):
            super().add_node(node, name=str(node), **data)

    with pytest.raises(NotImplementedError, match=r"Complement.__getitem__ replaces that of NetworkX"):
        convert_from_nx(Complement([(0, 1)]))
    assert convert_from_nx(Named([(0, 1)])).nodes == [0, 1]


def test_a_view_of_a_graph_is_converted():
    g = nx.subgraph_view(nx.path_graph(5, create_using=nx.DiGraph), filter_node=lambda node: node != 2)
    assert [ends.tolist() for ends in convert_from_nx(g).ends()] == [[0, 2], [1, 3]]
    assert convert_from_nx(g.reverse(copy=False)).ends()[0].tolist() == [1, 3]


@pytest.mark.parametrize("kind", CLASSES)
def test_views_have_the_edges_that_they_show(kind):
    g = mixed(kind)
    views = [
        nx.subgraph_view(g, filter_edge=lambda *edge: g.edges[edge]["weight"] > 1),
        nx.edge_subgraph(g, list(g.edges)[:3]),
        nx.subgraph(g, list(g)[:4]),
        *([nx.reverse_view(g), g.to_undirected(as_view=True)] if g.is_directed() else [g.to_directed(as_view=True)]),
    ]
    for view in views:
        found = convert_from_nx(view, edge_attrs={"weight": 1})
        pairs = zip(*(ends.tolist() for ends in found.ends()), strict=True)
        weights = found.weights["weight"].tolist()
        edges = [(*(found.nodes[end] for end in pair), w) for pair, w in zip(pairs, weights, strict=True)]
        assert sorted(edges, key=repr) == sorted(map(tuple, view.edges(data="weight")), key=repr)


def test_a_graph_is_converted_once_until_it_changes():
    g = nx.gnp_random_graph(20, 0.2, seed=1)
    nx.pagerank(g, backend="dgraph")
    [converted] = g.__networkx_cache__["backends"]["dgraph"].values()
    assert nx.is_connected(g, backend="dgraph") == nx.is_connected(g)
    nx.triangles(g, backend="dgraph")
    assert list(g.__networkx_cache__["backends"]["dgraph"].values()) == [converted]
    assert len(converted._graphs) == 1
    g.add_edge(0, "new")
    assert "new" in nx.pagerank(g, backend="dgraph")


def test_no_copy_stays_when_the_graph_goes():
    g = nx.gnp_random_graph(20, 0.2, seed=1)
    nx.pagerank(g, backend="dgraph")
    [converted] = g.__networkx_cache__["backends"]["dgraph"].values()
    graph = weakref.ref(converted.graph())
    gone = weakref.ref(converted)
    del converted, g
    gc.collect()
    assert gone() is None and graph() is None


def test_a_graph_of_dgraph_is_converted_to_networkx_within_its_memory():
    frame = {"src": ["a", "b"], "dst": ["b", "c"], "weight": [2, 3]}
    graph = dg.Graph.from_edges(frame, directed=False)
    assert list(convert_to_nx(graph).edges(data="weight")) == [("a", "b", 2), ("b", "c", 3)]
    small = dg.Graph.from_edges({"src": np.arange(40_000), "dst": np.arange(40_000) + 1}, memory="4 MiB")
    with pytest.raises(nx.NetworkXError, match=r"40,000 edges takes about 12,000,000 bytes.*allows 4,194,304"):
        convert_to_nx(small)


def test_networkx_converts_a_graph_of_dgraph_only_where_it_may(monkeypatch):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    with pytest.raises(NotImplementedError):
        nx.immediate_dominators(graph, 0)
    monkeypatch.setattr(nx.config, "fallback_to_nx", True)
    assert nx.immediate_dominators(graph, 0)[2] == 1
    large = dg.Graph.from_edges({"src": np.arange(40_000), "dst": np.arange(40_000) + 1}, memory="4 MiB")
    with pytest.raises(nx.NetworkXError, match="make the graph with more memory="):
        nx.immediate_dominators(large, 0)


def test_nodes_of_a_graph_of_dgraph_are_its_ids():
    vertices = pd.DataFrame({"id": [99, 30]})
    graph = dg.Graph.from_edges({"src": [30, 10], "dst": [10, 20]}, parts=2, vertices=vertices)
    assert node_graph(graph).nodes == [10, 20, 30, 99]
    assert list(nx.pagerank(graph)) == [10, 20, 30, 99]


def test_weights_of_a_graph_of_dgraph_are_taken_by_their_name():
    frame = {"src": [0, 0], "dst": [1, 2], "km": [1.0, 3.0], "weight": [1.0, 1.0]}
    graph = dg.Graph.from_edges(frame, weight="km")
    ranks = nx.pagerank(graph, weight="km")
    assert ranks[2] > ranks[1]
    equal = nx.pagerank(graph, weight="no such attribute")  # counts as 1, as in NetworkX
    assert equal[2] == equal[1]
    with pytest.raises(NotImplementedError) as caught:
        nx.pagerank(graph, backend="dgraph")
    assert "make it with weight='weight'" in str(caught.value.__cause__)


def test_what_is_no_graph_is_refused():
    with pytest.raises(NotImplementedError, match="got dict"):
        node_graph({0: [1]})


def test_weights_are_read_after_a_conversion_of_all_attributes():
    """NetworkX takes the graph that k_core has kept for one with every attribute."""
    graph = nx.Graph([("a", "b", {"km": 5}), ("b", "c", {"km": 1}), ("a", "c", {"km": 2, "weight": "heavy"})])
    assert set(nx.k_core(graph, backend="dgraph")) == {"a", "b", "c"}
    assert nx.dijkstra_path_length(graph, "a", "b", weight="km", backend="dgraph") == 3


def test_graphs_can_be_copied_and_pickled_after_a_conversion():
    graph = nx.path_graph(5)
    nx.pagerank(graph, backend="dgraph")
    assert graph.__networkx_cache__["backends"]["dgraph"]
    for other in (pickle.loads(pickle.dumps(graph)), deepcopy(graph)):
        assert nx.pagerank(other, backend="dgraph") == nx.pagerank(graph, backend="dgraph")
