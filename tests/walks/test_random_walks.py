"""Random walks against the exact chances of their steps, and under any policy, number of threads, and on a cluster."""

import uuid
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES
from scipy.stats import chi2

import dgraph as dg
from dgraph.errors import ColumnError, IdError, InputError, OptionError, RoomError, WeightError
from dgraph.native import team
from dgraph.solvers import walks as kernels
from dgraph.testing.strategies import small_graphs

LEAST_LIKELY = 1e-3  # of the distances between counts and chances; the seeds are fixed, so this cannot fail by chance


def walks_of(frame):
    """The vertices of each walk, from the frame of rows."""
    assert (frame["step"] == frame.groupby("walk").cumcount()).all() and frame["walk"].is_monotonic_increasing
    return frame.groupby("walk")["vertex"].agg(list).tolist()


def arcs_of(frame, directed):
    """Each arc with its weight, and how often it is there."""
    arcs = []
    for u, v, *rest in frame.itertuples(index=False):
        arcs.append((u, v, rest[0] if rest else 1.0))
        if not directed and u != v:
            arcs.append((v, u, rest[0] if rest else 1.0))
    return arcs


def chances(arcs, t, v, p, q):
    """The definition: the chance of each next vertex of a walk at v that came from t (None at its start)."""
    near = {x for u, x, _ in arcs if u == t}
    weights = Counter()
    for u, x, weight in arcs:
        if u == v:
            bias = 1 if t is None else 1 / p if x == t else 1 if x in near else 1 / q
            weights[x] += weight * bias
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items() if weight > 0}


def assert_likely(counts, expected_of):
    """Chi-squared over all situations, each with the counts of what came next."""
    distance, freedom = 0.0, 0
    for situation, seen in counts.items():
        expected, total = expected_of(*situation), sum(seen.values())
        assert seen.keys() <= expected.keys(), f"{situation}: impossible steps"
        often = {x: total * chance for x, chance in expected.items() if total * chance >= 5}
        distance += sum((seen[x] - mean) ** 2 / mean for x, mean in often.items())
        freedom += max(len(often) - 1, 0)
    assert freedom > 10 and chi2.sf(distance, freedom) > LEAST_LIKELY and chi2.cdf(distance, freedom) > LEAST_LIKELY


def drawn_graph(weighted, directed, parts):
    """Loops, repeated edges, triangles, and edges in one direction only."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 9, (34, 2)), columns=["src", "dst"])
    frame = frame[frame["src"] != 8]  # a dead end
    if weighted:
        frame["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0, 1e-9], len(frame))
    return frame, dg.Graph.from_edges(frame, directed=directed, parts=parts)


def with_weights(frame, seed):
    weights = np.random.default_rng(abs(seed)).choice([0.0, 1e-300, 1e-9, 1.0, 3.0, 1e200], len(frame))
    return frame.assign(weight=weights)


def rmat_frame(scale):
    edges = dg.rmat(scale=scale, edge_factor=8, seed=2, weights=(1, 9)).edges.compute()
    return edges.rename(columns={"source": "src", "destination": "dst"})


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("p", "q"), [(1, 1), (0.5, 2), (4, 0.25), (1e3, 1), (0.02, 1), (1, 1e4), (3, 1e-4), (1e-3, 1e3)]
)
def test_each_step_has_the_chances_of_node2vec(p, q, weighted, directed, parts):
    frame, graph = drawn_graph(weighted, directed, parts)
    arcs = arcs_of(frame, directed)
    starts = np.repeat(np.arange(8), 400 if parts == 1 else 150)
    found = walks_of(dg.random_walks(graph, starts, 6, p=p, q=q, weighted=weighted, random_seed=7).compute())
    counts = {}
    for walk in found:
        for t, v, x in zip([None, *walk], walk, walk[1:], strict=False):
            counts.setdefault((t, v), Counter())[x] += 1
        if len(walk) < 7:
            assert not chances(arcs, None, walk[-1], 1, 1), "a walk ends only where no edge leads on"
    assert_likely(counts, lambda t, v: chances(arcs, t, v, p, q))


def test_a_neighbour_is_one_that_an_edge_from_the_vertex_before_leads_to():
    """From t to v; then to x, which has an edge to t, or to y, which t has an edge to."""
    edges = {"src": ["t", "v", "v", "x", "t"], "dst": ["v", "x", "y", "t", "y"]}
    found = walks_of(dg.random_walks(dg.Graph.from_edges(edges), ["t"] * 4000, 2, q=1e9).compute())
    assert Counter(walk[2] for walk in found if walk[1] == "v").keys() == {"y"}


@settings(max_examples=25)
@given(
    small_graphs(max_edges=40),
    st.sampled_from(PLACES),
    st.sampled_from([{}, {"p": 0.5, "q": 2}, {"q": 1e6}, {"p": 9, "q": 0.01, "restart": 0.2}, {"restart": 0.5}]),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
)
def test_walks_do_not_depend_on_partitions_or_threads(drawn, place, options, weighted, seed):
    frame, kwargs = drawn
    if weighted:
        frame, kwargs, options = (
            with_weights(frame, seed),
            {**kwargs, "weight": "weight"},
            {**options, "weighted": True},
        )
    one, many = dg.Graph.from_edges(frame, **kwargs), dg.Graph.from_edges(frame, **kwargs, **place)
    expected = dg.random_walks(one, None, 5, random_seed=seed, **options).compute()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "LOOKS", 1)
        found = dg.random_walks(many, None, 5, random_seed=seed, **options).compute()
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True))
    arcs = {(u, v) for u, v, *_ in arcs_of(many.edges.compute(), many.directed)}
    for walk in walks_of(expected):
        steps = set(pairwise(walk))
        assert steps <= arcs | {(v, walk[0]) for v in walk if options.get("restart")}


@pytest.mark.parametrize("options", [{}, {"p": 0.25, "q": 4}, {"q": 1e5, "weighted": True}])
def test_a_cluster_takes_the_same_walks(client, options):
    frame = rmat_frame(8)
    here = dg.Graph.from_edges(frame, directed=False)
    there = dg.Graph.from_edges(frame, directed=False, client=client)
    starts = np.tile(frame["src"].unique()[:70], 2)
    expected = dg.random_walks(here, starts, 9, **options).compute()
    found = dg.random_walks(there, starts, 9, **options)
    assert found.npartitions > 1
    pd.testing.assert_frame_equal(found.compute().reset_index(drop=True), expected)


def test_repeated_weights_and_batches_leave_walks_alone(monkeypatch):
    frame = rmat_frame(7)
    expected = dg.random_walks(dg.Graph.from_edges(frame), None, 20, p=0.5, q=3, weighted=True).compute()
    monkeypatch.setattr(kernels, "MOST_BATCH", 3)
    again = dg.Graph.from_edges(frame.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(dg.random_walks(again, None, 20, p=0.5, q=3, weighted=True).compute(), expected)
    other = dg.random_walks(again, None, 20, p=0.5, q=3, weighted=True, random_seed=1).compute()
    assert not other["vertex"].equals(expected["vertex"])


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("q", [1, 2])
def test_a_walk_ends_where_no_edge_leads_on(parts, q):
    frame = pd.DataFrame({"src": [0, 1, 1], "dst": [1, 2, 3], "weight": [1.0, 1.0, 0.0]})
    graph = dg.Graph.from_edges(frame, vertices=5, parts=parts)
    found = dg.random_walks(graph, [0, 2, 4, 0], 5, weighted=True, q=q).compute()
    assert walks_of(found) == [[0, 1, 2], [2], [4], [0, 1, 2]]
    assert found.dtypes.tolist() == [np.int64] * 3


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("q", [1, 3])
def test_restarts_lead_back_to_the_start_and_forget_the_way(parts, q):
    ring = pd.DataFrame({"src": np.arange(50), "dst": (np.arange(50) + 1) % 50})
    graph = dg.Graph.from_edges(ring, parts=parts)
    found = walks_of(dg.random_walks(graph, [7] * 300, 40, restart=0.3, q=q).compute())
    steps = [step for walk in found for step in pairwise(walk)]
    back = sum(x == 7 for _, x in steps)
    assert all(x in (7, (v + 1) % 50) for v, x in steps)
    assert abs(back / len(steps) - 0.3) < 4 * np.sqrt(0.21 / len(steps))
    path = dg.Graph.from_edges({"src": ["a"], "dst": ["b"]}, parts=parts)
    ended = walks_of(dg.random_walks(path, ["a"] * 300, 30, restart=0.5, q=q).compute())
    assert {walk[-1] for walk in ended if len(walk) < 31} == {"b"}
    assert any(walk[:4] == ["a", "b", "a", "b"] for walk in ended)


IDS = [uuid.UUID(int=n) for n in range(3)]


@pytest.mark.parametrize("ids", [["x", "y", "zé"], [-5, 10**12, 2**62], IDS, [2**63, 2**63 + 1, 2**64 - 1]])
def test_starts_are_any_list_of_ids_and_results_have_them(ids):
    graph = dg.Graph.from_edges({"src": ids, "dst": [*ids[1:], ids[0]]})
    expected = walks_of(dg.random_walks(graph, ids, 2).compute())
    assert expected == [[*ids], [*ids[1:], ids[0]], [ids[2], *ids[:2]]]
    assert walks_of(dg.random_walks(graph, ids * 50, 2).compute()) == expected * 50
    assert walks_of(dg.random_walks(graph, None, 2).compute()) == expected
    series = pd.Series(ids)
    for starts in (series, pd.DataFrame({"any": ids}), pd.DataFrame({"vertex": ids, "other": 1}), series.to_numpy()):
        assert walks_of(dg.random_walks(graph, starts, 2).compute()) == expected
    assert walks_of(dg.random_walks(graph, ids[1], 2).compute()) == expected[1:2]


def test_starts_may_be_a_result_or_its_frame():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 0]})
    for starts in (dg.bfs(graph, 0), dg.bfs(graph, 0).frame, pa.table({"vertex": [0, 1]}), range(2), (0, 1)):
        assert walks_of(dg.random_walks(graph, starts, 1).compute()) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("starts", [[], np.empty(0, np.int64), pd.Series([], dtype=object)])
@pytest.mark.parametrize("parts", [1, 2])
def test_no_starts_make_an_empty_frame(starts, parts):
    found = dg.random_walks(dg.Graph.from_edges({"src": ["a"], "dst": ["b"]}, parts=parts), starts, 3)
    assert list(found.columns) == ["walk", "step", "vertex"] and len(found.compute()) == 0
    nothing = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype=np.int64), parts=parts)
    assert len(dg.random_walks(nothing, None, 3).compute()) == 0


def test_long_answers_have_several_partitions():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 0]})
    found = dg.random_walks(graph, [0, 1] * 3, 2**20)
    assert found.npartitions > 1
    assert found.partitions[1].compute()["walk"].tolist()[0] == 1
    assert len(found) == 6 * (2**20 + 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"p": 0}, "p=0 must be a finite number > 0"),
        ({"q": -1.0}, "q=-1.0 must be a finite number > 0"),
        ({"q": float("inf")}, "q=inf must be"),
        ({"p": "1"}, "p='1' must be"),
        ({"restart": 1}, "restart=1 must be a number >= 0 and < 1"),
        ({"restart": -0.1}, "restart=-0.1 must be"),
        ({"restart": True}, "restart=True must be"),
        ({"p": 1e-101}, "p=1e-101 must be from 1e-100 to 1e+100"),
        ({"q": 1e101}, "q=1e+101 must be from 1e-100 to 1e+100"),
        ({"length": 0}, "length=0 must be an integer from 1 to 2147483647"),
        ({"length": 2.0}, "length=2.0 must be an integer from 1"),
        ({"length": 2**31}, "length=2147483648 must be an integer from 1"),
        ({"random_seed": "x"}, "random_seed='x' must be an integer"),
        ({"weighted": 1}, "weighted=1 must be True or False"),
        ({"starts": pd.DataFrame({"a": [1], "b": [2]})}, "starts= is a table with the columns ['a', 'b']"),
        ({"starts": pd.DataFrame([[1, 2]], columns=["vertex", "vertex"])}, "the columns ['vertex', 'vertex']"),
        ({"starts": [[0, 1]]}, "give one flat list"),
        ({"walk_length": 4}, "did you mean length=?"),
    ],
)
def test_wrong_options_are_refused(options, said):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 0]})
    given = {"starts": [0], "length": 3, **options}
    with pytest.raises(OptionError) as refused:
        dg.random_walks(graph, given.pop("starts"), given.pop("length"), **given)
    assert said in str(refused.value)


@pytest.mark.parametrize("ids", [["a", "b"], [5, 9], [0, 10**15]])
def test_unknown_starts_are_refused(ids):
    graph = dg.Graph.from_edges({"src": ids, "dst": ids[::-1]})
    for unknown in ("c", 7, 2**63, -(2**63), 1.5, None, True):
        for many in (1, 200):
            with pytest.raises(IdError):
                dg.random_walks(graph, [*ids, *[unknown] * many], 2)
    with pytest.raises(IdError, match="the graph has no vertex"):
        dg.random_walks(graph, [ids[0], type(ids[0])("77")], 2)


def test_weights_must_be_there_and_not_negative():
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 0], "weight": [1.0, -2.0]})
    with pytest.raises(WeightError, match="the weight -2"):
        dg.random_walks(dg.Graph.from_edges(frame), [0], 2, weighted=True)
    with pytest.raises(ColumnError, match="random_walks needs weights"):
        dg.random_walks(dg.Graph.from_edges(frame[["src", "dst"]]), [0], 2, weighted=True)
    with pytest.raises(InputError, match=r"expects a dgraph\.Graph"):
        dg.random_walks(frame, [0], 2)


@pytest.mark.parametrize("parts", [1, 3])
def test_small_weights_count_beside_large_ones_elsewhere(parts):
    frame = pd.DataFrame({"src": [0, 5, 7, 7], "dst": [1, 6, 8, 9], "weight": [1e-30, 1e300, 0.0, 5e-324]})
    graph = dg.Graph.from_edges(frame, parts=parts)
    found = walks_of(dg.random_walks(graph, [0, 5, *[7] * 50], 1, weighted=True).compute())
    assert found == [[0, 1], [5, 6], *[[7, 9]] * 50]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("q", [1e100, 1e-100])
def test_weights_of_any_size_are_weighed(q, parts):
    """After 0 and 1 come 2, which 0 leads to, or others. The weights add up to next to nothing."""
    ends = {"src": [0, 0, 1, 1, 1, 1], "dst": [1, 2, 0, 2, 3, 4]}
    frame = pd.DataFrame({**ends, "weight": [1e300, 0.0, 1e-310, 1e-322, 1e-321, 2e-321]})
    graph = dg.Graph.from_edges(frame, parts=parts)
    found = walks_of(dg.random_walks(graph, [0] * 300, 2, weighted=True, p=1e100, q=q).compute())
    after = Counter(walk[2] for walk in found)
    assert after.keys() == ({2} if q > 1 else {3, 4}) and after.total() == 300


@pytest.mark.parametrize("parts", [1, 3])
def test_walks_without_room_are_refused(parts, monkeypatch):
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=parts)
    with pytest.raises(RoomError, match="walks need about"):
        dg.random_walks(graph, [0, 1, 2] * 500, 2**31 - 1)
    monkeypatch.setattr("dgraph.walks.random_walks.MOST_STARTS", 5)
    with pytest.raises(OptionError, match="starts= lists 6 vertices, but at most 5"):
        dg.random_walks(graph, [0, 1, 2] * 2, 1)


def test_large_weights_do_not_overflow():
    frame = pd.DataFrame({"src": [0] * 4, "dst": [1, 1, 2, 2], "weight": [1.7e308, 1.7e308, 1.7e308, 0.0]})
    found = dg.random_walks(dg.Graph.from_edges(frame), [0] * 3000, 1, weighted=True).compute()
    assert abs((found["vertex"] == 1).sum() / 3000 - 2 / 3) < 0.04
