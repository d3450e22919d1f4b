"""Implicit feedback: the factors of NumPy, and how what was held out is ranked."""

import numpy as np
import pandas as pd
import pytest
from rated import FEW, frame_of

import dgraph as dg
from dgraph.errors import OptionError, WeightError
from dgraph.factors import factor_updates
from dgraph.factors.fit_place import _draw_factors
from dgraph.factors.rating_rows import RatingColumns
from dgraph.factors.rating_test import RatingTest


def liked(users=40, items=60, parts=1, test=0.1, **options):
    """Users of two kinds, each of whom like other items, and how often they did."""
    draw = np.random.default_rng(5)
    chance = np.where(np.arange(users)[:, None] % 2 == np.arange(items) % 2, 0.5, 0.03)
    u, v = np.nonzero(draw.random((users, items)) < chance)
    frame = pd.DataFrame({"user": u, "item": v + 1000, "times": draw.integers(1, 9, len(u))})
    graph = dg.Graph.from_edges(frame, source="user", destination="item", weight="times", parts=parts)
    how = {"rank": 3, "epochs": 10, "stop": None, "test": test, **options}
    return frame, dg.factorize(graph, update=dg.LeastSquares(implicit_alpha=2.0), **how)


def test_implicit_feedback_matches_numpy():
    """With all users and items in each equation, which the kernel need not read."""
    frame, result = liked(test=0, regularization=0.3, epochs=4)
    users, items = 40, 60
    seen = np.zeros((users, items))
    seen[frame["user"], frame["item"] - 1000] = frame["times"]
    factors = np.empty((users + items, 3))
    _draw_factors(0, np.arange(users + items), 0.1 / np.sqrt(3), factors)
    first, second = slice(0, users), slice(users, None)
    for _ in range(4):
        for own, other, table in ((first, second, seen), (second, first, seen.T)):
            near = factors[other]
            factors[own] = [
                np.linalg.solve((near.T * (1 + 2 * row)) @ near + 0.3 * np.eye(3), near.T @ ((1 + 2 * row) * (row > 0)))
                for row in table
            ]
    np.testing.assert_allclose(result.by_number("factors"), factors, rtol=1e-5, atol=1e-6)
    misses = 1 - np.einsum("ij,ij->i", factors[frame["user"]], factors[users + frame["item"] - 1000])
    assert result.totals["rmse"] == pytest.approx(np.sqrt(np.mean(misses**2)))
    assert result.totals["mean"] == 0 and result.totals["epoch"] == 4 and "bias" not in result.compute()
    assert "ndcg" not in result.report


@pytest.mark.parametrize("parts", [1, 3])
def test_held_out_feedback_is_ranked(parts):
    frame, result = liked(parts=parts)
    ordered = frame.sort_values(["user", "item"]).reset_index(drop=True)
    items = np.unique(ordered["item"], return_inverse=True)[1] + 40
    ratings = RatingColumns(ordered["user"].to_numpy(), items, ordered["times"].to_numpy(float))
    held = RatingTest(0.1, 0).held(ratings, np.arange(100), None)
    found = {name: [] for name in ("recall@20", "precision@20", "ndcg")}
    table = result.compute().set_index("vertex")["factors"]
    items = sorted(set(frame["item"]))
    for user, theirs in ordered[held].groupby("user"):
        known = set(ordered[~held & (ordered["user"] == user)]["item"])
        scores = {item: table[user] @ table[item] for item in items if item not in known}
        best = sorted(scores, key=lambda item: (-scores[item], item))[:20]
        hits = np.isin(best, theirs["item"])
        found["recall@20"].append(hits.sum() / len(theirs))
        found["precision@20"].append(hits.sum() / 20)
        gains = 1 / np.log2(np.arange(20) + 2)
        found["ndcg"].append(hits @ gains / gains[: len(theirs)].sum())
    for name, values in found.items():
        assert result.totals[name] == pytest.approx(np.mean(values))
    assert result.totals["ndcg"] == result.report["ndcg"].max() and result.totals["recall@20"] > 0.5
    best = result.recommend(k=3).compute()
    assert (best["item"] % 2 == best["user"] % 2).mean() > 0.8
    assert not set(zip(best["user"], best["item"], strict=True)) & set(zip(frame["user"], frame["item"], strict=True))


@pytest.mark.parametrize("wrong", [0.0, -2.0])
def test_feedback_must_be_above_zero(wrong):
    with pytest.raises(
        WeightError, match=rf"1 of 4 weights are 0 or less, for example {wrong:g}: implicit feedback counts"
    ):
        dg.factorize(frame_of([*FEW[:3], ("u3", "i2", wrong)]), update=dg.LeastSquares(implicit_alpha=40))
    for alpha in (0, -1, "40", np.inf):
        with pytest.raises(OptionError, match=r"implicit_alpha=.*must be a finite number > 0"):
            dg.LeastSquares(implicit_alpha=alpha)


def test_repeated_feedback_adds_up():
    """Or a pair could be known and held out, and would never be ranked."""
    frame, once = liked()
    many = pd.concat([frame.assign(times=frame["times"] / 4)] * 4)
    graph = dg.Graph.from_edges(many, source="user", destination="item", weight="times")
    how = {"rank": 3, "epochs": 10, "stop": None, "update": dg.LeastSquares(implicit_alpha=2.0)}
    result = dg.factorize(graph, **how)
    np.testing.assert_allclose(result.by_number("factors"), once.by_number("factors"), rtol=1e-6, atol=1e-8)
    assert result.totals == pytest.approx(once.totals)


def test_one_epoch_is_kept_even_if_numbers_tell_more():
    """Factors of 0 rank items by their numbers, here by how many like them."""
    draw = np.random.default_rng(1)
    chance = 0.9 * np.exp(-np.arange(60) / 8)
    u, v = np.nonzero(draw.random((80, 60)) < chance)
    graph = dg.Graph.from_edges({"src": u, "dst": v + 100, "times": np.ones(len(u))}, weight="times")
    for test in (0, 0.2):
        result = dg.factorize(graph, rank=2, epochs=1, test=test, update=dg.LeastSquares(implicit_alpha=4))
        assert result.totals["epoch"] == 1 and result.by_number("factors").any() and result.report["kept"].all()


def test_conjugate_gradients_match_numpy(monkeypatch):
    """Three steps for each vertex, from its last factors. The rank is no multiple of four."""
    monkeypatch.setattr(factor_updates, "HIGH_RANK", 7)
    frame, result = liked(rank=7, test=0, regularization=0.3, epochs=2)
    seen = np.zeros((40, 60))
    seen[frame["user"], frame["item"] - 1000] = frame["times"]
    factors = np.empty((100, 7))
    _draw_factors(0, np.arange(100), 0.1 / np.sqrt(7), factors)
    users, items = factors[:40], factors[40:]
    for own, near, table in 2 * ((users, items, seen), (items, users, seen.T)):
        for x, row in zip(own, table, strict=True):
            matrix = (near.T * (1 + 2 * row)) @ near + 0.3 * np.eye(7)
            rest = near.T @ ((1 + 2 * row) * (row > 0)) - matrix @ x
            direction = rest.copy()
            for _ in range(3):
                length = rest @ rest / (direction @ matrix @ direction)
                x += length * direction
                before, rest = rest, rest - length * matrix @ direction
                direction = rest + rest @ rest / (before @ before) * direction
    np.testing.assert_allclose(result.by_number("factors"), factors, rtol=1e-6, atol=1e-9)


def test_conjugate_gradients_end_at_the_exact_factors(monkeypatch):
    _, exact = liked(rank=7, test=0, epochs=60)
    monkeypatch.setattr(factor_updates, "HIGH_RANK", 7)
    _, found = liked(rank=7, test=0, epochs=60)
    assert found.totals["rmse"] == pytest.approx(exact.totals["rmse"], rel=0.03)


@pytest.mark.parametrize("regularization", [0.0, 1e-12])
def test_more_factors_than_items_are_finite(regularization):
    _, result = liked(rank=70, regularization=regularization, epochs=3)
    assert np.isfinite(result.by_number("factors")).all() and result.by_number("factors").any()


def test_a_confidence_beyond_measure_is_refused():
    frame = [("u1", "i1", 1e-30), ("u1", "i2", 2.0), ("u2", "i1", 3.0)]
    with pytest.raises(OptionError, match=r"implicit_alpha=1e\+300: times the largest weight it is"):
        dg.factorize(frame_of(frame), test=0, update=dg.LeastSquares(implicit_alpha=1e300))
    tiny = dg.factorize(frame_of(frame), rank=2, test=0, update=dg.LeastSquares(implicit_alpha=1e-300))
    assert np.isfinite(tiny.by_number("factors")).all()
