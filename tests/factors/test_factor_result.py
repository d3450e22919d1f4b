"""Predictions, recommendations and similar vertices are those that NumPy computes from the factors."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from rated import frame_of

import dgraph as dg
from dgraph.errors import ColumnError, IdError, OptionError
from dgraph.factors import best_items, factor_result

ENDS = {"source": "who", "destination": "what", "weight": "stars"}
USERS, ITEMS = 70, 90


@pytest.fixture(scope="module")
def ratings():
    """Of users and items with names; one user has rated everything."""
    draw = np.random.default_rng(1)
    u, v = np.divmod(draw.choice(USERS * ITEMS, 900, replace=False), ITEMS)
    u, v = np.append(u[u > 0], np.zeros(ITEMS, int)), np.append(v[u > 0], np.arange(ITEMS))
    one, other = draw.normal(size=(USERS, 2)), draw.normal(size=(ITEMS, 2))
    stars = 3 + (one[u] * other[v]).sum(1) + 0.1 * draw.normal(size=len(u))
    return pd.DataFrame({"who": [f"u{one:02}" for one in u], "what": [f"i{one:02}" for one in v], "stars": stars})


VERTICES = pd.DataFrame({"id": ["u-new", "i-new"]})


@pytest.fixture(scope="module", params=["here", "parts", "undirected", "workers", "opened"])
def result(request, ratings, tmp_path_factory):
    how = {
        "parts": {"parts": 3},
        "undirected": {"directed": False},
        "workers": {"client": request.getfixturevalue("client") if request.param == "workers" else None},
    }
    graph = dg.Graph.from_edges(ratings, **ENDS, vertices=VERTICES, **how.get(request.param, {}))
    found = dg.factorize(graph, rank=5, regularization=0.01, test=0.2, update="least_squares")
    if request.param == "opened":
        folder = tmp_path_factory.mktemp("ratings") / "ratings.dgraph"
        graph.save(str(folder), results={"stars": found})
        return dg.open_graph(str(folder)).results["stars"]
    assert found.totals["epoch"]
    return found


@pytest.fixture(scope="module")
def expected(result):
    """The predictions of all users and items."""
    table = result.compute().set_index("vertex")
    factors, bias = pd.DataFrame(np.stack(table["factors"].to_numpy()), table.index), table["bias"]
    users, items = (sorted(one for one in table.index if one[0] == kind) for kind in "ui")
    products = factors.loc[users].to_numpy() @ factors.loc[items].to_numpy().T
    values = result.totals["mean"] + bias[users].to_numpy()[:, None] + bias[items].to_numpy() + products
    return pd.DataFrame(values, users, items)


def test_predictions_are_the_mean_and_biases_and_products(result, expected, ratings, monkeypatch):
    monkeypatch.setattr(factor_result, "PAIRS", 100)
    pairs = pd.DataFrame({"a": ["u01", "u-new", "u02", "u-new"] * 60, "b": ["i03", "i03", "i-new", "i-new"] * 60})
    found = result.predict(pairs).compute()
    values = [expected.loc[one, other] for one, other in zip(pairs["a"], pairs["b"], strict=True)]
    np.testing.assert_allclose(found["prediction"], values)
    assert found["prediction"].iloc[3] == result.totals["mean"]
    assert found["user"].tolist() == pairs["a"].tolist() and found["item"].tolist() == pairs["b"].tolist()
    named = result.predict(ratings.assign(more=1)[["stars", "what", "who", "more"]]).compute()
    np.testing.assert_array_equal(named["user"], ratings["who"])
    lazily = result.predict(dd.from_pandas(pairs, npartitions=2)).compute()
    pd.testing.assert_frame_equal(lazily, found, check_dtype=False)


def test_ids_that_the_graph_does_not_have_count_as_new(result, expected):
    found = result.predict({"user": ["u01", "nobody", "nobody"], "item": ["nothing", "i04", "nothing"]}).compute()
    values = expected.loc["u01", "i-new"], expected.loc["u-new", "i04"], result.totals["mean"]
    np.testing.assert_allclose(found["prediction"], values)
    with pytest.raises(IdError, match="none of the vertices in column 'item', for example 3; check that"):
        result.predict({"user": ["u01"], "item": [3]})


def test_no_pairs_have_no_predictions(result):
    found = result.predict(pd.DataFrame({"user": [], "item": []}, dtype=str)).compute()
    assert found.columns.tolist() == ["user", "item", "prediction"] and not len(found)


def best_of(expected, ratings, users, k, *, exclude):
    rated = ratings.groupby("who")["what"].apply(set) if exclude else {}
    rows = []
    for user in users:
        items = [one for one in expected.columns if one != "i-new" and one not in rated.get(user, ())]
        order = np.argsort(-expected.loc[user, items].to_numpy(), kind="stable")[:k]
        rows += [(user, items[i], expected.loc[user, items[i]]) for i in order]
    return pd.DataFrame(rows, columns=["user", "item", "prediction"])


def check_alike(found, expected):
    pd.testing.assert_frame_equal(found[["user", "item"]], expected[["user", "item"]], check_dtype=False)
    np.testing.assert_allclose(found["prediction"], expected["prediction"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("exclude", [True, False])
@pytest.mark.parametrize("k", [1, 7, ITEMS])
@pytest.mark.usefixtures("several_threads")
def test_the_best_items_are_recommended(result, expected, ratings, k, exclude, monkeypatch):
    """In several tasks, and in tiles that the items do not fill."""
    monkeypatch.setattr(factor_result, "TASK", 20)
    frame = result.recommend(k=k, exclude_known=exclude)
    assert frame.npartitions == 4
    users = [one for one in expected.index if one != "u-new"]
    check_alike(frame.compute().reset_index(drop=True), best_of(expected, ratings, users, k, exclude=exclude))


def test_items_are_recommended_to_some(result, expected, ratings):
    some = ["u05", "u-new", "u00", "u05"]
    check_alike(result.recommend(some, k=4).compute(), best_of(expected, ratings, some, 4, exclude=True))
    check_alike(result.recommend("u07", k=2).compute(), best_of(expected, ratings, ["u07"], 2, exclude=True))
    assert not len(result.recommend("u00").compute()), "this user has rated everything"


def test_what_cannot_be_recommended_is_refused(result):
    with pytest.raises(IdError, match="users='i03' is an item"):
        result.recommend(["u01", "i03"])
    with pytest.raises(IdError, match="nobody"):
        result.recommend("nobody")
    with pytest.raises(OptionError, match="k=91 is more than the 90 items that have ratings"):
        result.recommend(k=91)
    with pytest.raises(OptionError, match="k=0 must be an integer >= 1"):
        result.recommend(k=0)
    with pytest.raises(OptionError, match="exclude_known=1 must be True or False"):
        result.recommend(exclude_known=1)
    for wrong, error in ((3, "a frame or a dict"), ({"user": ["u01"]}, "give two, of vertices")):
        with pytest.raises((ColumnError, dg.errors.InputError), match=error):
            result.predict(wrong)


@pytest.mark.parametrize("vertex", ["u03", "i08"])
def test_similar_vertices_have_factors_in_the_same_direction(result, vertex):
    table = result.compute().set_index("vertex")["factors"]
    own = table[vertex]
    others = [one for one in table.index if one[0] == vertex[0] and one != vertex and np.any(table[one])]
    cosines = np.array([own @ table[one] / np.linalg.norm(own) / np.linalg.norm(table[one]) for one in others])
    found = result.similar(vertex, k=6).compute()
    order = np.argsort(-cosines)[:6]
    assert found["second"].tolist() == [others[i] for i in order] and set(found["first"]) == {vertex}
    np.testing.assert_allclose(found["similarity"], cosines[order])


def test_what_has_no_similar_vertices_is_refused(result):
    with pytest.raises(IdError, match="vertex='u-new' has no ratings"):
        result.similar("u-new")
    with pytest.raises(OptionError, match="k=70 is more than the 69 vertices to compare with"):
        result.similar("u03", k=70)


def test_of_equally_good_items_the_smaller_comes_first():
    """All predictions are the mean, in more items than a tile has."""
    items = 2 * best_items.TILE + 3
    rows = [(0, 10 + item, 1.0) for item in range(items)] + [(1, 10, 1.0)]
    graph = dg.Graph.from_edges(pd.DataFrame(rows, columns=["who", "what", "stars"]), **ENDS)
    found = dg.factorize(graph, rank=2, test=0).recommend(1, k=3).compute()
    assert found["item"].tolist() == [11, 12, 13] and found["prediction"].tolist() == [1.0] * 3


def test_edges_that_list_either_end_first_do_not_tell_users_from_items(ratings):
    mixed = ratings.copy()
    mixed.loc[::2, ["who", "what"]] = ratings.loc[::2, ["what", "who"]].to_numpy()
    result = dg.factorize(dg.Graph.from_edges(mixed, **ENDS, directed=False), rank=2)
    assert len(result.predict({"a": ["u03"], "b": ["i04"]}).compute()) == 1
    with pytest.raises(OptionError, match="as both source and destination, so users cannot be told from items"):
        result.recommend("u03")


def test_without_factors_none_is_like_another():
    rows = [(user, 100 + item, 3.0) for user in range(9) for item in range(9) if user != item]
    result = dg.factorize(frame_of(rows), rank=2)
    assert result.totals["epoch"] == 0
    with pytest.raises(OptionError, match="biases alone are best for this graph"):
        result.similar(3)
    assert result.recommend(3, k=4).compute()["item"].tolist() == [103]


def test_a_result_without_biases_predicts_without_them(ratings):
    result = dg.factorize(dg.Graph.from_edges(ratings, **ENDS), biases=False, rank=3)
    table = result.compute().set_index("vertex")["factors"]
    found = result.predict({"who": ["u03"], "what": ["i04"]}).compute()["prediction"][0]
    assert found == pytest.approx(result.totals["mean"] + table["u03"] @ table["i04"])
    unknown = sorted(set(ratings["what"]) - set(ratings[ratings["who"] == "u03"]["what"]))
    best = result.predict({"who": ["u03"] * len(unknown), "what": unknown}).compute()["prediction"].max()
    assert result.recommend(["u03"], k=1).compute()["prediction"][0] == pytest.approx(best)


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_recommendations_do_not_depend_on_the_scale(ratings, scale):
    found = []
    for times in (1.0, scale):
        graph = dg.Graph.from_edges(ratings.assign(stars=times * ratings["stars"]), **ENDS)
        found.append(dg.factorize(graph, rank=4).recommend(k=5).compute())
    assert found[0][["user", "item"]].equals(found[1][["user", "item"]])
    np.testing.assert_allclose(scale * found[0]["prediction"], found[1]["prediction"], rtol=1e-6)


def test_small_graphs_list_what_there_is(ratings):
    few = ratings[ratings["what"].isin(["i01", "i02", "i03"])]
    result = dg.factorize(dg.Graph.from_edges(few, **ENDS, loops="drop"), rank=2, test=0, regularization=0.01)
    assert len(result.recommend("u00", exclude_known=False).compute()) == 3
    assert len(result.similar("i01").compute()) <= 2
    with pytest.raises(OptionError, match="k=4 is more than the 3 items"):
        result.recommend(k=4)
    for call in (lambda: result.recommend(k=10), lambda: result.similar("i01", k=10)):
        with pytest.raises(OptionError, match="k=10 is more than"):
            call()


def test_many_recommendations_are_sorted(ratings, monkeypatch):
    result = dg.factorize(dg.Graph.from_edges(ratings, **ENDS), rank=3)
    found = result.recommend(k=50).compute()
    monkeypatch.setattr(best_items, "MOST_KEPT", 10)
    pd.testing.assert_frame_equal(result.recommend(k=50).compute(), found)


def test_frames_with_numbers_as_names_are_pairs():
    graph = dg.Graph.from_edges({"src": [0, 1, 0], "dst": [5, 5, 6], "stars": [1.0, 2.0, 3.0]}, weight="stars")
    assert len(dg.factorize(graph, test=0).predict(pd.DataFrame([[0, 5], [1, 6]])).compute()) == 2
    assert len(dg.similarity(graph, pairs=pd.DataFrame([[0, 1]])).compute()) == 1


def test_other_columns_made_of_a_result_predict_nothing(ratings):
    result = dg.factorize(dg.Graph.from_edges(ratings, **ENDS), rank=3)
    only = result.map(lambda numbers, columns: (numbers, {"bias": columns["bias"]}))
    with pytest.raises(ColumnError, match="has no column 'factors'"):
        only.predict({"who": ["u03"], "what": ["i04"]})


def test_biases_alone_recommend_at_any_scale():
    """All factors are 0."""
    for scale in (1.0, 1e-50, 1e50):
        rows = [(user, 100 + item, scale * item) for user in range(9) for item in range(9) if user != item]
        result = dg.factorize(frame_of(rows), rank=2, test=0, regularization=1e9)
        assert result.recommend(3, k=4, exclude_known=False).compute()["item"].tolist() == [108, 107, 106, 105]
