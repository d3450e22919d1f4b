"""Shortest paths: one answer from solver and rounds, on any number of partitions, checked by other algorithms."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors
from dgraph.testing.strategies import EXACT_WEIGHTS, edge_frames

pytestmark = pytest.mark.usefixtures("several_threads")

WAYS = [("local", 1), ("bsp", 1), ("gas", 2), ("bsp", 3)]
IDS = list(range(9))  # not all of them in edges


def answers(frame, source, directed=True, ways=WAYS, **options):
    """The answer, which is the same in every way."""
    found = []
    for engine, parts in ways:
        graph = dg.Graph.from_edges(
            frame, weight="weight", directed=directed, vertices=pd.DataFrame({"id": IDS}), parts=parts
        )
        found.append(dg.sssp(graph, source, engine=engine, **options).compute())
    for other in found[1:]:
        pd.testing.assert_frame_equal(found[0], other)
    return found[0]


def arcs(frame, directed=True):
    """(source, destination, weight) of every edge, both ways if it has no direction."""
    rows = [(int(u), int(v), float(w)) for u, v, w in zip(frame["src"], frame["dst"], frame["weight"], strict=True)]
    return rows if directed else rows + [(v, u, w) for u, v, w in rows if u != v]


def plain_distances(rows, sources, n=9):
    """Bellman and Ford's, in six lines; None where a negative cycle can be reached."""
    dist = [0.0 if v in sources else np.inf for v in range(n)]
    for _ in range(n):
        before = list(dist)
        for u, v, w in rows:
            dist[v] = min(dist[v], before[u] + w)
        if dist == before:
            return dist
    return None


def check_tree(found, rows, sources, negative=False):
    """Predecessors lead home, and each is the smallest that the rule admits."""
    dist = found["distance"].tolist()
    steps = {u: 0 for u in sources if dist[u] == 0}
    tight = [(u, v) for u, v, w in rows if dist[u] + w == dist[v] < np.inf]
    expected = {}
    if not negative:
        for u, v in sorted(tight, reverse=True):
            if dist[u] < dist[v]:
                expected[v], steps[v] = u, 0
    level = 0
    while fresh := [(u, v) for u, v in tight if steps.get(u) == level and v not in steps]:
        level += 1
        for u, v in sorted(fresh, reverse=True):
            expected[v], steps[v] = u, level
    predecessor = found["predecessor"]
    assert predecessor.dropna().astype(int).to_dict() == expected


@given(
    edge_frames(ids=IDS[:7], weights=EXACT_WEIGHTS.map(lambda w: w // 8)),
    st.booleans(),
    st.sets(st.sampled_from(IDS), min_size=1),
)
@settings(max_examples=15)
def test_several_sources_give_the_nearest_distance(frame, directed, sources):
    found, rows = answers(frame, sorted(sources), directed), arcs(frame, directed)
    assert found["distance"].tolist() == plain_distances(rows, sources)
    check_tree(found, rows, sources)
    short = answers(frame, sorted(sources), directed, predecessors=False)
    pd.testing.assert_frame_equal(short, found[["vertex", "distance"]])


@given(edge_frames(ids=IDS[:7], min_edges=4, weights=st.integers(-3, 9)), st.booleans(), st.sampled_from(IDS[:7]))
@settings(max_examples=15)
def test_negative_weights_give_shortest_paths_or_a_cycle_error(frame, directed, source):
    rows = arcs(frame, directed)
    expected = plain_distances(rows, {source})
    if expected is None:
        for engine, parts in WAYS:
            check_cycle(frame, directed, source, engine, parts)
    else:
        found = answers(frame, source, directed)
        assert found["distance"].tolist() == expected
        check_tree(found, rows, {source}, negative=min(frame["weight"]) < 0)


def check_cycle(frame, directed, source, engine, parts):
    """The error names a cycle whose weights are below zero in sum."""
    graph = dg.Graph.from_edges(frame, weight="weight", directed=directed, parts=parts)
    with pytest.raises(errors.WeightError, match="sum to less than 0") as caught:
        dg.sssp(graph, source, engine=engine)
    named = str(caught.value).split("cycle ")[1].split(" sum to")[0]
    cycle = [int(u) for u in named.split(" -> ")]
    weight = {}
    for u, v, w in arcs(frame, directed):
        weight[u, v] = min(w, weight.get((u, v), np.inf))
    assert sum(weight[pair] for pair in zip(cycle, [*cycle[1:], cycle[0]], strict=True)) < 0


@given(edge_frames(ids=IDS[:7], weights=EXACT_WEIGHTS), st.booleans(), st.sampled_from(IDS), st.sampled_from(IDS))
@settings(max_examples=15)
def test_a_target_leaves_farther_vertices_unreached(frame, directed, source, target):
    """As ever, but for those who are farther."""
    everything = answers(frame, source, directed, ways=WAYS[:1])
    bound = everything["distance"][target]
    found = answers(frame, source, directed, target=target)
    assert found["distance"].tolist() == [d if d <= bound else np.inf for d in everything["distance"]]
    assert found["predecessor"].fillna(-1).tolist() == [
        -1 if pd.isna(p) or d > bound else p
        for p, d in zip(everything["predecessor"], everything["distance"], strict=True)
    ]


@given(
    edge_frames(ids=IDS[:7], weights=EXACT_WEIGHTS),
    st.booleans(),
    st.lists(st.sampled_from(IDS), min_size=1, max_size=3),
)
@settings(max_examples=15)
def test_per_source_gives_a_distance_from_each_source(frame, directed, sources):
    found = answers(frame, sources, directed, per_source=True)
    rows = arcs(frame, directed)
    expected = np.array([plain_distances(rows, {one}) for one in sources]).T
    assert np.array(found["distance"].tolist()).tolist() == expected.tolist()
    assert list(found) == ["vertex", "distance"]


def test_sources_may_lie_on_both_sides_of_the_largest_signed_id():
    """NumPy makes floats of such a list."""
    frame = pd.DataFrame({"src": np.array([1, 2], np.uint64), "dst": np.array([2, 2**63 + 5], np.uint64)})
    each = dg.sssp(dg.Graph.from_edges(frame), [2**63 + 5, 1], per_source=True).compute()["distance"]
    assert [row.tolist() for row in each] == [[np.inf, 0], [np.inf, 1], [0, 2]]


@pytest.mark.parametrize("options", [{}, {"predecessors": False}, {"target": 3}, {"target": 3, "predecessors": False}])
@pytest.mark.parametrize("directed", [True, False])
def test_without_weights_an_edge_is_one_step(directed, options):
    frame = pd.DataFrame({"src": [0, 0, 1, 2, 3, 5], "dst": [1, 2, 3, 3, 4, 0]})
    for engine, parts in WAYS:
        plain = dg.Graph.from_edges(frame, directed=directed, parts=parts)
        ones = dg.Graph.from_edges(frame.assign(weight=1), weight="weight", directed=directed, parts=parts)
        one, other = (dg.sssp(graph, 0, engine=engine, **options).compute() for graph in (plain, ones))
        pd.testing.assert_frame_equal(one, other)
    each = dg.sssp(plain, [0, 5], per_source=True).compute()["distance"]
    assert [row[0] for row in each] == dg.sssp(plain, 0).compute()["distance"].tolist()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint64", "float32", "float64"])
def test_weights_of_any_type_are_summed_as_float64(dtype):
    """Sums are those of float64, whatever the type that the weights are stored in."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 9, (40, 2)), columns=["src", "dst"])
    frame["weight"] = (rng.integers(0, 90, 40) / (1 if "int" in dtype else 7)).astype(dtype)
    found, rows = answers(frame, 0, ways=[*WAYS, ("bulk_async", 3)]), arcs(frame)
    assert found["distance"].tolist() == plain_distances(rows, {0})
    check_tree(found, rows, {0})


def test_weights_of_very_different_sizes_give_exact_distances():
    """Paths that leave the window of slots many times over, and a weight that is infinite."""
    rng = np.random.default_rng(2)
    n = 500
    frame = pd.DataFrame(rng.integers(0, n, (2000, 2)), columns=["src", "dst"])
    frame["weight"] = 10.0 ** rng.integers(-12, 12, 2000)
    frame.loc[::50, "weight"] = np.inf
    graph = dg.Graph.from_edges(frame, weight="weight", vertices=n)
    found = dg.sssp(graph, 0, engine="local").compute()
    assert found["distance"].tolist() == plain_distances(arcs(frame), {0}, n)
    rounds = dg.sssp(graph, 0, engine="bsp").compute()
    pd.testing.assert_frame_equal(found, rounds)


def test_paths_whose_length_overflows_are_unreachable():
    """They are none, and nothing warns."""
    frame = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 3], "weight": 1e308})
    for parts in (1, 2):
        found = dg.sssp(dg.Graph.from_edges(frame, weight="weight", parts=parts), 0).compute()
        assert found["distance"].tolist() == [0, 1e308, np.inf, np.inf]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: dg.sssp(g, []), "is empty"),
        (lambda g: dg.sssp(g, 99), "no vertex 99"),
        (lambda g: dg.sssp(dg.grid(rows=2, cols=2), 0, target=99), "no vertex 99"),
        (lambda g: dg.sssp(g, 0, target=1), "negative weights such as -1"),
        (lambda g: dg.sssp(g, [0, 1], per_source=True), "negative weights such as -1"),
        (lambda g: dg.sssp(g, [0, 1], per_source=True, target=1), "per_source=True"),
    ],
)
def test_options_are_checked(call, words):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1], "weight": [-1]}), weight="weight")
    with pytest.raises(errors.InputError, match=words):
        call(graph)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": dg.BlockDescent(order="cyclic")}, "engine='block_descent'.*choose one of bsp, gas"),
        ({"engine": "bulk_async"}, "engine='bulk_async'.*choose one of bsp, gas"),
        ({"engine": dg.BulkAsync(local_rounds=5)}, "engine='bulk_async'.*choose one of bsp, gas"),
        ({"engine": dg.Gas(max_rounds=1)}, "max_rounds=1 .*leave it out"),
        ({"engine": dg.Bsp(max_rounds=1)}, "max_rounds=1 .*leave it out"),
        ({"engine": "asp"}, "engine='asp'"),
    ],
)
def test_unsupported_options_are_refused_for_negative_weights(parts, options, words):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1], "w": [-1.0]}), weight="w", parts=parts)
    with pytest.raises(errors.OptionError, match=words):
        dg.sssp(graph, 0, **options)


def test_negative_weights_take_the_engine_that_was_asked_for():
    frame = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 3], "w": [-1.0, 2.0, -3.0]})
    graph = dg.Graph.from_edges(frame, weight="w", parts=3)
    for engine in ("bsp", "gas"):
        assert dg.sssp(graph, 0, engine=engine).report.options["engine"] == engine
    with pytest.raises(errors.OptionError, match="the graph has 3 partitions"):
        dg.sssp(graph, 0, engine="local")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("far", "below"), [(1.0, -1e-17), (1e17, -1.0), (1.0, -1.0)])
def test_edges_that_form_negative_cycles_are_refused_if_reached(way, far, below):
    """Whatever rounding makes of their weights; but only if they are reached."""
    engine, parts = way
    loop = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 1, 3], "w": [far, below, 1.0]})
    graph = dg.Graph.from_edges(loop, weight="w", parts=parts)
    with pytest.raises(errors.WeightError, match="along the cycle 1 sum to"):
        dg.sssp(graph, 0, engine=engine)
    assert dg.sssp(graph, 2, engine=engine).compute()["distance"].tolist() == [np.inf, np.inf, 0, 1]
    both = pd.DataFrame({"src": [0, 1, 3], "dst": [1, 2, 4], "w": [far, below, far]})
    graph = dg.Graph.from_edges(both, weight="w", parts=parts, directed=False)
    with pytest.raises(errors.WeightError, match="along the cycle 1 -> 2 sum to"):
        dg.sssp(graph, 0, engine=engine)
    assert dg.sssp(graph, 3, engine=engine).compute()["distance"].tolist() == [np.inf, np.inf, np.inf, 0, far]


@pytest.mark.parametrize("engine", ["bulk_async", "block_descent"])
def test_a_target_needs_rounds(engine):
    with pytest.raises(errors.OptionError, match=f"engine='{engine}' is not available here: .* target=2"):
        dg.sssp(dg.grid(rows=2, cols=2, parts=2), 0, target=2, engine=engine)


def test_a_weight_that_is_no_number_is_refused():
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 0], "weight": [1.0, np.nan]})
    with pytest.raises(errors.WeightError):
        dg.sssp(dg.Graph.from_edges(frame, weight="weight"), 0)


def test_negative_weights_in_a_large_graph_give_exact_distances():
    """Potentials make weights negative, and change no shortest path."""
    rng = np.random.default_rng(4)
    n = 1 << 13
    frame = pd.DataFrame(rng.integers(0, n, (8 * n, 2)), columns=["src", "dst"])
    height = rng.integers(0, 1000, n)
    frame["weight"] = rng.integers(1, 255, 8 * n) + height[frame["dst"]] - height[frame["src"]]
    graph = dg.Graph.from_edges(frame, weight="weight", vertices=n)
    found = dg.sssp(graph, 5).compute()
    frame["weight"] += height[frame["src"]] - height[frame["dst"]]
    plain = dg.sssp(dg.Graph.from_edges(frame, weight="weight", vertices=n), 5).compute()
    assert (found["distance"] - (height - height[5])).tolist() == plain["distance"].tolist()


def test_a_long_negative_path_is_not_mistaken_for_a_cycle():
    """More rounds than between two looks for a cycle; then a cycle as long."""
    n = 60
    frame = pd.DataFrame({"src": np.arange(n), "dst": np.arange(1, n + 1), "weight": -1.0})
    back = pd.DataFrame({"src": [n], "dst": [0], "weight": [n - 0.5]})
    for engine, parts in WAYS:
        graph = dg.Graph.from_edges(frame, weight="weight", parts=parts)
        assert dg.sssp(graph, 0, engine=engine).compute()["distance"].tolist() == (-np.arange(n + 1.0)).tolist()
        circle = dg.Graph.from_edges(pd.concat([frame, back]), weight="weight", parts=parts)
        with pytest.raises(errors.WeightError, match=r"0 -> 1 -> 2 .* -> '...' sum to"):
            dg.sssp(circle, 0, engine=engine)
