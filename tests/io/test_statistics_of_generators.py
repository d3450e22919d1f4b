"""What each generator promises of its edges: degrees, weights, and who is joined to whom."""

import math

import numpy as np
import pytest

from dgraph.io.generate import Bipartite, Grid, Ratings, Rmat, Uniform

# R-MAT


def test_quadrants_have_their_probabilities():
    edges = Rmat(9, 1024, a=0.5, b=0.3, c=0.15, permute=False).block()
    n = len(edges["source"])
    for bit in range(9):
        down, right = (edges["source"] >> bit) & 1, (edges["destination"] >> bit) & 1
        found = np.bincount(2 * down + right, minlength=4) / n
        np.testing.assert_allclose(found, [0.5, 0.3, 0.15, 0.05], atol=5 * math.sqrt(0.25 / n))


def test_levels_are_independent():
    """Also of levels of one hash, and of the next edge's."""
    source = Rmat(12, 32, permute=False).block()["source"]
    bits = (source[:, None] >> np.arange(12)) & 1
    both = np.hstack([bits[:-1], bits[1:]])
    correlation = np.corrcoef(both, rowvar=False)[np.triu_indices(24, 1)]
    assert abs(correlation).max() < 5 / math.sqrt(len(source))


@pytest.mark.parametrize("scale", [*range(13)])
def test_permute_renames_vertices_one_to_one(scale):
    plain, scrambled = Rmat(scale, 32, permute=False).block(), Rmat(scale, 32).block()
    name = np.full(1 << scale, -1)
    for end in ("source", "destination"):
        name[plain[end]] = scrambled[end]
    for end in ("source", "destination"):
        np.testing.assert_array_equal(name[plain[end]], scrambled[end])
    used = name[name >= 0]
    assert len(np.unique(used)) == len(used)


def test_permuted_ids_tell_nothing_of_degrees():
    """Of vertices with a bit set, as many are hubs as of those without; in plain R-MAT far fewer."""
    for permute in (True, False):
        generator = Rmat(14, permute=permute)
        degree = np.bincount(generator.block()["source"], minlength=generator.num_vertices)
        hubs = np.argsort(degree)[-1024:]
        share = ((hubs[:, None] >> np.arange(14)) & 1).mean(axis=0)
        assert (abs(share - 0.5).max() < 0.1) == permute


def test_degrees_are_skewed():
    n = 1 << 14
    skewed = np.sort(np.bincount(Rmat(14).block()["source"], minlength=n))
    even = np.sort(np.bincount(Uniform(n, 16 * n).block()["source"], minlength=n))
    assert skewed[-n // 100 :].sum() > 0.15 * 16 * n
    assert skewed[-1] > 20 * even[-1]
    # vertex 0 of plain R-MAT is the source of (a + b) ** scale of the edges
    plain = Rmat(14, permute=False).block()["source"]
    expected = 16 * n * 0.76**14
    assert abs((plain == 0).sum() - expected) < 5 * math.sqrt(expected)


def test_even_quadrants_are_a_uniform_graph():
    found = np.bincount(Rmat(8, 256, a=0.25, b=0.25, c=0.25).block()["source"], minlength=256)
    assert ((found - 256) ** 2 / 256).sum() < 256 + 5 * math.sqrt(2 * 256)


# Uniform, bipartite, weights


def test_uniform_ends_are_uniform_and_independent():
    edges = Uniform(10, 100_000).block()
    found = np.bincount(10 * edges["source"] + edges["destination"], minlength=100)
    assert ((found - 1000) ** 2 / 1000).sum() < 99 + 5 * math.sqrt(2 * 99)


def test_bipartite_sides_do_not_mix():
    generator = Bipartite(3, 70, 5000)
    edges = generator.block()
    assert set(edges["source"]) == set(range(3))
    assert set(edges["destination"]) == set(range(3, 73))
    assert not generator.directed


@pytest.mark.parametrize("seed", [0, 1, (1 << 64) - 1])
def test_whole_weights_are_uniform_and_inclusive(seed):
    weight = Uniform(3, 60_000, seed=seed, weights=(-2, 3)).block()["weight"]
    found = np.bincount(weight + 2, minlength=6)
    assert len(found) == 6
    assert ((found - 10_000) ** 2 / 10_000).sum() < 30


def test_real_weights_have_their_moments():
    weight = Uniform(3, 60_000, weights=(-1, 2.0)).block()["weight"]
    assert abs(weight.mean() - 0.5) < 5 * math.sqrt(0.75 / 60_000)
    assert abs(weight.var() - 0.75) < 0.02
    assert (Uniform(3, 10, weights=(7, 7)).block()["weight"] == 7).all()
    assert (Uniform(3, 10, weights=(0.1, 0.1)).block()["weight"] == 0.1).all()


# Grid


@pytest.mark.parametrize(("rows", "cols"), [(1, 2), (2, 1), (2, 2), (5, 1), (1, 5), (4, 7), (7, 4)])
def test_grid_has_every_road_once(rows, cols):
    number = np.arange(rows * cols).reshape(rows, cols)
    right = zip(number[:, :-1].flat, number[:, 1:].flat, strict=True)
    down = zip(number[:-1].flat, number[1:].flat, strict=True)
    edges = Grid(rows, cols, removed=0).block()
    found = list(zip(edges["source"].tolist(), edges["destination"].tolist(), strict=True))
    assert sorted(found) == sorted([*right, *down])
    assert found == sorted(found)


def test_removed_roads_take_their_weights_with_them():
    whole = Grid(40, 50, removed=0).block()
    weight = dict(zip(zip(whole["source"], whole["destination"], strict=True), whole["weight"], strict=True))
    less = Grid(40, 50, removed=0.5).block()
    for u, v, w in zip(*less.values(), strict=True):
        assert weight[u, v] == w


def test_a_large_grid_keeps_nine_tenths_of_its_roads():
    generator = Grid(2000, 2000)
    candidates = generator.num_indices
    assert candidates == 2 * 2000 * 1999
    assert abs(generator.num_rows - 0.9 * candidates) < 5 * math.sqrt(0.09 * candidates)
    assert not generator.directed


# Ratings


def test_ratings_are_low_rank_plus_noise():
    generator = Ratings(300, 200, 200_000, rank=6, noise=0.25, mean=3, spread=2)
    edges = generator.block()
    users, items = generator.factors(np.arange(300)), generator.factors(np.arange(300, 500))
    assert users.shape == (300, 6)
    signal = 3 + (users[edges["source"]] * items[edges["destination"] - 300]).sum(axis=1)
    noise = (edges["rating"] - signal) / 0.25
    assert abs(noise.mean()) < 5 / math.sqrt(len(noise))
    assert abs(noise.var() - 1) < 0.03
    assert abs((noise**3).mean()) < 0.05
    assert abs((noise**4).mean() - 3) < 0.1
    assert abs((abs(noise) < 1).mean() - 0.6827) < 0.01
    assert 1.7 < signal.std() < 2.3
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.02


@pytest.mark.parametrize("rank", [1, 3, 4, 9])
def test_ratings_without_noise_have_that_rank(rank):
    generator = Ratings(40, 30, 20_000, rank=rank, noise=0, mean=0)
    edges = generator.block()
    table = np.zeros((40, 30))
    table[edges["source"], edges["destination"] - 40] = edges["rating"]
    assert np.linalg.matrix_rank(table, tol=1e-9) == rank
