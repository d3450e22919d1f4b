"""NetworkX, igraph and SciPy: there and back without loss."""

import uuid
from dataclasses import replace

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dgraph as dg
from dgraph.errors import ColumnError, IdError, OptionError, UnweightedWarning, WeightError
from dgraph.io.formats import read_edge_list, write_edge_list
from dgraph.io.libraries.igraph import from_igraph, to_igraph
from dgraph.io.libraries.networkx import from_networkx, to_networkx
from dgraph.io.libraries.scipy_sparse import from_scipy, to_scipy


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("text", [False, True])
def test_networkx_graphs_survive_a_round_trip(kind, text):
    name = str if text else int
    g = kind()
    g.add_node(name(7), colour="red", rank=1)
    g.add_node(name(-3), colour=None)
    g.add_edge(name(1), name(2), weight=2.5, tags=("a", 1))
    g.add_edge(name(2), name(2), weight=1.0)
    g.add_edge(name(2), name(1), weight=3.0, since=2001)
    if g.is_multigraph():
        g.add_edge(name(1), name(2), key="extra", weight=2.5)
    edges = from_networkx(g)
    back = to_networkx(edges)
    assert type(back) is kind
    assert nx.utils.graphs_equal(g, back)


def test_networkx_weights_are_read_and_missing_ones_are_refused():
    g = nx.Graph([(1, 2, {"weight": 3}), (2, 3, {"weight": 0.5})])
    assert from_networkx(g).edges["weight"].tolist() == [3, 0.5]
    for weight in ("auto", "weight"):
        with pytest.raises(WeightError, match=r"from 'b' to 'a': the attribute 'weight' is missing \(give every edge"):
            from_networkx(nx.Graph([("b", "a"), ("a", "c", {"weight": 2.5})]), weight)
    with pytest.raises(ColumnError, match="weight='km' must be the name of an edge attribute; there are 'weight'"):
        from_networkx(g, "km")
    assert from_networkx(nx.Graph([(1, 2)])).weight is None
    assert from_networkx(nx.Graph([(1, 2, {"weight": 3})]), None).weight is None


def test_networkx_weights_that_are_not_numbers_are_refused_or_warned_of():
    g = nx.Graph([(1, 2, {"weight": "heavy", "km": 3})])
    with pytest.raises(WeightError, match="from 1 to 2: weight 'heavy' is not a number"):
        from_networkx(g, "weight")
    with pytest.warns(UnweightedWarning, match="attribute 'weight' is not numeric"):
        graph = dg.from_networkx(g)
    with pytest.warns(UnweightedWarning, match="column 'km' is numeric: make the graph with weight='km'"):
        dg.sssp(graph, 1)


@pytest.mark.parametrize("nodes", [[(1, 2)], [1, "a"], [None], [1.5], [True], [2**64], [-1, 2**63]])
def test_networkx_ids_that_no_column_can_hold_are_refused(nodes):
    g = nx.Graph()
    g.add_nodes_from([node for node in nodes if node is not None] or [frozenset()])
    with pytest.raises(IdError, match="convert_node_labels_to_integers"):
        from_networkx(g)


def test_uuids_survive_a_round_trip_and_do_not_mix_with_strings():
    one, two, alone = (uuid.UUID(int=k << 90) for k in (1, 2, 3))
    g = nx.DiGraph([(two, one)])
    g.add_node(alone)
    graph = dg.from_networkx(g)
    assert nx.utils.graphs_equal(dg.to_networkx(graph), g)
    there = dg.to_igraph(graph)
    assert there.vs["name"] == [one, two, alone]
    assert nx.utils.graphs_equal(dg.to_networkx(dg.from_igraph(there)), g)
    g.add_node("text")
    with pytest.raises(IdError, match=r"'text': UUIDs and strings in one graph .*convert_node_labels_to_integers"):
        dg.from_networkx(g)


def test_a_networkx_graph_can_be_written_to_a_file(tmp_path):
    edges = from_networkx(nx.karate_club_graph())
    write_edge_list(replace(edges, vertices=None), tmp_path / "karate.csv")
    assert read_edge_list(tmp_path / "karate.csv").edges.num_rows == 78


@pytest.mark.parametrize("directed", [False, True])
def test_igraph_graphs_survive_a_round_trip(directed):
    g = igraph.Graph(n=4, edges=[(0, 1), (0, 1), (2, 2)], directed=directed)
    g.vs["name"] = ["x", "y", "z", "alone"]
    g.vs["size"] = [1, 2, 3, None]
    g.es["weight"] = [0.5, 1.5, 2.5]
    edges = from_igraph(g)
    assert (edges.weight, edges.directed) == ("weight", directed)
    back = to_igraph(edges)
    assert back.get_edgelist() == g.get_edgelist()
    assert [v.attributes() for v in back.vs] == [v.attributes() for v in g.vs]
    assert [e.attributes() for e in back.es] == [e.attributes() for e in g.es]
    assert from_igraph(g, name=None).edges["source"].tolist() == [0, 0, 2]
    g.vs["name"] = ["x", "x", "z", "w"]
    with pytest.raises(IdError, match="several"):
        from_igraph(g)


def test_scipy_matrices_survive_a_round_trip(tmp_path):
    matrix = scipy.sparse.random_array((6, 6), density=0.4, rng=1, format="csr")
    edges = from_scipy(matrix)
    back, ids = to_scipy(replace(edges, vertices=pd.DataFrame({"id": edges.vertices})))
    assert ids.tolist() == list(range(6))
    assert abs(back - matrix).max() == 0
    both = matrix + matrix.T
    once = from_scipy(both, directed=False)
    back, _ = to_scipy(replace(once, vertices=pd.DataFrame({"id": once.vertices})))
    assert abs(back - both).max() == 0
    for other in (matrix, matrix[:, :3], matrix != 0):
        with pytest.raises(WeightError, match="symmetric"):
            from_scipy(other, directed=False)
    whole = both != 0
    for other in (whole, whole.toarray(), scipy.sparse.csr_array((0, 0)), both.multiply(np.inf), both.astype(np.uint8)):
        assert len(from_scipy(other, directed=False).edges) == len(once.edges) * (other.shape != (0, 0))
    for kind in ("csr", "csc", "coo"):
        scipy.sparse.save_npz(tmp_path / "m.npz", matrix.asformat(kind))
        table = read_edge_list(tmp_path / "m.npz").edges
        back = scipy.sparse.coo_array((table["weight"], (table["source"], table["destination"])), shape=(6, 6))
        assert abs(back - matrix).max() == 0
    assert from_scipy(scipy.sparse.csr_array(np.ones((2, 3)))).edges["destination"].max() == 4


def test_unknown_and_invalid_options_are_refused():
    graph = nx.path_graph(3)
    with pytest.raises(OptionError, match=r"^source='a': the graph itself says where its edges lead; leave it out$"):
        dg.from_networkx(graph, source="a")
    with pytest.raises(OptionError, match=r"^partz=2: from_networkx has no such option; did you mean parts="):
        dg.from_networkx(graph, partz=2)
    with pytest.raises(OptionError, match=r"^multigraph='no' must be True or False"):
        dg.to_networkx(dg.from_networkx(graph), multigraph="no")
