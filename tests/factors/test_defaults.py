"""Real ratings, and generated ones of many shapes, are predicted well at the defaults."""

import numpy as np
import pandas as pd
import pytest
from rated import FEW, frame_of, shapes

import dgraph as dg
from dgraph.errors import ColumnError, OptionError
from dgraph.factors.factor_updates import SOLVE, FactorUpdate
from dgraph.factors.fit_options import UPDATES
from dgraph.factors.rating_rows import RatingColumns, RatingRows

pytestmark = pytest.mark.usefixtures("several_threads")


def error_on(test, result):
    """The root mean square error on ratings; a user or item that is not in the graph counts as the mean."""
    found = result.compute().set_index("vertex")
    rank = len(found["factors"].iloc[0])
    table = np.column_stack([np.stack(found["factors"].to_numpy()), found["bias"].to_numpy()])
    ends = [found.index.get_indexer(test[name]) for name in ("user", "item")]
    one, other = (np.where(end[:, None] >= 0, table[end], 0.0) for end in ends)
    products = np.einsum("ij,ij->i", one[:, :rank], other[:, :rank])
    return np.sqrt(np.mean((test["rating"] - result.totals["mean"] - one[:, -1] - other[:, -1] - products) ** 2))


@pytest.fixture(scope="module")
def movies(data):
    frame = pd.read_csv(data / "ml-latest-small/ratings.csv.xz")
    row = np.arange(len(frame), dtype=np.uint64)
    test = row * np.uint64(2654435761) % np.uint64(2**32) / 2**32 < 0.2
    ids = {"user": "u" + frame["userId"].astype(str), "item": "i" + frame["movieId"].astype(str)}
    ratings = pd.DataFrame({**ids, "rating": frame["rating"], "test": test})
    return ratings[~test], ratings[test], ratings


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("seed", range(2))
def test_real_ratings_are_predicted_at_the_defaults(movies, update, seed):
    known, test, _ = movies
    graph = frame_of(known[["user", "item", "rating"]])
    assert error_on(test, dg.factorize(graph, update=update, random_seed=seed)) < 0.86
    assert error_on(test, dg.factorize(graph, update=update, rank=50, random_seed=seed)) < 0.853


@pytest.mark.parametrize("parts", [1, 2])
def test_a_column_marks_the_ratings_to_hold_out(movies, parts):
    _, test, ratings = movies
    graph = dg.Graph.from_edges(ratings, source="user", destination="item", weight="rating", parts=parts)
    result = dg.factorize(graph, test="test")
    assert result.totals["held_out"] == pytest.approx(error_on(test, result), rel=1e-6)
    assert result.totals["held_out"] == result.report["held_out"].min() < 0.86


@pytest.mark.parametrize(
    ("marks", "problem"),
    [
        ([0, 1, 2, 1], "test='mark': the column has values other than true and false"),
        ([0.0, 1.0, np.nan, 1.0], "test='mark': the column has values other than true and false"),
        (["no", "yes", "no", "no"], "mark"),
        ([False] * 4, "test='mark': the column is true for no rating, so nothing is held out; pass test=0"),
        ([True] * 4, "test='mark' holds out all 4 ratings"),
    ],
)
def test_a_column_that_marks_no_test_is_refused(marks, problem):
    frame = pd.DataFrame(FEW, columns=["user", "item", "rating"]).assign(mark=marks)
    graph = dg.Graph.from_edges(frame, source="user", destination="item", weight="rating")
    with pytest.raises((ColumnError, OptionError), match=problem):
        dg.factorize(graph, test="mark")
    for name in ("month", "rating"):
        with pytest.raises(ColumnError, match=f"test={name!r} is not a column of the edges that can mark ratings"):
            dg.factorize(graph, test=name)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", ["few items", "long tail", "binary", "very sparse", "trend", "biases only"])
def test_defaults_are_never_worse_than_biases_alone(name, update):
    known, test = shapes(name)
    result = dg.factorize(frame_of(known), update=update)
    ratings = RatingColumns(*ratings_of(known))
    rows = RatingRows.of(ratings, ratings, known["item"].max() + 1)
    alone = np.zeros((known["item"].max() + 1, 1))
    for _ in range(10):
        FactorUpdate(SOLVE, 0, 1).update(rows, alone, 0.0)
    predicted = known["rating"].mean() + alone[test["user"], 0] + alone[test["item"], 0]
    biases = np.sqrt(np.mean((test["rating"] - predicted) ** 2))
    assert error_on(test, result) < 1.005 * biases
    if name not in ("very sparse", "biases only"):
        assert error_on(test, result) < 0.99 * biases


def ratings_of(frame):
    values = frame["rating"].to_numpy(np.float64)
    return *(frame[name].to_numpy(np.uint32) for name in ("user", "item")), values - values.mean()
