"""Ranks that go on from earlier ones are as near to the fixed point as those of a fresh run, after fewer rounds."""

import re

import networkx as nx
import numpy as np
import pytest
from changed import RULES, chain, named, streams
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors

TOL = 1e-10
KINDS = {
    "plain": lambda source: {},
    "single precision": lambda source: {"dtype": "float32", "tol": 1e-5},
    "weights": lambda source: {"weighted": True},
    "jumps": lambda source: {"personalization": {source: 1}},
    "no jumps from ends": lambda source: {"dangling": "none", "alpha": 0.5},
}


def small():
    frame = {"src": [0, 1, 2, 3], "dst": [1, 2, 0, 4], "w": [3.0, 5.0, 4.0, 1.0]}
    return dg.Graph.from_edges(frame, weight="w")


def grown(graph, weight=1.0):
    return graph.updated({"src": [2], "dst": [3], "w": [weight]})


def went_on(result):
    return result.report.options["previous"].startswith("went on from it")


def anew(result):
    return re.fullmatch("computed anew: (.*)", result.report.options["previous"])[1]


def far(found, exact):
    return np.abs(found.by_number("pagerank").astype(float) - exact.by_number("pagerank")).sum()


@settings(max_examples=60)
@given(streams(), RULES, st.sampled_from(["int", "sparse", "str"]), st.sampled_from(sorted(KINDS)))
def test_ranks_after_updates_are_those_of_the_graph(stream, rules, name, kind):
    source, answer = named(0, name), None
    asked = {"tol": TOL, "max_iter": 2000} | KINDS[kind](source)
    for graph, fresh in chain(stream, name, source, **rules):
        answer, earlier = dg.pagerank(graph, previous=answer, **asked), answer
        assert earlier is None or went_on(answer)
        assert (answer.by_number("pagerank") >= 0).all()
        assert far(answer, dg.pagerank(fresh, **{**asked, "dtype": "float64", "tol": 1e-13})) <= asked["tol"]


@pytest.mark.parametrize(("directed", "share"), [(True, 0.8), (False, 0.5)])
def test_the_changes_are_not_merged_and_fewer_edges_are_read(directed, share):
    rng = np.random.default_rng(2)
    edges = dg.rmat(scale=13, edge_factor=16, seed=1).edges.compute()
    graph = dg.Graph.from_edges(edges, source="source", destination="destination", directed=directed)
    count = graph.num_edges // 10_000
    ids = graph.vertices.compute()["id"].to_numpy()
    changed = graph.updated({name: rng.choice(ids, count) for name in graph.edges.columns[:2]})
    earlier = dg.pagerank(graph)
    found = dg.pagerank(changed, previous=earlier)
    assert changed.changes.merging == "not merged yet"
    fresh = dg.pagerank(changed)
    assert found.report["edges"].sum() <= share * fresh.report["edges"].sum()
    assert far(found, dg.pagerank(changed, tol=1e-12)) <= 1e-6


@pytest.mark.parametrize("directed", [True, False])
def test_ranks_after_changes_are_those_of_networkx(directed):
    rng = np.random.default_rng(3)
    theirs = nx.gnm_random_graph(150, 500, seed=3, directed=directed)
    ends = np.array(theirs.edges)
    graph = dg.Graph.from_edges(
        {"src": ends[:, 0], "dst": ends[:, 1]}, vertices=150, directed=directed, repeats="first"
    )
    answer = dg.pagerank(graph, tol=TOL)
    for _ in range(4):
        gone = np.array(theirs.edges)[rng.choice(theirs.number_of_edges(), 40, replace=False)]
        more = rng.integers(0, 150, (30, 2))
        theirs.remove_edges_from(gone.tolist())
        theirs.add_edges_from(more.tolist())
        graph = graph.updated(removed={"src": gone[:, 0], "dst": gone[:, 1]})
        graph = graph.updated({"src": more[:, 0], "dst": more[:, 1]})
        answer = dg.pagerank(graph, tol=TOL, previous=answer)
        assert went_on(answer)
        expected = nx.pagerank(theirs, tol=1e-14, max_iter=1000)
        assert sum(abs(answer.by_number("pagerank") - [expected[v] for v in range(150)])) <= 2 * TOL


def test_a_vertex_that_lost_all_its_edges_sends_nothing():
    """Its weights were added up and subtracted again; what is left of large ones is not 0."""
    frame = {"src": [0, 0, 1, 2], "dst": [1, 2, 0, 0], "w": [1e16, 3.3, 1.0, 1.0]}
    graph = dg.Graph.from_edges(frame, weight="w")
    changed = graph.updated(removed={"src": [0, 0], "dst": [1, 2]})
    asked = {"weighted": True, "tol": TOL, "max_iter": 1000}
    found = dg.pagerank(changed, previous=dg.pagerank(graph, **asked), **asked)
    assert found.by_number("pagerank").sum() == pytest.approx(1)
    assert far(found, dg.pagerank(changed, **{**asked, "tol": 1e-13})) <= TOL


def test_an_earlier_answer_may_have_another_tolerance_and_precision():
    graph = small()
    changed = grown(graph)
    found = dg.pagerank(changed, tol=TOL, previous=dg.pagerank(graph, tol=1e-2, dtype="float32"))
    assert went_on(found) and far(found, dg.pagerank(changed, tol=1e-13)) <= TOL


def test_ranks_that_have_no_use_for_earlier_ones_are_computed_anew():
    graph = small()
    changed = grown(graph)
    reasons = {"tol=0 asks for a number": {"tol": 0, "max_iter": 5}, "may be several": {"alpha": 1.0, "tol": 0.5}}
    for reason, asked in reasons.items():
        found = dg.pagerank(changed, previous=dg.pagerank(graph, **asked), **asked)
        assert reason in anew(found) and far(found, dg.pagerank(changed, **asked)) == 0
    assert "an option asks for rounds" in anew(dg.pagerank(changed, engine="bulk_async", previous=dg.pagerank(graph)))


def test_where_no_edges_lead_back_rounds_are_few():
    """Ranks were scaled between the rounds, which disturbed those that were right."""
    path = dg.Graph.from_edges({"src": range(8), "dst": range(1, 9)})
    changed = path.updated({"src": [0, 2], "dst": [4, 7]})
    asked = {"alpha": 0.99, "dangling": "none", "tol": 1e-8}
    found, fresh = (dg.pagerank(changed, **asked, **how) for how in ({"previous": dg.pagerank(path, **asked)}, {}))
    assert went_on(found) and found.rounds <= 2 * fresh.rounds


def test_ranks_that_do_not_settle_from_the_earlier_ones_are_computed_anew():
    """Even ranks are those of a circle, so that a fresh run is soon over."""
    graph = dg.Graph.from_edges({"src": [0], "dst": [1]})
    changed = graph.updated({"src": [1], "dst": [0]})
    asked = {"alpha": 0.99, "tol": 1e-4}
    found = dg.pagerank(changed, **asked, previous=dg.pagerank(graph, **asked))
    assert "more than max_iter iterations" in anew(found) and found.by_number("pagerank").tolist() == [0.5, 0.5]


def test_added_weights_that_break_the_rules_are_refused():
    graph = small()
    earlier = dg.pagerank(graph, weighted=True)
    for weight in (-1.0, np.inf):
        changed = grown(graph, weight)
        with pytest.raises(errors.WeightError, match="finite weights >= 0"):
            dg.pagerank(changed, weighted=True, previous=earlier)


@pytest.mark.parametrize(
    ("message", "before", "now"),
    [
        ("alpha=0.5, and this call has alpha=0.85", {"alpha": 0.5}, {}),
        ("weighted=False, and this call has weighted=True", {}, {"weighted": True}),
        ("personalization=None, and this call has personalization=", {}, {"personalization": {0: 1}}),
        ("dangling=", {"dangling": "none"}, {}),
        ("mutually exclusive", {}, {"personalization": [{0: 1}, {1: 1}]}),
    ],
)
def test_ranks_with_other_parameters_are_refused(message, before, now):
    graph = small()
    with pytest.raises(errors.OptionError, match=message):
        dg.pagerank(grown(graph), previous=dg.pagerank(graph, **before), **now)


# -- several partitions ------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(streams(), RULES, st.sampled_from(["int", "str"]), st.sampled_from(sorted(KINDS)), st.integers(2, 4))
def test_ranks_of_several_partitions_go_on(stream, rules, name, kind, parts):
    source, answer = named(0, name), None
    asked = {"tol": TOL, "max_iter": 2000} | KINDS[kind](source)
    for graph, fresh in chain(stream, name, source, {"parts": parts}, **rules):
        answer, earlier = dg.pagerank(graph, previous=answer, **asked), answer
        assert earlier is None or went_on(answer)
        assert far(answer, dg.pagerank(fresh, **{**asked, "dtype": "float64", "tol": 1e-13})) <= asked["tol"]


def test_ranks_on_a_cluster_go_on_in_fewer_rounds(client):
    rng = np.random.default_rng(2)
    edges = dg.rmat(scale=10, edge_factor=8, seed=1).edges.compute()
    graph = dg.Graph.from_edges(edges, source="source", destination="destination", vertices=1 << 10, client=client)
    earlier, ends = dg.pagerank(graph, tol=1e-7), rng.integers(0, 1 << 10, (2, 3))
    changed = graph.updated({"source": ends[0], "destination": ends[1]})
    found, fresh = dg.pagerank(changed, tol=1e-7, previous=earlier), dg.pagerank(changed, tol=1e-7)
    assert went_on(found) and found.rounds < 0.8 * fresh.rounds
    assert far(found, dg.pagerank(changed, tol=1e-12)) <= 1e-7
    assert went_on(dg.pagerank(changed, tol=1e-9, previous=found))
    assert "tol=0 asks for a number" in anew(dg.pagerank(changed, tol=0, max_iter=3, previous=found))
