"""When errors come, and arguments that only look harmless: starts, cutoffs, large numbers, and cores of some nodes."""

import math

import networkx as nx
import numpy as np
import pytest

from dgraph.networkx_backend.entry_points import backend
from dgraph.solvers.subgraphs.triangle_products import sums_of_products


@pytest.fixture
def falling_back(monkeypatch):
    """dgraph first, on small graphs, too; then NetworkX."""
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["dgraph"])
    monkeypatch.setattr(backend, "should_run", lambda *call: True)


def test_a_generator_refuses_when_it_is_called():
    graph = nx.Graph([(0, 1, {"weight": -1})])
    with pytest.raises(NotImplementedError):
        nx.all_pairs_dijkstra_path_length(graph, backend="dgraph")


def test_networkx_takes_over_from_a_generator(falling_back):
    loop = nx.Graph([("a", "a"), ("a", "b")])
    assert list(nx.biconnected_component_edges(loop)) == list(nx.biconnected_component_edges(loop, backend="networkx"))


def test_other_errors_come_with_the_first_item():
    for name in ("dgraph", "networkx"):
        layers = nx.bfs_layers(nx.path_graph(3), ["no node"], backend=name)
        with pytest.raises(nx.NetworkXError, match="The node no node is not in the graph"):
            next(layers)
        with pytest.raises(StopIteration):
            next(layers)


def test_ranks_do_not_depend_on_where_they_start():
    graph = nx.gnp_random_graph(30, 0.2, seed=4)
    start = {node: node + 1.0 for node in graph}
    for name, arguments in {
        "pagerank": {"tol": 1e-12},
        "katz_centrality": {"alpha": 0.01, "tol": 1e-12},
        "hits": {"tol": 1e-12},
    }.items():
        function = getattr(nx, name)
        ours, theirs = (function(graph, nstart=dict(start), **arguments, backend=one) for one in ("dgraph", "networkx"))
        for one, other in zip(*((x if name == "hits" else [x]) for x in (ours, theirs)), strict=True):
            assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("name", ["k_core", "k_shell", "k_crust"])
def test_core_numbers_may_be_those_of_some_nodes(name):
    graph = nx.gnp_random_graph(30, 0.2, seed=4)
    known = {node: core for node, core in nx.core_number(graph).items() if node % 3}
    for k in (None, 2):
        ours, theirs = (getattr(nx, name)(graph, k, core_number=known, backend=one) for one in ("dgraph", "networkx"))
        assert ours.nodes == theirs.nodes and ours.edges == theirs.edges
    with pytest.raises(NotImplementedError):
        nx.k_corona(graph, 2, core_number=known, backend="dgraph")


def test_lengths_beyond_the_integers_of_floats_are_refused():
    graph = nx.Graph([(0, 1, {"weight": 2**52}), (1, 2, {"weight": 2**52}), (2, 3, {"weight": 4})])
    for name, arguments in {
        "single_source_dijkstra_path_length": {"source": 0},
        "dijkstra_path_length": {"source": 0, "target": 2},
        "single_source_dijkstra_path": {"source": 0},
        "wiener_index": {"weight": "weight"},
    }.items():
        with pytest.raises(NotImplementedError):
            getattr(nx, name)(graph, **arguments, backend="dgraph")
    graph[0][1]["weight"] = 1
    graph.__networkx_cache__.clear()
    assert nx.dijkstra_path_length(graph, 0, 3, backend="dgraph") == 5 + 2**52
    steep = nx.DiGraph([(0, 1, {"weight": 2**52}), (1, 2, {"weight": -(2**52)})])
    with pytest.raises(NotImplementedError):
        nx.bellman_ford_path_length(steep, 0, 2, backend="dgraph")


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_over_triangles_are_diagonals_of_cubes(threads):
    rng = np.random.default_rng(5)
    matrix = np.tril(rng.integers(1, 5, (60, 60)) * (rng.random((60, 60)) < 0.3), -1)
    high, low = np.nonzero(matrix)
    both = matrix + matrix.T
    sums = sums_of_products(high, low, matrix[high, low], 60, threads)
    assert sums.tolist() == (np.diag(both @ both @ both) // 2).tolist()


def test_a_missing_weight_is_no_negative_cycle():
    graph = nx.DiGraph([(0, 1, {"weight": math.nan}), (2, 3, {"weight": -1.0})])
    with pytest.raises(NotImplementedError):
        nx.single_source_bellman_ford_path_length(graph, 2, backend="dgraph")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_starts_that_are_not_finite_are_refused(value):
    graph, start = nx.complete_graph(3), {0: value, 1: 1.0, 2: 1.0}
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(graph, nstart=start, backend="dgraph")
    for name in ("katz_centrality", "hits"):
        with pytest.raises(NotImplementedError):
            getattr(nx, name)(graph, nstart=start, backend="dgraph")
