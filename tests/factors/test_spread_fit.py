"""All workers together find the factors that one finds alone."""

import numpy as np
import pandas as pd
import pytest
from rated import FEW, drawn

import dgraph as dg
from dgraph.errors import OptionError, WeightError
from dgraph.testing.verify import verify

ENDS = {"source": "user", "destination": "item", "weight": "rating"}


@pytest.fixture(scope="module")
def frame():
    """Some pairs are rated twice; some ratings are marked."""
    u, v, values, draw = drawn(7, 150, 90, 3000, strength=1.5, tails=(0.3, 0.5), noise=0.3)
    twice = np.append(np.arange(len(u)), np.arange(0, len(u), 9))
    ratings = {"user": u[twice], "item": v[twice] + 1000, "rating": values[twice] + 0.1 * draw.normal(size=len(twice))}
    return pd.DataFrame(ratings | {"mark": draw.random(len(twice)) < 0.2})


@pytest.mark.parametrize(("parts", "policy"), [(2, "outgoing"), (5, "cartesian"), (9, "hybrid")])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"test": "mark", "rank": 3, "biases": False},
        {"test": 0, "regularization": 0.05},
        {"update": "gradient"},
        {"update": dg.Gradient(learning_rate=0.5), "stop": None, "epochs": 5},
        {"update": dg.Gradient(learning_rate=0.5), "engine": dg.BlockDescent(mode="bsp")},
        {"update": dg.LeastSquares(implicit_alpha=4), "rank": 4},
        {"update": dg.LeastSquares(implicit_alpha=4), "test": "mark", "epochs": 5},
        {"update": dg.LeastSquares(implicit_alpha=4), "test": 0, "epochs": 3},
    ],
    ids=str,
)
def test_workers_find_the_factors_that_one_finds_alone(frame, client, parts, policy, options):
    is_feedback = isinstance(options.get("update"), dg.LeastSquares)
    if is_feedback:
        frame = frame.assign(rating=frame["rating"].abs() + 0.1)
    alone = dg.factorize(dg.Graph.from_edges(frame, **ENDS), **options)
    graph = dg.Graph.from_edges(frame, **ENDS, client=client, parts=parts, policy=policy)
    together = dg.factorize(graph, **options)
    assert together.report.options["exchange"] == "workers" and "exchange" not in alone.report.options
    for name in alone.report.columns.drop(["busy", "seconds", "messages", "bytes"]):
        if alone.report[name].dtype.kind == "f":
            np.testing.assert_allclose(together.report[name], alone.report[name], rtol=1e-9)
        else:
            assert together.report[name].tolist() == alone.report[name].tolist()
    assert (together.report["bytes"] > 0).all() and not alone.report["bytes"].any()
    assert together.totals.keys() == alone.totals.keys() and together.totals["epoch"] == alone.totals["epoch"]
    for name in alone.compute().columns.drop("vertex"):
        np.testing.assert_allclose(together.by_number(name), alone.by_number(name), rtol=1e-7, atol=1e-9)
    error = np.nanmax([together.totals["rmse"], together.totals["held_out"]])
    if not is_feedback:
        verify("factorize", graph, together, mean=together.totals["mean"], rmse=1.0001 * error)
    pairs = {"user": frame["user"], "item": frame["item"]}
    found = [one.predict(pairs).compute()["prediction"] for one in (alone, together)]
    np.testing.assert_allclose(*found, rtol=1e-7, atol=1e-9)
    best = [one.recommend(k=3).compute() for one in (alone, together)]
    assert best[0]["item"].tolist() == best[1]["item"].tolist()


def test_one_worker_decides_how_components_are_turned(frame, client):
    """Others may find turns that are as good, with other signs. Then owners and copies would differ."""
    graph = dg.Graph.from_edges(frame, **ENDS, client=client)
    right = dg.factorize(graph, update="gradient").report["rmse"]
    client.run(_turn_otherwise, workers=[sorted(client.nthreads())[1]])
    try:
        found = dg.factorize(graph, update="gradient").report["rmse"]
    finally:
        client.run(_turn_again, workers=[sorted(client.nthreads())[1]])
    np.testing.assert_allclose(found, right, rtol=1e-6)


def _turn_otherwise():
    from dgraph.factors import rating_fit

    rating_fit.turns_found = right = rating_fit.balancing_turns
    rating_fit.balancing_turns = lambda *products: tuple(-one for one in right(*products))


def _turn_again():
    from dgraph.factors import rating_fit

    rating_fit.balancing_turns = rating_fit.turns_found


def test_a_fit_is_as_good_if_all_vertices_are_updated_at_once(frame, client):
    """Balanced components may be swapped, so factors differ, but not their errors."""
    options = {"update": "gradient", "engine": dg.BlockDescent(mode="bsp"), "epochs": 12, "stop": None}
    found = [dg.factorize(dg.Graph.from_edges(frame, **ENDS, client=one), **options) for one in (None, client)]
    np.testing.assert_allclose(found[0].report["rmse"], found[1].report["rmse"], rtol=1e-3)


@pytest.mark.parametrize(("parts", "policy"), [(2, "outgoing"), (3, "incoming"), (7, "cartesian")])
@pytest.mark.parametrize(
    "options",
    [
        {"rank": 3, "test": "mark", "epochs": 9},
        {"update": "gradient", "epochs": 4},
        {"update": dg.LeastSquares(implicit_alpha=4), "rank": 4, "epochs": 5},
    ],
    ids=str,
)
def test_workers_fit_undirected_ratings_together(frame, client, parts, policy, options):
    """The edges name either end first; users and items are those of one worker."""
    frame = frame.assign(rating=frame["rating"].abs() + 0.1)
    other = frame["rating"].rank().to_numpy() % 2 == 0
    frame["user"], frame["item"] = np.where(other, [frame["item"], frame["user"]], [frame["user"], frame["item"]])
    alone = dg.factorize(dg.Graph.from_edges(frame, **ENDS, directed=False), **options)
    graph = dg.Graph.from_edges(frame, **ENDS, directed=False, client=client, parts=parts, policy=policy)
    together = dg.factorize(graph, **options)
    assert together.report.options["exchange"] == "workers"
    np.testing.assert_allclose(together.report["rmse"], alone.report["rmse"], rtol=1e-9)
    np.testing.assert_allclose(together.report["held_out"], alone.report["held_out"], rtol=1e-9)
    np.testing.assert_allclose(together.by_number("factors"), alone.by_number("factors"), rtol=1e-7, atol=1e-9)


def test_workers_find_the_sides_of_long_paths(client):
    """Labels pass many partitions; the second component has another smallest vertex."""
    draw = np.random.default_rng(3)
    ends = [draw.permutation(100), 100 + draw.permutation(100)]
    frame = pd.DataFrame({"user": [*ends[0][:-1], *ends[1][:-1]], "item": [*ends[0][1:], *ends[1][1:]]})
    frame["rating"] = draw.normal(size=len(frame))
    options = {"test": 0, "rank": 2, "epochs": 3, "update": "gradient"}
    graphs = [dg.Graph.from_edges(frame, **ENDS, directed=False, client=one, parts=8) for one in (None, client)]
    found = [dg.factorize(graph, **options).by_number("factors") for graph in graphs]
    np.testing.assert_allclose(*found, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_workers_refuse_odd_cycles_of_undirected_ratings(client, count):
    rows = [*((v, (v + 1) % count, 1.0) for v in range(count)), *((v, v + 1, 1.0) for v in range(20, 30))]
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    with pytest.raises(OptionError, match="cycle of odd length"):
        dg.factorize(dg.Graph.from_edges(frame, **ENDS, directed=False, client=client, parts=5))


@pytest.mark.parametrize(
    ("rows", "options", "error", "said"),
    [
        ([*FEW, ("i1", "u1", 2.0)], {}, OptionError, "both a user and an item: every edge must lead"),
        ([*FEW, ("u4", "i4", 1e101)], {}, WeightError, r"1 of \d ratings are beyond 1e\+100"),
        (FEW, {"test": 0.99999}, OptionError, "test=0.99999 holds out all 4 ratings"),
        (FEW, {"regularization": 1e300}, OptionError, "penalties overflow"),
        (
            20 * FEW,
            {"update": dg.Gradient(learning_rate=1e6), "test": 0},
            OptionError,
            "learning_rate=1e.06 is too large",
        ),
    ],
    ids=str,
)
def test_errors_of_workers_are_those_of_one(client, rows, options, error, said):
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    with pytest.raises(error, match=said):
        dg.factorize(dg.Graph.from_edges(frame, **ENDS, client=client), **options)


def test_workers_without_ratings_take_part(client):
    """All ratings are of vertices of one partition; the other has none."""
    vertices = pd.DataFrame({"id": ["u1", "i1", *(f"x{i}" for i in range(30))]})
    frame = pd.DataFrame([("u1", "i1", 3.0)], columns=["user", "item", "rating"])
    graph = dg.Graph.from_edges(frame, **ENDS, vertices=vertices, client=client)
    result = dg.factorize(graph, test=0)
    assert result.totals["mean"] == 3 and len(result.compute()) == 32
    empty = dg.factorize(dg.Graph.from_edges(frame[:0], **ENDS, vertices=vertices, client=client))
    assert not np.stack(empty.compute()["factors"]).any()
