"""What is drawn for ratings and vertices: independent, of the right shares and deviations, and the same anywhere."""

import numpy as np
import pytest

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.factors.fit_place import _draw_factors
from dgraph.factors.rating_rows import RatingColumns
from dgraph.factors.rating_test import RatingTest


def held(u, v, share=0.2, seed=1, numbers=None):
    ratings = RatingColumns(np.asarray(u, np.uint32), np.asarray(v, np.uint32), np.zeros(len(u)))
    return RatingTest(share, seed).held(ratings, np.arange(1 + max(*u, *v)) if numbers is None else numbers, None)


def test_a_share_of_the_ratings_is_held_out():
    u, v = np.divmod(np.arange(40_000), 200)
    one, other = held(u, v), held(u, v, seed=2)
    for mask in (one, other, one[u == 7], one[v == 3]):
        assert mask.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / len(mask)))
    assert (one & other).mean() == pytest.approx(0.04, abs=0.005), "seeds are independent"
    assert not held(u, v, share=0.0).any()


def test_repeated_ratings_are_drawn_one_by_one():
    u = np.repeat(np.arange(20_000), 2)
    mask = held(u, u).reshape(-1, 2)
    assert (mask[:, 0] & mask[:, 1]).mean() == pytest.approx(0.04, abs=0.006)


def test_draws_depend_on_the_numbers_of_vertices_alone():
    """As where a partition has other local ids."""
    u, v = np.arange(1000), np.arange(1000) + 1000
    places = np.random.default_rng(1).permutation(2000)
    numbers = np.argsort(places)  # by local id
    np.testing.assert_array_equal(held(places[u], places[v], numbers=numbers), held(u, v))


def test_factors_are_normal_and_independent():
    found = np.empty((20_000, 4))
    _draw_factors(3, np.arange(20_000), 2.0, found)
    np.testing.assert_allclose(found.mean(0), 0, atol=0.06)
    np.testing.assert_allclose(np.cov(found.T), 4 * np.eye(4), atol=0.15)
    assert (np.abs(found / 2) > 1.96).mean() == pytest.approx(0.05, abs=0.003)
    other, some = np.empty((20_000, 4)), np.empty((2, 4))
    _draw_factors(4, np.arange(20_000), 2.0, other)
    assert abs(np.corrcoef(found.ravel(), other.ravel())[0, 1]) < 0.02
    _draw_factors(3, np.array([500, 7]), 2.0, some)
    np.testing.assert_array_equal(some, found[[500, 7]])


def test_seeds_have_63_bits():
    graph = dg.ratings(users=9, items=5, ratings=30, seed=1)
    assert dg.factorize(graph, random_seed=2**63 - 1).rounds
    with pytest.raises(OptionError, match="random_seed="):
        dg.factorize(graph, random_seed=2**63)


def test_a_share_that_holds_out_nothing_is_told():
    graph = dg.ratings(users=3, items=3, ratings=4, seed=1)
    with pytest.warns(UserWarning, match="test=0.001 has held out none of so few ratings"):
        dg.factorize(graph, test=0.001)
