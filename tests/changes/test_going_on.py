"""Answers that go on from earlier ones are those of a fresh run, and cost little."""

import re
import warnings
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from changed import RULES, chain, frame_of, named, streams
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors
from dgraph.changes import steps
from dgraph.solvers.paths import repaired_paths
from dgraph.solvers.subgraphs import repaired_components

OPERATIONS = {
    "wcc": lambda graph, source, **how: dg.wcc(graph, **how),
    "bfs": dg.bfs,
    "bfs of depth 2": lambda graph, source, **how: dg.bfs(graph, source, depth_limit=2, **how),
    "sssp": dg.sssp,
    "triangles": lambda graph, source, **how: dg.triangles(graph, **how),
    "core_number": lambda graph, source, **how: dg.core_number(graph, **how),
}
COUNTED = ("triangles",)  # which need to know which edges were there before
WENT = "went on from it"


def said(result):
    return result.report.options["previous"]


def check_same(found, fresh):
    pd.testing.assert_frame_equal(found.compute(), fresh.compute())


def updated(graph, added=(), removed=(), **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.MissingEdgesWarning)
        return graph.updated(frame_of(list(added)), frame_of(list(removed))[["src", "dst"]], **more)


@settings(max_examples=60)
@given(streams(), RULES, st.sampled_from(["int", "sparse", "str"]), st.booleans(), st.data())
def test_going_on_gives_the_answer_of_a_fresh_run(stream, rules, name, symmetrize, data):
    source, answers = named(0, name), {}
    for graph, fresh in chain(stream, name, source, symmetrize=symmetrize and rules["directed"], **rules):
        asked = st.sets(st.sampled_from(sorted(OPERATIONS)), min_size=1)
        for operation in sorted(data.draw(asked)) if answers else OPERATIONS:
            run = OPERATIONS[operation]
            if operation not in answers:
                answers[operation] = run(graph, source)
                continue
            before = answers[operation].compute()
            found = run(graph, source, previous=answers[operation])
            if operation in COUNTED and symmetrize and rules["directed"]:
                assert "no partition was built" in anew(found)
            else:
                assert said(found).startswith(WENT)
            check_same(found, expected := run(fresh, source))
            assert found.totals == expected.totals
            pd.testing.assert_frame_equal(answers[operation].compute(), before)
            answers[operation] = found


@pytest.mark.parametrize("seed", range(4))
def test_components_after_many_removals_are_those_of_networkx(seed):
    rng = np.random.default_rng(seed)
    theirs = nx.gnm_random_graph(200, 260, seed=seed)
    ends = np.array(theirs.edges)
    graph = dg.Graph.from_edges({"src": ends[:, 0], "dst": ends[:, 1]}, vertices=200, directed=False, repeats="first")
    answer = dg.wcc(graph)
    for _ in range(6):
        gone = np.array(theirs.edges)[rng.choice(theirs.number_of_edges(), 25, replace=False)]
        more = rng.integers(0, 200, (5, 2))
        theirs.remove_edges_from(gone.tolist())
        theirs.add_edges_from(more.tolist())
        graph = graph.updated(removed={"src": gone[:, 1], "dst": gone[:, 0]})
        graph = graph.updated({"src": more[:, 0], "dst": more[:, 1]})
        answer = dg.wcc(graph, previous=answer)
        assert said(answer).startswith(WENT)
        found = answer.compute().set_index("vertex")["component"]
        assert all((found[list(part)] == min(part)).all() for part in nx.connected_components(theirs))
        theirs = nx.Graph(theirs)


@pytest.mark.parametrize("seed", range(4))
def test_distances_after_changes_are_those_of_networkx(seed):
    rng = np.random.default_rng(seed)
    theirs = nx.gnm_random_graph(150, 500, seed=seed, directed=True)
    for edge in theirs.edges:
        theirs.edges[edge]["weight"] = float(rng.integers(1, 60)) / 4
    frame = nx.to_pandas_edgelist(theirs)
    graph = dg.Graph.from_edges(frame, source="source", destination="target", vertices=150)
    answers = dg.sssp(graph, 3), dg.bfs(graph, 3)
    for _ in range(4):
        gone = frame.sample(40, random_state=int(rng.integers(1000)))
        worse = gone.head(15).assign(weight=gone["weight"] + 7)
        graph = graph.updated(worse, gone[["source", "target"]])
        theirs.remove_edges_from(gone[["source", "target"]].itertuples(index=False))
        theirs.add_weighted_edges_from(worse.itertuples(index=False))
        frame = nx.to_pandas_edgelist(theirs)
        answers = dg.sssp(graph, 3, previous=answers[0]), dg.bfs(graph, 3, previous=answers[1])
        lengths = nx.single_source_dijkstra_path_length(theirs, 3), nx.single_source_shortest_path_length(theirs, 3)
        for answer, expected in zip(answers, lengths, strict=True):
            assert said(answer).startswith(WENT)
            found = answer.compute().set_index("vertex")["distance"]
            assert {v: d for v, d in found.items() if np.isfinite(d)} == expected


def test_removed_edges_split_components_into_many():
    """Parts that were connected through another part only, and the smallest vertex cut off."""
    middle = [(0, k * 10, 1) for k in range(1, 6)]
    stars = [(k * 10, k * 10 + j, 1) for k in range(1, 6) for j in range(1, 9)]
    graph = dg.Graph.from_edges(frame_of(middle + stars), directed=False)
    cut = updated(graph, removed=middle)
    answer = dg.wcc(cut, previous=dg.wcc(graph))
    assert answer.compute()["component"].value_counts().to_dict() == {0: 1, 10: 9, 20: 9, 30: 9, 40: 9, 50: 9}
    joined = updated(cut, added=[(11, 25, 1), (58, 0, 1)])
    again = dg.wcc(joined, previous=answer).compute()["component"].value_counts().to_dict()
    assert again == {0: 10, 10: 18, 30: 9, 40: 9}


def test_an_edge_that_is_no_bridge_costs_little_and_a_long_path_no_more_than_its_shorter_part():
    ring = [(k, (k + 1) % 4000, 1) for k in range(4000)]
    graph = dg.Graph.from_edges(frame_of(ring + [(k, k + 2, 1) for k in range(3990)]), directed=False)
    answer = dg.wcc(updated(graph, removed=[(1000, 1001, 1)]), previous=dg.wcc(graph))
    assert answer.report["edges"].sum() < 50
    path = dg.Graph.from_edges(frame_of(ring[:-1]), directed=False)
    answer = dg.wcc(updated(path, removed=[(30, 31, 1)]), previous=dg.wcc(path))
    assert answer.report["edges"].sum() < 500 and set(answer.by_number("component")) == {0, 31}


def test_a_vertex_keeps_its_distance_if_another_edge_gives_the_same():
    rows = [(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1), *[(3, k, 1) for k in range(4, 2000)]]
    graph = dg.Graph.from_edges(frame_of(rows), weight="w")
    for run in (dg.bfs, dg.sssp):
        found = run(updated(graph, removed=[(1, 3, 1)]), 0, previous=run(graph, 0))
        assert found.report["edges"].sum() < 10 and found.by_number("predecessor")[3] == 2


@pytest.mark.parametrize("kind", ["additions", "removals", "both"])
def test_few_edges_are_read(kind):
    rng = np.random.default_rng(2)
    edges = dg.rmat(scale=14, edge_factor=16, seed=1, weights=(1, 255)).edges.compute()
    edges = edges[edges["source"] < edges["destination"]].drop_duplicates(["source", "destination"], ignore_index=True)
    ends = {"source": "source", "destination": "destination"}
    graph = dg.Graph.from_edges(edges, **ends, weight="weight", directed=False, vertices=1 << 14)
    count = len(edges) // 10_000
    more = pd.DataFrame(rng.integers(0, 1 << 14, (count, 2)), columns=["source", "destination"]).assign(weight=9)
    less = edges.iloc[rng.choice(len(edges), count, replace=False)][["source", "destination"]]
    given = {"additions": (more, None), "removals": (None, less), "both": (more, less)}[kind]
    source = edges["source"].mode()[0]
    for run in (dg.wcc, lambda graph, **how: dg.bfs(graph, source, **how), lambda g, **how: dg.sssp(g, source, **how)):
        earlier, changed = run(graph), graph.updated(*given)
        found = run(changed, previous=earlier)
        assert changed.changes.merging == "not merged yet"
        fresh = run(changed)
        assert changed.changes.merging.startswith("merged")
        check_same(found, fresh)
        assert found.report["edges"].sum() <= 0.05 * fresh.report["edges"].sum()


# -- what is computed anew, and what is refused ------------------------------------------------------------------------

ROWS = [(0, 1, 3), (1, 2, 5), (2, 0, 4), (3, 4, 1)]


def small(rows=ROWS, **options):
    return dg.Graph.from_edges(frame_of(rows), weight="w", **options)


def anew(result):
    return re.fullmatch("computed anew: (.*)", said(result))[1]


def test_the_report_says_why_the_whole_was_computed(monkeypatch):
    graph = small()
    earlier, changed = dg.wcc(graph), updated(graph, [(2, 3, 1)])
    assert "previous" not in dg.wcc(changed).report.options
    assert "an option asks for rounds" in anew(dg.wcc(changed, previous=earlier, engine="gas"))
    fork = updated(graph, removed=[(0, 1, 3)])
    assert "is not known" in anew(dg.wcc(fork, previous=dg.wcc(changed)))
    assert "is not known" in anew(dg.wcc(graph, previous=dg.wcc(changed)))
    monkeypatch.setattr(steps, "MOST_STEPS", 2)
    for place in range(3):
        changed = updated(changed, [(place, 4, 1)])
    assert "is not known" in anew(dg.wcc(changed, previous=earlier))


@pytest.mark.parametrize(("solver", "operation"), [(repaired_components, "wcc"), (repaired_paths, "bfs")])
def test_what_reaches_too_much_is_computed_anew(monkeypatch, solver, operation):
    run = partial(OPERATIONS[operation], source=0)
    monkeypatch.setattr(solver, "most_to_read", lambda rows: 20)
    path = dg.Graph.from_edges(frame_of([(k, k + 1, 1) for k in range(200)]), directed=False)
    changed = updated(path, [(0, 150, 1)], [(100, 101, 1)])
    found = run(changed, previous=run(path))
    assert "too much depends" in anew(found)
    check_same(found, run(changed))


@pytest.mark.parametrize("weights", [(0, 2), (-1, 2), (1e-30, 1e9)])
def test_paths_along_weights_that_do_not_add_up_are_computed_anew(weights):
    rows = [(0, 1, 2), (1, 2, 5), (0, 2, 9), (2, 3, 1)]
    graph = dg.Graph.from_edges(frame_of(rows).astype({"w": float}), weight="w")
    more = frame_of([(0, 3, 1), (3, 1, 1)]).assign(w=weights)
    changed = graph.updated(more)
    found = dg.sssp(changed, 0, previous=dg.sssp(graph, 0))
    assert "weights are <= 0" in anew(found)
    again = changed.updated(removed=more[["src", "dst"]])
    for previous in (found, dg.sssp(graph, 0)):
        check_same(dg.sssp(again, 0, previous=previous), dg.sssp(graph, 0))


def test_a_negative_cycle_is_refused_and_the_earlier_answer_stays():
    graph = small()
    earlier = dg.sssp(graph, 0)
    before = earlier.compute()
    changed = graph.updated(frame_of([(1, 0, -9)]))
    with pytest.raises(errors.WeightError, match="along the cycle"):
        dg.sssp(changed, 0, previous=earlier)
    pd.testing.assert_frame_equal(earlier.compute(), before)
    check_same(dg.sssp(graph, 0, previous=earlier), dg.sssp(small(), 0))


def test_the_row_of_a_hub_is_read_once_for_all_edges_that_came():
    leaves = 1000
    graph = dg.Graph.from_edges(frame_of([(0, k, 2) for k in range(1, leaves)]), weight="w", vertices=2 * leaves)
    changed = updated(graph, [(0, leaves + k, 3) for k in range(100)])
    found = dg.sssp(changed, 0, previous=dg.sssp(graph, 0))
    check_same(found, dg.sssp(changed, 0))
    assert found.report["edges"].sum() < 2 * leaves


def test_edges_that_came_at_hubs_may_be_too_much(monkeypatch):
    monkeypatch.setattr(repaired_paths, "most_to_read", lambda rows: 20)
    graph = dg.Graph.from_edges(frame_of([(0, k, 2) for k in range(1, 50)]), weight="w", vertices=60)
    changed = updated(graph, [(0, 55, 3)])
    found = dg.sssp(changed, 0, previous=dg.sssp(graph, 0))
    assert "too much depends" in anew(found)
    check_same(found, dg.sssp(changed, 0))


def test_without_weights_sssp_goes_on_as_bfs():
    graph = dg.Graph.from_edges(frame_of(ROWS)[["src", "dst"]])
    changed = graph.updated({"src": [2], "dst": [3]})
    found = dg.sssp(changed, 0, previous=dg.sssp(graph, 0))
    assert said(found).startswith(WENT)
    check_same(found, dg.sssp(changed, 0))


def test_an_empty_graph_is_gone_on_from():
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}))
    changed = graph.updated({"src": ["a"], "dst": ["b"]})
    assert dg.wcc(changed, previous=dg.wcc(graph)).compute()["component"].tolist() == ["a", "a"]


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("is a result of dg.bfs; expected one of dg.wcc", lambda old, new: dg.wcc(new, previous=dg.bfs(old, 0))),
        ("previous=dict must be an earlier result of dg.wcc", lambda old, new: dg.wcc(new, previous={})),
        ("a result for another graph", lambda old, new: dg.wcc(new, previous=dg.wcc(small()))),
        ("those made from results", lambda old, new: dg.wcc(new, previous=dg.wcc(old).map(lambda n, c: (n, c)))),
        ("not a whole result of dg.wcc; results of other", lambda old, new: dg.wcc(new, previous=dg.degrees(old))),
        ("calls with target=, per_source=True", lambda old, new: dg.bfs(new, 0, previous=dg.bfs(old, 0, target=2))),
        (
            r"has source=\[\d, \d, \d, \d\] and 1 more; leave",
            lambda old, new: dg.bfs(new, range(5), previous=dg.bfs(old, 0)),
        ),
        ("source=0, and this call has source=1", lambda old, new: dg.bfs(new, 1, previous=dg.bfs(old, 0))),
        ("depth_limit=None, and .*=3", lambda old, new: dg.bfs(new, 0, depth_limit=3, previous=dg.bfs(old, 0))),
        ("target=2 are mutually exclusive", lambda old, new: dg.bfs(new, 0, target=2, previous=dg.bfs(old, 0))),
        ("source=", lambda old, new: dg.sssp(new, [0, 1], previous=dg.sssp(old, 0))),
        ("per_source=True are mut", lambda old, new: dg.sssp(new, 0, per_source=True, previous=dg.sssp(old, 0))),
        ("predecessors=False are mut", lambda old, new: dg.sssp(new, 0, predecessors=False, previous=dg.sssp(old, 0))),
    ],
)
def test_results_that_answer_something_else_are_refused(message, call):
    graph = small()
    with pytest.raises(errors.OptionError, match=message):
        call(graph, updated(graph, [(2, 3, 1)]))


# -- several partitions ------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    streams(),
    RULES,
    st.sampled_from(["int", "sparse", "str"]),
    st.integers(2, 4),
    st.sampled_from(["outgoing", "outgoing", "incoming", "cartesian", "hybrid", "metis"]),
    st.data(),
)
def test_several_partitions_go_on_as_one_does(stream, rules, name, parts, policy, data):
    source, answers = named(0, name), {}
    for graph, fresh in chain(stream, name, source, {"parts": parts, "policy": policy}, **rules):
        asked = st.sets(st.sampled_from(sorted(OPERATIONS)), min_size=1)
        for operation in sorted(data.draw(asked)) if answers else OPERATIONS:
            run = OPERATIONS[operation]
            if operation not in answers:
                answers[operation] = run(graph, source)
                continue
            found = run(graph, source, previous=answers[operation])
            if operation not in COUNTED:
                assert said(found).startswith(WENT)
            check_same(found, run(fresh, source))
            answers[operation] = found


@pytest.mark.parametrize("place", ["this process", "cluster"])
def test_in_several_partitions_few_edges_are_read(place, request):
    rng = np.random.default_rng(2)
    edges = dg.rmat(scale=12, edge_factor=16, seed=1, weights=(1, 255)).edges.compute()
    edges = edges[edges["source"] < edges["destination"]].drop_duplicates(["source", "destination"], ignore_index=True)
    how = {"client": request.getfixturevalue("client")} if place == "cluster" else {"parts": 3}
    columns = {"source": "source", "destination": "destination", "weight": "weight"}
    graph = dg.Graph.from_edges(edges, **columns, directed=False, vertices=1 << 12, **how)
    source = edges["source"].mode()[0]
    runs = {name: OPERATIONS[name] for name in ("wcc", "bfs", "sssp")}
    answers = {name: run(graph, source) for name, run in runs.items()}
    for _ in range(2):
        more = pd.DataFrame(rng.integers(0, 1 << 12, (4, 2)), columns=["source", "destination"]).assign(weight=9)
        gone = rng.choice(len(edges), 4, replace=False)
        graph = graph.updated(more, edges.iloc[gone][["source", "destination"]])
        edges = pd.concat([edges.drop(edges.index[gone]), more], ignore_index=True)
        fresh = dg.Graph.from_edges(edges, **columns, directed=False, vertices=1 << 12)
        for name, run in runs.items():
            answers[name] = run(graph, source, previous=answers[name])
            assert said(answers[name]).startswith(WENT) and graph.changes.merging == "not merged yet"
            assert answers[name].report["edges"].sum() < 0.2 * len(edges), name
            check_same(answers[name], run(fresh, source))
        counts = answers["wcc"].frame["component"].value_counts().compute().sort_index()
        pd.testing.assert_series_equal(counts, dg.wcc(fresh).compute()["component"].value_counts().sort_index())


def test_what_spreads_too_far_over_partitions_is_computed_anew():
    path = [(k, k + 1, 1) for k in range(300)]
    graph = dg.Graph.from_edges(frame_of(path), parts=2)
    changed = updated(graph, [(0, 150, 1)])
    found = dg.bfs(changed, 0, previous=dg.bfs(graph, 0))
    assert "too many steps away" in anew(found)
    check_same(found, dg.bfs(updated(dg.Graph.from_edges(frame_of(path)), [(0, 150, 1)]), 0))
    near = updated(graph, [(0, 290, 1)])
    assert said(dg.bfs(near, 0, previous=dg.bfs(graph, 0))).startswith(WENT)
