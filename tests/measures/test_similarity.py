"""Similarity of vertices against their definition as matrices, NetworkX, and under any policy."""

from uuid import UUID

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, real_graph

import dgraph as dg
from dgraph import errors
from dgraph.measures import similar_pairs as module
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")
OF_WEIGHTS = ["jaccard", "overlap", "cosine"]
COUNTS = ["common_neighbors", "adamic_adar", "resource_allocation"]


def matrix_of(measure, ends, weights, vertices, directed, direction, limit):
    """The similarity of every two vertices, from the matrix of neighbours."""
    near, times = np.zeros((2, vertices, vertices))
    np.add.at(near, ends, weights if weights is not None else 1)
    np.add.at(times, ends, 1)
    if not directed:
        near, times = near + near.T, times + times.T
    elif direction == "in":
        near, times = near.T, times.T
    near, times = near * (1 - np.eye(vertices)), times * (1 - np.eye(vertices))
    near = near if weights is not None else np.sign(near)
    heard = np.sign(times).sum(axis=0)
    kept = heard <= limit if limit else heard >= 0
    near, has = near * kept, (times > 0) & kept
    least = np.minimum(near[:, None], near[None]).sum(axis=2)
    sums, lengths = near.sum(axis=1), np.sqrt((near**2).sum(axis=1))
    below = {
        "jaccard": np.maximum(near[:, None], near[None]).sum(axis=2),
        "overlap": np.minimum(sums[:, None], sums),
        "cosine": lengths[:, None] * lengths,
    }
    if measure in below:
        above = near @ near.T if measure == "cosine" else least
        return np.divide(above, below[measure], out=np.zeros(above.shape), where=below[measure] > 0)
    with np.errstate(divide="ignore"):
        one = {"common_neighbors": heard * 0 + 1, "adamic_adar": 1 / np.log(heard), "resource_allocation": 1 / heard}
    if measure == "preferential_attachment":
        return has.sum(axis=1)[:, None] * has.sum(axis=1)
    return np.nan_to_num((has * np.where(heard > (measure == "adamic_adar"), one[measure], 0)) @ has.T)


@pytest.mark.filterwarnings("ignore:max_degree=")
@settings(max_examples=80, deadline=None)
@given(
    small_graphs(max_edges=60),
    st.sampled_from(PLACES),
    st.sampled_from([*OF_WEIGHTS, *COUNTS, "preferential_attachment"]),
    st.sampled_from(["out", "in"]),
    st.booleans(),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([1, 1 << 25]),
    st.data(),
)
def test_values_are_those_of_the_definition(drawn, place, measure, direction, weighted, limit, piece, data):
    frame, kwargs = drawn
    weighted &= measure in OF_WEIGHTS
    some = st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=len(frame), max_size=len(frame))
    frame = frame[["src", "dst"]].assign(weight=data.draw(some))
    graph = dg.Graph.from_edges(frame, **{**kwargs, "weight": "weight", **place})
    ids = pd.Index(dg.degrees(graph).compute()["vertex"].sort_values())
    count = len(ids)
    ends = tuple(ids.get_indexer(frame[end]) for end in ("src", "dst"))
    weights = frame["weight"].to_numpy() if weighted else None
    expected = matrix_of(measure, ends, weights, count, kwargs["directed"], direction, limit)
    how = {"measure": measure, "direction": direction, "weighted": weighted, "max_degree": limit}
    if count:
        first, second = np.random.default_rng(1).integers(0, count, (2, 20))
        found = dg.similarity(graph, pd.DataFrame({"a": ids[first], "b": ids[second]}), **how).compute()
        assert found.columns.tolist() == ["first", "second", "similarity"]
        assert ids.get_indexer(found["first"]).tolist() == first.tolist()
        assert ids.get_indexer(found["second"]).tolist() == second.tolist()
        np.testing.assert_allclose(found["similarity"], expected[first, second], rtol=1e-9)
    if measure == "preferential_attachment":
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        for most, least in ((10, 0.0), (1, 0.0), (10, 0.4)):
            if most < count or most == 10:
                found = dg.similarity(graph, top_k=most, at_least=least, **how).compute()
                check_best(found, expected, ids, most, least)


def check_best(found, expected, ids, most, least):
    first, second = (ids.get_indexer(found[end]) for end in ("first", "second"))
    np.testing.assert_allclose(found["similarity"], expected[first, second], rtol=1e-9)
    for v in range(len(ids)):
        row = np.where(np.arange(len(ids)) == v, 0, expected[v])
        wanted = np.sort(row[(row > 0) & (row >= least)])[::-1][:most]
        np.testing.assert_allclose(found["similarity"][first == v], wanted, rtol=1e-9)
        assert len(set(second[first == v])) == len(wanted)


def test_pairs_of_a_real_graph_match_networkx():
    graph = real_graph("wiki-Vote")
    frame = graph.frame[["src", "dst"]]
    peer = nx.Graph(frame.to_numpy().tolist())
    ends = frame.sample(2000, random_state=1, ignore_index=True)
    ends["dst"] = np.roll(ends["dst"], 1)
    ends = ends[ends["src"] != ends["dst"]]
    ours = dg.Graph.from_edges(frame, directed=False)
    names = {"jaccard": "jaccard_coefficient", "adamic_adar": "adamic_adar_index"}
    for measure, name in names.items() | {(m, m + "_index") for m in ["resource_allocation"]}:
        expected = [score for _, _, score in getattr(nx, name)(peer, ends.to_numpy().tolist())]
        found = dg.similarity(ours, ends, measure=measure).compute()["similarity"]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_workers_find_what_this_process_does(parts, client):
    edges = dg.rmat(scale=8, edge_factor=6, seed=3, directed=False).edges.compute()
    ends = {"source": "source", "destination": "destination"}
    pairs = edges.iloc[:100].set_axis(["one", "other"], axis=1)
    here, there = (dg.Graph.from_edges(edges, **ends, **how) for how in ({}, {"parts": parts, "client": client}))
    for question in ({}, {"measure": "adamic_adar", "top_k": 3}, {"pairs": pairs}):
        expected, found = (dg.similarity(graph, **question).compute() for graph in (here, there))
        if "pairs" not in question:
            found = found.sort_values("first", kind="stable", ignore_index=True)
        pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True))


def test_of_equally_similar_vertices_the_smaller_come_first():
    star = dg.Graph.from_edges({"src": [0, 0, 0, 0], "dst": [4, 3, 2, 1]}, directed=False)
    found = dg.similarity(star, top_k=2).compute()
    assert found[["first", "second"]].to_numpy().tolist() == [
        [1, 2],
        [1, 3],
        [2, 1],
        [2, 3],
        [3, 1],
        [3, 2],
        [4, 1],
        [4, 2],
    ]
    assert (found["similarity"] == 1).all()


def test_edges_from_users_to_items_compare_users():
    ratings = {"user": ["ann", "ann", "bob", "cat"], "item": ["tea", "jam", "jam", "egg"]}
    graph = dg.Graph.from_edges(ratings, source="user", destination="item")
    assert dg.similarity(graph).compute().to_numpy().tolist() == [["ann", "bob", 0.5], ["bob", "ann", 0.5]]
    items = dg.similarity(graph, direction="in").compute()
    assert items.to_numpy().tolist() == [["jam", "tea", 0.5], ["tea", "jam", 0.5]]


def test_similar_vertices_make_a_graph():
    graph = dg.rmat(scale=6, edge_factor=4, seed=1)
    near = dg.similarity(graph, top_k=3)
    made = dg.Graph.from_edges(near, source="first", destination="second", weight="similarity")
    assert made.num_edges == len(near.compute()) > 100


def test_ignored_vertices_are_counted():
    star = dg.Graph.from_edges({"src": [0, 0, 0, 5, 5], "dst": [1, 2, 3, 1, 2]}, directed=False)
    with pytest.warns(UserWarning, match="max_degree=2: similarity ignores 1 vertex that more vertices than that"):
        found = dg.similarity(star, max_degree=2).compute()
    assert [1, 2, 1.0] in found.to_numpy().tolist() and 3 not in found["first"].tolist()


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("vertices", [0, 1, 3])
def test_graphs_without_edges_have_nothing_similar(vertices, parts):
    graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=vertices, parts=parts)
    assert len(dg.similarity(graph).compute()) == 0
    pairs = pd.DataFrame({"a": [0] * vertices, "b": [vertices - 1] * vertices}, dtype=int)
    assert dg.similarity(graph, pairs).compute()["similarity"].tolist() == [0.0] * vertices


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"measure": "sorensen"}, errors.OptionError, "measure='sorensen'"),
        ({"top_k": 0}, errors.OptionError, "top_k=0"),
        ({"top_k": 4}, errors.OptionError, "top_k=4: the graph has 3 vertices to compare with each"),
        ({"direction": "both"}, errors.OptionError, "direction='both'"),
        ({"at_least": -1}, errors.OptionError, "at_least=-1"),
        ({"at_least": float("nan")}, errors.OptionError, "at_least=nan"),
        ({"max_degree": 0}, errors.OptionError, "max_degree=0"),
        ({"measure": "preferential_attachment"}, errors.OptionError, "pass pairs="),
        ({"measure": "adamic_adar", "weighted": True}, errors.OptionError, "has no meaning for weights"),
        ({"weighted": True}, errors.ColumnError, "needs weights"),
        ({"pairs": {"a": [1], "b": [77]}}, errors.IdError, "column 'b' names 1 vertex that the graph does not have"),
        ({"pairs": {"a": [None], "b": [1]}}, errors.IdError, "missing"),
        ({"pairs": {"a": [1, 2], "b": [1]}}, errors.ColumnError, "two lists of vertices of the same length"),
        ({"pairs": {"a": 1, "b": 2}}, errors.ColumnError, "two lists of vertices of the same length"),
        ({"pairs": {"a": [1], "b": [2]}, "top_k": 3}, errors.OptionError, "leave them out with pairs="),
        ({"at_least": True}, errors.OptionError, "at_least=True"),
        ({"pairs": {"a": ["x"], "b": [1]}}, errors.IdError, "example 'x'"),
        ({"pairs": {"a": [1]}}, errors.ColumnError, "pairs= has the columns"),
        ({"pairs": [(0, 1)]}, errors.InputError, "pairs= is a list"),
    ],
)
def test_options_are_checked(options, error, words):
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    with pytest.raises(error) as refused:
        dg.similarity(graph, **options)
    assert words in str(refused.value)


def test_other_libraries_names_lead_here():
    for theirs in ("jaccard_coefficient", "node_similarity", "adamic_adar_index", "jaccard"):
        with pytest.raises(AttributeError, match="did you mean similarity"):
            getattr(dg, theirs)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("scale", [1e-200, 1e-80, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("measure", OF_WEIGHTS)
def test_the_unit_of_weights_does_not_matter(measure, scale, parts):
    """Sums and products of tiny and huge weights would be 0 or infinite."""
    ends = np.argwhere(np.triu(np.ones((12, 12)), 1))
    weights = (1 + np.arange(len(ends)) % 5) * scale
    graph, plain = (
        dg.Graph.from_edges({"src": ends[:, 0], "dst": ends[:, 1], "w": w}, weight="w", directed=False, parts=parts)
        for w in (weights, weights / scale)
    )
    pairs = pd.DataFrame(ends[:40], columns=["a", "b"])
    for question in ({"pairs": pairs}, {"top_k": 3}):
        expected = dg.similarity(plain, measure=measure, weighted=True, **question).compute()
        found = dg.similarity(graph, measure=measure, weighted=True, **question).compute()
        np.testing.assert_allclose(found["similarity"], expected["similarity"], rtol=1e-9)
        assert found["similarity"].between(0, 1 + 1e-12).all() and (found["similarity"] > 0).all()


def test_weights_far_apart_are_compared():
    frame = {"src": [0, 0, 1, 1, 2], "dst": [3, 4, 3, 4, 5], "w": [1e-250, 1e-250, 1.0, 1.0, 1e-320]}
    graph = dg.Graph.from_edges(frame, weight="w")
    found = dg.similarity(graph, {"a": [0, 0, 2], "b": [1, 0, 2]}, measure="cosine", weighted=True).compute()
    np.testing.assert_allclose(found["similarity"], [1.0, 1.0, 0.0])


def test_more_pairs_than_a_piece_has_keep_their_order(client, monkeypatch):
    edges = dg.rmat(scale=7, edge_factor=6, seed=3).edges.compute()
    columns = {"source": "source", "destination": "destination"}
    pairs = edges.sample(500, replace=True, random_state=1, ignore_index=True).set_axis(["a", "b"], axis=1)
    expected = dg.similarity(dg.Graph.from_edges(edges, **columns), pairs).compute()
    monkeypatch.setattr(module, "PAIRS", 64)
    monkeypatch.setattr(module, "PIECE", 300)
    for how in ({}, {"parts": 3}, {"parts": 3, "client": client}):
        graph = dg.Graph.from_edges(edges, **columns, **how)
        found = dg.similarity(graph, pairs)
        assert found.npartitions > 7
        pd.testing.assert_frame_equal(found.compute(), expected)
        best = [dg.similarity(one).compute() for one in (graph, dg.Graph.from_edges(edges, **columns))]
        sums = [one.groupby("first")["similarity"].sum() for one in best]
        pd.testing.assert_series_equal(*sums)


def test_pairs_may_have_any_type_of_ids(client):
    import dask.dataframe as dd
    import pyarrow as pa

    for ids in (["ann", "bob", "cat"], [2**53, 2**53 + 1, 7], [UUID(int=1), UUID(int=2), UUID(int=3)]):
        graph = dg.Graph.from_edges({"src": [ids[0], ids[1]], "dst": [ids[2], ids[2]]})
        pairs = pd.DataFrame({"a": [ids[0], ids[1]], "b": [ids[1], ids[2]]})
        forms = [pairs, {"a": pairs["a"].tolist(), "b": pairs["b"].to_numpy()}, dd.from_pandas(pairs, npartitions=1)]
        if not isinstance(ids[0], UUID):
            forms.append(pa.Table.from_pandas(pairs))
        for form in forms:
            assert dg.similarity(graph, form).compute()["similarity"].tolist() == [1.0, 0.0]


def test_floats_are_not_taken_for_other_vertices():
    graph = dg.Graph.from_edges({"src": [2**53 + 1, 1], "dst": [0, 0]})
    with pytest.raises(errors.IdError, match="float64"):
        dg.similarity(graph, {"a": [2.0**53], "b": [1.0]})
    with pytest.raises(errors.IdError, match="missing"):
        dg.similarity(graph, pd.DataFrame({"a": [1, None], "b": [1, 1]}))


def test_vertices_with_the_same_weights_are_as_similar_as_can_be():
    rng = np.random.default_rng(2)
    for count in range(3, 9):
        weights = np.tile(rng.integers(1, 9, count), 2)
        frame = {"src": np.repeat([0, 1], count), "dst": np.tile(np.arange(2, 2 + count), 2), "w": weights}
        graph = dg.Graph.from_edges(frame, weight="w")
        for measure in OF_WEIGHTS:
            found = dg.similarity(graph, measure=measure, weighted=True, at_least=1.0).compute()
            assert found.to_numpy().tolist() == [[0, 1, 1.0], [1, 0, 1.0]], measure


def test_a_hub_in_all_pairs_counts_once(monkeypatch):
    edges = {"src": np.arange(1, 2001), "dst": np.zeros(2000, int)}
    graph = dg.Graph.from_edges(edges, directed=False, parts=2)
    monkeypatch.setattr(module, "PIECE", 2500)
    pairs = pd.DataFrame({"a": np.zeros(400, int), "b": np.arange(1, 401)})
    assert dg.similarity(graph, pairs).npartitions == 1
