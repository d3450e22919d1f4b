"""Collaborative filtering: near the noise of generated ratings, and clear answers where ratings are awkward."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import AnswerError, ColumnError, OptionError, WeightError
from dgraph.ops.factorize import UPDATES
from dgraph.solvers.factors import balance
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")

NOISE = 0.5
KNOWN = {"users": 600, "items": 300, "ratings": 60_000, "rank": 4, "noise": NOISE, "seed": 1}
OPTIONS = {"rank": 4, "regularization": 0.5, "epochs": 20}


@pytest.fixture(scope="module")
def graph():
    return dg.ratings(**KNOWN, parts=1)


def frame_of(rows, **options):
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    return dg.Graph.from_edges(frame, source="user", destination="item", weight="rating", **options)


@pytest.mark.parametrize("update", ["gradient", "least_squares"])
def test_the_error_on_held_out_ratings_is_near_the_noise(graph, update):
    result = dg.factorize(graph, update=update, threads=2, **OPTIONS)
    report = result.report
    assert report["held_out"].iloc[-1] < 1.06 * NOISE  # 3600 unknowns, 54,000 ratings: 3 % and what a test differs by
    assert report["rmse"].iloc[-1] < NOISE < report["rmse"].iloc[0]
    assert report["epochs"].tolist() == list(range(1, 21))
    verify("factorize", graph, result, mean=result.totals["mean"], rmse=1.02 * NOISE)
    wrong = {"factors": result.by_number("factors")[::-1]}
    with pytest.raises(AnswerError, match="root mean square error"):
        verify("factorize", graph, wrong, mean=result.totals["mean"], rmse=1.02 * NOISE)


def test_least_squares_matches_numpy(graph):
    """From the same first factors, half an epoch after the other: users, then items."""
    result = dg.factorize(graph, update="least_squares", test=0.0, threads=1, block_size=300, **OPTIONS)
    edges = graph.edges.compute()
    u, v, values = (edges[name].to_numpy() for name in edges.columns[:3])
    values = values - values.mean()
    draw = np.random.default_rng(0)
    draw.random(len(u))
    factors = draw.normal(0, 0.5 * np.sqrt(np.sqrt(values.var() / 4)), (900, 4))
    for _ in range(20):
        for own, other, vertices in ((u, v, range(600)), (v, u, range(600, 900))):
            for vertex in vertices:
                rows = factors[other[own == vertex]]
                system = rows.T @ rows + 0.5 * np.eye(4)
                factors[vertex] = np.linalg.solve(system, rows.T @ values[own == vertex])
    error = np.sqrt(np.mean((values - np.einsum("ij,ij->i", factors[u], factors[v])) ** 2))
    assert abs(result.report["rmse"].iloc[-1] / error - 1) < 1e-3


def test_one_worker_and_a_seed_always_find_the_same():
    one, other = (dg.factorize(dg.ratings(**KNOWN, parts=parts), threads=1, **OPTIONS) for parts in (1, 3))
    np.testing.assert_array_equal(one.by_number("factors"), other.by_number("factors"))
    another = dg.factorize(dg.ratings(**KNOWN, parts=1), threads=1, random_seed=7, **OPTIONS)
    assert (another.by_number("factors") != one.by_number("factors")).any()


@pytest.mark.parametrize("sizes", [(1000, 300, 10_000), (30, 10, 120), (200, 50, 1000)])
def test_the_default_learning_rate_converges_and_is_reproducible(sizes):
    """One of 1 is too large where few ratings are spread over many vertices."""
    users, items, ratings = sizes
    graph = dg.ratings(users=users, items=items, ratings=ratings, parts=1)
    one, other = (dg.factorize(graph, threads=1) for _ in range(2))
    assert (np.diff(one.report["rmse"]) < 0.02).all() and one.report["rmse"].iloc[-1] < 0.3
    np.testing.assert_array_equal(one.by_number("factors"), other.by_number("factors"))
    with pytest.raises(OptionError, match=r'learning_rate=4 is too large.*use 1, .*update="least_squares"'):
        dg.factorize(graph, learning_rate=4, epochs=100)


FEW = [("u1", "i1", 1.0), ("u1", "i2", 4.0), ("u2", "i1", 2.0), ("u3", "i2", 5.0)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_few_ratings_are_learned(count):
    report = dg.factorize(frame_of(FEW[:count]), test=0.0, regularization=0.0, epochs=100).report
    assert report["rmse"].iloc[-1] < 0.1


@pytest.mark.parametrize("parts", [1, 3])
def test_a_rating_without_a_direction_names_either_end_first(parts):
    draw = np.random.default_rng(1)
    rows = list(zip(2 * draw.integers(0, 20, 200), 2 * draw.integers(0, 9, 200) + 1, draw.random(200), strict=True))
    mixed = [(v, u, w) if draw.random() < 0.5 else (u, v, w) for u, v, w in rows]
    one, other = frame_of(rows), frame_of(mixed, directed=False, parts=parts)
    found = [dg.factorize(graph, threads=1).by_number("factors") for graph in (one, other)]
    np.testing.assert_array_equal(*found)
    for count in (1, 3, 5):  # of a circle
        with pytest.raises(OptionError, match="both a user and an item"):
            dg.factorize(frame_of([(v, (v + 1) % count, 1.0) for v in range(count)], directed=False))


@pytest.mark.parametrize("update", ["gradient", "least_squares"])
def test_nothing_to_learn_from_is_no_error(update):
    result = dg.factorize(frame_of(FEW), test=0.9999, update=update)
    assert not np.any(np.stack(result.compute()["factors"])) and result.totals["mean"] == 0
    assert result.report["rmse"].isna().all() and result.report["held_out"].notna().all()


@pytest.mark.parametrize("update", ["gradient", "least_squares"])
def test_ratings_too_large_to_square_are_refused(update):
    with pytest.raises(WeightError, match=r"1 of 4 ratings are beyond 1e\+100; the first is 1e\+300: drop or scale"):
        dg.factorize(frame_of([*FEW[:3], ("u3", "i2", 1e300)]), update=update)


def test_default_options_may_be_passed_explicitly():
    for engine, device in (("auto", "cpu"), ("block_descent", "auto")):
        report = dg.factorize(frame_of(FEW), engine=engine, device=device, block_size="auto").report
        assert len(report) == 30


def test_blocks_need_fewer_epochs_than_all_at_once(graph):
    """At default settings, and hardly more than solving for each vertex."""

    def epochs(**how):
        held = dg.factorize(graph, threads=1, **{**OPTIONS, **how}).report["held_out"]
        return int((held < 1.08 * NOISE).idxmax()) + 1 if (held < 1.08 * NOISE).any() else np.inf

    assert 2 * epochs() < epochs(block_size=900, epochs=40)
    assert epochs() <= epochs(update="least_squares") + 2


def test_balanced_factors_have_the_same_products_and_are_least():
    draw = np.random.default_rng(1)
    factors = draw.normal(size=(60, 5)) @ draw.normal(size=(5, 5))
    factors[20:, 2] *= 1e3
    users, items = np.arange(20), np.arange(25, 60)
    before = factors.copy()
    balance(factors, users, items)
    np.testing.assert_allclose(factors[users] @ factors[items].T, before[users] @ before[items].T, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(factors[20:25], before[20:25])  # who is neither
    squares = [factors[side].T @ factors[side] for side in (users, items)]
    np.testing.assert_allclose(squares[0], squares[1], atol=1e-9 * squares[0].max())
    np.testing.assert_allclose(squares[0], np.diag(np.diag(squares[0])), atol=1e-9 * squares[0].max())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_users_than_factors_balance(count):
    draw = np.random.default_rng(2)
    factors = draw.normal(size=(20, 5))
    users, items = np.arange(count), np.arange(10, 20)
    before = factors.copy()
    for _ in range(3):
        balance(factors, users, items)
    np.testing.assert_allclose(factors[users] @ factors[items].T, before[users] @ before[items].T, rtol=1e-6, atol=1e-9)
    assert np.isfinite(factors).all()


def test_least_squares_on_a_few_vertices_nears_the_ratings_in_every_epoch():
    """No block holds both ends of many edges, who would solve past each other."""
    graph = dg.ratings(users=40, items=30, ratings=600, rank=2, noise=1.0, seed=1)
    report = dg.factorize(graph, update="least_squares", threads=1, epochs=12, test=0.0).report
    assert (np.diff(report["rmse"]) < 1e-3).all()
    assert report["rmse"].iloc[-1] < 0.9


def test_cold_users_and_items_have_no_factors():
    vertices = pd.DataFrame({"id": ["new user", "new item"]})
    graph = frame_of([("ann", "x", 3.0), ("bob", "x", 5.0), ("ann", "y", 1.0)], vertices=vertices)
    found = dg.factorize(graph, rank=2, test=0.0).compute().set_index("vertex")["factors"]
    assert not np.any(found["new user"]) and not np.any(found["new item"])
    assert np.any(found["ann"])


@pytest.mark.parametrize("update", ["gradient", "least_squares"])
def test_constant_ratings_are_the_mean(update):
    rows = [(f"u{u}", f"i{i}", 4.0) for u in range(5) for i in range(4)]
    result = dg.factorize(frame_of(rows), rank=3, test=0.2, update=update)
    assert result.totals["mean"] == 4
    assert result.report["rmse"].iloc[-1] < 1e-6
    assert result.report["held_out"].iloc[-1] < 1e-6


def test_a_graph_without_ratings_gets_zero_factors():
    graph = frame_of([], vertices=pd.DataFrame({"id": ["a", "b"]}))
    assert not np.stack(dg.factorize(graph, rank=2).compute()["factors"]).any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_ratings_that_are_not_finite_are_refused(value):
    with pytest.raises(WeightError, match=r"1 of 2 ratings are not finite|the weight is missing"):
        dg.factorize(frame_of([("a", "x", 1.0), ("b", "x", value)]))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rank": 0}, "rank=0 must be an integer"),
        ({"test": 1.0}, "test=1.0 must be a number >= 0 and < 1"),
        ({"regularization": -1}, "regularization=-1 must be a finite number"),
        ({"learning_rate": 0}, "learning_rate=0 must be a finite number"),
        ({"update": "newton"}, "update='newton' is not known"),
        ({"engine": "bsp"}, "engine='bsp': factorize does not use the engines"),
        ({"engine": dg.Gas(deterministic=True)}, "engine=dg.Gas.deterministic=True.: factorize does not use"),
        ({"device": dg.Cuda()}, "device=dg.Cuda..: factorize does not use"),
        ({"foo": None}, "foo=None: factorize has no such option; its options are rank, regularization"),
        ({"progress": True}, "progress=True: factorize has no such option"),
        ({"deterministic": True}, "deterministic=True: factorize has no such option"),
        ({"daemons": ["cpu"]}, "daemons=.'cpu'.: factorize has no such option"),
        ({"block_size": "large"}, "block_size='large' must be an integer"),
        ({"learning_rate": 1e6, "epochs": 50}, "learning_rate=1e.06 is too large"),
    ],
)
def test_invalid_options_are_refused(graph, asked, message):
    with pytest.raises(OptionError, match=message):
        dg.factorize(graph, **asked)


def test_graphs_without_ratings_are_refused():
    with pytest.raises(ColumnError, match="factorize needs ratings"):
        dg.factorize(dg.rmat(scale=4, seed=1))
    with pytest.raises(OptionError, match="1 vertex is both a user and an item"):
        dg.factorize(frame_of([("a", "b", 1.0), ("b", "c", 2.0)]))


@pytest.mark.parametrize("seed", range(3))
def test_gradient_steps_reach_the_error_of_least_squares(seed):
    """Whatever is drawn: the noise, and what so few ratings cannot tell, are all that is left."""
    graph = dg.ratings(users=200, items=150, ratings=12_000, rank=4, noise=0.3, seed=seed, parts=1)
    options = {"rank": 4, "regularization": 0.3, "epochs": 30, "random_seed": seed}
    held = [dg.factorize(graph, update=one, **options).report["held_out"].iloc[-1] for one in UPDATES]
    assert held[0] == pytest.approx(held[1], rel=0.01)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"rank": 2**40}, "rank=.* from 1 to 4096"),
        ({"threads": 2**40}, "threads=.* from 1 to 4096"),
        ({"epochs": 2**63}, "epochs=.* from 1 to 2147483647"),
        ({"block_size": np.zeros(2)}, "block_size=.* must be an integer"),
    ],
)
def test_numbers_too_large_are_refused_in_words(option, said):
    with pytest.raises(OptionError, match=said):
        dg.factorize(dg.ratings(users=3, items=3, ratings=6), **option)


def test_a_whole_regularization_is_a_number_however_large():
    found = dg.factorize(dg.ratings(users=3, items=3, ratings=6), regularization=2**63, test=0, epochs=1)
    assert np.isfinite(found.report["rmse"]).all()
