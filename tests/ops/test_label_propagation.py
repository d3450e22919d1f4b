"""Label propagation: one answer from solver, engines and reference, in which every vertex has a most frequent label."""

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import real_graph

import dgraph as dg
from dgraph import errors
from dgraph.ops.label_propagation import LabelPropagation, WeightedLabelPropagation, _unit, label_propagation
from dgraph.programs import reference
from dgraph.solvers.compiled_draws import sort_drawn
from dgraph.solvers.label_propagation import PATIENT_ROUNDS
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import Edges, verify

pytestmark = pytest.mark.usefixtures("several_threads")

CIRCLE = [(0, 4), (0, 4), (1, 2), (1, 5), (2, 3), (2, 3), (2, 4), (2, 4), (2, 5), (2, 5), (3, 4)]


def undirected(edges, **options):
    frame = pd.DataFrame(list(edges), columns=["src", "dst", *(["weight"] if "weight" in options else [])])
    return dg.Graph.from_edges(frame, directed=False, **options)


@settings(max_examples=20)
@given(small_graphs(weights=None), st.integers(1, 6), st.integers(1, 2), st.sampled_from([0, 1, -7, 2**62]))
def test_the_solver_matches_the_reference(drawn, max_iter, threads, random_seed):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs)
    edges = Edges.of(graph)
    pairs = list(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    meant = reference.run(
        LabelPropagation(max_iter=max_iter), pairs, graph.num_vertices, directed=graph.directed, random_seed=random_seed
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgraph.native.threads.cores", lambda: threads)
        found = label_propagation(graph, max_iter=max_iter, random_seed=random_seed, engine="local")
    assert found.by_number("label").tolist() == meant.results()["label"]
    assert (found.rounds, found.totals["restless"]) == (meant.rounds, meant.globals["restless"])


WEIGHTS = st.sampled_from([0.0, 0.1, 1.0, 2.0, 3.0, 1e-13, 1e9])


@settings(max_examples=20)
@given(small_graphs(weights=WEIGHTS), st.integers(1, 6), st.integers(1, 2), st.integers(1, 3))
def test_weighted_solver_and_engines_match_the_reference(drawn, max_iter, threads, parts):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs)
    edges, options = Edges.of(graph), {"max_iter": max_iter, "random_seed": 3, "weighted": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgraph.native.threads.cores", lambda: threads)
        found = label_propagation(graph, engine="local", **options)
    meant = reference.run(
        WeightedLabelPropagation(max_iter=max_iter, unit=_unit(graph)),
        list(zip(edges.source.tolist(), edges.destination.tolist(), strict=True)),
        graph.num_vertices,
        {"weight": edges.weight.tolist()},
        directed=graph.directed,
        random_seed=3,
    )
    assert found.by_number("label").tolist() == meant.results()["label"]
    assert (found.rounds, found.totals["restless"]) == (meant.rounds, meant.globals["restless"])
    spread = label_propagation(dg.Graph.from_edges(frame, **kwargs, parts=parts), engine="bsp", **options)
    assert spread.by_number("label").tolist() == meant.results()["label"]
    if meant.globals["restless"] == 0:
        verify("label_propagation", graph, found, weighted=True)


@settings(max_examples=20)
@given(small_graphs(weights=None), st.integers(0, 99))
def test_every_vertex_has_a_most_frequent_label(drawn, random_seed):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs)
    found = label_propagation(graph, random_seed=random_seed, max_iter=1000)
    assert found.totals["restless"] == 0
    verify("label_propagation", graph, found)


FAMILIES = {
    "a complete bipartite graph": nx.complete_bipartite_graph(300, 300).edges,
    "a star": nx.star_graph(500).edges,
    "a ring": nx.cycle_graph(3001).edges,
    "a grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 40)).edges,
    "a hypercube": nx.convert_node_labels_to_integers(nx.hypercube_graph(9)).edges,
    "a random bipartite graph": nx.bipartite.gnmk_random_graph(400, 400, 8000, seed=1).edges,
    "a random graph": nx.gnm_random_graph(2000, 12000, seed=1).edges,
    "a tree": nx.balanced_tree(2, 10).edges,
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("random_seed", [0, 1])
def test_label_propagation_terminates_on_every_family(family, random_seed):
    graph = undirected(FAMILIES[family])
    found = label_propagation(graph, random_seed=random_seed)
    assert found.rounds < 100
    verify("label_propagation", graph, found)


def test_vertices_that_wait_break_a_cycle_of_changes():
    """Six vertices that change in a circle for ever unless some of them wait."""
    for engine, parts in (("local", 1), ("bsp", 2)):
        graph = undirected(CIRCLE, vertices=6, parts=parts)
        assert label_propagation(graph, max_iter=PATIENT_ROUNDS, engine=engine).totals["restless"] > 0
        found = label_propagation(graph, engine=engine)
        assert PATIENT_ROUNDS < found.rounds < 100
        verify("label_propagation", graph, found)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_solver_and_engines_agree(monkeypatch, directed, threads):
    monkeypatch.setattr("dgraph.native.threads.cores", lambda: threads)
    options = {"scale": 9, "edge_factor": 4, "directed": directed}
    mine = label_propagation(dg.rmat(**options), engine="local", random_seed=5)
    for engine, parts in (("bsp", 1), ("gas", 2), ("bsp", 3)):
        found = label_propagation(dg.rmat(**options, parts=parts), engine=engine, random_seed=5)
        assert found.by_number("label").tolist() == mine.by_number("label").tolist()
        assert found.rounds == mine.rounds


@pytest.mark.parametrize("parts", [1, 2])
def test_labels_on_a_cluster_equal_those_in_process(client, parts):
    here, there = (dg.rmat(scale=7, edge_factor=4, parts=parts, client=one) for one in (None, client))
    labels = [label_propagation(graph, random_seed=3).by_number("label").tolist() for graph in (here, there)]
    assert labels[0] == labels[1]


def test_weights_are_votes():
    """One heavy edge against two light ones; an edge of no weight is none; weights of 1 change nothing."""
    pairs = [(0, 1), (0, 2), (0, 3), (2, 3), (4, 5)]
    for heavy in (1.9, 2.1):
        weights = [heavy, 1.0, 1.0, 9.0, 0.0]
        graph = undirected([(*pair, w) for pair, w in zip(pairs, weights, strict=True)], weight="weight")
        found = label_propagation(graph, weighted=True)
        verify("label_propagation", graph, found, weighted=True)
        label = found.by_number("label").tolist()
        with pytest.raises(errors.AnswerError, match="have its label"):
            verify("label_propagation", graph, {"label": np.array([*label[:3], 3 - label[3], 4, 5])}, weighted=True)
        assert label[2] == label[3] and label[4:] == [4, 5]
        assert (label[0] == label[2]) == (heavy < 2) and (heavy < 2 or label[0] == label[1])
    ones = dg.rmat(scale=8, weights=(1, 1))
    both = [label_propagation(ones, weighted=weighted).by_number("label").tolist() for weighted in (False, True)]
    assert both[0] == both[1]


@pytest.mark.parametrize("weight", [-1.0, np.inf])
def test_negative_infinite_and_missing_weights_are_refused(weight):
    with pytest.raises(errors.WeightError, match="weights >= 0"):
        label_propagation(undirected([(1, 2, weight)], weight="weight"), weighted=True)
    with pytest.raises(errors.ColumnError, match="weighted"):
        label_propagation(undirected([(1, 2)]), weighted=True)


def test_communities_are_found():
    """Cliques in a ring; the seed decides where their labels begin."""
    size, cliques = 12, 40
    edges = [(c * size + a, c * size + b) for c in range(cliques) for a, b in combinations(range(size), 2)]
    edges += [(c * size, (c + 1) % cliques * size + 1) for c in range(cliques)]
    graph = undirected(edges)
    found = [label_propagation(graph, random_seed=seed).by_number("label") for seed in (0, 1)]
    for label in found:
        assert (label // size == np.arange(size * cliques) // size).all()
        assert (label.reshape(cliques, size) == label[::size, None]).all()
    assert (found[0] != found[1]).any()


@pytest.mark.parametrize("name", ["karate", "PGPgiantcompo", "wiki-Vote", "twitter"])
def test_label_propagation_converges_on_real_graphs(name):
    graph = real_graph(name).graph()
    found = label_propagation(graph)
    assert found.totals["restless"] == 0
    verify("label_propagation", graph, found)


def test_a_skewed_graph_gives_the_same_labels_on_two_threads(monkeypatch):
    graph, found = dg.rmat(scale=17), []
    for threads in (1, 2):
        monkeypatch.setattr("dgraph.native.threads.cores", lambda threads=threads: threads)
        found.append(label_propagation(graph, random_seed=3))
    assert (found[0].by_number("label") == found[1].by_number("label")).all()
    verify("label_propagation", graph, found[1])


def test_vertices_without_neighbours_keep_their_label():
    graph = dg.Graph.from_edges({"src": ["a"], "dst": ["b"]}, vertices=pd.DataFrame({"id": ["c"]}))
    label = label_propagation(graph).compute().set_index("vertex")["label"]
    assert label["a"] == label["b"] != "c"
    assert label["c"] == "c"
    nobody = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype="int64"))
    assert len(label_propagation(nobody).compute()) == 0


@pytest.mark.parametrize("max_iter", [0, -1, 2.5, True])
def test_max_iter_is_checked(max_iter):
    with pytest.raises(errors.OptionError, match="max_iter"):
        label_propagation(undirected([(1, 2)]), max_iter=max_iter)


@settings(max_examples=100)
@given(keys=st.lists(st.integers(0, 10**6 - 1)))
def test_drawn_labels_are_sorted(keys):
    assert sort_drawn(np.array(keys, np.int64), 10**6).tolist() == sorted(keys)
