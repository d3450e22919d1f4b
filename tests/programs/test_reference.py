"""The oracle gives the published results, in BSP and in GAS order."""

from itertools import pairwise

import numpy as np
import programs
import pytest
from numpy import int32, int64
from small_graphs import FILES, SmallGraph

from dgraph.errors import OptionError, RunError
from dgraph.programs import reference
from dgraph.programs.monoid import MAX, NONE, SUM, UNREACHED
from dgraph.programs.program import Message, State, VertexProgram


@pytest.fixture(scope="module", params=sorted(FILES))
def graph(request):
    """Each of the small graphs."""
    return SmallGraph(request.param)


@pytest.fixture(params=["bsp", "gas"])
def order(request):
    """Both orders of a round."""
    return request.param


def run(program, graph, order="bsp", **options):
    """The columns of an answer, as arrays."""
    options = {"directed": graph.directed, "columns": {"weight": graph.weights}, **options}
    edges = options.pop("edges", graph.edges)
    outcome = reference.run(program, edges, graph.vertices, order=order, **options)
    return {name: np.array(values) for name, values in outcome.results().items()}


def test_breadth_first_matches_the_published_results(graph, order):
    level = run(programs.BreadthFirst(source=graph.source), graph, order)["level"]
    assert np.array_equal(np.where(level == UNREACHED, -1, level), graph.expected["bfs"])


def test_shortest_paths_match_the_published_results(graph, order):
    dist = run(programs.ShortestPaths(source=graph.source), graph, order)["dist"]
    expected = graph.expected["sssp"].astype(float)
    assert np.allclose(dist, np.where(expected < 0, np.inf, expected), atol=1e-12)


def test_many_sources_are_single_sources_side_by_side(graph):
    sources = [graph.source, 0, graph.vertices - 1]
    dist = run(programs.ManySources(source=sources), graph)["dist"]
    for c, source in enumerate(sources):
        assert np.array_equal(dist[:, c], run(programs.ShortestPaths(source=source), graph)["dist"])


def test_components_match_the_published_results(graph, order):
    assert np.array_equal(run(programs.Components(), graph, order)["component"], graph.expected["wcc"])


@pytest.mark.parametrize("program", [programs.Residuals(least=1e-11), programs.PageRank()], ids=repr)
def test_pagerank_matches_the_published_results(graph, order, program):
    answer = run(program, graph, order)
    assert np.allclose(next(iter(answer.values())), graph.expected["pagerank"], atol=1e-8)


def test_personal_pagerank_with_uniform_restart_is_pagerank(graph):
    restart = [1 / graph.vertices] * graph.vertices
    rank = run(programs.PersonalPageRank(), graph, vertex_columns={"restart": restart})["rank"]
    assert np.allclose(rank, graph.expected["pagerank"], atol=1e-9)


def test_core_numbers_match_the_published_results(graph):
    core = run(programs.CoreNumber(), graph, edges=graph.simple, columns={}, directed=False)["core"]
    assert np.array_equal(core, graph.expected["core"])


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_k_core_matches_the_published_results(graph, order, k):
    in_core = run(programs.KCore(k=k), graph, order, edges=graph.simple, columns={}, directed=False)["in_core"]
    assert np.array_equal(in_core, graph.expected["core"] >= k)


def test_cdlp_matches_the_published_results(graph, order):
    label = run(programs.CommunityDetection(max_iter=10), graph, order)["label"]
    assert np.array_equal(graph.ids[label], graph.expected["cdlp10"])


def test_label_propagation_ends_where_all_agree_with_their_neighbours(graph):
    first = run(programs.LabelPropagation(max_iter=100), graph, random_seed=1)["label"]
    assert np.array_equal(first, run(programs.LabelPropagation(max_iter=100), graph, "gas", random_seed=1)["label"])


def test_katz_solves_its_linear_system(graph, order):
    alpha = 0.5 / (1 + np.bincount(np.ravel(graph.edges)).max())
    katz = run(programs.Katz(alpha=alpha), graph, order)["katz"]
    matrix = np.zeros((graph.vertices, graph.vertices))
    for u, v in graph.edges:
        matrix[v, u] += 1
        if not graph.directed and u != v:
            matrix[u, v] += 1
    assert np.allclose(
        katz, np.linalg.solve(np.eye(graph.vertices) - alpha * matrix, np.ones(graph.vertices)), atol=1e-9
    )


@pytest.mark.parametrize("seed", range(5))
def test_matching_is_maximal(order, seed):
    rng = np.random.default_rng(seed)
    edges = [(int(u), 20 + int(v)) for u, v in zip(rng.integers(0, 20, 60), rng.integers(0, 30, 60), strict=True)]
    outcome = reference.run(programs.Matching(), edges, 50, order=order, random_seed=seed)
    mate = outcome.results()["mate"]
    assert all(mate[mate[v]] == v for v in range(50) if mate[v] != NONE)
    assert all((v, mate[v]) in edges for v in range(20) if mate[v] != NONE)
    assert not [edge for edge in edges if mate[edge[0]] == NONE == mate[edge[1]]]


def test_factors_come_closer_to_the_ratings():
    ratings = {"rating": [5.0, 1.0, 4.0, 2.0]}
    errors = [
        reference.run(programs.Factorize(rank=3, step=0.05, epochs=n), [(0, 2), (0, 3), (1, 2), (1, 3)], 4, ratings)
        for n in (1, 10, 40)
    ]
    squares = [outcome.globals["squared_error"] for outcome in errors]
    assert all(later < earlier for earlier, later in pairwise(squares)) and squares[-1] < 1


def test_graphs_may_have_no_edges_or_no_vertices():
    assert reference.run(programs.Components(), [], 3).results() == {"component": [0, 1, 2]}
    assert reference.run(programs.Components(), [], 0).results() == {"component": []}
    with pytest.raises(OptionError, match="sideways"):
        reference.run(programs.Components(), [], 3, order="sideways")


def test_whole_numbers_wrap():
    class Doubles(VertexProgram):
        value = State(int64)
        small = State(int32)
        merge = SUM

        def seed():
            return 1

        def send(value):
            return 0

        def apply(value, small, message):
            return value + 2**62 + 2**62, small - 2**31 - 1

    run = reference.run(Doubles(), [], 1)
    assert run.results() == {"value": [-(2**63)], "small": [2**31 - 1]}


def test_what_does_not_end_is_an_error(order):
    class Longest(VertexProgram):
        value = State(int64)
        message = Message(int64, MAX)

        def seed(id):
            return id

        def send(value):
            return value + 1

        def apply(value, message):
            return max(value, message)

    with pytest.raises(RunError, match=r"^Longest has not ended after 50 rounds \(set max_rounds="):
        reference.run(Longest(), [(0, 1), (1, 0)], 2, order=order, max_rounds=50)
