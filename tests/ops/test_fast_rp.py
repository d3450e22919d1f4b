"""Embeddings by random projection against products of dense matrices, over partitions and workers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES

import dgraph as dg
from dgraph import errors
from dgraph.ops.fast_rp import fast_rp
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import AnswerError, verify

pytestmark = pytest.mark.usefixtures("several_threads")
FACTORS = st.lists(st.sampled_from([0.0, 1.0, -0.5]), min_size=1, max_size=4).filter(any)


@settings(max_examples=40, deadline=None)
@given(small_graphs(max_edges=40), st.sampled_from(PLACES), FACTORS, st.booleans(), st.integers(1, 20), st.data())
def test_values_are_those_of_the_definition(drawn, place, factors, weighted, dimensions, data):
    frame, kwargs = drawn
    some = st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=len(frame), max_size=len(frame))
    frame = frame[["src", "dst"]].assign(weight=pd.Series(data.draw(some), dtype=float))
    graph = dg.Graph.from_edges(frame, **{**kwargs, "weight": "weight", **place})
    result = fast_rp(graph, dimensions=dimensions, weights=factors, weighted=weighted, random_seed=5)
    verify("fast_rp", graph, result, weights=factors, weighted=weighted, random_seed=5)
    vectors = result.by_number("embedding")
    assert vectors.shape == (graph.num_vertices, dimensions) and vectors.dtype == np.float32


def test_vectors_are_means_of_what_is_around():
    """The random vectors of one run, and a product of matrices, make those of another."""
    graph = dg.rmat(scale=7, edge_factor=4, seed=2, directed=False)
    matrix = np.zeros((graph.num_vertices,) * 2)
    for one, other in graph.edges.compute().to_numpy():
        places = graph.numbering.find(one), graph.numbering.find(other)
        matrix[places] += 1
        matrix[places[::-1]] += one != other
    step = matrix / np.maximum(matrix.sum(axis=1), 1)[:, None]
    drawn = fast_rp(graph, dimensions=300, weights=[1]).by_number("embedding")
    assert set(np.unique(np.round(drawn, 6))) == set(np.round(np.float32([-np.sqrt(3), 0, np.sqrt(3)]), 6))
    assert abs(np.mean(drawn == 0) - 2 / 3) < 0.01 and abs(drawn.mean()) < 0.02
    assert abs((drawn**2).mean() - 1) < 0.05  # so products of vectors are expected to be what they stand for
    found = fast_rp(graph, dimensions=300, weights=[0.5, 0, 2.0]).by_number("embedding")
    np.testing.assert_allclose(found, 0.5 * drawn + 2 * step @ step @ drawn, atol=1e-5)


def test_a_seed_draws_the_same_vectors_on_workers(client):
    frame = dg.rmat(scale=7, edge_factor=4, weights=(1, 5), seed=4).edges.compute()
    columns = {"source": "source", "destination": "destination", "weight": "weight"}
    here, there = (dg.Graph.from_edges(frame, **columns, **how) for how in ({}, {"parts": 3, "client": client}))
    for how in ({}, {"weighted": True, "weights": [0, 1]}):
        expected, found = (fast_rp(graph, dimensions=16, **how).by_number("embedding") for graph in (here, there))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    other = fast_rp(here, dimensions=16, random_seed=1).by_number("embedding")
    assert not np.allclose(other, fast_rp(here, dimensions=16).by_number("embedding"))


def test_groups_are_told_apart():
    """Vectors within a group of a planted partition are nearer to each other than to those of the other group."""
    rng = np.random.default_rng(1)
    group = np.arange(200) // 100
    ends = rng.integers(0, 200, (2, 30_000))
    kept = (group[ends[0]] == group[ends[1]]) | (rng.random(30_000) < 0.1)
    vectors = fast_rp(dg.Graph.from_edges({"src": ends[0][kept], "dst": ends[1][kept]})).by_number("embedding")
    middle = np.stack([vectors[group == one].mean(axis=0) for one in (0, 1)])
    nearest = np.linalg.norm(vectors[:, None] - middle, axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.99


def test_wrong_vectors_are_refused():
    graph = dg.rmat(scale=5, seed=1)
    vectors = fast_rp(graph, dimensions=8).by_number("embedding").copy()
    vectors[3, 2] += 0.01
    with pytest.raises(AnswerError, match="vertex 3"):
        verify("fast_rp", graph, {"embedding": vectors})


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's writer
def test_vectors_can_be_written_and_read(tmp_path):
    graph = dg.rmat(scale=5, seed=1)
    result = fast_rp(graph, dimensions=8)
    result.frame.to_parquet(tmp_path / "vectors")
    read = pd.read_parquet(tmp_path / "vectors").sort_values("vertex")
    np.testing.assert_array_equal(np.stack(read["embedding"]), result.by_number("embedding"))


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("vertices", [0, 1, 3])
def test_without_edges_only_the_random_vectors_count(vertices, parts):
    graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=vertices, parts=parts)
    drawn = fast_rp(graph, dimensions=8, weights=[1]).by_number("embedding")
    np.testing.assert_array_equal(fast_rp(graph, dimensions=8, weights=[2, 3, 4]).by_number("embedding"), 2 * drawn)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"dimensions": 0}, errors.OptionError, "dimensions=0"),
        ({"dimensions": 10**6}, errors.OptionError, "dimensions=1000000"),
        ({"weights": []}, errors.OptionError, "weights=[]"),
        ({"weights": "111"}, errors.OptionError, "weights='111'"),
        ({"weights": 1.0}, errors.OptionError, "weights=1.0"),
        ({"weights": [1, float("nan")]}, errors.OptionError, "finite"),
        ({"weights": [0, 0]}, errors.OptionError, "all are 0"),
        ({"weighted": True}, errors.ColumnError, "needs weights"),
        ({"engine": "gas"}, errors.OptionError, "engine="),
        ({"device": "cuda"}, errors.OptionError, "device="),
    ],
)
def test_options_are_checked(options, error, words):
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    with pytest.raises(error) as refused:
        fast_rp(graph, **options)
    assert words in str(refused.value)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("scale", [1e-310, 1e-50, 1.0, 1e39, 1e300])
def test_the_unit_of_weights_does_not_matter(scale, parts):
    ends = {"src": [0, 1, 2, 0], "dst": [1, 2, 0, 2]}
    found, expected = (
        fast_rp(
            dg.Graph.from_edges({**ends, "w": [w, w, w, 2 * w]}, weight="w", parts=parts),
            dimensions=9,
            weights=[0, 1, 1],
            weighted=True,
        ).by_number("embedding")
        for w in (scale, 1.0)
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_long_sums_keep_what_is_small():
    """Vertex 0 has many neighbours that all are like vertex 1."""
    near = np.arange(2, 200_002)
    frame = {"src": np.concatenate([near * 0, near]), "dst": np.concatenate([near, near * 0 + 1])}
    weights = np.ones(len(near) * 2)
    weights[0] = 2.0**25
    graph = dg.Graph.from_edges({**frame, "w": weights}, weight="w")
    drawn = fast_rp(graph, dimensions=20, weights=[1]).by_number("embedding")
    found = fast_rp(graph, dimensions=20, weights=[0, 0, 1], weighted=True).by_number("embedding")
    np.testing.assert_allclose(found[0], drawn[1], rtol=1e-4)


@pytest.mark.parametrize("weights", [[0, 1], [0, 1e-5]])
def test_missing_and_vanishing_answers_are_refused(weights):
    graph = dg.rmat(scale=5, seed=1)
    vectors = fast_rp(graph, dimensions=8, weights=weights).by_number("embedding")
    for wrong in (np.full_like(vectors, np.nan), np.zeros_like(vectors)):
        with pytest.raises(AnswerError):
            verify("fast_rp", graph, {"embedding": wrong}, weights=weights)
