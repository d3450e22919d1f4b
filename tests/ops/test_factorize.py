"""Collaborative filtering: near the noise of generated ratings, and clear answers where ratings are awkward."""

import numpy as np
import pandas as pd
import pytest
from rated import FEW, frame_of, shapes

import dgraph as dg
from dgraph.cluster.scheduler import worker_infos
from dgraph.errors import AnswerError, ColumnError, OptionError, RoomError, WeightError
from dgraph.factors.factor_updates import balancing_turns, products_of, turn, weights_of
from dgraph.factors.fit_options import UPDATES
from dgraph.factors.fit_place import _draw_factors
from dgraph.factors.rating_rows import RatingColumns, RatingRows
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")

NOISE = 0.5
VERTICES = pd.DataFrame({"id": ["u1", "u2", "u3", "i1", "i2", *(f"x{i}" for i in range(8995))]})
KNOWN = {"users": 600, "items": 300, "ratings": 60_000, "rank": 4, "noise": NOISE, "seed": 1}
OPTIONS = {"rank": 4, "regularization": 0.002, "epochs": 20, "stop": None}


@pytest.fixture(scope="module")
def graph():
    return dg.ratings(**KNOWN, parts=1)


@pytest.mark.parametrize("update", UPDATES)
def test_the_error_on_held_out_ratings_is_near_the_noise(graph, update):
    result = dg.factorize(graph, update=update, **OPTIONS)
    report = result.report
    assert report["held_out"].iloc[-1] < 1.06 * NOISE  # 3600 unknowns, 54,000 ratings: 3 % and what a test differs by
    assert report["rmse"].iloc[-1] < NOISE < report["rmse"].iloc[0]
    assert report["epochs"].tolist() == list(range(1, 21))
    verify("factorize", graph, result, mean=result.totals["mean"], rmse=1.02 * NOISE)
    wrong = {"factors": result.by_number("factors")[::-1], "bias": result.by_number("bias")}
    with pytest.raises(AnswerError, match="root mean square error"):
        verify("factorize", graph, wrong, mean=result.totals["mean"], rmse=1.02 * NOISE)


@pytest.mark.parametrize("biases", [True, False])
def test_least_squares_matches_numpy(graph, biases):
    """Biases first; then users and items in turn, from the same first factors."""
    options = {"rank": 4, "regularization": 0.05, "epochs": 6, "test": 0.0, "biases": biases}
    result = dg.factorize(graph, **options)
    edges = graph.edges.compute()
    u, v, values = (edges[name].to_numpy() for name in edges.columns[:3])
    values = values - values.mean()
    factors, bias = np.zeros((900, 4)), np.zeros(900)

    def miss():
        return values - bias[u] - bias[v] - np.einsum("ij,ij->i", factors[u], factors[v])

    def update(width, penalty):
        for own, other, vertices in ((u, v, range(600)), (v, u, range(600, 900))):
            for vertex in vertices:
                rated = own == vertex
                rows = np.column_stack([factors[other[rated]][:, :width], np.ones((rated.sum(), int(biases)))])
                held = np.diag([penalty * (rated.sum() + 30)] * width + [10.0] * biases)
                found = np.linalg.solve(rows.T @ rows + held, rows.T @ (values[rated] - bias[other[rated]]))
                factors[vertex, :width], bias[vertex] = found[:width], found[width] if biases else 0.0

    if biases:
        for _ in range(5):
            update(0, 0.0)
    spread = np.sqrt(np.mean(miss() ** 2))
    _draw_factors(0, np.arange(900), 0.5 * np.sqrt(spread / 2), factors)
    errors, losses, kept = [], [], {}
    weights = np.bincount(u, minlength=900) + np.bincount(v, minlength=900) + 30
    for epoch in range(1, 7):
        update(4, 0.05 * spread)
        errors.append(np.sqrt(np.mean(miss() ** 2)))
        penalties = 0.05 * spread * weights @ (factors**2).sum(1) + 10 * (bias**2).sum()
        losses.append(np.sum(miss() ** 2) + penalties)
        kept[epoch] = factors.copy(), bias.copy()
    np.testing.assert_allclose(result.report["rmse"], errors, rtol=1e-6)
    best = 1 + int(np.argmin(losses))
    assert result.totals["epoch"] == best and np.diff(losses).max() < 0
    np.testing.assert_allclose(result.by_number("factors"), kept[best][0], rtol=1e-5, atol=1e-6)
    if biases:
        np.testing.assert_allclose(result.by_number("bias"), kept[best][1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("update", UPDATES)
def test_a_seed_always_finds_the_same(update, monkeypatch):
    """In any partitions, and on any number of threads."""
    found = []
    for parts, threads in ((1, 1), (3, 2), (1, 3)):
        monkeypatch.setattr("dgraph.native.threads.cores", lambda threads=threads: threads)
        result = dg.factorize(dg.ratings(**KNOWN, parts=parts), update=update, **OPTIONS)
        found.append((result.by_number("factors"), result.report["rmse"]))
    for factors, errors in found[1:]:
        np.testing.assert_array_equal(found[0][0], factors)
        np.testing.assert_array_equal(found[0][1], errors)
    another = dg.factorize(dg.ratings(**KNOWN, parts=1), update=update, random_seed=7, **OPTIONS)
    assert (another.by_number("factors") != found[0][0]).any()


@pytest.mark.parametrize("sizes", [(1000, 300, 10_000), (30, 10, 120), (200, 50, 1000)])
def test_steps_of_the_best_length_always_near_the_ratings(sizes):
    """A length of 1 is too large where few ratings are spread over many vertices."""
    users, items, ratings = sizes
    graph = dg.ratings(users=users, items=items, ratings=ratings, parts=1)
    how = {"stop": None, "regularization": 1e-4, "biases": False}
    report = dg.factorize(graph, update="gradient", **how).report
    assert (np.diff(report["rmse"]) < 0.02).all() and report["rmse"].iloc[-1] < 0.3
    with pytest.raises(OptionError, match=r'learning_rate=16 is too large.*use 4, .*update="least_squares"'):
        dg.factorize(graph, update=dg.Gradient(learning_rate=16), epochs=400, **how)


# -- when to stop ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", UPDATES)
def test_the_factors_of_the_epoch_with_the_least_error_are_kept(graph, update):
    """With so little regularization, factors soon learn the noise."""
    how = {"rank": 20, "regularization": 1e-3, "update": update}
    every = dg.factorize(graph, stop=None, epochs=30, **how)
    stopped = dg.factorize(graph, stop=dg.HeldOut(patience=2), **how)
    held, best = every.report["held_out"], every.totals["epoch"]
    assert held.iloc[-1] > held.min() and held[best - 1] == held.min() == every.totals["held_out"]
    assert every.totals["rmse"] == every.report["rmse"][best - 1]
    assert every.report["kept"].tolist() == [epoch == best for epoch in range(1, 31)]
    for one in (every, stopped):
        verify("factorize", graph, one, mean=one.totals["mean"], rmse=1.0001 * max(one.totals["held_out"], NOISE))
    assert stopped.rounds == max(8, int(held[:12].idxmin()) + 1) + 2 < 30
    assert stopped.totals["epoch"] == int(held[: stopped.rounds].idxmin()) + 1


def test_where_only_biases_help_no_factors_are_kept():
    known, _ = shapes("biases only")
    result = dg.factorize(frame_of(known))
    assert result.totals["epoch"] == 0 and not np.stack(result.compute()["factors"]).any()
    assert not result.report["kept"].any()
    assert result.by_number("bias").any()


def test_regularization_falls_while_the_held_out_error_does(graph):
    automatic = dg.factorize(graph, rank=4).report
    assert automatic["regularization"][:8].tolist() == [0.15] * 8
    np.testing.assert_allclose(automatic["regularization"][8:11], 0.15 * 0.7 ** np.arange(1, 4))
    assert automatic["held_out"].min() < 1.06 * NOISE
    assert set(dg.factorize(graph, rank=4, test=0.0).report["regularization"]) == {0.1}
    assert set(dg.factorize(graph, rank=4, regularization=0.3).report["regularization"]) == {0.3}


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1000.0, 1e9, 1e90])
@pytest.mark.parametrize("update", UPDATES)
def test_the_scale_of_ratings_does_not_matter(graph, scale, update):
    edges = graph.edges.compute()
    edges["rating"] = scale * (edges[edges.columns[2]] + 5)
    large = dg.Graph.from_edges(edges, source=edges.columns[0], destination=edges.columns[1], weight="rating", parts=1)
    one, other = (dg.factorize(each, rank=4, update=update) for each in (graph, large))
    np.testing.assert_allclose(scale * one.report["held_out"], other.report["held_out"], rtol=1e-6)
    np.testing.assert_allclose(scale * one.by_number("bias"), other.by_number("bias"), rtol=1e-4, atol=1e-6 * scale)
    left, right = (each.by_number("factors")[:300] @ each.by_number("factors")[-300:].T for each in (one, other))
    np.testing.assert_allclose(scale * left, right, rtol=1e-4, atol=1e-6 * scale)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_few_ratings_are_learned(count):
    how = {"test": 0.0, "regularization": 0.0, "epochs": 100}
    for update in UPDATES:
        report = dg.factorize(frame_of(FEW[:count]), update=update, **how).report
        assert report["rmse"].iloc[-1] < 0.1


@pytest.mark.parametrize("parts", [1, 3])
def test_a_rating_without_a_direction_names_either_end_first(parts):
    draw = np.random.default_rng(1)
    rows = list(zip(2 * draw.integers(0, 20, 200), 2 * draw.integers(0, 9, 200) + 1, draw.random(200), strict=True))
    mixed = [(v, u, w) if draw.random() < 0.5 else (u, v, w) for u, v, w in rows]
    one, other = frame_of(rows), frame_of(mixed, directed=False, parts=parts)
    found = [dg.factorize(graph).by_number("factors") for graph in (one, other)]
    np.testing.assert_array_equal(*found)
    for count in (1, 3, 5):  # of a circle
        with pytest.raises(OptionError, match="both a user and an item"):
            dg.factorize(frame_of([(v, (v + 1) % count, 1.0) for v in range(count)], directed=False))


def test_a_test_that_leaves_nothing_to_learn_from_is_refused():
    with pytest.raises(OptionError, match=r"test=0.9999 holds out all 4 ratings, so none is left to learn from"):
        dg.factorize(frame_of(FEW), test=0.9999)
    with pytest.raises(OptionError, match=r"test=0.9999 holds out the only rating, so none is left"):
        dg.factorize(frame_of(FEW[:1]), test=0.9999)


@pytest.mark.parametrize("update", UPDATES)
def test_ratings_too_large_to_square_are_refused(update):
    with pytest.raises(WeightError, match=r"1 of 4 ratings are beyond 1e\+100; the first is 1e\+300: drop or scale"):
        dg.factorize(frame_of([*FEW[:3], ("u3", "i2", 1e300)]), update=update)


def test_default_options_may_be_passed_explicitly():
    for engine, device in (("auto", "cpu"), ("block_descent", "auto")):
        report = dg.factorize(frame_of(FEW), engine=engine, device=device, test=0, stop=None).report
        assert len(report) == 30


def test_the_newest_factors_need_fewer_epochs_than_all_at_once(graph):
    def epochs(mode):
        how = {**OPTIONS, "epochs": 60, "update": "gradient", "engine": dg.BlockDescent(mode=mode)}
        held = dg.factorize(graph, **how).report["held_out"]
        return int((held < 1.08 * NOISE).idxmax()) + 1 if (held < 1.08 * NOISE).any() else 61

    assert epochs("async") <= 6
    assert 1.5 * epochs("async") < epochs("bsp") <= 60


def balanced(factors, users, items):
    """Factors after a balance, if each of these users has rated each of these items; and the rows of their ratings."""
    u, v = (one.ravel().astype(np.uint32) for one in np.meshgrid(users, items))
    ratings = RatingColumns(u, v, np.zeros(len(u)))
    rows, found = RatingRows.of(ratings, ratings, len(factors)), factors.copy()
    products = [products_of(found, side.vertices, rows, 5) for side in rows.sides]
    for side, matrix in zip((users, items), balancing_turns(*products), strict=True):
        turn(found, side, matrix)
    return found, rows


def test_balanced_factors_have_the_same_products_and_are_least():
    draw = np.random.default_rng(1)
    before = np.column_stack([draw.normal(size=(60, 5)) @ draw.normal(size=(5, 5)), draw.normal(size=60)])
    before[20:, 2] *= 1e3
    users, items = np.arange(20), np.arange(25, 60)
    factors, rows = balanced(before, users, items)
    np.testing.assert_array_equal(factors[:, 5], before[:, 5])  # biases
    products = [each[users, :5] @ each[items, :5].T for each in (factors, before)]
    np.testing.assert_allclose(*products, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(factors[20:25], before[20:25])  # who is neither
    weighted = np.sqrt(weights_of(rows))[:, None] * factors[:, :5]
    squares = [weighted[side].T @ weighted[side] for side in (users, items)]
    np.testing.assert_allclose(squares[0], squares[1], atol=1e-9 * squares[0].max())
    np.testing.assert_allclose(squares[0], np.diag(np.diag(squares[0])), atol=1e-9 * squares[0].max())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_users_than_factors_balance(count):
    before = np.random.default_rng(2).normal(size=(60, 5))
    users, items, factors = np.arange(count), np.arange(10, 20), before
    for _ in range(3):
        factors, _ = balanced(factors, users, items)
    np.testing.assert_allclose(factors[users] @ factors[items].T, before[users] @ before[items].T, rtol=1e-6, atol=1e-9)
    assert np.isfinite(factors).all()


def test_least_squares_on_a_few_vertices_nears_the_ratings_in_every_epoch():
    graph = dg.ratings(users=40, items=30, ratings=600, rank=2, noise=1.0, seed=1)
    report = dg.factorize(graph, epochs=12, test=0.0, regularization=0.001).report
    assert (np.diff(report["rmse"]) < 1e-3).all()
    assert report["rmse"].iloc[-1] < 0.9


def test_cold_users_and_items_have_no_factors():
    vertices = pd.DataFrame({"id": ["new user", "new item"]})
    graph = frame_of([("ann", "x", 3.0), ("bob", "x", 5.0), ("ann", "y", 1.0)], vertices=vertices)
    found = dg.factorize(graph, rank=2, test=0.0, epochs=3, regularization=0).compute().set_index("vertex")
    for name in ("new user", "new item"):
        assert not np.any(found["factors"][name]) and found["bias"][name] == 0
    assert np.any(found["factors"]["ann"]) and found["bias"]["bob"] > 0


@pytest.mark.parametrize("value", [4.0, 3.3, 1e6 + 0.1, -1e90, 1e-90, 0.0])
@pytest.mark.parametrize("update", UPDATES)
def test_constant_ratings_are_the_mean(update, value):
    rows = [(f"u{u}", f"i{i}", value) for u in range(5) for i in range(4)]
    result = dg.factorize(frame_of(rows), rank=3, test=0.2, update=update)
    assert result.totals["mean"] == pytest.approx(value)
    assert result.report["rmse"].iloc[-1] == 0 and result.totals["held_out"] <= 1e-12 * abs(value)
    assert not np.stack(result.compute()["factors"]).any() and not result.by_number("bias").any()


def test_results_without_biases_are_verified(graph):
    result = dg.factorize(graph, biases=False, **OPTIONS)
    assert "bias" not in result.compute()
    verify("factorize", graph, result, mean=result.totals["mean"], rmse=1.02 * NOISE)
    with pytest.raises(AnswerError, match="root mean square error"):
        verify("factorize", graph, result, mean=result.totals["mean"] + 1, rmse=1.02 * NOISE)


@pytest.mark.parametrize("rate", [3.0, 8.0])
def test_a_learning_rate_that_is_too_large_is_refused_at_the_defaults(graph, rate):
    with pytest.raises(OptionError, match=rf"learning_rate={rate:g} is too large: the error has grown 10-fold"):
        dg.factorize(graph, update=dg.Gradient(learning_rate=rate))


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (1, 1), (2, 2)])
@pytest.mark.parametrize("update", UPDATES)
def test_a_single_user_or_item_is_learned(shape, update):
    draw = np.random.default_rng(3)
    rows = [(f"u{u}", f"i{i}", draw.random()) for u in range(shape[0]) for i in range(shape[1])]
    result = dg.factorize(frame_of(rows), rank=20, test=0, update=update)
    assert np.isfinite(np.stack(result.compute()["factors"])).all() and np.isfinite(result.totals["rmse"])


def test_a_graph_without_ratings_gets_zero_factors():
    graph = frame_of([], vertices=pd.DataFrame({"id": ["a", "b"]}))
    result = dg.factorize(graph, rank=2)
    assert not np.stack(result.compute()["factors"]).any() and result.totals["mean"] == 0
    assert result.report["rmse"].isna().all()


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
        ({"regularization": True}, 'regularization=True must be a finite number >= 0, or "auto"'),
        ({"regularization": "none"}, "regularization='none' must be a finite number"),
        ({"biases": "no"}, "biases='no' must be True or False"),
        ({"update": "newton"}, "update='newton' is not known"),
        ({"stop": "early"}, "stop='early' is not known; choose held_out, a value such as dg.HeldOut"),
        ({"stop": 3}, "stop=3 is not known"),
        ({"engine": dg.BlockDescent(order="priority")}, "threads wait for each other in between"),
        ({"engine": dg.BlockDescent(mode="barrier")}, "threads wait for each other in between"),
        ({"engine": dg.BlockDescent(block_size=64)}, "threads wait for each other in between"),
        ({"engine": "bsp"}, "engine='bsp': factorize runs only with engine='block_descent'"),
        ({"engine": dg.Gas(deterministic=True)}, "engine=dg.Gas.deterministic=True.: factorize runs only with"),
        ({"device": dg.Cuda(block=64)}, r"device=dg.Cuda.block=64.: factorize copies all ratings .* leave out block="),
        ({"device": "tpu"}, "device='tpu' is not known"),
        ({"foo": None}, "foo=None: factorize has no such option; its options are rank, biases, regularization"),
        (
            {"learning_rate": 0.5},
            r"learning_rate=0.5 is an option of 0.9: write update=dg.Gradient\(",
        ),
        ({"threads": 2}, "threads=2 is an option of 0.9: leave it out"),
        ({"block_size": 8}, "block_size=8 is an option of 0.9: leave it out"),
        ({"learning_rate": None}, "learning_rate=None is an option of 0.9: leave it out"),
        ({"engine": dg.BlockDescent(mode="bsp")}, 'errors grow; leave it out, or use update="gradient"'),
        ({"regularization": 1e300}, "regularization=1e.300 is too large: penalties overflow"),
        ({"test": True}, "test=True must be a number >= 0 and < 1"),
        ({"deterministic": True}, "deterministic=True: factorize has no such option"),
        ({"daemons": ["cpu"]}, "daemons=.'cpu'.: factorize has no such option"),
        ({"update": dg.Gradient(learning_rate=1e6), "epochs": 50}, "learning_rate=1e.06 is too large"),
    ],
)
def test_invalid_options_are_refused(graph, asked, message):
    with pytest.raises(OptionError, match=message):
        dg.factorize(graph, **asked)


@pytest.mark.parametrize("wrong", [{"learning_rate": 0}, {"learning_rate": np.inf}, {"learning_rate": "fast"}])
def test_invalid_learning_rates_are_refused(wrong):
    with pytest.raises(OptionError, match=r"learning_rate=.* must be a finite number > 0"):
        dg.Gradient(**wrong)


def test_a_rank_beyond_memory_is_refused(client, monkeypatch):
    wide = {"rank": 4000, "test": 0}
    with pytest.raises(RoomError, match=r"rank=4000: the factors of 9,000 vertices need about 823.97 MiB .* smaller"):
        dg.factorize(frame_of(FEW, vertices=VERTICES, memory="600 MB"), **wide)
    infos = {one: {**info, "memory_limit": 700 << 20} for one, info in worker_infos(client, fresh=True).items()}
    monkeypatch.setattr("dgraph.estimates.memory_check.worker_infos", lambda client, **_: infos)
    with pytest.raises(
        RoomError, match=r"rank=4000: fitting the factors of 9,000 vertices needs about .* smaller rank"
    ):
        dg.factorize(frame_of(FEW, vertices=VERTICES, client=client), **wide)


def test_graphs_without_ratings_are_refused():
    with pytest.raises(ColumnError, match="factorize needs ratings"):
        dg.factorize(dg.rmat(scale=4, seed=1))
    with pytest.raises(OptionError, match="1 vertex is both a user and an item"):
        dg.factorize(frame_of([("a", "b", 1.0), ("b", "c", 2.0)]))


@pytest.mark.parametrize("seed", range(3))
def test_gradient_steps_reach_the_error_of_least_squares(seed):
    """Whatever is drawn: the noise, and what so few ratings cannot tell, are all that is left."""
    graph = dg.ratings(users=200, items=150, ratings=12_000, rank=4, noise=0.3, seed=seed, parts=1)
    options = {"rank": 4, "regularization": 0.003, "random_seed": seed}
    held = [dg.factorize(graph, update=one, **options).totals["held_out"] for one in UPDATES]
    assert held[0] == pytest.approx(held[1], rel=0.01)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"rank": 2**40}, "rank=.* from 1 to 4096"),
        ({"epochs": 2**63}, "epochs=.* from 1 to 2147483647"),
    ],
)
def test_numbers_too_large_are_refused_in_words(option, said):
    with pytest.raises(OptionError, match=said):
        dg.factorize(dg.ratings(users=3, items=3, ratings=6), **option)


def test_a_whole_regularization_is_a_number_however_large():
    found = dg.factorize(dg.ratings(users=3, items=3, ratings=6), regularization=2**63, test=0, epochs=1)
    assert np.isfinite(found.report["rmse"]).all()
