"""Samples of neighbours against the exact chances of what is drawn, and under any policy and on a cluster."""

import uuid
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES
from scipy.stats import chisquare

import dgraph as dg
from dgraph.errors import ColumnError, IdError, InputError, OptionError, RoomError, WeightError
from dgraph.native import team
from dgraph.testing.strategies import small_graphs

CENTRES = 4000  # each with the same neighbours, and random numbers of its own
LEAST_LIKELY = 1e-3


def rows_of(frame, directed, direction):
    """What may be drawn for each vertex: the other end of each of its edges."""
    rows = {}
    for u, v in frame.iloc[:, :2].itertuples(index=False):
        ends = [(v, u) if direction == "in" else (u, v)]
        ends += [] if directed or u == v else [(ends[0][1], ends[0][0])]
        for vertex, other in ends:
            rows.setdefault(vertex, []).append(other)
    return rows


def drawn_of(sample, direction="in"):
    """The neighbours drawn for each vertex, by hop."""
    found = {}
    for source, destination, hop in sample.edges.itertuples(index=False):
        near, vertex = (source, destination) if direction == "in" else (destination, source)
        found.setdefault((hop, vertex), []).append(near)
    return found


@pytest.mark.usefixtures("several_threads")
@settings(max_examples=40)
@given(
    small_graphs(max_edges=40),
    st.sampled_from(["in", "out"]),
    st.booleans(),
    st.lists(st.sampled_from([1, 2, 5, -1]), min_size=1, max_size=3),
)
def test_every_vertex_of_a_frontier_gets_as_many_of_its_edges_as_asked(drawn, direction, replace, fanouts):
    frame, kwargs = drawn
    graph = dg.Graph.from_edges(frame, **kwargs)
    rows = rows_of(graph.edges.compute(), graph.directed, direction)
    seeds = graph.vertices.compute().iloc[:3, 0].tolist()
    sample = dg.sample_neighbors(graph, seeds, fanouts, direction=direction, replace=replace)
    assert list(sample.vertices[: sample.num_seeds]) == seeds
    known = set(sample.vertices[: sample.num_seeds])
    frontier, found = known, drawn_of(sample, direction)
    for hop, fanout in enumerate(fanouts, 1):
        reached = set()
        for vertex in frontier:
            possible, taken = Counter(rows.get(vertex, [])), Counter(found.pop((hop, vertex), []))
            many = fanout if replace and fanout > 0 and possible else min(possible.total(), fanout % 2**31)
            assert taken.total() == many and taken.keys() <= possible.keys()
            assert replace or taken <= possible
            reached |= taken.keys() - known
        known, frontier = known | reached, reached
    assert not found and known == set(sample.vertices)
    assert sample.edges["hop"].is_monotonic_increasing


@settings(max_examples=25)
@given(
    small_graphs(max_edges=40),
    st.sampled_from(PLACES),
    st.sampled_from(["in", "out"]),
    st.booleans(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
)
def test_samples_do_not_depend_on_partitions_or_threads(drawn, place, direction, replace, weighted, seed):
    frame, kwargs = drawn
    if weighted:
        weights = np.random.default_rng(abs(seed)).choice([0.0, 1e-300, 1e-9, 1.0, 3.0, 1e200], len(frame))
        frame, kwargs = frame.assign(weight=weights), {**kwargs, "weight": "weight"}
    one, many = dg.Graph.from_edges(frame, **kwargs), dg.Graph.from_edges(frame, **kwargs, **place)
    seeds, options = one.vertices.compute().iloc[::2, 0].tolist(), {"direction": direction}
    options |= {"replace": replace, "weighted": weighted}
    expected = dg.sample_neighbors(one, seeds, [2, -1, 3], random_seed=seed, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "LOOKS", 1)
        found = dg.sample_neighbors(many, seeds, [2, -1, 3], random_seed=seed, **options)
    pd.testing.assert_frame_equal(found.edges, expected.edges)
    np.testing.assert_array_equal(found.edge_index, expected.edge_index)
    alone = dg.sample_neighbors(many, seeds[:1], [2], random_seed=seed, **options).edges
    pd.testing.assert_frame_equal(alone, expected.edges.iloc[: len(alone)])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_cluster_takes_the_same_sample(client, weighted):
    frame = dg.rmat(scale=8, edge_factor=8, seed=2, weights=(1, 9)).edges.compute()
    ends = {"source": "source", "destination": "destination"}
    here, there = dg.Graph.from_edges(frame, **ends), dg.Graph.from_edges(frame, **ends, client=client)
    for replace in (False, True):
        seeds, options = frame["source"].unique()[:50], {"weighted": weighted, "replace": replace}
        found = dg.sample_neighbors(there, seeds, [5, 3], **options)
        pd.testing.assert_frame_equal(found.edges, dg.sample_neighbors(here, seeds, [5, 3], **options).edges)
        assert list(found.edges.columns) == ["source", "destination", "hop"]


def around(weights):
    """Centres, each with the same neighbours."""
    centres, near = np.arange(CENTRES) + 1000, np.arange(len(weights))
    frame = pd.DataFrame({"src": np.tile(near, CENTRES), "dst": np.repeat(centres, len(weights))})
    return dg.Graph.from_edges(frame.assign(weight=np.tile(weights, CENTRES).astype(float))), centres


def assert_likely(counts, chances):
    assert counts.keys() <= chances.keys()
    expected = np.array(list(chances.values())) * CENTRES
    found = np.array([counts[one] for one in chances])
    assert LEAST_LIKELY < chisquare(found, expected).pvalue < 1 - LEAST_LIKELY


@pytest.mark.parametrize(("size", "fanout"), [(5, 2), (6, 3), (40, 1), (5, 4)])
def test_all_sets_of_neighbours_are_equally_likely(size, fanout):
    graph, centres = around(np.ones(size))
    drawn = drawn_of(dg.sample_neighbors(graph, centres, [fanout], random_seed=1))
    sets = list(combinations(range(size), fanout))
    assert_likely(Counter(tuple(sorted(one)) for one in drawn.values()), dict.fromkeys(sets, 1 / len(sets)))


@pytest.mark.parametrize("fanout", [1, 2, 3])
def test_weighted_sets_are_drawn_one_after_the_other(fanout):
    weights = np.array([1.0, 2.0, 0.0, 3.0, 6.0])
    graph, centres = around(weights)
    drawn = drawn_of(dg.sample_neighbors(graph, centres, [fanout], weighted=True, random_seed=2))
    chances = Counter()
    for order in permutations([0, 1, 3, 4], fanout):
        left, chance = weights.sum(), 1.0
        for one in order:
            chance, left = chance * weights[one] / left, left - weights[one]
        chances[tuple(sorted(order))] += chance
    assert_likely(Counter(tuple(sorted(one)) for one in drawn.values()), chances)


LONG = [1.0, 2.0, 0.0, 3.0, 6.0, *[1.0] * 11]  # too long for keys


def test_single_draws_from_long_rows_are_in_proportion():
    weights = np.arange(50.0)
    weights[20:40] = 0  # a whole block, and more
    graph, centres = around(weights)
    drawn = drawn_of(dg.sample_neighbors(graph, centres, [1], weighted=True, random_seed=1))
    chances = {(one,): weights[one] / weights.sum() for one in np.flatnonzero(weights).tolist()}
    assert_likely(Counter(map(tuple, drawn.values())), chances)


@pytest.mark.parametrize("weights", [LONG, [*LONG[:9], 1e9, *LONG[9:]], [1e15, *LONG], [*LONG, 1e17]])
def test_pairs_of_long_rows_are_drawn_one_after_the_other(weights):
    """Also where one weight is nearly the whole sum, which leaves the others to keys."""
    graph, centres = around(np.array(weights))
    drawn = drawn_of(dg.sample_neighbors(graph, centres, [2], weighted=True, random_seed=4))
    total, chances = sum(weights), Counter()
    for a, b in permutations(np.flatnonzero(weights).tolist(), 2):
        rest = sum(one for place, one in enumerate(weights) if place != a)
        chances[tuple(sorted((a, b)))] += weights[a] / total * weights[b] / rest
    assert_likely(Counter(tuple(sorted(one)) for one in drawn.values()), {k: x for k, x in chances.items() if x > 1e-7})


def test_draws_from_long_rows_are_distinct_and_have_weights():
    weights = np.random.default_rng(1).choice(
        [0, 1e-300, 1e-12, 1.0, 40.0, 1e250], 9000, p=[0.2, 0.2, 0.2, 0.2, 0.19, 0.01]
    )
    frame = pd.DataFrame({"src": np.arange(9000), "dst": 9000, "weight": weights})
    graph = dg.Graph.from_edges(frame)
    for fanout in (2, 30, 150, 400):
        drawn = dg.sample_neighbors(graph, [9000], [fanout], weighted=True).edges["src"]
        assert len(drawn) == fanout and drawn.is_unique and (weights[drawn] > 0).all()
        assert (weights[drawn] > 1).sum() == min(fanout, (weights == 1e250).sum()) + (weights[drawn] == 40).sum()


def test_draws_from_long_rows_do_not_depend_on_partitions():
    """Rows begin at other places there, and so do the blocks whose weights are added up."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"src": np.tile(np.arange(700), 40), "dst": np.repeat(np.arange(40) * 17, 700)})
    frame["weight"] = draw.choice([0.0, 1e-9, 1.0, 2.5, 1e6], len(frame)) * draw.random(len(frame))
    frame = frame[draw.random(len(frame)) < 0.7]
    seeds = np.arange(40) * 17
    samples = [
        dg.sample_neighbors(dg.Graph.from_edges(frame, parts=parts), seeds, [fanout], weighted=True, random_seed=7)
        for fanout in (1, 2, 60)
        for parts in (1, 3)
    ]
    for alone, spread in zip(samples[::2], samples[1::2], strict=True):
        pd.testing.assert_frame_equal(alone.edges, spread.edges)
        assert len(alone.edges) >= 40


@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [1, 0, 5, 2], [1e-300, 1e300, 1e300, 1e-300]])
def test_draws_with_replacement_are_independent(weights):
    graph, centres = around(np.array(weights, float))
    drawn = drawn_of(dg.sample_neighbors(graph, centres, [2], weighted=True, replace=True, random_seed=3))
    share = np.array(weights) / np.sum(weights)
    pairs = [(a, b) for a in range(4) for b in range(4) if share[a] * share[b] > 1e-9]
    assert_likely(Counter(tuple(one) for one in drawn.values()), {(a, b): share[a] * share[b] for a, b in pairs})


def test_draws_with_replacement_and_without_weights_are_independent():
    graph, centres = around(np.ones(4))
    drawn = drawn_of(dg.sample_neighbors(graph, centres, [2], replace=True, random_seed=5))
    pairs = {(a, b): 1 / 16 for a in range(4) for b in range(4)}
    assert_likely(Counter(tuple(one) for one in drawn.values()), pairs)


@pytest.mark.parametrize("parts", [1, 2])
def test_every_edge_with_a_weight_is_possible(parts):
    """Whatever the order of the ids, and however small its share is."""
    for weights in ([1e17, 1, 2, 3], [1, 2, 3, 1e17], [5e-324, 1.7e308, 1e-100, 1], [5e-324] * 4):
        frame = pd.DataFrame({"src": range(5), "dst": 9, "weight": [*weights, 0.0]})
        graph = dg.Graph.from_edges(frame, parts=parts)
        for fanout, replace in ((4, False), (7, False), (-1, False), (-1, True)):
            sample = dg.sample_neighbors(graph, [9], [fanout], weighted=True, replace=replace)
            assert sample.edges["src"].tolist() == [0, 1, 2, 3]
        assert len(dg.sample_neighbors(graph, [9], [3], weighted=True).edges) == 3
    firsts = {dg.sample_neighbors(graph, [9], [1], weighted=True, random_seed=n).edges["src"][0] for n in range(60)}
    assert firsts == {0, 1, 2, 3}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_without_room_are_refused(weighted, parts):
    frame = pd.DataFrame({"src": range(999), "dst": [*range(1, 999), 0], "weight": 1.0})
    graph = dg.Graph.from_edges(frame, parts=parts)
    with pytest.raises(RoomError, match=r"samples of .* edges need about"):
        dg.sample_neighbors(graph, range(999), [2**31 - 1], replace=True, weighted=weighted)


def test_the_graphs_own_partitions_get_no_table_that_nobody_reads():
    frame = pd.DataFrame({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0], "weight": 1.0})
    graph = dg.Graph.from_edges(frame, parts=2, policy="outgoing")
    dg.sample_neighbors(graph, [0], [2], weighted=True)
    assert all(one.incoming is None for one in graph.partitioned(("out",), ()).held)


def test_many_of_a_long_row_are_distinct():
    for weighted in (False, True):
        weights = pd.DataFrame({"src": np.arange(5000), "dst": 5000, "weight": np.arange(5000.0)})
        graph = dg.Graph.from_edges(weights)
        near = dg.sample_neighbors(graph, [5000], [3000], weighted=weighted).edges["src"]
        assert near.is_unique and len(near) == 3000
        assert (near.mean() > 3000) == weighted


def test_seeds_and_hops_draw_independently():
    ring = {"src": [*range(20), *range(20)], "dst": [*range(1, 20), 0, *range(2, 20), 0, 1]}
    graph = dg.Graph.from_edges(ring)
    found = {tuple(dg.sample_neighbors(graph, [7], [1, 1, 1], random_seed=seed).edges["src"]) for seed in range(60)}
    assert len(found) == 8


IDS = [uuid.UUID(int=n) for n in range(4)]


@pytest.mark.parametrize("ids", [["w", "x", "y", "z"], [7, 10**12, 2**62, -9], IDS])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_local_numbers_lead_to_the_users_ids(ids, direction):
    a, b, c, d = ids
    edges = pd.DataFrame({"from": [a, b, c, c], "to": [b, c, d, c]})
    graph = dg.Graph.from_edges(edges, source="from", destination="to")
    seeds = [d, b] if direction == "in" else [a, c]
    sample = dg.sample_neighbors(graph, pd.Series(seeds, index=[5, 6]), [-1, -1, -1], direction=direction)
    assert list(sample.vertices[:2]) == seeds and sample.num_seeds == 2
    assert sorted(map(str, sample.vertices)) == sorted(map(str, ids))
    assert sample.edge_index.dtype == np.int64 and sample.edge_index.flags.c_contiguous
    names = np.array(list(sample.vertices), object)
    found = sample.edges
    assert list(found.columns) == ["from", "to", "hop"]
    assert found["from"].tolist() == names[sample.edge_index[0]].tolist()
    assert found["to"].tolist() == names[sample.edge_index[1]].tolist()
    assert sorted(zip(found["from"].map(str), found["to"].map(str), strict=True)) == sorted(
        (str(u), str(v)) for u, v in edges.itertuples(index=False)
    )


@pytest.mark.parametrize("parts", [1, 2])
def test_no_seeds_and_seeds_without_edges(parts):
    graph = dg.Graph.from_edges({"src": ["a"], "dst": ["b"]}, parts=parts)
    for seeds in ([], ["a"]):
        sample = dg.sample_neighbors(graph, seeds, [3, 3])
        assert list(sample.edges.columns) == ["src", "dst", "hop"] and len(sample.edges) == 0
        assert list(sample.vertices) == seeds and sample.edge_index.shape == (2, 0)
    assert repr(dg.sample_neighbors(graph, ["b"], [3, 3])) == ("<NeighborSample: 1 edge and 2 vertices around 1 seed>")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fanouts": [5, 0]}, "fanouts=[5, 0]: a hop of 0 edges reaches nothing; pass -1 for all edges"),
        ({"fanouts": [-2]}, "fanouts=-2 must be an integer from -1 to 2147483647"),
        ({"fanouts": [2**31]}, "fanouts=2147483648 must be an integer from -1"),
        ({"fanouts": b"12"}, "must be a list"),
        ({"seeds": None}, "seeds=None: give a list"),
        ({"seeds": np.array([True, False])}, "seeds= is a column of booleans: pass the ids of the vertices"),
        ({"fanouts": [1.5]}, "fanouts=1.5 must be an integer"),
        ({"fanouts": []}, "fanouts=[] must be a list"),
        ({"fanouts": 5}, "fanouts=5 must be a list with the number of edges for each hop, such as [15, 10]"),
        ({"fanouts": "15"}, "must be a list"),
        ({"direction": "both"}, "direction='both' is not known"),
        ({"replace": "yes"}, "replace='yes' must be True or False"),
        ({"weighted": None}, "weighted=None must be True or False"),
        ({"random_seed": 0.5}, "random_seed=0.5 must be an integer"),
        ({"seeds": ["b", "a", "b"]}, "seeds= lists the vertex 'b' twice; list each vertex once"),
        ({"num_neighbors": [5]}, "did you mean fanouts=?"),
    ],
)
def test_wrong_options_are_refused(options, said):
    graph = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "a"]})
    given = {"seeds": ["a"], "fanouts": [2], **options}
    with pytest.raises(OptionError) as refused:
        dg.sample_neighbors(graph, given.pop("seeds"), given.pop("fanouts"), **given)
    assert said.replace("'", '"') in str(refused.value).replace("'", '"')


def test_wrong_graphs_and_seeds_are_refused():
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 0], "weight": [1.0, -2.0]})
    with pytest.raises(IdError, match="the graph has no vertex 3"):
        dg.sample_neighbors(dg.Graph.from_edges(frame), [0, 3], [2])
    with pytest.raises(WeightError, match="the weight -2"):
        dg.sample_neighbors(dg.Graph.from_edges(frame), [0], [2], weighted=True)
    with pytest.raises(ColumnError, match="sample_neighbors needs weights"):
        dg.sample_neighbors(dg.Graph.from_edges(frame[["src", "dst"]]), [0], [2], weighted=True)
    named = dg.Graph.from_edges(frame.rename(columns={"src": "hop"}), source="hop")
    with pytest.raises(ColumnError, match="rename it"):
        dg.sample_neighbors(named, [0], [2])
    with pytest.raises(InputError, match=r"expects a dgraph\.Graph"):
        dg.sample_neighbors(frame, [0], [2])
